//! Exactly-once delivery through gateways of this library.
//!
//! A delivery ACK says that the next hop has a message; a gateway that dies then takes it along. So a gateway also
//! confirms to the node before it that the node behind it has the message. Until then the sender keeps the message
//! ([`Unconfirmed`]), and sends it over another gateway if this one fails. The copy carries the [`crate::model::MessageOrigin`] of the first,
//! by which the destination drops whichever arrives second ([`Origins`]).

mod known_nodes;
mod origins;
mod seen;
mod unconfirmed;

pub(crate) use known_nodes::BroughtBy;
pub(crate) use origins::{Arrived, BrokenOff, Origins, Recovered, WaitingCopy};
pub(crate) use unconfirmed::{Due, Unconfirmed};

//! Exactly-once delivery through gateways of this library.
//!
//! A delivery ACK shows that the next hop has a message; a gateway that then fails loses it. So a gateway also
//! confirms to its previous hop that the node behind it has the message. Until then the sender keeps the message
//! ([`Unconfirmed`]), and sends it over another gateway if this one fails. The copy carries the [`crate::model::MessageOrigin`]
//! of the first message, by which the destination recognises and drops the second one to arrive ([`Origins`]).

mod known_nodes;
mod origins;
mod seen;
mod unconfirmed;

pub(crate) use known_nodes::BroughtBy;
pub(crate) use origins::{Arrived, BrokenOff, Origins, Recovered, WaitingCopy};
pub(crate) use unconfirmed::{DueMessages, Unconfirmed};

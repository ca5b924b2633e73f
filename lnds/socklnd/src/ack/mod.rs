//! Delivery ACKs (the kernel's zero-copy ACKs): which messages ask for one, which have none yet, which are still to be
//! sent, and which messages have been received before. No sockets, no clock, no peers: a driver with other transports can
//! use them as they are.

pub(crate) mod dedup;
pub(crate) mod delivery_acks;
pub(crate) mod message_id;
pub(crate) mod pending_acks;
pub(crate) mod unacked;

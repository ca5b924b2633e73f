//! The driver's decisions, as functions of what is known: no sockets, no clock.

pub(crate) mod admit;
pub(crate) mod book;
pub(crate) mod cause;
pub(crate) mod choose;
pub(crate) mod cookie;
pub(crate) mod crowd;
pub(crate) mod dial;
pub(crate) mod identity;
pub(crate) mod ours;
pub(crate) mod receipts;
pub(crate) mod recognition;
pub(crate) mod silence;

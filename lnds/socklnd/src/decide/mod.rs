//! The driver's decisions, as functions of their arguments: no sockets, no clock.

pub(crate) mod admit;
pub(crate) mod choose;
pub(crate) mod conn_types;
pub(crate) mod delivery_acks;
pub(crate) mod identity;
pub(crate) mod implementation_id;
pub(crate) mod unresponsive;
pub(crate) mod version;

//! The driver's decisions, as functions of their arguments: no devices, no clock.

pub(crate) mod admit;
pub(crate) mod conn_ack;
pub(crate) mod form;
pub(crate) mod refused;
pub(crate) mod stamp;

//! The words by which this program starts itself as another process of raw TCP.

pub(crate) const SERVER: &str = "raw-tcp-server";
pub(crate) const MANY_SERVER: &str = "raw-tcp-many-server";
pub(crate) const RELAY: &str = "raw-tcp-relay";

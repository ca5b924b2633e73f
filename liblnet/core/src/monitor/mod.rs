//! Periodic work: resends, recovery pings, gateways, and the driving of discovery.

mod discovery;
mod discovery_requests;
mod gateways;
mod merge;
mod repeat;
mod work;

//! The steps on the path to another node, for a diagnosis: their results are values, and no report.

#[cfg(unix)]
pub use lnet_os::tcp_probe::probe;

use super::ping::MAX_NIDS;
use crate::request::{Backend, DistanceResponse, Ping, PingResponse, Request};
use lnet_wire::{Errno, Nid, Pid, ProcessId};

/// The distance of a NID, and the NID of this node from which messages to it are sent.
pub fn distance(backend: &dyn Backend, nid: Nid) -> Result<DistanceResponse, Errno> {
    backend.ask(Request::LnetDist(nid))
}

/// Pings the node with this NID.
pub fn ping(backend: &dyn Backend, nid: Nid, timeout_ms: u32) -> Result<PingResponse, Errno> {
    let target = ProcessId { nid, pid: Pid::LUSTRE };
    let ping = Ping { target, source: None, timeout_ms: Some(timeout_ms), max_nids: MAX_NIDS };
    backend.ask(Request::PingPeer(ping))
}

//! Pings of expected peers that are not reachable, as far as the node knows: as long as no program sends to them, nothing else tells it
//! that they are.

use crate::nodes::Nodes;
use lnet_dlc::request::{Backend, Peer, Ping, Request};
use lnet_os::thread::JoinHandle;
use lnet_wire::{Nid, Pid, ProcessId, Reachability};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// The pause between two rounds of pings.
const INTERVAL: Duration = Duration::from_secs(2);
/// The time for an answer, in milliseconds.
const PING_TIMEOUT_MS: u32 = 1000;
const STACK: usize = 512 * 1024;

/// The thread that pings. Dropping this ends it, after the ping that it waits for.
#[derive(Debug)]
pub(crate) struct ExpectedPeers {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ExpectedPeers {
    /// Starts the thread; none if no peer is expected.
    pub(crate) fn start(nodes: Arc<dyn Nodes>, expected: Vec<Nid>) -> io::Result<Option<Self>> {
        if expected.is_empty() {
            return Ok(None);
        }
        let (stop, stopped) = channel::<()>();
        let work = move || {
            loop {
                for (node, nid) in
                    nodes.all().iter().flat_map(|node| expected.iter().map(move |nid| (node, *nid)))
                {
                    if matches!(stopped.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected)) {
                        return;
                    }
                    ping_unless_reachable(&*node.backend, nid);
                }
                if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let builder = thread::Builder::new().name("lnet_expect".to_owned()).stack_size(STACK);
        let thread = lnet_os::thread::spawn(builder, work)?;
        Ok(Some(Self { stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for ExpectedPeers {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn ping_unless_reachable(backend: &dyn Backend, nid: Nid) {
    let state = |peer: Box<Peer>| peer.reachability.map(|its| its.state);
    let state = backend.ask::<Box<Peer>>(Request::GetPeerNi(nid)).ok().and_then(state);
    if !matches!(state, Some(Reachability::Reachable | Reachability::Degraded)) {
        let target = ProcessId { nid, pid: Pid::LUSTRE };
        let ping = Ping { target, source: None, timeout_ms: Some(PING_TIMEOUT_MS), max_nids: 1 };
        // A failure is what the node's health says already.
        let _ = backend.call(Request::PingPeer(ping));
    }
}

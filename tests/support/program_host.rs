//! Nodes in this process, with the operations of a program, for the tests of drivers.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, missing_docs)]

use lnet_core::memory::MemRange;
use lnet_core::{EqHandle, Event, EventKind, InsertPosition, MatchId, MdMemory, MdOptions, MdSpec, Target};
use lnet_dlc::request::{AddLocalNi, LndTunables, NiTunables};
use lnet_dlc::{Backend, Request};
use lnet_node::{Node, PingRequest, StartConfig};
use lnet_wire::{Errno, NetId, Nid, Pid, ProcessId};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const PORTAL: u32 = 9;
/// The timeout of every wait: far beyond the time of a step, so that only a hang reaches it.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(60);

/// A node with an interface.
pub(crate) struct Host {
    pub(crate) node: Arc<Node>,
    pub(crate) nid: Nid,
    eq: EqHandle,
    events: Mutex<Receiver<Event>>,
}

impl Host {
    /// A node with these interfaces, the first of which has its NID.
    pub(crate) fn with(config: &StartConfig, interfaces: &[(&str, Option<&str>)]) -> Self {
        let node = Node::start(Pid::LUSTRE, config.clone()).unwrap();
        for (net, interface) in interfaces {
            add(&node, net, *interface).unwrap();
        }
        let (heard, events) = channel();
        let heard = Mutex::new(heard);
        let tell = move |event: &Event| heard.lock().unwrap().send(*event).unwrap_or(());
        let eq = node.core().data_path().eq_alloc(0, Some(Box::new(tell))).unwrap();
        let nid = node.core().nets().nis().map(|ni| ni.nid()).find(|nid| !nid.is_loopback()).unwrap();
        Self { node, nid, eq, events: Mutex::new(events) }
    }

    pub(crate) fn ping(&self, to: Nid) -> Result<(), Errno> {
        let target = ProcessId { nid: to, pid: Pid::LUSTRE };
        self.node
            .ping(PingRequest { target, source: None, max_entries: 16, timeout: Some(FOR_EVER) })
            .map(drop)
    }

    /// Offers memory to a PUT or GET with these match bits.
    pub(crate) fn offer(&self, match_bits: u64, memory: &Memory, options: MdOptions) {
        self.attach(match_bits, memory, self.spec(memory, options, 1));
    }

    /// Offers memory to a PUT or GET with these match bits. The events go to the queue that is returned.
    pub(crate) fn offer_to_poll(&self, match_bits: u64, memory: &Memory, options: MdOptions) -> EqHandle {
        let eq = self.node.core().data_path().eq_alloc(8, None).unwrap();
        self.attach(match_bits, memory, MdSpec { eq: Some(eq), ..self.spec(memory, options, 1) });
        eq
    }

    fn attach(&self, match_bits: u64, memory: &Memory, spec: MdSpec) {
        let path = self.node.core().data_path();
        let me = path.me_attach(PORTAL, MatchId::ANY, match_bits, 0, true, InsertPosition::After).unwrap();
        path.md_attach(me, spec, memory.of_md(), true, &mut |_| ()).unwrap();
    }

    pub(crate) fn put(&self, to: Nid, match_bits: u64, memory: &Memory) {
        let path = self.node.core().data_path();
        let md = path.md_bind(self.spec(memory, MdOptions(0), 2), memory.of_md(), true).unwrap();
        path.put(None, md, true, target(to, match_bits), 0).unwrap();
    }

    /// Sends a PUT that ends when it has been sent, or has failed.
    pub(crate) fn put_without_ack(&self, to: Nid, match_bits: u64, memory: &Memory) {
        let path = self.node.core().data_path();
        let md = path.md_bind(self.spec(memory, MdOptions(0), 1), memory.of_md(), true).unwrap();
        path.put(None, md, false, target(to, match_bits), 0).unwrap();
    }

    pub(crate) fn get(&self, from: Nid, match_bits: u64, memory: &Memory) {
        let path = self.node.core().data_path();
        let md = path.md_bind(self.spec(memory, MdOptions(0), 2), memory.of_md(), true).unwrap();
        path.get(None, md, target(from, match_bits)).unwrap();
    }

    /// Waits for an event of this kind; others are left out.
    pub(crate) fn wait_for(&self, kind: EventKind) -> Event {
        self.wait(|event| event.kind == kind)
    }

    /// Waits for the last event of an MD.
    pub(crate) fn wait_for_end(&self) -> Event {
        self.wait(|event| event.unlinked)
    }

    fn wait(&self, is_it: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = self.events.lock().unwrap().recv_timeout(FOR_EVER).unwrap();
            if is_it(&event) {
                return event;
            }
        }
    }

    fn spec(&self, memory: &Memory, options: MdOptions, threshold: i32) -> MdSpec {
        let (start, length) = (memory.bytes.as_ptr() as usize, memory.bytes.len() as u32);
        MdSpec { start, length, threshold, max_size: 0, options, user_ptr: 0, eq: Some(self.eq) }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.node.shutdown();
    }
}

fn target(nid: Nid, match_bits: u64) -> Target {
    Target { nid: Some(nid), pid: Pid::LUSTRE, portal: PORTAL, match_bits, offset: 0 }
}

/// Adds an interface; the error's text if that fails.
pub(crate) fn add(node: &Arc<Node>, net: &str, interface: Option<&str>) -> Result<(), String> {
    let (tunables, lnd) = (NiTunables::default(), LndTunables::default());
    let (net, interface) = (net.parse::<NetId>().unwrap(), interface.map(str::to_owned));
    let request = Request::AddLocalNi(AddLocalNi { net, interface, tunables, lnd, cpts: None });
    (&**node as &dyn Backend).call(request).map(drop).map_err(|error| error.text().to_owned())
}

/// Memory of an MD, in one piece or several.
pub(crate) struct Memory {
    bytes: Box<[u8]>,
    pieces: usize,
}

impl Memory {
    pub(crate) fn empty(len: usize) -> Self {
        Self { bytes: vec![0; len].into(), pieces: 1 }
    }

    /// Memory with bytes that differ from place to place.
    pub(crate) fn pattern(len: usize, seed: usize) -> Self {
        Self { bytes: (0..len).map(|i| ((i * 31 + i / 251 + seed) % 253) as u8).collect(), pieces: 1 }
    }

    pub(crate) fn in_pieces(self, pieces: usize) -> Self {
        Self { pieces, ..self }
    }

    /// The bytes as the driver has written them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.bytes.iter().map(|byte| std::hint::black_box(*byte)).collect()
    }

    fn of_md(&self) -> MdMemory {
        let (address, len) = (self.bytes.as_ptr() as usize, self.bytes.len());
        if self.pieces == 1 {
            return MdMemory::contiguous(address, len as u32);
        }
        let at = |piece: usize| piece * len / self.pieces;
        let runs: Vec<_> = (0..self.pieces)
            .map(|piece| MemRange { address: address + at(piece), len: at(piece + 1) - at(piece) })
            .collect();
        MdMemory::scattered(&runs).unwrap()
    }
}

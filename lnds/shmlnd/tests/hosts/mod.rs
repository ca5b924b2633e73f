//! Nodes of this host, with the operations of a program.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, missing_docs)]

use lnet_core::{EqHandle, Event, EventKind, InsertPosition, MatchId, MdMemory, MdOptions, MdSpec, Target};
use lnet_dlc::request::{AddLocalNi, LndTunables, NiTunables};
use lnet_dlc::{Backend, Request};
use lnet_node::{DriverConfigs, Node, PingRequest, StartConfig};
use lnet_wire::{Errno, NetId, Nid, Pid, ProcessId};
use shmlnd::ShmlndConfig;
use std::sync::atomic::{AtomicU32, Ordering};
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
    /// A node on the net of this host, with rings of this many KiB.
    pub(crate) fn new(ring: u32) -> Self {
        let driver = ShmlndConfig { ring, ..ShmlndConfig::default() };
        let drivers = DriverConfigs::none().with(driver);
        Self::with(&StartConfig { drivers, ..StartConfig::default() }, &[("shm", None)])
    }

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
        let path = self.node.core().data_path();
        let me = path.me_attach(PORTAL, MatchId::ANY, match_bits, 0, true, InsertPosition::After).unwrap();
        path.md_attach(me, self.spec(memory, options, 1), memory.of_md(), true, &mut |_| ()).unwrap();
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
        let (start, length) = (memory.0.as_ptr() as usize, memory.0.len() as u32);
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

/// A net for the nodes of one test.
pub(crate) fn own_net() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("shm{}", 1 + (std::process::id() * 8 + number) % u32::from(u16::MAX))
}

/// Adds an interface; the error's text if that fails.
pub(crate) fn add(node: &Arc<Node>, net: &str, interface: Option<&str>) -> Result<(), String> {
    let (tunables, lnd) = (NiTunables::default(), LndTunables::default());
    let (net, interface) = (net.parse::<NetId>().unwrap(), interface.map(str::to_owned));
    let request = Request::AddLocalNi(AddLocalNi { net, interface, tunables, lnd, cpts: None });
    (&**node as &dyn Backend).call(request).map(drop).map_err(|error| error.text().to_owned())
}

/// Memory of an MD.
pub(crate) struct Memory(Box<[u8]>);

impl Memory {
    pub(crate) fn empty(len: usize) -> Self {
        Self(vec![0; len].into())
    }

    /// Memory with bytes that differ from place to place.
    pub(crate) fn pattern(len: usize, seed: usize) -> Self {
        Self((0..len).map(|i| ((i * 31 + i / 251 + seed) % 253) as u8).collect())
    }

    /// The bytes as the driver has written them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.iter().map(|byte| std::hint::black_box(*byte)).collect()
    }

    fn of_md(&self) -> MdMemory {
        MdMemory::contiguous(self.0.as_ptr() as usize, self.0.len() as u32)
    }
}

//! Nodes on a model of RDMA devices, with the operations of a program.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, dead_code, missing_docs)]

use lnet_core::memory::MemRange;
use lnet_core::{EqHandle, Event, EventKind, InsertPosition, MatchId, MdMemory, MdOptions, MdSpec, Target};
use lnet_dlc::request::{AddLocalNi, LndTunables, NiTunables};
use lnet_dlc::{Backend, Request};
use lnet_node::{DriverConfigs, Node, PingRequest, StartConfig};
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use o2iblnd::O2iblndConfig;
use o2iblnd::device::model::ModelNet;
use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const PORTAL: u32 = 9;
/// The timeout of every wait: far beyond the time of a step, so that only a hang reaches it.
const FOR_EVER: Duration = Duration::from_secs(60);

pub(crate) fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

pub(crate) fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, host)
}

/// A node with an interface for each of these hosts.
pub(crate) struct Host {
    pub(crate) node: Arc<Node>,
    pub(crate) nid: Nid,
    eq: EqHandle,
    events: Mutex<Receiver<Event>>,
}

impl Host {
    pub(crate) fn new(net: &ModelNet, hosts: &[u8], change: impl FnOnce(&mut O2iblndConfig)) -> Self {
        let mut driver = O2iblndConfig { devices: Arc::new(net.clone()), ..O2iblndConfig::default() };
        change(&mut driver);
        let mut config =
            StartConfig { drivers: DriverConfigs::none().with(driver), ..StartConfig::default() };
        config.settings.retry_count = 0;
        let node = Node::start(Pid::LUSTRE, config).unwrap();
        for host in hosts {
            let interface = Some(address(*host).to_string());
            let (tunables, lnd) = (NiTunables::default(), LndTunables::default());
            let net = "o2ib".parse().unwrap();
            let request = Request::AddLocalNi(AddLocalNi { net, interface, tunables, lnd, cpts: None });
            (&*node as &dyn Backend).tell(request).unwrap();
        }
        let (heard, events) = channel();
        let heard = Mutex::new(heard);
        let tell = move |event: &Event| heard.lock().unwrap().send(*event).unwrap_or(());
        let eq = node.core().data_path().eq_alloc(0, Some(Box::new(tell))).unwrap();
        let nid = Nid::new("o2ib".parse().unwrap(), address(hosts[0]).into());
        Self { node, nid, eq, events: Mutex::new(events) }
    }

    pub(crate) fn ping(&self, to: &Self) -> Result<(), Errno> {
        let target = ProcessId { nid: to.nid, pid: Pid::LUSTRE };
        let timeout = Some(FOR_EVER);
        self.node.ping(PingRequest { target, source: None, max_entries: 16, timeout }).map(drop)
    }

    /// Offers memory to PUTs or GETs with these match bits.
    pub(crate) fn offer(&self, match_bits: u64, memory: &Memory, options: MdOptions) {
        let core = self.node.core();
        let me = core
            .data_path()
            .me_attach(PORTAL, MatchId::ANY, match_bits, 0, true, InsertPosition::After)
            .unwrap();
        let spec = self.spec(memory, options, 1);
        core.data_path().md_attach(me, spec, memory.of_md(), true, &mut |_| ()).unwrap();
    }

    /// Offers memory to PUTs or GETs with these match bits. The events go to the queue that is returned.
    pub(crate) fn offer_to_poll(&self, match_bits: u64, memory: &Memory, options: MdOptions) -> EqHandle {
        let path = self.node.core().data_path();
        let eq = path.eq_alloc(8, None).unwrap();
        let me = path.me_attach(PORTAL, MatchId::ANY, match_bits, 0, true, InsertPosition::After).unwrap();
        let spec = MdSpec { eq: Some(eq), ..self.spec(memory, options, 1) };
        path.md_attach(me, spec, memory.of_md(), true, &mut |_| ()).unwrap();
        eq
    }

    pub(crate) fn put(&self, to: &Self, match_bits: u64, memory: &Memory) {
        let core = self.node.core();
        let md = core.data_path().md_bind(self.spec(memory, MdOptions(0), 2), memory.of_md(), true).unwrap();
        core.data_path().put(None, md, true, to.target(match_bits), 0).unwrap();
    }

    pub(crate) fn get(&self, from: &Self, match_bits: u64, memory: &Memory) {
        let core = self.node.core();
        let md = core.data_path().md_bind(self.spec(memory, MdOptions(0), 2), memory.of_md(), true).unwrap();
        core.data_path().get(None, md, from.target(match_bits)).unwrap();
    }

    /// Waits for an event of this kind; others are left out.
    pub(crate) fn wait_for(&self, kind: EventKind) -> Event {
        loop {
            let event = self.events.lock().unwrap().recv_timeout(FOR_EVER).unwrap();
            if event.kind == kind {
                return event;
            }
        }
    }

    /// Waits for the last event of an MD.
    pub(crate) fn wait_for_end(&self) -> Event {
        loop {
            let event = self.events.lock().unwrap().recv_timeout(FOR_EVER).unwrap();
            if event.unlinked {
                return event;
            }
        }
    }

    fn target(&self, match_bits: u64) -> Target {
        Target { nid: Some(self.nid), pid: Pid::LUSTRE, portal: PORTAL, match_bits, offset: 0 }
    }

    fn spec(&self, memory: &Memory, options: MdOptions, threshold: i32) -> MdSpec {
        let (start, length) = (memory.bytes.as_ptr() as usize, memory.len() as u32);
        MdSpec { start, length, threshold, max_size: 0, options, user_ptr: 0, eq: Some(self.eq) }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.node.shutdown();
    }
}

/// Memory of an MD, in one piece or several.
pub(crate) struct Memory {
    bytes: Box<[u8]>,
    pieces: usize,
}

impl Memory {
    pub(crate) fn new(len: usize, pieces: usize, byte: impl Fn(usize) -> u8) -> Self {
        Self { bytes: (0..len).map(byte).collect(), pieces }
    }

    pub(crate) fn empty(len: usize, pieces: usize) -> Self {
        Self::new(len, pieces, |_| 0)
    }

    /// Memory with bytes that differ from place to place.
    pub(crate) fn pattern(len: usize, pieces: usize, seed: usize) -> Self {
        Self::new(len, pieces, |i| ((i * 31 + i / 251 + seed) % 253) as u8)
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes as the device has written them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.bytes.iter().map(|byte| std::hint::black_box(*byte)).collect()
    }

    fn of_md(&self) -> MdMemory {
        let address = self.bytes.as_ptr() as usize;
        let at = |piece: usize| piece * self.len() / self.pieces;
        let runs: Vec<_> = (0..self.pieces)
            .map(|piece| MemRange { address: address + at(piece), len: at(piece + 1) - at(piece) })
            .collect();
        MdMemory::scattered(&runs).unwrap()
    }
}

/// Two nodes.
pub(crate) struct Pair {
    pub(crate) net: ModelNet,
    pub(crate) a: Host,
    pub(crate) b: Host,
}

impl Pair {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(crate) fn with(change: impl Fn(&mut O2iblndConfig)) -> Self {
        let net = ModelNet::default();
        let a = Host::new(&net, &[1], &change);
        let b = Host::new(&net, &[2], &change);
        Self { net, a, b }
    }
}

//! What an operation costs over the InfiniBand driver: two nodes with threads, whose interfaces are on a model of RDMA devices that
//! counts what it is asked to do.
//!
//! ```text
//! o2ib-path put|get BYTES OPERATIONS [kept|fresh]
//! ```
//!
//! `put` is a PUT with its ACK, `get` a GET with its REPLY. All have the same MD on either node (`kept`, the default), or each its
//! own (`fresh`). One line for each count is printed, with the figure for each operation, of both nodes together.
//!
//! Operations follow each other, each with all its events, and nothing is under way where the counts are taken: their difference is
//! what the operations did, the same number every time. Discovery is off, so that the nodes exchange nothing else.
//!
//! It is not a part of `message-path`: the features of the crates that it needs make other code of the core, whose instructions are
//! counted there.
#![forbid(unsafe_code)]

use lnet_core::memory::MemRange;
use lnet_core::{
    DiscoveryMode, EqHandle, Errno, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions,
    MdSpec, Target,
};
use lnet_node::{DriverConfigs, Node, StartConfig};
use lnet_wire::{NetId, NetType, Nid, Pid};
use o2iblnd::O2iblndConfig;
use o2iblnd::device::model::{Counts, ModelNet};
use std::error::Error;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: put|get BYTES OPERATIONS [kept|fresh]";
const PORTAL: u32 = 9;
const MATCH_BITS: u64 = 7;
/// The operations before the counts begin: they connect the nodes, and register what is registered once.
const WARM_UP: u32 = 16;
/// The timeout of every wait: far beyond the time of a step, so that only a hang reaches it.
const FOR_EVER: Duration = Duration::from_secs(60);
/// The time between two looks whether nothing is under way.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (operation, bytes, operations, mds) = match arguments[..] {
        [operation, bytes, operations] => (operation, bytes, operations, "kept"),
        [operation, bytes, operations, mds] => (operation, bytes, operations, mds),
        _ => return Err(USAGE.into()),
    };
    let operation = match operation {
        "put" => Operation::Put,
        "get" => Operation::Get,
        _ => return Err(USAGE.into()),
    };
    let mds = match mds {
        "kept" => Mds::Kept,
        "fresh" => Mds::Fresh,
        _ => return Err(USAGE.into()),
    };
    count(Work { operation, bytes: bytes.parse()?, mds }, operations.parse()?)
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// A PUT with its ACK.
    Put,
    /// A GET with its REPLY.
    Get,
}

/// The MDs of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mds {
    /// One on either node for all operations.
    Kept,
    /// One on either node for each operation.
    Fresh,
}

/// What is counted.
#[derive(Clone, Copy, Debug)]
struct Work {
    operation: Operation,
    bytes: u32,
    mds: Mds,
}

/// Prints each count of `operations` operations, of both nodes together, for each of them.
fn count(work: Work, operations: NonZeroU32) -> Result<(), Box<dyn Error>> {
    let pair = Pair::new(work)?;
    pair.repeat(WARM_UP)?;
    let before = pair.counts_when_quiet()?;
    pair.repeat(operations.get())?;
    let after = pair.counts_when_quiet()?;
    for ((name, after), (_, before)) in after.named().into_iter().zip(before.named()) {
        println!("{name} {:.3}", (after - before) as f64 / f64::from(operations.get()));
    }
    Ok(())
}

/// Two nodes.
struct Pair {
    work: Work,
    net: ModelNet,
    local: Host,
    peer: Host,
    /// The local node's MD, if it is kept.
    md: Option<MdHandle>,
}

impl Pair {
    fn new(work: Work) -> Result<Self, Box<dyn Error>> {
        let net = ModelNet::default();
        let [local, peer] = ["127.0.0.1", "127.0.0.2"].map(|address| Host::new(&net, address, work.bytes));
        let mut pair = Self { work, net, local: local?, peer: peer?, md: None };
        if work.mds == Mds::Kept {
            pair.peer.offer(pair.threshold(1))?;
            pair.md = Some(pair.local.bind(pair.threshold(2))?);
        }
        Ok(pair)
    }

    /// The threshold of an MD that `operations` count against in one operation of the pair.
    const fn threshold(&self, operations: i32) -> i32 {
        match self.work.mds {
            Mds::Kept => -1,
            Mds::Fresh => operations,
        }
    }

    fn repeat(&self, operations: u32) -> Result<(), Box<dyn Error>> {
        (0..operations).try_for_each(|_| self.run_one())
    }

    fn run_one(&self) -> Result<(), Box<dyn Error>> {
        let md = match self.md {
            Some(md) => md,
            None => {
                self.peer.offer(self.threshold(1))?;
                self.local.bind(self.threshold(2))?
            }
        };
        let target = Target {
            nid: Some(self.peer.nid),
            pid: Pid::LUSTRE,
            portal: PORTAL,
            match_bits: MATCH_BITS,
            offset: 0,
        };
        let requests = self.local.node.core().data_path();
        match self.work.operation {
            Operation::Put => {
                requests.put(None, md, true, target, 0)?;
                self.peer.expect(&[EventKind::Put])?;
                self.local.expect(&[EventKind::Send, EventKind::Ack])
            }
            Operation::Get => {
                requests.get(None, md, target)?;
                self.local.expect(&[EventKind::Send, EventKind::Reply])?;
                self.peer.expect(&[EventKind::Get])
            }
        }
    }

    /// The counts as soon as nothing is under way, and the registrations of MDs that have ended have ended.
    fn counts_when_quiet(&self) -> Result<Counts, Box<dyn Error>> {
        let memory = [self.local.range(), self.peer.range()];
        let are_left =
            || self.work.mds == Mds::Fresh && memory.iter().any(|range| self.net.is_registered(*range));
        let deadline = Instant::now() + FOR_EVER;
        while !self.net.is_quiet() || are_left() {
            if Instant::now() > deadline {
                return Err(format!("the nodes do not become quiet: {:?}", self.net.counts()).into());
            }
            thread::sleep(LOOK_AGAIN);
        }
        Ok(self.net.counts())
    }
}

/// A node with one interface.
struct Host {
    node: Arc<Node>,
    nid: Nid,
    eq: EqHandle,
    memory: Box<[u8]>,
}

impl Host {
    fn new(net: &ModelNet, address: &str, bytes: u32) -> Result<Self, Box<dyn Error>> {
        let driver = O2iblndConfig { devices: Arc::new(net.clone()), ..O2iblndConfig::default() };
        let mut config =
            StartConfig { drivers: DriverConfigs::none().with(driver), ..StartConfig::default() };
        config.settings.discovery = DiscoveryMode::Off;
        let node = Node::start(Pid::LUSTRE, config)?;
        let nid = node.add_ni(NetId::new(NetType::O2IB, 0), Some(address))?;
        let eq = node.core().data_path().eq_alloc(16, None)?;
        Ok(Self { node, nid, eq, memory: vec![0; bytes as usize].into_boxed_slice() })
    }

    fn range(&self) -> MemRange {
        MemRange { address: self.memory.as_ptr() as usize, len: self.memory.len() }
    }

    /// Makes an MD for PUTs and GETs of the other node, and unlinks it at its threshold.
    fn offer(&self, threshold: i32) -> Result<(), Errno> {
        let both = MdOptions(MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0);
        let (spec, memory) = self.descriptor(both, threshold);
        let targets = self.node.core().data_path();
        let me = targets.me_attach(PORTAL, MatchId::ANY, MATCH_BITS, 0, true, InsertPosition::After)?;
        targets.md_attach(me, spec, memory, true, &mut |_| ())
    }

    /// Makes an MD for PUTs and GETs of this node, and unlinks it at its threshold.
    fn bind(&self, threshold: i32) -> Result<MdHandle, Errno> {
        let (spec, memory) = self.descriptor(MdOptions(0), threshold);
        self.node.core().data_path().md_bind(spec, memory, true)
    }

    fn descriptor(&self, options: MdOptions, threshold: i32) -> (MdSpec, MdMemory) {
        let MemRange { address: start, len } = self.range();
        let length = len as u32;
        let spec = MdSpec { start, length, threshold, max_size: 0, options, user_ptr: 0, eq: Some(self.eq) };
        (spec, MdMemory::contiguous(start, length))
    }

    /// Waits for as many events, which have to be of these kinds.
    fn expect(&self, kinds: &[EventKind]) -> Result<(), Box<dyn Error>> {
        let mut missing = kinds.to_vec();
        while !missing.is_empty() {
            let (_, polled) = self.node.eq_poll(&[self.eq], Some(FOR_EVER))?.ok_or("no event has come")?;
            let event = polled.event;
            let at = missing.iter().position(|kind| *kind == event.kind && event.status.is_ok());
            missing.remove(at.ok_or_else(|| format!("expected {missing:?}, got {event:?}"))?);
        }
        Ok(())
    }
}

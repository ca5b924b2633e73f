//! Operations over TCP between two nodes that one thread drives, for counting instructions.
//!
//! ```text
//! tcp-path OPERATIONS
//! ```
//!
//! An operation is a PUT of 8 B with its ACK. They follow each other, each with all its events. A thread posts them, and waits for the
//! events of the one node and of the other, as a program's thread does: so it sends and receives itself, and when it looks into a socket
//! the bytes are there. What is counted is [`run_one`] in that thread; those of the nodes have nothing to do. There is no GET: its last
//! event comes with a delivery ACK, which waits for a message with which it can leave.
#![forbid(unsafe_code)]

use lnet_core::{
    DiscoveryMode, EqHandle, Errno, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions,
    MdSpec, Target,
};
use lnet_node::{DriverConfigs, Node, StartConfig};
use lnet_wire::{NetId, NetType, Nid, Pid};
use socklnd::{AcceptFrom, SocklndConfig};
use std::error::Error;
use std::net::TcpListener;
use std::sync::Arc;

const USAGE: &str = "usage: OPERATIONS";
const PORTAL: u32 = 9;
const MATCH_BITS: u64 = 7;
/// The operations before those that are counted: they connect the nodes.
const WARM_UP: u32 = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [operations] = arguments[..] else { return Err(USAGE.into()) };
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let (local, peer) = (Host::new("127.0.0.1", port)?, Host::new("127.0.0.2", port)?);
    let md = local.bind()?;
    peer.offer()?;
    (0..WARM_UP).try_for_each(|_| run(&local, &peer, md))?;
    (0..operations.parse()?).try_for_each(|_| run_one(&local, &peer, md))
}

/// One operation that is counted.
#[inline(never)]
fn run_one(local: &Host, peer: &Host, md: MdHandle) -> Result<(), Box<dyn Error>> {
    run(local, peer, md)
}

fn run(local: &Host, peer: &Host, md: MdHandle) -> Result<(), Box<dyn Error>> {
    let target =
        Target { nid: Some(peer.nid), pid: Pid::LUSTRE, portal: PORTAL, match_bits: MATCH_BITS, offset: 0 };
    local.node.core().data_path().put(None, md, true, target, 0)?;
    peer.expect(EventKind::Put)?;
    local.expect_both(EventKind::Send, EventKind::Ack)
}

/// A node with one interface.
struct Host {
    node: Arc<Node>,
    nid: Nid,
    eq: EqHandle,
    memory: Box<[u8]>,
}

impl Host {
    fn new(address: &str, port: u16) -> Result<Self, Box<dyn Error>> {
        let driver = SocklndConfig { accept: AcceptFrom::All, accept_port: port, ..SocklndConfig::default() };
        let mut config =
            StartConfig { drivers: DriverConfigs::none().with(driver), ..StartConfig::default() };
        config.settings.discovery = DiscoveryMode::Off;
        let node = Node::start(Pid::LUSTRE, config)?;
        let nid = node.add_ni(NetId::new(NetType::TCP, 0), Some(address))?;
        let eq = node.core().data_path().eq_alloc(16, None)?;
        Ok(Self { node, nid, eq, memory: vec![0; 8].into_boxed_slice() })
    }

    /// Makes an MD for PUTs of the other node.
    fn offer(&self) -> Result<(), Errno> {
        let (spec, memory) = self.descriptor(MdOptions(MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0));
        let targets = self.node.core().data_path();
        let me = targets.me_attach(PORTAL, MatchId::ANY, MATCH_BITS, 0, true, InsertPosition::After)?;
        targets.md_attach(me, spec, memory, true, &mut |_| ())
    }

    /// Makes an MD for PUTs of this node.
    fn bind(&self) -> Result<MdHandle, Errno> {
        let (spec, memory) = self.descriptor(MdOptions(0));
        self.node.core().data_path().md_bind(spec, memory, true)
    }

    fn descriptor(&self, options: MdOptions) -> (MdSpec, MdMemory) {
        let (start, length) = (self.memory.as_ptr() as usize, self.memory.len() as u32);
        let spec =
            MdSpec { start, length, threshold: -1, max_size: 0, options, user_ptr: 0, eq: Some(self.eq) };
        (spec, MdMemory::contiguous(start, length))
    }

    fn expect(&self, kind: EventKind) -> Result<(), Box<dyn Error>> {
        match self.next()? {
            found if found == kind => Ok(()),
            found => Err(format!("{found:?} in place of {kind:?}").into()),
        }
    }

    /// Waits for two events, in any order.
    fn expect_both(&self, one: EventKind, other: EventKind) -> Result<(), Box<dyn Error>> {
        let found = [self.next()?, self.next()?];
        if found == [one, other] || found == [other, one] {
            return Ok(());
        }
        Err(format!("{found:?} in place of {one:?} and {other:?}").into())
    }

    fn next(&self) -> Result<EventKind, Box<dyn Error>> {
        let (_, polled) = self.node.eq_poll(&[self.eq], None)?.ok_or("no event")?;
        Ok(polled.event.kind)
    }
}

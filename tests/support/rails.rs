//! Two nodes of this process, on two machines with several network cards on one switch: every card of the one reaches
//! every card of the other.

use super::machines::{Machines, Wiring};
use lnet_core::{EqHandle, EventKind, InsertPosition, MatchId, MdMemory, MdOptions, MdSpec, Target};
use lnet_node::{Node, StartConfig};
use lnet_wire::{Nid, Pid};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Two nodes with as many rails each, all on net `tcp`.
pub struct Rails {
    pub near: Arc<Node>,
    pub far: Arc<Node>,
    /// The near machine and the far one, where they are not this one.
    machines: Option<Machines>,
}

/// The address of a card: the first machine's are 10.77.0.1 and on, the second's 10.77.0.101 and on.
pub fn address(machine: usize, card: usize) -> String {
    WIRING.address(machine, card)
}

const WIRING: Wiring = Wiring::OneSwitch;

impl Rails {
    /// Makes the machines and starts a node on each. `megabits` limits both directions of a card, by its number.
    /// `None`: it cannot be done here, or has been done elsewhere.
    pub fn or_skip(cards: usize, megabits: impl Fn(usize) -> Option<u32>) -> Option<Self> {
        Some(Self::undiscovered_or_skip(cards, megabits, Discovery::Off)?.introduced())
    }

    /// The same rails, but neither node knows the other.
    pub fn undiscovered_or_skip(
        cards: usize,
        megabits: impl Fn(usize) -> Option<u32>,
        discovery: Discovery,
    ) -> Option<Self> {
        let machines = Machines::or_skip(2, cards, WIRING, megabits)?;
        let networks: Vec<String> = (0..cards).map(|card| format!("eth{card}")).collect();
        let networks = format!("tcp({})", networks.join(","));
        let [near, far] = [0, 1].map(|machine| machines.on(machine, || node(&networks, "988", discovery)));
        let rails = Self { near, far, machines: Some(machines) };
        // The kernel needs some time to report that a link has a carrier.
        wait_until("all cards work", || {
            [&rails.near, &rails.far].iter().all(|node| node.core().nets().nis().all(|ni| !ni.is_fatal()))
        });
        Some(rails)
    }

    /// Starts two nodes on the loopback interface, with networks in the form of `LNET_NETWORKS`: nothing limits the rates,
    /// and every address reaches every other.
    pub fn on_loopback(near: &str, far: &str) -> Self {
        Self::undiscovered_on_loopback(near, far).introduced()
    }

    /// Does the same, but each node takes every NID of the other for a separate node.
    pub fn undiscovered_on_loopback(near: &str, far: &str) -> Self {
        let port = TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port().to_string();
        let node = |networks| node(networks, &port, Discovery::Off);
        Self { near: node(near), far: node(far), machines: None }
    }

    /// Rails between two nodes that run already.
    pub const fn between(near: Arc<Node>, far: Arc<Node>) -> Self {
        Self { near, far, machines: None }
    }

    /// Makes each node know the other as one peer.
    fn introduced(self) -> Self {
        let Self { near, far, .. } = &self;
        for (node, other) in [(near, far), (far, near)] {
            let nids = nids(other);
            node.core().admin().make_peer(nids[0], true, false).unwrap();
            for nid in &nids[1..] {
                node.core().admin().add_peer_nid(nids[0], *nid, true).unwrap();
            }
        }
        self
    }

    /// The same rails in the view of the other node.
    pub fn turned(&self) -> Self {
        Self { near: Arc::clone(&self.far), far: Arc::clone(&self.near), machines: None }
    }

    /// Runs `ip` on a machine, each time with other arguments.
    pub fn ip_on(&self, machine: usize, commands: &[&[&str]]) {
        self.machines.as_ref().unwrap().ip_on(machine, commands);
    }

    /// Moves `messages` messages of `len` bytes, `in_flight` at once, each known to have arrived.
    pub fn transfer(&self, how: Transfer, messages: usize, len: usize, in_flight: usize) {
        let (mut mine, mut theirs) = (vec![1_u8; len], vec![2_u8; len]);
        let (near, far) = (self.near.core(), self.far.core());
        let me = far.data_path().me_attach(PORTAL, MatchId::ANY, 1, 0, true, InsertPosition::After).unwrap();
        let options = MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0;
        let (theirs_spec, memory) = spec(&mut theirs, options, None);
        far.data_path().md_attach(me, theirs_spec, memory, false, &mut |_| ()).unwrap();
        let eq = near.data_path().eq_alloc(1024, None).unwrap();
        let (mine_spec, memory) = spec(&mut mine, 0, Some(eq));
        let md = near.data_path().md_bind(mine_spec, memory, false).unwrap();
        let target = Target {
            nid: Some(nids(&self.far)[0]),
            pid: Pid::LUSTRE,
            portal: PORTAL,
            match_bits: 1,
            offset: 0,
        };
        let (mut sent, mut arrived) = (0, 0);
        while arrived < messages {
            while sent < messages && sent - arrived < in_flight {
                match how {
                    Transfer::Put => near.data_path().put(None, md, true, target, 0).unwrap(),
                    Transfer::Get => near.data_path().get(None, md, target).unwrap(),
                }
                sent += 1;
            }
            let (_, polled) = self.near.eq_poll(&[eq], Some(FOR_EVER)).unwrap().expect("an event in time");
            assert_eq!(polled.event.status, Ok(()));
            arrived += usize::from(matches!(polled.event.kind, EventKind::Ack | EventKind::Reply));
        }
        near.data_path().md_unlink(md).unwrap();
        far.data_path().me_unlink(me).unwrap();
        match how {
            Transfer::Put => assert!(theirs.iter().all(|byte| *byte == 1), "not what was sent"),
            Transfer::Get => assert!(mine.iter().all(|byte| *byte == 2), "not what was asked for"),
        }
    }

    /// Ends both nodes.
    pub fn shutdown(self) {
        self.near.shutdown();
        self.far.shutdown();
    }
}

/// Whether nodes look for each other's NIDs by themselves.
#[derive(Clone, Copy, Debug)]
pub enum Discovery {
    Off,
    On,
}

/// The operation by which data is transferred, and so its direction.
#[derive(Clone, Copy, Debug)]
pub enum Transfer {
    /// PUTs from near to far, with ACKs.
    Put,
    /// GETs by near from far.
    Get,
}

const PORTAL: u32 = 9;
/// The timeout of every wait: far beyond the time of a step, so that only a hang reaches it.
const FOR_EVER: Duration = Duration::from_secs(60);

/// Waits until `is_so` returns true.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + FOR_EVER;
    while !is_so() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        thread::yield_now();
    }
}

/// The NID of a card.
pub fn nid(machine: usize, card: usize) -> Nid {
    WIRING.nid(machine, card)
}

fn spec(memory: &mut [u8], options: u32, eq: Option<EqHandle>) -> (MdSpec, MdMemory) {
    let (start, length) = (memory.as_mut_ptr() as usize, memory.len() as u32);
    let options = MdOptions(options);
    let spec = MdSpec { start, length, threshold: -1, max_size: 0, options, user_ptr: 0, eq };
    (spec, MdMemory::contiguous(start, length))
}

/// The command that fills the routing table for packets from a card's address, which is necessary again after the link was down
/// or had no address.
pub fn route(card: usize) -> [String; 7] {
    WIRING.route(card)
}

fn node(networks: &str, port: &str, discovery: Discovery) -> Arc<Node> {
    node_with(networks, "", port, discovery, &[])
}

/// A node with routes, in the form of `LNET_ROUTES`, and other variables, which count before those of this function.
pub fn node_with(
    networks: &str,
    routes: &str,
    port: &str,
    discovery: Discovery,
    others: &[(&str, &str)],
) -> Arc<Node> {
    let other = |variable: &str| others.iter().find(|(name, _)| *name == variable);
    let config = StartConfig::from_lookup(|variable| match variable {
        _ if other(variable).is_some() => other(variable).map(|(_, value)| (*value).to_owned()),
        "LNET_NETWORKS" => Some(networks.to_owned()),
        "LNET_ROUTES" if !routes.is_empty() => Some(routes.to_owned()),
        "LNET_ACCEPT" => Some("all".to_owned()),
        "LNET_ACCEPT_PORT" => Some(port.to_owned()),
        // Only the messages of the test are to be counted.
        "LNET_DISCOVERY" => Some((discovery as u8).to_string()),
        "LNET_FIRST_PING" => Some("0".to_owned()),
        // A rail is not given up because a busy machine is slow.
        "SOCKLND_UNRESPONSIVE_MS" => Some("0".to_owned()),
        _ => None,
    });
    Node::start(Pid::LUSTRE, config.unwrap()).unwrap()
}

/// A node's NIDs but the loopback.
pub fn nids(node: &Node) -> Vec<Nid> {
    node.core().nets().nis().map(|ni| ni.nid()).filter(|nid| !nid.is_loopback()).collect()
}

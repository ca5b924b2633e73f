//! Two machines with several network cards on one switch, as network namespaces of the test's own.
//!
//! Every card of the one reaches every card of the other, and what leaves by an address leaves by its card:
//! routing by source and answers to ARP by the card that is asked, as hosts with several interfaces on one
//! net need it.

use super::netns::{empty_namespace_or_skip, enter_new_network_namespace, ip};
use lnet_core::{EqHandle, EventKind, InsertPosition, MatchId, MdMemory, MdOptions, MdSpec, Target};
use lnet_node::{Node, StartConfig};
use lnet_wire::{Nid, Pid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Two nodes with as many rails each, all on net `tcp`.
pub struct Rails {
    pub near: Arc<Node>,
    pub far: Arc<Node>,
    /// The network namespaces of the near machine and of the far one, where they have some of their own.
    machines: Vec<OwnedFd>,
}

/// The address of a card: the first machine's are 10.77.0.1 and on, the second's 10.77.0.101 and on.
pub fn address(machine: usize, card: usize) -> String {
    format!("10.77.0.{}", machine * 100 + card + 1)
}

impl Rails {
    /// Makes the machines and starts a node on each. `megabits` limits both directions of a card, by its number.
    /// `None`: it cannot be done here, or has been done elsewhere.
    pub fn or_skip(cards: usize, megabits: impl Fn(usize) -> Option<u32>) -> Option<Self> {
        Some(Self::strangers_or_skip(cards, megabits, Discovery::Off)?.introduced())
    }

    /// The same, but neither node knows the other.
    pub fn strangers_or_skip(
        cards: usize,
        megabits: impl Fn(usize) -> Option<u32>,
        discovery: Discovery,
    ) -> Option<Self> {
        // This thread's namespace is the switch.
        empty_namespace_or_skip()?;
        ip(&["link", "add", "switch", "type", "bridge"]);
        ip(&["link", "set", "switch", "up"]);
        let switch = rustix::thread::gettid().as_raw_nonzero().to_string();
        let limits: Vec<Option<u32>> = (0..cards).map(megabits).collect();
        let machine = |number: usize| {
            let (switch, limits) = (switch.clone(), limits.clone());
            let (ready, done) = channel();
            thread::spawn(move || ready.send(start(number, &switch, &limits, discovery)));
            done.recv().expect("a machine to start")
        };
        let ((near, its), (far, the_others)) = (machine(0), machine(1));
        for machine in 0..2 {
            for card in 0..cards {
                let port = port(machine, card);
                ip(&["link", "set", &port, "master", "switch", "up"]);
            }
        }
        let rails = Self { near, far, machines: vec![its, the_others] };
        // The kernel takes its time to say that a link has a carrier.
        wait_until("all cards work", || {
            [&rails.near, &rails.far].iter().all(|node| node.core().nets().nis().all(|ni| !ni.is_fatal()))
        });
        Some(rails)
    }

    /// Two nodes on the loopback interface, with networks as `LNET_NETWORKS` has them: nothing limits them, and
    /// every address reaches every other.
    pub fn on_loopback(near: &str, far: &str) -> Self {
        Self::strangers_on_loopback(near, far).introduced()
    }

    /// The same, but each takes every NID of the other's for a node of its own.
    pub fn strangers_on_loopback(near: &str, far: &str) -> Self {
        let port = TcpListener::bind(("0.0.0.0", 0)).unwrap().local_addr().unwrap().port().to_string();
        let node = |networks| node(networks, &port, Discovery::Off);
        Self { near: node(near), far: node(far), machines: Vec::new() }
    }

    /// Each node knows the other as one peer.
    fn introduced(self) -> Self {
        let Self { near, far, .. } = &self;
        for (node, other) in [(near, far), (far, near)] {
            let nids = nids(other);
            node.core().make_peer(nids[0], true, false).unwrap();
            for nid in &nids[1..] {
                node.core().add_peer_nid(nids[0], *nid, true).unwrap();
            }
        }
        self
    }

    /// The same rails, from the other end.
    pub fn turned(&self) -> Self {
        Self { near: Arc::clone(&self.far), far: Arc::clone(&self.near), machines: Vec::new() }
    }

    /// Runs `ip` on a machine, each time with other arguments.
    pub fn ip_on(&self, machine: usize, commands: &[&[&str]]) {
        let namespace = self.machines[machine].as_fd();
        thread::scope(|scope| {
            let there = scope.spawn(|| {
                move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network)).unwrap();
                commands.iter().for_each(|command| ip(command));
            });
            there.join().unwrap();
        });
    }

    /// Moves `messages` messages of `len` bytes, `in_flight` at once, each known to have arrived.
    pub fn transfer(&self, how: Transfer, messages: usize, len: usize, in_flight: usize) {
        let (mut mine, mut theirs) = (vec![1_u8; len], vec![2_u8; len]);
        let (near, far) = (self.near.core(), self.far.core());
        let me = far.me_attach(PORTAL, MatchId::ANY, 1, 0, true, InsertPosition::After).unwrap();
        let options = MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0;
        let (theirs_spec, memory) = spec(&mut theirs, options, None);
        far.md_attach(me, theirs_spec, memory, false, &mut |_| ()).unwrap();
        let eq = near.eq_alloc(1024, None).unwrap();
        let (mine_spec, memory) = spec(&mut mine, 0, Some(eq));
        let md = near.md_bind(mine_spec, memory, false).unwrap();
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
                    Transfer::Put => near.put(None, md, true, target, 0).unwrap(),
                    Transfer::Get => near.get(None, md, target).unwrap(),
                }
                sent += 1;
            }
            let (_, polled) = self.near.eq_poll(&[eq], Some(FOR_EVER)).unwrap().expect("an event in time");
            assert_eq!(polled.event.status, Ok(()));
            arrived += usize::from(matches!(polled.event.kind, EventKind::Ack | EventKind::Reply));
        }
        near.md_unlink(md).unwrap();
        far.me_unlink(me).unwrap();
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

/// Which way data goes.
#[derive(Clone, Copy, Debug)]
pub enum Transfer {
    /// From near to far, confirmed.
    Put,
    /// From far to near.
    Get,
}

const PORTAL: u32 = 9;
/// Far beyond what any step takes; only a hang gets there.
const FOR_EVER: Duration = Duration::from_secs(60);

/// Waits until it is so.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + FOR_EVER;
    while !is_so() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        thread::yield_now();
    }
}

/// The NID of a card.
pub fn nid(machine: usize, card: usize) -> Nid {
    format!("{}@tcp", address(machine, card)).parse().unwrap()
}

fn spec(memory: &mut [u8], options: u32, eq: Option<EqHandle>) -> (MdSpec, MdMemory) {
    let (start, length) = (memory.as_mut_ptr() as usize, memory.len() as u32);
    let options = MdOptions(options);
    let spec = MdSpec { start, length, threshold: -1, max_size: 0, options, user_ptr: 0, eq };
    (spec, MdMemory::contiguous(start, length))
}

/// On a machine of its own: its cards, and a node on all of them.
fn start(
    machine: usize,
    switch: &str,
    megabits: &[Option<u32>],
    discovery: Discovery,
) -> (Arc<Node>, OwnedFd) {
    assert!(enter_new_network_namespace(), "a second network namespace");
    ip(&["link", "set", "lo", "up"]);
    for (card, limit) in megabits.iter().enumerate() {
        let (name, port, address) = (format!("eth{card}"), port(machine, card), address(machine, card));
        ip(&["link", "add", &name, "type", "veth", "peer", "name", &port, "netns", switch]);
        ip(&["address", "add", &format!("{address}/24"), "dev", &name]);
        setting(&name, "arp_ignore", "1");
        setting(&name, "arp_announce", "2");
        setting(&name, "rp_filter", "0");
        ip(&["link", "set", &name, "up"]);
        ip(&route(card).each_ref().map(|word| word.as_str()));
        ip(&["rule", "add", "from", &address, "lookup", &table(card)]);
        if let Some(limit) = limit {
            let rate = format!("{limit}mbit");
            let words = [
                "qdisc", "add", "dev", &name, "root", "tbf", "rate", &rate, "burst", "64kb", "latency",
                "50ms",
            ];
            // Not in everybody's PATH.
            let status = Command::new("/sbin/tc").args(words).status().expect("the tc command (iproute2)");
            assert!(status.success(), "tc {words:?}");
        }
    }
    let networks: Vec<String> = (0..megabits.len()).map(|card| format!("eth{card}")).collect();
    let networks = format!("tcp({})", networks.join(","));
    let namespace = fs::File::open("/proc/thread-self/ns/net").unwrap();
    (node(&networks, "988", discovery), namespace.into())
}

/// The end of a card's cable at the switch.
pub fn port(machine: usize, card: usize) -> String {
    format!("m{machine}c{card}")
}

/// The table of routes for what leaves by a card.
fn table(card: usize) -> String {
    (100 + card).to_string()
}

/// The command that fills it, which is needed again after the link was down or had no address.
pub fn route(card: usize) -> [String; 7] {
    let (name, table) = (format!("eth{card}"), table(card));
    ["route", "replace", "10.77.0.0/24", "dev", &name, "table", &table].map(str::to_owned)
}

fn node(networks: &str, port: &str, discovery: Discovery) -> Arc<Node> {
    let config = StartConfig::from_lookup(|variable| match variable {
        "LNET_NETWORKS" => Some(networks.to_owned()),
        "LNET_ACCEPT" => Some("all".to_owned()),
        "LNET_ACCEPT_PORT" => Some(port.to_owned()),
        // What is counted is to be what a test sends.
        "LNET_DISCOVERY" => Some((discovery as u8).to_string()),
        "LNET_FIRST_PING" => Some("0".to_owned()),
        _ => None,
    });
    Node::start(Pid::LUSTRE, config.unwrap()).unwrap()
}

/// A node's NIDs but the loopback.
pub fn nids(node: &Node) -> Vec<Nid> {
    node.core().nets().nis().map(|ni| ni.nid()).filter(|nid| !nid.is_loopback()).collect()
}

/// A setting of IPv4 on an interface of the calling thread's namespace.
fn setting(interface: &str, name: &str, value: &str) {
    // What /proc/sys shows is the namespace of the one who reads it: the thread.
    fs::write(format!("/proc/sys/net/ipv4/conf/{interface}/{name}"), value).unwrap();
}

//! Machines with several network cards, as network namespaces of the test, and the switches between them.
//!
//! Packets leave by the card that has their source address, as far as it reaches: source routing and ARP replies by
//! the requested card are configured as on hosts with several interfaces.

use super::netns::{empty_namespace_or_skip, enter_new_network_namespace, ip};
use lnet_wire::Nid;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;

/// The wiring of the cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wiring {
    /// All cards are on one switch and in one subnet: each reaches each.
    OneSwitch,
    /// The cards of one number are on a switch and in their own subnet. A machine reaches an address of another
    /// card's subnet by that card, from any source.
    SwitchPerCard,
}

impl Wiring {
    /// The address of a card. On one switch the first machine's are 10.77.0.1 and on, the second's 10.77.0.101 and on;
    /// otherwise the first machine has 10.78.CARD.11, the second 10.78.CARD.12.
    pub fn address(self, machine: usize, card: usize) -> String {
        match self {
            Self::OneSwitch => format!("10.77.0.{}", machine * 100 + card + 1),
            Self::SwitchPerCard => format!("10.78.{card}.{}", machine + 11),
        }
    }

    /// The IPv6 address that [`Machines::with_v6`] adds to a card: beside the first machine's 10.78.CARD.11 it is fd78:CARD::11.
    pub fn v6_address(self, machine: usize, card: usize) -> String {
        match self {
            Self::OneSwitch => format!("fd77::{}", machine * 100 + card + 1),
            Self::SwitchPerCard => format!("fd78:{card}::{}", machine + 11),
        }
    }

    /// The NID of a card on net `tcp`.
    pub fn nid(self, machine: usize, card: usize) -> Nid {
        format!("{}@tcp", self.address(machine, card)).parse().unwrap()
    }

    /// The switch that a card's cable goes to.
    pub fn switch(self, card: usize) -> String {
        match self {
            Self::OneSwitch => "switch".to_owned(),
            Self::SwitchPerCard => format!("switch{card}"),
        }
    }

    fn subnet(self, card: usize) -> String {
        match self {
            Self::OneSwitch => "10.77.0.0/24".to_owned(),
            Self::SwitchPerCard => format!("10.78.{card}.0/24"),
        }
    }

    /// The command that fills the routing table for packets from a card's address, which is necessary again after the link was
    /// down or had no address.
    pub fn route(self, card: usize) -> [String; 7] {
        let (name, table, subnet) = (format!("eth{card}"), table(card), self.subnet(card));
        ["route", "replace", &subnet, "dev", &name, "table", &table].map(str::to_owned)
    }
}

/// Machines that are network namespaces, with cards and switches.
#[derive(Debug)]
pub struct Machines {
    wiring: Wiring,
    cards: usize,
    /// The network namespace of the switches.
    middle: OwnedFd,
    machines: Vec<OwnedFd>,
}

impl Machines {
    /// Creates the machines and moves the calling thread to the namespace of the switches. `megabits` limits the rate of each
    /// card, by its number. `None`: it cannot be done here, or has been done in another process.
    pub fn or_skip(
        count: usize,
        cards: usize,
        wiring: Wiring,
        megabits: impl Fn(usize) -> Option<u32>,
    ) -> Option<Self> {
        empty_namespace_or_skip()?;
        let middle = namespace();
        let switch_thread = rustix::thread::gettid().as_raw_nonzero().to_string();
        for switch in switches(wiring, cards) {
            ip(&["link", "add", &switch, "type", "bridge"]);
            ip(&["link", "set", &switch, "up"]);
        }
        let limits: Vec<Option<u32>> = (0..cards).map(megabits).collect();
        let machines = (0..count)
            .map(|machine| {
                let (switch_thread, limits) = (switch_thread.clone(), limits.clone());
                let (ready, done) = channel();
                thread::spawn(move || ready.send(make(machine, &switch_thread, wiring, &limits)));
                done.recv().expect("a machine")
            })
            .collect();
        let made = Self { wiring, cards, middle, machines };
        for machine in 0..count {
            for card in 0..cards {
                ip(&["link", "set", &port(machine, card), "master", &wiring.switch(card), "up"]);
            }
        }
        Some(made)
    }

    /// The same machines with an IPv6 address on each card, too.
    pub fn with_v6(self) -> Self {
        for machine in 0..self.machines.len() {
            for card in 0..self.cards {
                let (name, address) = (format!("eth{card}"), self.wiring.v6_address(machine, card));
                // Without the last word an IPv6 address is not usable at once.
                self.ip_on(machine, &[&["address", "add", &format!("{address}/64"), "dev", &name, "nodad"]]);
            }
        }
        self
    }

    /// The wiring of the machines.
    pub const fn wiring(&self) -> Wiring {
        self.wiring
    }

    /// Cards of each machine.
    pub const fn cards(&self) -> usize {
        self.cards
    }

    /// Runs `work` on a machine. Threads and processes that it starts stay there.
    pub fn on<T: Send>(&self, machine: usize, work: impl FnOnce() -> T + Send) -> T {
        within(&self.machines[machine], work)
    }

    /// Runs `work` in the namespace of the switches.
    pub fn in_the_middle<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        within(&self.middle, work)
    }

    /// Runs `ip` on a machine, each time with other arguments.
    pub fn ip_on(&self, machine: usize, commands: &[&[&str]]) {
        self.on(machine, || commands.iter().for_each(|command| ip(command)));
    }
}

/// The end of a card's cable at the switch.
pub fn port(machine: usize, card: usize) -> String {
    format!("m{machine}c{card}")
}

/// Runs a command of iproute2 other than `ip`, which is not in everybody's PATH.
pub fn run(program: &str, arguments: &[&str]) {
    let path = ["/sbin/", "/usr/sbin/", "/bin/", "/usr/bin/"].map(|place| format!("{place}{program}"));
    let path = path.iter().find(|path| fs::exists(path).unwrap_or(false)).expect(program);
    let output = Command::new(path).args(arguments).output().expect("a command of iproute2");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {}: {error}", arguments.join(" "));
}

fn switches(wiring: Wiring, cards: usize) -> Vec<String> {
    let mut switches: Vec<String> = (0..cards).map(|card| wiring.switch(card)).collect();
    switches.dedup();
    switches
}

/// Opens the network namespace of the calling thread.
fn namespace() -> OwnedFd {
    fs::File::open("/proc/thread-self/ns/net").unwrap().into()
}

fn within<T: Send>(namespace: &OwnedFd, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let there = scope.spawn(|| {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            work()
        });
        there.join().unwrap()
    })
}

/// The routing table for packets from a card's address.
fn table(card: usize) -> String {
    (100 + card).to_string()
}

/// Moves the calling thread to a new machine, with its cards.
fn make(machine: usize, switch_thread: &str, wiring: Wiring, megabits: &[Option<u32>]) -> OwnedFd {
    assert!(enter_new_network_namespace(), "a second network namespace");
    ip(&["link", "set", "lo", "up"]);
    // Every kernel has this one. Others, such as BBR, take a busy machine for a slow network, and wait.
    fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno").unwrap();
    for (card, limit) in megabits.iter().enumerate() {
        let (name, port, address) =
            (format!("eth{card}"), port(machine, card), wiring.address(machine, card));
        ip(&["link", "add", &name, "type", "veth", "peer", "name", &port, "netns", switch_thread]);
        ip(&["address", "add", &format!("{address}/24"), "dev", &name]);
        setting(&name, "arp_ignore", "1");
        setting(&name, "arp_announce", "2");
        setting(&name, "rp_filter", "0");
        ip(&["link", "set", &name, "up"]);
        ip(&wiring.route(card).each_ref().map(|word| word.as_str()));
        ip(&["rule", "add", "from", &address, "lookup", &table(card)]);
        if let Some(limit) = limit {
            let rate = format!("{limit}mbit");
            let shape = ["root", "tbf", "rate", &rate, "burst", "256kb", "latency", "400ms"];
            run("tc", &[&["qdisc", "add", "dev", &name], &shape[..]].concat());
        }
    }
    namespace()
}

/// A setting of IPv4 on an interface of the calling thread's namespace.
fn setting(interface: &str, name: &str, value: &str) {
    // /proc/sys shows the namespace of the thread that opens it.
    fs::write(format!("/proc/sys/net/ipv4/conf/{interface}/{name}"), value).unwrap();
}

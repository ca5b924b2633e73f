//! A sample of all counters, for statistics over time and for other output formats.

use crate::request::{
    AttachedPrograms, Backend, CptBuffers, ElementStats, LnetStats, LocalNi, NodeInfo, Peer, PeerNi, Request,
    Route,
};
use lnet_wire::latency::{Delay, Histogram};
use lnet_wire::{Errno, NetId, Nid};
use std::collections::HashMap;
use std::time::Duration;

/// The counters and states of a node. Its parts are read one after the other, while the counters change.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The identity of the node.
    pub node: NodeInfo,
    /// The node's counters.
    pub stats: LnetStats,
    /// The number of programs that are attached to the node.
    pub program_count: usize,
    /// The interfaces of the node, net by net, the loopback first.
    pub nis: Vec<LocalNi>,
    /// The peers, in the order in which they were added.
    pub peers: Vec<Peer>,
    /// The number of all peers, read or not.
    pub peer_count: usize,
    /// The routes to other nets.
    pub routes: Vec<Route>,
    /// The router buffers of each CPT; empty until forwarding was switched on once.
    pub buffers: Vec<CptBuffers>,
}

impl Sample {
    /// Reads a sample, with at most `max_peers` peers (dbg-100), each by a separate request. Makes requests that
    /// only read.
    pub fn read(backend: &dyn Backend, max_peers: usize) -> Result<Self, Errno> {
        let node = backend.ask(Request::GetNode)?;
        let stats = *backend.ask::<Box<LnetStats>>(Request::GetLnetStats)?;
        let programs: AttachedPrograms = match backend.ask(Request::GetPrograms) {
            // A node that does not know the request has none.
            Err(Errno::NotSupported) => AttachedPrograms::default(),
            programs => programs?,
        };
        let nis: Vec<Box<LocalNi>> = backend.list(Request::GetLocalNi)?;
        let primaries: Vec<Nid> = backend.ask(Request::GetPeerList)?;
        let mut peers = Vec::with_capacity(primaries.len().min(max_peers));
        for nid in primaries.iter().copied().take(max_peers) {
            match backend.ask::<Box<Peer>>(Request::GetPeerNi(nid)) {
                Ok(peer) => peers.push(*peer),
                // The peer was removed after the list was requested.
                Err(Errno::NotFound) => {}
                Err(errno) => return Err(errno),
            }
        }
        let routes = backend.list(Request::GetRoute)?;
        let buffers = backend.list(Request::GetBuffers)?;
        let nis = nis.into_iter().map(|ni| *ni).collect();
        let (program_count, peer_count) = (programs.programs.len(), primaries.len());
        Ok(Self { node, stats, program_count, nis, peers, peer_count, routes, buffers })
    }

    /// A delay over all interfaces.
    pub fn delay(&self, delay: Delay) -> Histogram {
        let mut sum = Histogram::empty(delay);
        let all = self.nis.iter().flat_map(|ni| &ni.latencies);
        all.filter(|its| its.delay == delay).for_each(|its| sum.add(its));
        sum
    }

    /// The peers without the node itself, which is its own peer once something was sent to one of its NIDs; its faults are
    /// reported for its interfaces.
    pub fn other_peers(&self) -> impl Iterator<Item = &Peer> {
        let is_own = |peer: &Peer| self.nis.iter().any(|ni| peer.nis.iter().any(|its| its.nid == ni.nid));
        self.peers.iter().filter(move |peer| !is_own(peer))
    }
}

/// Numbers of messages and bytes in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Bytes of payload sent.
    pub sent_bytes: u64,
    /// Bytes of payload received.
    pub received_bytes: u64,
}

impl Traffic {
    /// The traffic of an interface or a peer NI, from its counters.
    pub const fn new(messages: ElementStats, bytes: ElementStats) -> Self {
        Self {
            sent: messages.sent,
            received: messages.received,
            sent_bytes: bytes.sent,
            received_bytes: bytes.received,
        }
    }

    /// The traffic of the whole node, from its counters.
    pub const fn of_node(stats: &LnetStats) -> Self {
        Self {
            sent: stats.send_count,
            received: stats.recv_count,
            sent_bytes: stats.send_length,
            received_bytes: stats.recv_length,
        }
    }

    /// The sum of the traffic of all NIDs of a peer.
    pub fn of_peer(peer: &Peer) -> Self {
        let sum = |it: fn(&PeerNi) -> ElementStats| super::counters::total(peer.nis.iter().map(it));
        Self::new(sum(|ni| ni.stats), sum(|ni| ni.bytes))
    }

    /// The traffic since `before`. A counter that is smaller than in `before` has been reset in between, and its value
    /// counts.
    pub const fn since(self, before: Self) -> Self {
        const fn since(now: u64, before: u64) -> u64 {
            if now < before { now } else { now - before }
        }
        Self {
            sent: since(self.sent, before.sent),
            received: since(self.received, before.received),
            sent_bytes: since(self.sent_bytes, before.sent_bytes),
            received_bytes: since(self.received_bytes, before.received_bytes),
        }
    }
}

/// Rates: messages and bytes per second (dbg-105).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Messages sent per second.
    pub sent: f64,
    /// Messages received per second.
    pub received: f64,
    /// Bytes of payload sent per second.
    pub sent_bytes: f64,
    /// Bytes of payload received per second.
    pub received_bytes: f64,
}

impl Rate {
    /// The rate of `traffic` in `time`; 0 if `time` is 0.
    pub fn new(traffic: Traffic, time: Duration) -> Self {
        let seconds = time.as_secs_f64();
        let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Self {
            sent: per_second(traffic.sent),
            received: per_second(traffic.received),
            sent_bytes: per_second(traffic.sent_bytes),
            received_bytes: per_second(traffic.received_bytes),
        }
    }

    /// The sum of the message rates in both directions.
    pub const fn messages(&self) -> f64 {
        self.sent + self.received
    }

    /// The sum of the byte rates in both directions.
    pub const fn bytes(&self) -> f64 {
        self.sent_bytes + self.received_bytes
    }
}

impl std::ops::AddAssign for Rate {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.received += other.received;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
    }
}

/// The rates between two samples. Objects that one of the samples lacks have no rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    /// The sum of the rates of the node's interfaces.
    pub node: Rate,
    /// The rate of each interface.
    pub nis: HashMap<Nid, Rate>,
    /// The rate of each peer, by its primary NID: the sum over its NIDs.
    pub peers: HashMap<Nid, Rate>,
}

impl Rates {
    /// The rates from one sample to the next, `time` later. There are none between samples of different nodes, or
    /// incarnations of one.
    pub fn between(before: &Sample, now: &Sample, time: Duration) -> Self {
        if before.node != now.node {
            return Self::default();
        }
        let rate = |now: Traffic, before: Traffic| Rate::new(now.since(before), time);
        let of_ni = |ni: &LocalNi| (ni.nid, Traffic::new(ni.stats, ni.bytes));
        let of_peer = |peer: &Peer| (peer.primary, Traffic::of_peer(peer));
        let both = |before: HashMap<Nid, Traffic>, now: Vec<(Nid, Traffic)>| {
            let known = now.into_iter().filter_map(|(nid, it)| Some((nid, rate(it, *before.get(&nid)?))));
            known.collect()
        };
        Self {
            node: rate(Traffic::of_node(&now.stats), Traffic::of_node(&before.stats)),
            nis: both(before.nis.iter().map(of_ni).collect(), now.nis.iter().map(of_ni).collect()),
            peers: both(before.peers.iter().map(of_peer).collect(), now.peers.iter().map(of_peer).collect()),
        }
    }

    /// The rate of a net: the sum of its interfaces.
    pub fn net(&self, net: NetId) -> Rate {
        let mut sum = Rate::default();
        self.nis.iter().filter(|(nid, _)| nid.net() == net).for_each(|(_, rate)| sum += *rate);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Traffic = Traffic { sent: 10, received: 4, sent_bytes: 4096, received_bytes: 0 };

    #[test]
    fn counters_that_were_reset_count_from_zero() {
        let before = Traffic { sent: 4, received: 9, sent_bytes: 96, received_bytes: 7 };
        let expected = Traffic { sent: 6, received: 4, sent_bytes: 4000, received_bytes: 0 };
        assert_eq!(ONE.since(before), expected);
    }

    /// dbg-105: fails if a rate is not the count divided by the time between two samples.
    #[test]
    fn a_rate_is_per_second_whatever_the_time_between() {
        let table = [(2000, 5.0, 2048.0), (500, 20.0, 8192.0), (0, 0.0, 0.0)];
        for (ms, sent, sent_bytes) in table {
            let rate = Rate::new(ONE, Duration::from_millis(ms));
            assert_eq!((rate.sent, rate.sent_bytes), (sent, sent_bytes), "{ms} ms");
        }
    }

    fn sample(process: u32, sent: u64, peers: &[(&str, u64)]) -> Sample {
        let stats = LnetStats { send_count: sent, ..LnetStats::default() };
        let peer = |&(nid, sent): &(&str, u64)| {
            let ni = peer_ni(nid.parse().unwrap(), sent);
            Peer {
                primary: ni.nid,
                multi_rail: true,
                state: 0,
                nis: vec![ni.clone(), ni],
                discovery: None,
                reachability: None,
            }
        };
        Sample {
            node: NodeInfo {
                version: "0".into(),
                name: "n".into(),
                process,
                started_ms: None,
                selftest: None,
            },
            stats,
            program_count: 0,
            nis: Vec::new(),
            peers: peers.iter().map(peer).collect(),
            peer_count: peers.len(),
            routes: Vec::new(),
            buffers: Vec::new(),
        }
    }

    fn peer_ni(nid: Nid, sent: u64) -> PeerNi {
        PeerNi { stats: ElementStats { sent, ..ElementStats::default() }, ..PeerNi::unused(nid) }
    }

    #[test]
    fn a_new_counter_and_a_restarted_node_have_no_rate() {
        let before = sample(1, 5, &[("10.0.0.1@tcp", 3)]);
        let now = sample(1, 25, &[("10.0.0.1@tcp", 8), ("10.0.0.2@tcp", 9)]);
        let rates = Rates::between(&before, &now, Duration::from_secs(2));
        assert_eq!(rates.node.sent, 10.0);
        let peers: Vec<_> = rates.peers.iter().map(|(nid, rate)| (nid.to_string(), rate.sent)).collect();
        assert_eq!(peers, [("10.0.0.1@tcp".to_owned(), 5.0)]);
        assert_eq!(Rates::between(&sample(2, 5, &[]), &now, Duration::from_secs(2)), Rates::default());
    }
}

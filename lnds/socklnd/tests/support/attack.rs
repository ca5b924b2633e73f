//! A node that is attacked, and another one that exchanges messages with it meanwhile.

use super::*;
use lnet_core::Clock;
use lnet_core::{EventKind, MdOptions};
use lnet_wire::{Body, Header, WireHandle};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socklnd::proto::frame::{Cookies, Head};
use socklnd::proto::{ConnectionType, Hello, acceptor};
use socklnd::{SocklndConfig, SocklndCounters};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A node that is attacked, and another one that exchanges messages with it all the time.
pub struct Attack {
    pub node: Node,
    pub honest: Node,
    pub me: Ipv4Addr,
    pub port: u16,
    /// The first of the attacker's addresses.
    pub attacker: u32,
}

impl Attack {
    pub fn start(change: impl FnOnce(&mut SocklndConfig)) -> Self {
        Self::start_with_clock(running_clock(), change)
    }

    /// Starts both nodes; the driver of the attacked one reads the time from `clock`.
    pub fn start_with_clock(clock: Arc<dyn Clock>, change: impl FnOnce(&mut SocklndConfig)) -> Self {
        let (low, high, port) = addresses();
        let mut attacked = same_implementation(config(port), 1);
        change(&mut attacked);
        let node = Node::start_with_clock(tcp(high), attacked, clock);
        let honest = Node::start(tcp(low), same_implementation(config(port), 2));
        node.offer(buffer(4096));
        // Far from the addresses of other tests.
        let attacker = u32::from(Ipv4Addr::new(127, 240, 0, 0)) | (u32::from(high) & 0xffff) << 4;
        Self { node, honest, me: high, port, attacker }
    }

    /// The attacker's `n`th address.
    pub fn address(&self, n: u32) -> Ipv4Addr {
        (self.attacker + n).into()
    }

    pub fn counters(&self) -> SocklndCounters {
        self.node.counters()
    }

    /// Runs one PUT with an ACK in each direction.
    pub fn round_trip(&self) {
        let md = self.honest.bind_bytes(pattern(64, 1));
        self.honest.put(md, self.node.nid, true);
        let mut ends = [self.honest.event().kind, self.honest.event().kind];
        ends.sort_by_key(|kind| *kind == EventKind::Ack);
        assert_eq!(ends, [EventKind::Send, EventKind::Ack]);
        // Events of the attacker's messages come, too.
        while self.node.event().kind != EventKind::Put {}
    }

    /// Connects from the attacker's `n`th address, and sends nothing.
    pub fn call(&self, n: u32) -> Raw {
        Raw::connect(self.address(n).into(), 0, self.me.into(), self.port)
    }

    pub fn open(&self, n: u32, kind: ConnectionType) -> Raw {
        Raw::open(self.address(n), self.me, self.port, kind)
    }

    /// Encodes a PUT that asks for a delivery ACK and matches the node's memory.
    pub fn put(&self, n: u32, cookie: u64, payload: &[u8]) -> Vec<u8> {
        let header = put_header(tcp(self.address(n)), self.node.nid, payload.len(), false);
        message(socklnd::proto::Version::V3, &header, Cookies { request: cookie, ack: 0 }, payload)
    }
}

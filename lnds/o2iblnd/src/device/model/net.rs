//! The network between the devices of a model: connections, registered memory, and chains on their way.

use super::counts::Counts;
use crate::device::{ConnId, ConnectError, Event, Setup, Slot, WorkError, WorkId, Write};
use crate::proto::MESSAGE_SIZE;
use lnet_core::Errno;
use lnet_core::memory::{MdMemory, MemRange};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

/// All devices, and what happens between them.
#[derive(Debug, Default)]
pub(super) struct Net {
    pub(super) ports: BTreeMap<Ipv4Addr, Port>,
    pub(super) cut: BTreeSet<Ipv4Addr>,
    /// The devices whose chains are not acknowledged for now, with what waits to be sent.
    pub(super) held_back: BTreeSet<Ipv4Addr>,
    pub(super) delayed: Vec<Delayed>,
    pub(super) last_conn: u32,
    pub(super) last_key: u32,
    pub(super) pages_on_demand: bool,
    /// The most bytes that may be locked by one registration; `None` for any number.
    pub(super) longest_pinned: Option<usize>,
    /// The fallible calls until one fails, for each device.
    pub(super) failing: HashMap<Ipv4Addr, u32>,
    pub(super) counts: Counts,
}

/// A chain that waits until its peer receives again.
#[derive(Debug)]
pub(super) struct Delayed {
    pub(super) from: Ipv4Addr,
    pub(super) conn: ConnId,
    pub(super) work: WorkId,
    pub(super) writes: Vec<Write>,
    pub(super) message: Vec<u8>,
}

/// The state of one device.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) listens: bool,
    pub(super) events: VecDeque<Event>,
    pub(super) conns: HashMap<ConnId, Conn>,
    pub(super) memory: HashMap<u32, MemRange>,
    pub(super) wake: OwnedFd,
    pub(super) calls: u64,
}

/// One end of a connection.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) to: Ipv4Addr,
    pub(super) other: Option<ConnId>,
    pub(super) is_up: bool,
    pub(super) chains: usize,
    pub(super) free: VecDeque<Slot>,
    pub(super) slots: Vec<Vec<u8>>,
    pub(super) most_chains: usize,
    pub(super) chain_len: usize,
}

impl Net {
    pub(super) fn push(&mut self, to: Ipv4Addr, event: Event) {
        if let Some(port) = self.ports.get_mut(&to) {
            port.events.push_back(event);
            // A counter that is full wakes as well.
            _ = rustix::io::write(&port.wake, &1_u64.to_ne_bytes());
        }
    }

    pub(super) fn next_conn(&mut self) -> ConnId {
        self.last_conn += 1;
        ConnId(self.last_conn)
    }

    pub(super) fn conn(&mut self, address: Ipv4Addr, conn: ConnId) -> Option<&mut Conn> {
        self.ports.get_mut(&address)?.conns.get_mut(&conn)
    }

    /// Whether the next call of a device is to fail.
    pub(super) fn call(&mut self, address: Ipv4Addr) -> Result<(), Errno> {
        if let Some(port) = self.ports.get_mut(&address) {
            port.calls += 1;
        }
        let Some(left) = self.failing.get_mut(&address) else { return Ok(()) };
        *left = left.saturating_sub(1);
        if *left > 0 {
            return Ok(());
        }
        self.failing.remove(&address);
        Err(Errno::NoMemory)
    }

    pub(super) fn is_reachable(&self, a: Ipv4Addr, b: Ipv4Addr) -> bool {
        !self.cut.contains(&a) && !self.cut.contains(&b)
    }

    /// Fails both ends of all connections of a device, as nothing is acknowledged.
    pub(super) fn fail_all_of(&mut self, address: Ipv4Addr) {
        let Some(port) = self.ports.get(&address) else { return };
        let ends: Vec<_> = port.conns.iter().map(|(id, conn)| (*id, conn.to, conn.other)).collect();
        for (id, to, other) in ends {
            self.fail(address, id, WorkError::NoResponse);
            if let Some(other) = other {
                self.fail(to, other, WorkError::NoResponse);
            }
        }
    }

    /// Fails both ends of a connection that cannot come up.
    pub(super) fn fail_connect(
        &mut self,
        address: Ipv4Addr,
        conn: ConnId,
        to: Ipv4Addr,
        other: Option<ConnId>,
    ) {
        let error = ConnectError::Unreachable(Errno::TimedOut);
        let ends = [Some((address, conn)), other.map(|other| (to, other))];
        for (address, conn) in ends.into_iter().flatten() {
            if self.conn(address, conn).is_some() {
                self.push(address, Event::Failed { conn, error });
            }
        }
    }

    fn fail(&mut self, address: Ipv4Addr, conn: ConnId, error: WorkError) {
        if let Some(its) = self.conn(address, conn).filter(|its| its.is_up) {
            its.is_up = false;
            self.push(address, Event::WorkFailed { conn, error });
        }
    }

    /// Carries out a chain.
    pub(super) fn transmit(
        &mut self,
        from: Ipv4Addr,
        conn: ConnId,
        work: WorkId,
        writes: &[Write],
        message: &[u8],
    ) -> Result<(), Errno> {
        let its = self.conn(from, conn).ok_or(Errno::NotConnected)?;
        let to = its.to;
        its.chains += 1;
        if its.chains > its.most_chains || writes.len() + 1 > its.chain_len || message.len() > MESSAGE_SIZE {
            return Err(Errno::NoMemory);
        }
        if self.held_back.contains(&from) || self.held_back.contains(&to) {
            let (writes, message) = (writes.to_vec(), message.to_vec());
            self.delayed.push(Delayed { from, conn, work, writes, message });
            return Ok(());
        }
        self.carry(from, conn, work, writes, message)
    }

    /// Carries the parts of a chain to the peer.
    pub(super) fn carry(
        &mut self,
        from: Ipv4Addr,
        conn: ConnId,
        work: WorkId,
        writes: &[Write],
        message: &[u8],
    ) -> Result<(), Errno> {
        let its = self.conn(from, conn).ok_or(Errno::NotConnected)?;
        let (to, other) = (its.to, its.other);
        let Some(other) = other.filter(|_| its.is_up) else { return Ok(()) };
        if !self.is_reachable(from, to) || self.conn(to, other).is_none() {
            self.fail(from, conn, WorkError::NoResponse);
            self.fail(to, other, WorkError::NoResponse);
            return Ok(());
        }
        for write in writes {
            let len: u32 = write.from.iter().map(|segment| segment.len).sum();
            let remote = MemRange { address: write.to as usize, len: len as usize };
            if !self.covers(to, write.rkey, remote) {
                self.fail(from, conn, WorkError::RefusedByPeer);
                self.fail(to, other, WorkError::RefusedByPeer);
                return Ok(());
            }
            let local: Vec<_> = write
                .from
                .iter()
                .map(|segment| MemRange { address: segment.address as usize, len: segment.len as usize })
                .collect();
            if !write.from.iter().zip(&local).all(|(segment, range)| self.covers(from, segment.lkey, *range))
            {
                self.fail(from, conn, WorkError::Local(4));
                return Ok(());
            }
            let source = MdMemory::scattered(&local).ok_or(Errno::Invalid)?;
            let sink = MdMemory::contiguous(remote.address, len);
            lolnd::copy::copy(source.slice(0, len), sink.slice(0, len));
        }
        let Some(theirs) = self.conn(to, other) else { return Ok(()) };
        let Some(slot) = theirs.free.pop_front() else {
            self.fail(from, conn, WorkError::NotReady);
            self.fail(to, other, WorkError::NotReady);
            return Ok(());
        };
        theirs.slots[usize::from(slot.0)] = message.to_vec();
        self.push(to, Event::Received { conn: other, slot, len: message.len() });
        self.push(from, Event::Sent { conn, work });
        Ok(())
    }

    fn covers(&self, address: Ipv4Addr, key: u32, range: MemRange) -> bool {
        let registered = self.ports.get(&address).and_then(|port| port.memory.get(&key));
        registered.is_some_and(|its| {
            its.address <= range.address && range.address + range.len <= its.address + its.len
        })
    }
}

impl Conn {
    pub(super) fn new(to: Ipv4Addr, other: Option<ConnId>) -> Self {
        Self {
            to,
            other,
            is_up: false,
            chains: 0,
            free: VecDeque::new(),
            slots: vec![],
            most_chains: 0,
            chain_len: 0,
        }
    }

    pub(super) fn set_up(&mut self, setup: Setup) {
        self.free = (0..setup.receives).map(Slot).collect();
        self.slots = vec![vec![]; setup.receives.into()];
        (self.most_chains, self.chain_len) = (setup.chains.into(), setup.chain_len.into());
    }
}

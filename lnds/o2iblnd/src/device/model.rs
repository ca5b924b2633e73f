//! A model of RDMA devices, for tests: devices of one process that are connected with each other, without hardware.
//!
//! It keeps the rules that a device keeps, and fails where a device would: work with memory that is not registered, a message without a
//! buffer, more chains than were asked for. A test cuts links, and makes any call fail.

mod counts;
mod net;

pub use counts::Counts;

use super::{
    ConnId, ConnectError, Device, Devices, Event, Limits, OpenError, OpenOptions, Paging, PortError,
    Registration, Setup, Slot, WorkId, Write,
};
use crate::proto::{REJECTED_BY_CONSUMER, REJECTED_INVALID_SERVICE};
use lnd_common::sync::lock;
use lnet_core::Errno;
use lnet_core::memory::MemRange;
use lnet_os::descriptor::new_eventfd;
use net::{Conn, Delayed, Net, Port};
use std::collections::{HashMap, VecDeque};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

/// The length of an acceptance's private data, and of a refusal's (wire-o2ib 2).
const ACCEPT_LEN: usize = 196;
const REJECT_LEN: usize = 148;

/// The network between the devices.
#[derive(Clone, Debug, Default)]
pub struct ModelNet(Arc<Mutex<Net>>);

/// A device of a [`ModelNet`].
#[derive(Debug)]
pub struct ModelDevice {
    net: ModelNet,
    address: Ipv4Addr,
    /// Copies of the buffers that have been received.
    received: HashMap<(ConnId, Slot), Vec<u8>>,
}

impl ModelNet {
    /// A device with this address; the one that had it before is gone.
    pub fn device(&self, address: Ipv4Addr) -> std::io::Result<ModelDevice> {
        let port = Port {
            listens: false,
            events: VecDeque::new(),
            conns: HashMap::new(),
            memory: HashMap::new(),
            wake: new_eventfd()?,
            calls: 0,
        };
        lock(&self.0).ports.insert(address, port);
        Ok(ModelDevice { net: self.clone(), address, received: HashMap::new() })
    }

    /// Cuts the cable of a device, or connects it again. Work at its connections fails, as after the last retransmission.
    pub fn cut(&self, address: Ipv4Addr, is_cut: bool) {
        let net = &mut *lock(&self.0);
        let state = if is_cut { Err(PortError::Down) } else { Ok(()) };
        net.push(address, Event::Port(state));
        if is_cut {
            net.cut.insert(address);
            net.fail_all_of(address);
        } else {
            net.cut.remove(&address);
        }
    }

    /// Lets nothing through from and to a device, as when packets are lost, until it is called with `false`: then all arrives.
    pub fn hold_back(&self, address: Ipv4Addr, is_held: bool) {
        let net = &mut *lock(&self.0);
        if is_held {
            net.held_back.insert(address);
            return;
        }
        net.held_back.remove(&address);
        for Delayed { from, conn, work, writes, message } in std::mem::take(&mut net.delayed) {
            // What a connection that has ended meanwhile had to send is lost.
            _ = net.carry(from, conn, work, &writes, &message);
        }
    }

    /// Makes a device forget its connections without telling the peers, as when its machine loses power.
    pub fn forget_conns(&self, address: Ipv4Addr) {
        if let Some(port) = lock(&self.0).ports.get_mut(&address) {
            port.conns.clear();
        }
    }

    /// Makes the call number `nth` of this device, from now on, fail with [`Errno::NoMemory`]; 1 is the next.
    pub fn fail_call(&self, address: Ipv4Addr, nth: u32) {
        lock(&self.0).failing.insert(address, nth);
    }

    /// The number of fallible calls of a device.
    pub fn calls(&self, address: Ipv4Addr) -> u64 {
        lock(&self.0).ports.get(&address).map_or(0, |port| port.calls)
    }

    /// Lets devices page memory on demand, or not; and no registration lock more than `longest` bytes.
    pub fn limit_pinned(&self, longest: usize, pages_on_demand: bool) {
        let net = &mut *lock(&self.0);
        (net.longest_pinned, net.pages_on_demand) = (Some(longest), pages_on_demand);
    }

    /// The number of registrations of a device.
    pub fn registered(&self, address: Ipv4Addr) -> usize {
        lock(&self.0).ports.get(&address).map_or(0, |port| port.memory.len())
    }

    /// The number of connections of a device that are not destroyed.
    pub fn conns(&self, address: Ipv4Addr) -> usize {
        lock(&self.0).ports.get(&address).map_or(0, |port| port.conns.len())
    }
}

impl Devices for ModelNet {
    fn open(&self, _: &str, options: OpenOptions) -> Result<Box<dyn Device>, OpenError> {
        let device = self.device(options.address);
        let errno = |error: std::io::Error| OpenError::Call { call: "eventfd", errno: Errno::from(&error) };
        Ok(Box::new(device.map_err(errno)?))
    }
}

impl ModelDevice {
    /// Refuses a connection, whatever its state, with any reason of the connection manager and private data of any length.
    pub fn refuse(&mut self, conn: ConnId, reason: u16, private_data: Vec<u8>) {
        let net = &mut *lock(&self.net.0);
        let Some(port) = net.ports.get_mut(&self.address) else { return };
        let Some(Conn { to, other: Some(other), .. }) = port.conns.remove(&conn) else { return };
        if net.is_reachable(self.address, to) {
            net.push(to, Event::Rejected { conn: other, reason, private_data });
        } else {
            net.fail_connect(self.address, conn, to, Some(other));
        }
    }
}

fn padded(bytes: &[u8], len: usize) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(len, 0);
    padded
}

impl Device for ModelDevice {
    fn limits(&self) -> Limits {
        Limits { pieces: 2, on_demand: lock(&self.net.0).pages_on_demand }
    }

    fn listen(&mut self) -> Result<(), Errno> {
        let net = &mut *lock(&self.net.0);
        net.call(self.address)?;
        if let Some(port) = net.ports.get_mut(&self.address) {
            port.listens = true;
        }
        Ok(())
    }

    fn connect(&mut self, to: Ipv4Addr, setup: Setup, private_data: &[u8]) -> Result<ConnId, Errno> {
        let net = &mut *lock(&self.net.0);
        net.call(self.address)?;
        let (id, other) = (net.next_conn(), net.next_conn());
        let mut conn = Conn::new(to, Some(other));
        conn.set_up(setup);
        let listens =
            net.ports.get(&to).filter(|_| net.is_reachable(self.address, to)).map(|port| port.listens);
        if let Some(port) = net.ports.get_mut(&self.address) {
            port.conns.insert(id, conn);
        }
        match listens {
            None => {
                let error = ConnectError::Unreachable(Errno::TimedOut);
                net.push(self.address, Event::Failed { conn: id, error });
            }
            Some(false) => {
                let event =
                    Event::Rejected { conn: id, reason: REJECTED_INVALID_SERVICE, private_data: vec![] };
                net.push(self.address, event);
            }
            Some(true) => {
                let theirs = Conn::new(self.address, Some(id));
                if let Some(port) = net.ports.get_mut(&to) {
                    port.conns.insert(other, theirs);
                }
                net.push(to, Event::Request { conn: other, private_data: private_data.to_vec() });
            }
        }
        Ok(id)
    }

    fn accept(&mut self, conn: ConnId, setup: Setup, private_data: &[u8]) -> Result<(), Errno> {
        let net = &mut *lock(&self.net.0);
        net.call(self.address)?;
        let Some(its) = net.conn(self.address, conn) else { return Err(Errno::NotConnected) };
        its.set_up(setup);
        let (to, other) = (its.to, its.other);
        let is_there = other.is_some_and(|other| net.conn(to, other).is_some());
        if !is_there || !net.is_reachable(self.address, to) {
            net.fail_connect(self.address, conn, to, other);
            return Ok(());
        }
        if let Some(its) = net.conn(self.address, conn) {
            its.is_up = true;
        }
        if let Some(other) = other
            && let Some(theirs) = net.conn(to, other)
        {
            theirs.is_up = true;
            let private_data = padded(private_data, ACCEPT_LEN);
            net.push(to, Event::Established { conn: other, private_data });
        }
        net.push(self.address, Event::Established { conn, private_data: vec![] });
        Ok(())
    }

    fn reject(&mut self, conn: ConnId, private_data: &[u8]) {
        self.refuse(conn, REJECTED_BY_CONSUMER, padded(private_data, REJECT_LEN));
    }

    fn disconnect(&mut self, conn: ConnId) {
        let net = &mut *lock(&self.net.0);
        let Some(its) = net.conn(self.address, conn) else { return };
        its.is_up = false;
        let (to, other) = (its.to, its.other);
        if net.is_reachable(self.address, to)
            && let Some(other) = other
            && let Some(theirs) = net.conn(to, other)
            && std::mem::take(&mut theirs.is_up)
        {
            net.push(to, Event::Disconnected { conn: other });
        }
    }

    fn destroy(&mut self, conn: ConnId) {
        let net = &mut *lock(&self.net.0);
        let Some(port) = net.ports.get_mut(&self.address) else { return };
        port.conns.remove(&conn);
        port.events.retain(|event| event.conn() != Some(conn));
        self.received.retain(|(its, _), _| *its != conn);
    }

    fn received(&self, conn: ConnId, slot: Slot, len: usize) -> &[u8] {
        self.received.get(&(conn, slot)).map_or(&[], |bytes| &bytes[..len])
    }

    fn post_receive(&mut self, conn: ConnId, slot: Slot) -> Result<(), Errno> {
        let net = &mut *lock(&self.net.0);
        net.call(self.address)?;
        let its = net.conn(self.address, conn).ok_or(Errno::NotConnected)?;
        assert!(!its.free.contains(&slot), "buffer {slot:?} is posted twice");
        its.free.push_back(slot);
        self.received.remove(&(conn, slot));
        net.counts.receives += 1;
        Ok(())
    }

    fn post_send(
        &mut self,
        conn: ConnId,
        work: WorkId,
        writes: &[Write],
        message: &[u8],
    ) -> Result<(), Errno> {
        let net = &mut *lock(&self.net.0);
        net.call(self.address)?;
        net.transmit(self.address, conn, work, writes, message)?;
        net.counts.doorbells += 1;
        net.counts.work_requests += writes.len() as u64 + 1;
        Ok(())
    }

    fn register(&mut self, range: MemRange, paging: Paging) -> Result<Registration, Errno> {
        let net = &mut *lock(&self.net.0);
        net.call(self.address)?;
        let may = match paging {
            Paging::Pinned => net.longest_pinned.is_none_or(|longest| range.len <= longest),
            Paging::OnDemand => net.pages_on_demand,
        };
        if !may {
            return Err(Errno::NoMemory);
        }
        net.last_key += 1;
        let key = net.last_key;
        let port = net.ports.get_mut(&self.address).ok_or(Errno::NoDevice)?;
        port.memory.insert(key, range);
        net.counts.registrations += 1;
        Ok(Registration { id: key.into(), lkey: key, rkey: key })
    }

    fn deregister(&mut self, registration: Registration) {
        let net = &mut *lock(&self.net.0);
        if let Some(port) = net.ports.get_mut(&self.address) {
            net.counts.deregistrations += 1;
            assert!(port.memory.remove(&registration.rkey).is_some(), "{registration:?} is unknown");
        }
    }

    fn poll(&mut self, events: &mut Vec<Event>) -> bool {
        let net = &mut *lock(&self.net.0);
        let Some(port) = net.ports.get_mut(&self.address) else { return false };
        // The counter is empty if nothing has been written.
        let took_events = rustix::io::read(&port.wake, &mut [0; 8]).is_ok();
        for event in port.events.drain(..) {
            net.counts.completions += u64::from(matches!(event, Event::Received { .. } | Event::Sent { .. }));
            match &event {
                Event::Received { conn, slot, .. } => {
                    if let Some(its) = port.conns.get(conn) {
                        self.received.insert((*conn, *slot), its.slots[usize::from(slot.0)].clone());
                    }
                }
                Event::Sent { conn, .. } => {
                    if let Some(its) = port.conns.get_mut(conn) {
                        its.chains -= 1;
                    }
                }
                _ => {}
            }
            events.push(event);
        }
        took_events
    }

    fn arm(&mut self) -> bool {
        lock(&self.net.0).ports.get(&self.address).is_some_and(|port| !port.events.is_empty())
    }

    fn descriptors(&self) -> Result<Vec<OwnedFd>, Errno> {
        let net = lock(&self.net.0);
        let port = net.ports.get(&self.address).ok_or(Errno::NoDevice)?;
        Ok(vec![port.wake.try_clone().map_err(|error| Errno::from(&error))?])
    }
}

/// The end of a process: the peers find their connections closed.
impl Drop for ModelDevice {
    fn drop(&mut self) {
        let all: Vec<_> = lock(&self.net.0)
            .ports
            .get(&self.address)
            .map(|port| port.conns.keys().copied().collect())
            .unwrap_or_default();
        for conn in all {
            self.disconnect(conn);
        }
        lock(&self.net.0).ports.remove(&self.address);
    }
}

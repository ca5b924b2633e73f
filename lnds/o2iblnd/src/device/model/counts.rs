//! What the devices of a model were asked to do, counted: on a device each of these costs time.

use super::{ModelNet, Port};
use lnd_common::sync::lock;
use lnet_core::memory::MemRange;

/// The counts of all devices of a [`ModelNet`] together, since it was made. Calls that failed are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls of [`Device::post_send`](crate::device::Device::post_send): each is one doorbell of a device.
    pub doorbells: u64,
    /// Send work requests: the RDMA WRITEs, and one message for each chain.
    pub work_requests: u64,
    /// The Sent and Received events that the driver was passed.
    pub completions: u64,
    /// Receive buffers that were posted again after a message.
    pub receives: u64,
    /// Memory registered, bounce buffers included.
    pub registrations: u64,
    /// Registrations ended.
    pub deregistrations: u64,
}

impl Counts {
    /// The counts with their names.
    pub const fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("doorbells", self.doorbells),
            ("work requests", self.work_requests),
            ("completions", self.completions),
            ("receives posted", self.receives),
            ("registrations", self.registrations),
            ("deregistrations", self.deregistrations),
        ]
    }
}

impl ModelNet {
    /// What all devices have been asked to do.
    pub fn counts(&self) -> Counts {
        lock(&self.0).counts
    }

    /// Whether nothing is under way: the drivers have been passed all events, all chains are done, and all receive buffers are posted.
    pub fn is_quiet(&self) -> bool {
        lock(&self.0).ports.values().all(Port::is_quiet)
    }

    /// Whether a device has a registration of any of these bytes.
    pub fn is_registered(&self, range: MemRange) -> bool {
        let overlaps =
            |its: &MemRange| its.address < range.address + range.len && range.address < its.address + its.len;
        lock(&self.0).ports.values().flat_map(|port| port.memory.values()).any(overlaps)
    }
}

impl Port {
    fn is_quiet(&self) -> bool {
        self.events.is_empty()
            && self.conns.values().all(|conn| conn.chains == 0 && conn.free.len() == conn.slots.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Device, Event, Paging, Segment, Setup, Slot, WorkId, Write};
    use std::net::Ipv4Addr;

    #[test]
    fn a_chain_is_one_doorbell_and_two_completions() {
        let net = ModelNet::default();
        let [a, b] = [1, 2].map(|host| Ipv4Addr::new(127, 0, 0, host));
        let (mut from, mut to) = (net.device(a).unwrap(), net.device(b).unwrap());
        to.listen().unwrap();
        let setup = Setup::new(8, 256);
        let conn = from.connect(b, setup, &[]).unwrap();
        let mut events = vec![];
        to.poll(&mut events);
        let other = events[0].conn().unwrap();
        to.accept(other, setup, &[]).unwrap();
        from.poll(&mut events);
        to.poll(&mut events);
        assert_eq!((net.counts(), net.is_quiet()), (Counts::default(), true));

        let memory = [0_u8; 64];
        let range = MemRange { address: memory.as_ptr() as usize, len: 64 };
        let [source, sink] =
            [from.register(range, Paging::Pinned).unwrap(), to.register(range, Paging::Pinned).unwrap()];
        let piece = |at: u64| Segment { address: range.address as u64 + at, len: 8, lkey: source.lkey };
        let write =
            |at: u64| Write { from: vec![piece(at)], to: range.address as u64 + 32 + at, rkey: sink.rkey };
        from.post_send(conn, WorkId(1), &[write(0), write(8)], &[1; 100]).unwrap();
        let posted = Counts { doorbells: 1, work_requests: 3, registrations: 2, ..Counts::default() };
        assert_eq!((net.counts(), net.is_quiet()), (posted, false));

        events.clear();
        from.poll(&mut events);
        to.poll(&mut events);
        assert_eq!(events[1], Event::Received { conn: other, slot: Slot(0), len: 100 });
        assert_eq!((net.counts(), net.is_quiet()), (Counts { completions: 2, ..posted }, false));
        to.post_receive(other, Slot(0)).unwrap();
        let done = Counts { completions: 2, receives: 1, ..posted };
        assert_eq!((net.counts(), net.is_quiet()), (done, true));

        from.deregister(source);
        assert!(net.is_registered(MemRange { address: range.address + 63, len: 1 }));
        to.deregister(sink);
        assert!(!net.is_registered(range));
        assert_eq!(net.counts(), Counts { deregistrations: 2, ..done });
    }
}

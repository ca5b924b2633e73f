//! The findings about a peer NI of messages that pass gateways, each with the [revision](super::PeerRevision) at which it was so: the next
//! message does not look for it again.

use super::router_buffer::Onward;
use lnet_wire::NetId;
use std::sync::atomic::{AtomicU64, Ordering};

/// The findings about one peer NI. Any thread may read and record them.
#[derive(Debug)]
pub(crate) struct RoutingMarks {
    /// The revision at which there was one path to the peer NI, over a gateway.
    only_hop_at: AtomicU64,
    /// The kind of next hop of messages for the peer NI, in the lowest bit, and the revision above it.
    onward_at: AtomicU64,
    /// Whether the peer is a gateway, in the lowest bit, and the revision above it.
    gateway_at: AtomicU64,
    /// A net that a route over the peer leads to, in the lower half, and the revision in the upper one.
    leads_to_at: AtomicU64,
}

impl Default for RoutingMarks {
    fn default() -> Self {
        let [only_hop_at, onward_at, gateway_at, leads_to_at] =
            std::array::from_fn(|_| AtomicU64::new(u64::MAX));
        Self { only_hop_at, onward_at, gateway_at, leads_to_at }
    }
}

impl RoutingMarks {
    /// Whether at this revision there was one path to the peer NI, over a gateway; the peer NI is the only one of its peer, it has been used,
    /// and requests to it need not wait for discovery.
    #[inline(always)]
    pub(crate) fn had_only_hop_at(&self, revision: u64) -> bool {
        self.only_hop_at.load(Ordering::Relaxed) == revision
    }

    /// Records that at this revision there was one path to the peer NI, over a gateway.
    pub(crate) fn note_only_hop_at(&self, revision: u64) {
        self.only_hop_at.store(revision, Ordering::Relaxed);
    }

    /// The kind of next hop of messages for the peer NI, if that was recorded at this revision. The table of peers has had this peer NI since.
    #[inline(always)]
    pub(crate) fn onward_at(&self, revision: u64) -> Option<Onward> {
        read_bit(&self.onward_at, revision).map(|to_router| match to_router {
            false => Onward::ToDestination,
            true => Onward::ToRouter,
        })
    }

    /// Records the kind of next hop at this revision.
    pub(crate) fn note_onward_at(&self, revision: u64, onward: Onward) {
        write_bit(&self.onward_at, revision, onward == Onward::ToRouter);
    }

    /// Whether the peer is a gateway, if that was recorded at this revision.
    #[inline(always)]
    pub(crate) fn was_gateway_at(&self, revision: u64) -> Option<bool> {
        read_bit(&self.gateway_at, revision)
    }

    /// Records whether the peer is a gateway at this revision.
    pub(crate) fn note_gateway_at(&self, revision: u64, is_gateway: bool) {
        write_bit(&self.gateway_at, revision, is_gateway);
    }

    /// Whether it was recorded at this revision that a route over the peer leads to `net`.
    #[inline(always)]
    pub(crate) fn led_to_at(&self, revision: u64, net: NetId) -> bool {
        // No later revision has a mark.
        revision < u32::MAX.into() && self.leads_to_at.load(Ordering::Relaxed) == with_net(revision, net)
    }

    /// Records that a route over the peer leads to `net` at this revision.
    pub(crate) fn note_leads_to_at(&self, revision: u64, net: NetId) {
        self.leads_to_at.store(with_net(revision, net), Ordering::Relaxed);
    }
}

#[inline(always)]
fn read_bit(mark: &AtomicU64, revision: u64) -> Option<bool> {
    match mark.load(Ordering::Relaxed) ^ revision << 1 {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn write_bit(mark: &AtomicU64, revision: u64, bit: bool) {
    mark.store(revision << 1 | u64::from(bit), Ordering::Relaxed);
}

const fn with_net(revision: u64, net: NetId) -> u64 {
    revision << 32 | net.to_u32() as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_mark_holds_at_its_revision_and_at_no_other() {
        let nets = [1, 2].map(|number| NetId::new(lnet_wire::NetType::TCP, number));
        let marks = RoutingMarks::default();
        let read = |revision| {
            let leads = nets.map(|net| marks.led_to_at(revision, net));
            let only = marks.had_only_hop_at(revision);
            (only, marks.onward_at(revision), marks.was_gateway_at(revision), leads)
        };
        let nothing = (false, None, None, [false; 2]);
        assert_eq!([0, 1, 7, 1 << 32].map(read), [nothing; 4]);
        for (revision, onward, is_gateway, to) in
            [(0, Onward::ToDestination, true, 0), (7, Onward::ToRouter, false, 1)]
        {
            marks.note_only_hop_at(revision);
            marks.note_onward_at(revision, onward);
            marks.note_gateway_at(revision, is_gateway);
            marks.note_leads_to_at(revision, nets[to]);
            let leads = [to == 0, to == 1];
            assert_eq!(read(revision), (true, Some(onward), Some(is_gateway), leads));
            assert_eq!([revision + 1, revision + (1 << 32)].map(read), [nothing; 2]);
        }
    }
}

//! Limits of inbound connections: a share of the process's descriptors, and a maximum for one address.
//!
//! A connection whose handshake is complete is never evicted. One whose handshake is unfinished may be, and the address with
//! the most of those loses one: a flood from one host costs that host alone.

use std::collections::HashMap;
use std::net::IpAddr;

/// Maximum number of unfinished handshakes, however many descriptors there are.
const MAX_UNFINISHED: usize = 1024;
/// Maximum number of descriptors that is assumed.
const MAX_DESCRIPTORS: u64 = 1 << 24;

/// The limits of inbound connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections in all: three in four of the descriptors. The rest is the application's, and for connects.
    pub all: usize,
    /// Unfinished handshakes among them: one in four.
    pub unfinished: usize,
    /// Connections from one address.
    pub per_address: usize,
}

/// The inbound connections by address.
#[derive(Debug)]
pub struct ConnLimit {
    limits: Limits,
    of: HashMap<IpAddr, Count, foldhash::fast::RandomState>,
    sum: Count,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    all: usize,
    unfinished: usize,
}

/// Whether another connection may be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// The connection may be accepted.
    Free,
    /// The connection may be accepted if a handshake with this address is dropped.
    AfterEvicting(IpAddr),
    /// The connection must be rejected.
    Full,
}

impl Limits {
    /// Returns the limits of a process with at most `descriptors` descriptors (`None`: no limit) and `per_address`
    /// connections from one address (0: no limit); one address never gets more than half of all.
    pub fn new(descriptors: Option<u64>, per_address: usize) -> Self {
        let descriptors = descriptors.unwrap_or(MAX_DESCRIPTORS).min(MAX_DESCRIPTORS) as usize;
        let all = (descriptors / 4 * 3).max(1);
        let half = (all / 2).max(1);
        Self {
            all,
            unfinished: (descriptors / 4).clamp(1, MAX_UNFINISHED),
            per_address: if per_address == 0 { all } else { per_address.min(half) },
        }
    }
}

impl ConnLimit {
    /// Makes the table, without connections.
    pub fn new(limits: Limits) -> Self {
        Self { limits, of: HashMap::default(), sum: Count::default() }
    }

    /// Whether a connection from `address` may be accepted.
    pub fn capacity(&self, address: IpAddr) -> Capacity {
        let count = self.of.get(&address).copied().unwrap_or_default();
        if count.all >= self.limits.per_address {
            return if count.unfinished > 0 { Capacity::AfterEvicting(address) } else { Capacity::Full };
        }
        if self.sum.all < self.limits.all && self.sum.unfinished < self.limits.unfinished {
            return Capacity::Free;
        }
        self.worst().map_or(Capacity::Full, Capacity::AfterEvicting)
    }

    /// The address with the most unfinished handshakes.
    pub fn worst(&self) -> Option<IpAddr> {
        let unfinished = self.of.iter().filter(|(_, count)| count.unfinished > 0);
        unfinished.max_by_key(|(_, count)| count.unfinished).map(|(address, _)| *address)
    }

    /// Counts an accepted connection, whose handshake begins.
    pub fn enter(&mut self, address: IpAddr) {
        for count in [&mut self.sum, self.of.entry(address).or_default()] {
            count.all += 1;
            count.unfinished += 1;
        }
    }

    /// Counts the end of a handshake.
    pub fn finish(&mut self, address: IpAddr) {
        for count in [Some(&mut self.sum), self.of.get_mut(&address)].into_iter().flatten() {
            count.unfinished = count.unfinished.saturating_sub(1);
        }
    }

    /// Counts the end of a connection; `unfinished`: before its handshake was complete.
    pub fn leave(&mut self, address: IpAddr, unfinished: bool) {
        for count in [Some(&mut self.sum), self.of.get_mut(&address)].into_iter().flatten() {
            count.all = count.all.saturating_sub(1);
            count.unfinished = count.unfinished.saturating_sub(unfinished.into());
        }
        if self.of.get(&address).is_some_and(|count| count.all == 0) {
            self.of.remove(&address);
        }
    }

    /// Returns the number of connections, and the number of those with an unfinished handshake.
    pub fn count(&self) -> (usize, usize) {
        (self.sum.all, self.sum.unfinished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(last: u8) -> IpAddr {
        [127, 0, 0, last].into()
    }

    fn conn_limit(all: usize, unfinished: usize, per_address: usize) -> ConnLimit {
        ConnLimit::new(Limits { all, unfinished, per_address })
    }

    #[test]
    fn the_connection_limit_is_a_share_of_the_descriptors() {
        for (descriptors, per_address, want) in [
            (Some(1024), 1024, (768, 256, 384)),
            (Some(1024), 100, (768, 256, 100)),
            (Some(1024), 0, (768, 256, 768)),
            (Some(1 << 20), 1024, (786_432, 1024, 1024)),
            (None, 1024, (12_582_912, 1024, 1024)),
            (Some(u64::MAX), 0, (12_582_912, 1024, 12_582_912)),
            (Some(0), 1, (1, 1, 1)),
        ] {
            let Limits { all, unfinished, per_address } = Limits::new(descriptors, per_address);
            assert_eq!((all, unfinished, per_address), want, "{descriptors:?}");
        }
    }

    #[test]
    fn a_flood_evicts_handshakes_of_its_own_address() {
        let mut conn_limit = conn_limit(100, 4, 50);
        for _ in 0..3 {
            conn_limit.enter(address(1));
        }
        conn_limit.enter(address(2));
        for newcomer in [1, 2, 3] {
            assert_eq!(
                conn_limit.capacity(address(newcomer)),
                Capacity::AfterEvicting(address(1)),
                "{newcomer}"
            );
        }
        conn_limit.leave(address(1), true);
        assert_eq!(conn_limit.capacity(address(3)), Capacity::Free);
    }

    #[test]
    fn a_completed_handshake_is_not_evicted_and_one_address_is_limited() {
        let mut conn_limit = conn_limit(6, 6, 3);
        for _ in 0..3 {
            conn_limit.enter(address(1));
        }
        assert_eq!(conn_limit.capacity(address(1)), Capacity::AfterEvicting(address(1)));
        assert_eq!(conn_limit.capacity(address(2)), Capacity::Free);
        (0..3).for_each(|_| conn_limit.finish(address(1)));
        assert_eq!(conn_limit.capacity(address(1)), Capacity::Full);
        for _ in 0..3 {
            conn_limit.enter(address(2));
        }
        assert_eq!(conn_limit.capacity(address(3)), Capacity::AfterEvicting(address(2)));
        (0..3).for_each(|_| conn_limit.finish(address(2)));
        assert_eq!(conn_limit.capacity(address(3)), Capacity::Full);
        conn_limit.leave(address(1), false);
        assert_eq!(
            (conn_limit.capacity(address(1)), conn_limit.capacity(address(3))),
            (Capacity::Free, Capacity::Free)
        );
    }

    proptest! {
        #[test]
        fn connections_never_exceed_the_limits(steps in prop::collection::vec((0_u8..5, 0_u8..4), 0..200)) {
            let mut conn_limit = conn_limit(12, 5, 6);
            let mut here: Vec<(u8, bool)> = Vec::new();
            for (step, who) in steps {
                match step {
                    0..=2 => {
                        let room = conn_limit.capacity(address(who));
                        if let Capacity::AfterEvicting(other) = room {
                            let at = here.iter().position(|(who, done)| address(*who) == other && !done);
                            prop_assert!(at.is_some());
                            here.remove(at.unwrap_or_default());
                            conn_limit.leave(other, true);
                        }
                        if room != Capacity::Full {
                            conn_limit.enter(address(who));
                            here.push((who, false));
                        }
                    }
                    3 => if let Some(one) = here.iter_mut().find(|one| !one.1) {
                        one.1 = true;
                        conn_limit.finish(address(one.0));
                    }
                    _ => if !here.is_empty() {
                        let (who, done) = here.remove(usize::from(who) % here.len());
                        conn_limit.leave(address(who), !done);
                    }
                }
                let unfinished = here.iter().filter(|one| !one.1).count();
                prop_assert_eq!(conn_limit.count(), (here.len(), unfinished));
                prop_assert!(here.len() <= 12 && unfinished <= 5);
                for who in 0..4 {
                    prop_assert!(here.iter().filter(|one| one.0 == who).count() <= 6);
                }
            }
            for (who, done) in here {
                conn_limit.leave(address(who), !done);
            }
            prop_assert!(conn_limit.of.is_empty());
        }
    }
}

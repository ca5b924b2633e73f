//! The credits of a connection: what may be sent now, and what is owed to the peer (wire-o2ib 9).

use crate::proto::Version;

/// The largest number of NOOPs that are posted and not completed.
const MAX_NOOPS: u16 = 2;

/// The kind of a message, as far as credits are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// Responses within a transaction: no credit.
    Free,
    /// IMMEDIATE: one credit.
    Credit,
    /// PUT_REQ and GET_REQ: one credit, and one reservation until the peer's response.
    Reservation,
    /// NOOP: no credit, but in version 1.
    Noop,
}

/// The peer has returned more credits than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyCredits {
    pub(crate) held: u16,
    pub(crate) returned: u16,
    pub(crate) depth: u16,
}

/// The counts of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credits {
    version: Version,
    depth: u16,
    /// The number of owed credits from which on a NOOP returns them, if no other message does.
    high_water: u16,
    /// The messages that the peer has buffers for.
    held: u16,
    /// The transactions that may be begun.
    reservations: u16,
    /// The credits to return to the peer.
    owed: u16,
    /// The messages that the peer may send: it has the credits, or they are on their way.
    peers: u16,
    /// The chains that may be posted at a time.
    max_posted: u16,
    posted: u16,
    noops: u16,
}

impl Credits {
    /// A new connection of this depth. `high_water` is limited to one less than the depth, `max_posted` is at least 1.
    pub(crate) fn new(version: Version, depth: u16, high_water: u16, max_posted: u16) -> Self {
        let high_water = match version {
            Version::V1 => V1_HIGH_WATER,
            Version::V2 => high_water,
        };
        Self {
            version,
            depth,
            high_water: high_water.min(depth.saturating_sub(1)).max(1),
            held: depth,
            reservations: depth,
            owed: 0,
            peers: depth,
            max_posted: max_posted.max(1),
            posted: 0,
            noops: 0,
        }
    }

    /// Whether a message of this cost may be posted now.
    pub(crate) const fn may_post(&self, cost: Cost) -> bool {
        if self.posted >= self.max_posted {
            return false;
        }
        match cost {
            Cost::Free => true,
            Cost::Credit => self.has_credit(),
            Cost::Reservation => self.has_credit() && self.reservations > 0,
            Cost::Noop => self.noops < MAX_NOOPS && (self.is_v2() || self.held > 0),
        }
    }

    /// Counts a message that is posted; returns the credits that it returns to the peer.
    pub(crate) const fn post(&mut self, cost: Cost) -> u8 {
        self.posted += 1;
        match cost {
            Cost::Free => {}
            Cost::Credit => self.held -= 1,
            Cost::Reservation => {
                self.held -= 1;
                self.reservations -= 1;
            }
            Cost::Noop => {
                self.noops += 1;
                if !self.is_v2() {
                    self.held -= 1;
                }
            }
        }
        let returned = if self.owed > u8::MAX as u16 { u8::MAX } else { self.owed as u8 };
        self.owed -= returned as u16;
        self.peers += returned as u16;
        returned
    }

    /// Counts a message whose sending is complete.
    pub(crate) const fn sent(&mut self, cost: Cost) {
        self.posted -= 1;
        if matches!(cost, Cost::Noop) {
            self.noops -= 1;
        }
    }

    /// Counts the end of a transaction that this node began.
    pub(crate) const fn end_transaction(&mut self) {
        self.reservations += 1;
    }

    /// Takes the credits of a message from the peer.
    pub(crate) const fn take(&mut self, returned: u8) -> Result<(), TooManyCredits> {
        let returned = returned as u16;
        if self.held + returned > self.depth {
            return Err(TooManyCredits { held: self.held, returned, depth: self.depth });
        }
        self.held += returned;
        Ok(())
    }

    /// Counts a message of the peer that costs a credit; `false` if the peer has none.
    #[must_use]
    pub(crate) const fn spend(&mut self) -> bool {
        let may = self.peers > 0;
        self.peers -= may as u16;
        may
    }

    /// Counts a buffer that the peer may use again.
    pub(crate) const fn owe(&mut self) {
        self.owed += 1;
    }

    /// Whether a NOOP is to return the owed credits. `carrier` is the cost of the message that would leave next, if there is one.
    pub(crate) fn needs_noop(&self, carrier: Option<Cost>) -> bool {
        let is_carried = carrier.is_some_and(|cost| self.may_post(cost));
        self.owed >= self.high_water && !is_carried && self.may_post(Cost::Noop)
    }

    const fn is_v2(&self) -> bool {
        matches!(self.version, Version::V2)
    }

    /// In version 1 the last credit is kept for a NOOP.
    const fn has_credit(&self) -> bool {
        self.held > if self.is_v2() { 0 } else { 1 }
    }
}

/// The high-water mark of version 1 (wire-o2ib 9).
const V1_HIGH_WATER: u16 = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn depth_8() -> Credits {
        Credits::new(Version::V2, 8, 4, 8)
    }

    #[test]
    fn a_peer_that_returns_nothing_gets_as_many_messages_as_the_depth() {
        let mut credits = depth_8();
        for _ in 0..8 {
            assert!(credits.may_post(Cost::Credit));
            credits.post(Cost::Credit);
            credits.sent(Cost::Credit);
        }
        assert!(!credits.may_post(Cost::Credit) && !credits.may_post(Cost::Reservation));
        assert!(credits.may_post(Cost::Free) && credits.may_post(Cost::Noop));
        assert_eq!(credits.take(1), Ok(()));
        assert!(credits.may_post(Cost::Credit));
    }

    #[test]
    fn more_credits_than_the_depth_are_an_error() {
        let mut credits = depth_8();
        assert_eq!(credits.take(3), Err(TooManyCredits { held: 8, returned: 3, depth: 8 }));
        credits.post(Cost::Credit);
        assert_eq!(credits.take(1), Ok(()));
    }

    #[test]
    fn a_peer_may_send_as_many_messages_as_the_depth_and_as_were_returned() {
        let mut credits = depth_8();
        assert!((0..8).all(|_| credits.spend()) && !credits.spend());
        credits.owe();
        assert!(!credits.spend());
        credits.post(Cost::Free);
        assert!(credits.spend() && !credits.spend());
    }

    #[test]
    fn a_noop_returns_half_of_the_credits_if_nothing_else_can() {
        let mut credits = depth_8();
        (0..3).for_each(|_| credits.owe());
        assert!(!credits.needs_noop(None));
        credits.owe();
        assert!(credits.needs_noop(None) && !credits.needs_noop(Some(Cost::Credit)));
        for _ in 0..8 {
            credits.post(Cost::Credit);
            credits.sent(Cost::Credit);
        }
        (0..4).for_each(|_| credits.owe());
        assert!(credits.needs_noop(Some(Cost::Credit)) && !credits.needs_noop(Some(Cost::Free)));
        assert_eq!(credits.post(Cost::Noop), 4);
    }

    #[test]
    fn at_most_two_noops_and_max_posted_chains_are_posted() {
        let mut credits = Credits::new(Version::V2, 8, 4, 3);
        credits.post(Cost::Noop);
        credits.post(Cost::Noop);
        assert!(!credits.may_post(Cost::Noop) && credits.may_post(Cost::Free));
        credits.post(Cost::Free);
        assert!(!credits.may_post(Cost::Free));
        credits.sent(Cost::Noop);
        assert!(credits.may_post(Cost::Free) && credits.may_post(Cost::Noop));
    }

    #[test]
    fn version_1_keeps_the_last_credit_for_a_noop() {
        let mut credits = Credits::new(Version::V1, 8, 4, 8);
        for _ in 0..7 {
            credits.post(Cost::Credit);
            credits.sent(Cost::Credit);
        }
        assert!(!credits.may_post(Cost::Credit) && credits.may_post(Cost::Noop));
        (0..6).for_each(|_| credits.owe());
        assert!(!credits.needs_noop(None));
        credits.owe();
        assert!(credits.needs_noop(None));
        assert_eq!(credits.post(Cost::Noop), 7);
        assert!(!credits.may_post(Cost::Noop));
    }

    proptest! {
        /// Two ends that keep the rules never run out for good, and never hold more credits than buffers.
        #[test]
        fn two_ends_never_starve(depth in 2_u16..20, steps in prop::collection::vec((0_usize..2, 0_u8..3), 1..200)) {
            let end = || Credits::new(Version::V2, depth, depth / 2, depth);
            let mut ends = [end(), end()];
            // Messages that have arrived at an end and are not consumed.
            let mut waiting = [0_u16; 2];
            for (at, what) in steps {
                let other = 1 - at;
                match what {
                    0 if ends[at].may_post(Cost::Credit) => {
                        let returned = ends[at].post(Cost::Credit);
                        ends[at].sent(Cost::Credit);
                        waiting[other] += 1;
                        prop_assert_eq!(ends[other].take(returned), Ok(()));
                    }
                    1 if waiting[at] > 0 => {
                        waiting[at] -= 1;
                        ends[at].owe();
                    }
                    2 if ends[at].needs_noop(None) => {
                        let returned = ends[at].post(Cost::Noop);
                        ends[at].sent(Cost::Noop);
                        prop_assert_eq!(ends[other].take(returned), Ok(()));
                    }
                    _ => {}
                }
                prop_assert!(waiting[other] <= depth);
            }
            for at in [0, 1] {
                while waiting[at] > 0 {
                    waiting[at] -= 1;
                    ends[at].owe();
                }
                while ends[at].needs_noop(None) {
                    let returned = ends[at].post(Cost::Noop);
                    ends[at].sent(Cost::Noop);
                    prop_assert_eq!(ends[1 - at].take(returned), Ok(()));
                }
            }
            prop_assert!(ends[0].may_post(Cost::Credit) && ends[1].may_post(Cost::Credit));
        }
    }
}

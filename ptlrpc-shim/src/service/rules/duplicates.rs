//! At-most-once execution: decisions about requests that have arrived before.
//!
//! | the request | then |
//! |---|---|
//! | is in progress | dropped; if it was sent again, the reply goes to where it came from last |
//! | has a slot, and was served | the same reply is sent again |
//! | has a slot, and the client has acknowledged the reply | dropped |
//! | has no slot, and was served | served again |
//!
//! A slot, which the request's tag names, has one request of the client at a time. Its last reply is kept until the client
//! acknowledges it, or uses the slot for a later request. So a server keeps no more replies of a client than it has slots.

use crate::message::Xid;
use std::collections::{BTreeMap, VecDeque};

/// The maximum of slots of a client.
pub(crate) const MAX_SLOTS: u16 = 64;

/// The requests of one client. `R` is a request in progress, `A` a reply.
#[derive(Debug)]
pub(crate) struct Duplicates<R, A> {
    /// In the order of their XIDs, in which they mostly arrive.
    in_progress: VecDeque<(Xid, R)>,
    /// The last reply of each slot.
    kept: BTreeMap<u16, KeptReply<A>>,
    slots: u16,
    /// The client has acknowledged the replies to this request and all before it.
    acknowledged: Xid,
}

#[derive(Debug)]
struct KeptReply<A> {
    xid: Xid,
    reply: A,
}

/// The key of a request: its XID and its slot, with the replies that its client has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestKey {
    pub(crate) xid: Xid,
    /// The slot; 0: none.
    pub(crate) tag: u16,
    /// The client has the replies to this request and all before it.
    pub(crate) last_xid: Xid,
}

/// The result of the check for duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DuplicateCheck<R, A> {
    /// The request is to be served; then [`Duplicates::end`].
    New,
    /// A duplicate of this one, which is in progress.
    InProgress(R),
    /// A duplicate of a request that was served, with this reply.
    Replied(A),
    /// A request for which the client does not wait any more.
    Stale,
    /// The client has no such slot.
    NoSlot,
}

impl<R: Clone, A: Clone> Duplicates<R, A> {
    pub(crate) fn new(slots: u16) -> Self {
        Self { in_progress: VecDeque::new(), kept: BTreeMap::new(), slots, acknowledged: Xid(0) }
    }

    /// Sets the number of slots.
    pub(crate) const fn set_slots(&mut self, slots: u16) {
        self.slots = slots;
    }

    /// Checks a request that has arrived: `request`.
    pub(crate) fn begin(&mut self, key: RequestKey, request: R) -> DuplicateCheck<R, A> {
        if key.last_xid > self.acknowledged {
            self.acknowledged = key.last_xid;
            if !self.kept.is_empty() {
                self.kept.retain(|_, kept| kept.xid > key.last_xid);
            }
        }
        let at = match self.find(key.xid) {
            Ok(at) => return DuplicateCheck::InProgress(self.in_progress[at].1.clone()),
            Err(at) => at,
        };
        if key.tag != 0 {
            if key.tag > self.slots {
                return DuplicateCheck::NoSlot;
            }
            if key.xid <= self.acknowledged {
                return DuplicateCheck::Stale;
            }
            match self.kept.get(&key.tag) {
                Some(kept) if kept.xid == key.xid => return DuplicateCheck::Replied(kept.reply.clone()),
                Some(kept) if kept.xid > key.xid => return DuplicateCheck::Stale,
                _ => {}
            }
        }
        match at == self.in_progress.len() {
            true => self.in_progress.push_back((key.xid, request)),
            false => self.in_progress.insert(at, (key.xid, request)),
        }
        DuplicateCheck::New
    }

    fn find(&self, xid: Xid) -> Result<usize, usize> {
        match (self.in_progress.front(), self.in_progress.back()) {
            (Some((first, _)), _) if *first == xid => Ok(0),
            (_, Some((last, _))) if *last < xid => Err(self.in_progress.len()),
            (None, _) => Err(0),
            _ => self.in_progress.binary_search_by_key(&xid, |(xid, _)| *xid),
        }
    }

    /// Ends a request. `reply`: its reply; `None`: it was not served, or is to be served again if it comes again.
    pub(crate) fn end(&mut self, key: RequestKey, reply: Option<A>) {
        match self.find(key.xid) {
            Ok(0) => drop(self.in_progress.pop_front()),
            Ok(at) => drop(self.in_progress.remove(at)),
            Err(_) => {}
        }
        let Some(reply) = reply else { return };
        let is_latest = self.kept.get(&key.tag).is_none_or(|kept| kept.xid < key.xid);
        if key.tag != 0 && key.xid > self.acknowledged && is_latest {
            self.kept.insert(key.tag, KeptReply { xid: key.xid, reply });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn key(xid: u64, tag: u16, last_xid: u64) -> RequestKey {
        RequestKey { xid: Xid(xid), tag, last_xid: Xid(last_xid) }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Begin(u64, u16, u64, DuplicateCheck<u64, u64>),
        Responded(u64, u16),
        NotServed(u64, u16),
    }
    use DuplicateCheck::{InProgress, New, NoSlot, Stale};
    use Step::{Begin, NotServed, Responded};

    impl Copy for DuplicateCheck<u64, u64> {}

    #[test]
    fn what_is_done_with_duplicates() {
        // The XID identifies the request, and its reply.
        for (name, steps) in [
            (
                "while it is served",
                &[
                    Begin(64, 0, 0, New),
                    Begin(64, 0, 0, InProgress(64)),
                    Responded(64, 0),
                    Begin(64, 0, 0, New),
                ][..],
            ),
            (
                "with a slot it is served once",
                &[Begin(64, 3, 0, New), Responded(64, 3), Begin(64, 3, 0, DuplicateCheck::Replied(64))],
            ),
            ("dropped before it was served", &[Begin(64, 3, 0, New), NotServed(64, 3), Begin(64, 3, 0, New)]),
            (
                "the slot is used again",
                &[
                    Begin(64, 3, 0, New),
                    Responded(64, 3),
                    Begin(128, 3, 0, New),
                    Begin(64, 3, 0, DuplicateCheck::Replied(64)),
                    Responded(128, 3),
                    Begin(64, 3, 0, Stale),
                    Begin(128, 3, 0, DuplicateCheck::Replied(128)),
                ],
            ),
            (
                "the client has acknowledged the reply",
                &[
                    Begin(64, 1, 0, New),
                    Responded(64, 1),
                    Begin(128, 2, 64, New),
                    Begin(64, 1, 0, Stale),
                    Begin(192, 1, 64, New),
                ],
            ),
            (
                "slots are independent",
                &[
                    Begin(64, 1, 0, New),
                    Begin(128, 2, 0, New),
                    Responded(128, 2),
                    Responded(64, 1),
                    Begin(64, 1, 0, DuplicateCheck::Replied(64)),
                    Begin(128, 2, 0, DuplicateCheck::Replied(128)),
                ],
            ),
            ("no such slot", &[Begin(64, 8, 0, New), Begin(128, 9, 0, NoSlot)]),
        ] {
            let mut duplicates = Duplicates::<u64, u64>::new(8);
            for step in steps {
                match *step {
                    Begin(xid, tag, last, want) => {
                        assert_eq!(duplicates.begin(key(xid, tag, last), xid), want, "{name}: {step:?}");
                    }
                    Responded(xid, tag) => duplicates.end(key(xid, tag, 0), Some(xid)),
                    NotServed(xid, tag) => duplicates.end(key(xid, tag, 0), None),
                }
            }
        }
    }

    proptest! {
        /// A client that resends at any time, with replies lost, delayed and reordered.
        #[test]
        fn a_request_with_a_slot_is_served_at_most_once(
            steps in prop::collection::vec((0_u64..12, 0_u8..3), 1..200),
        ) {
            let mut duplicates = Duplicates::<u64, u64>::new(4);
            let (mut running, mut served) = (HashSet::new(), HashSet::new());
            for (number, what) in steps {
                // Each request has a slot, as if the client used four in turn.
                let (xid, tag) = (64 * (number + 1), (number % 4 + 1) as u16);
                let it = key(xid, tag, 0);
                match what {
                    0 | 1 => match duplicates.begin(it, xid) {
                        New => {
                            prop_assert!(!served.contains(&xid) && running.insert(xid));
                        }
                        InProgress(which) => prop_assert!(which == xid && running.contains(&xid)),
                        DuplicateCheck::Replied(which) => prop_assert!(which == xid && served.contains(&xid)),
                        Stale => prop_assert!(!running.contains(&xid)),
                        NoSlot => prop_assert!(false),
                    },
                    _ => if running.remove(&xid) {
                        duplicates.end(it, Some(xid));
                        served.insert(xid);
                    },
                }
                prop_assert!(duplicates.kept.len() <= 4);
                prop_assert_eq!(duplicates.in_progress.len(), running.len());
            }
        }
    }
}

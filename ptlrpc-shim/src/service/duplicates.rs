//! At most once: what to do with a request that came before.
//!
//! | the request | then |
//! |---|---|
//! | is being served | dropped; where it is sent again, the answer goes where it came from last |
//! | has a tag, and was served | answered as before |
//! | has a tag, and the client has said that it has the answer | dropped |
//! | has no tag, and was served | served again |
//!
//! A tag names a slot of the client's, in which it has one request at a time. Its last answer is kept until the client
//! has it, or uses the slot for a later request. So no client makes the server keep more answers than it has slots.

use crate::message::Xid;
use std::collections::{BTreeMap, HashMap};

/// Slots of a client that has agreed on no number.
pub(super) const DEFAULT_SLOTS: u16 = 8;
/// The most slots of a client.
pub(super) const MAX_SLOTS: u16 = 64;

/// The requests of one client. `R` is a request that is being served, `A` an answer.
#[derive(Debug)]
pub(super) struct Duplicates<R, A> {
    running: HashMap<Xid, R>,
    kept: BTreeMap<u16, Kept<A>>,
    slots: u16,
    /// The client has the answers to this and all before it.
    has: Xid,
}

#[derive(Debug)]
struct Kept<A> {
    xid: Xid,
    answer: A,
}

/// What of a request decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) xid: Xid,
    /// 0: none.
    pub(super) tag: u16,
    pub(super) last_xid: Xid,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict<R, A> {
    /// Serve it; [`Duplicates::end`] when that is over.
    Serve,
    /// This one is being served.
    Running(R),
    /// Give this answer again.
    Answered(A),
    /// Nobody waits for it.
    Past,
    /// The client has no such slot.
    NoSlot,
}

impl<R: Clone, A: Clone> Duplicates<R, A> {
    pub(super) fn new(slots: u16) -> Self {
        Self { running: HashMap::new(), kept: BTreeMap::new(), slots, has: Xid(0) }
    }

    /// How many slots the client has from now on.
    pub(super) const fn set_slots(&mut self, slots: u16) {
        self.slots = slots;
    }

    /// A request has come; `request` is it.
    pub(super) fn begin(&mut self, asked: Asked, request: R) -> Verdict<R, A> {
        if asked.last_xid > self.has {
            self.has = asked.last_xid;
            self.kept.retain(|_, kept| kept.xid > asked.last_xid);
        }
        if let Some(running) = self.running.get(&asked.xid) {
            return Verdict::Running(running.clone());
        }
        if asked.tag != 0 {
            if asked.tag > self.slots {
                return Verdict::NoSlot;
            }
            if asked.xid <= self.has {
                return Verdict::Past;
            }
            match self.kept.get(&asked.tag) {
                Some(kept) if kept.xid == asked.xid => return Verdict::Answered(kept.answer.clone()),
                Some(kept) if kept.xid > asked.xid => return Verdict::Past,
                _ => {}
            }
        }
        self.running.insert(asked.xid, request);
        Verdict::Serve
    }

    /// The request is over. `answer`: what it was answered; `None`: it was not served, or is to be served again when it
    /// comes again.
    pub(super) fn end(&mut self, asked: Asked, answer: Option<A>) {
        self.running.remove(&asked.xid);
        let Some(answer) = answer else { return };
        let is_latest = self.kept.get(&asked.tag).is_none_or(|kept| kept.xid < asked.xid);
        if asked.tag != 0 && asked.xid > self.has && is_latest {
            self.kept.insert(asked.tag, Kept { xid: asked.xid, answer });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn asked(xid: u64, tag: u16, last_xid: u64) -> Asked {
        Asked { xid: Xid(xid), tag, last_xid: Xid(last_xid) }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Begin(u64, u16, u64, Verdict<u64, u64>),
        Answered(u64, u16),
        NotServed(u64, u16),
    }
    use Step::{Answered, Begin, NotServed};
    use Verdict::{NoSlot, Past, Running, Serve};

    impl Copy for Verdict<u64, u64> {}

    #[test]
    fn what_is_done_with_a_request_that_came_before() {
        // Requests are named by their xids, and so are their answers.
        for (name, steps) in [
            (
                "while it is served",
                &[
                    Begin(64, 0, 0, Serve),
                    Begin(64, 0, 0, Running(64)),
                    Answered(64, 0),
                    Begin(64, 0, 0, Serve),
                ][..],
            ),
            (
                "with a tag it is served once",
                &[Begin(64, 3, 0, Serve), Answered(64, 3), Begin(64, 3, 0, Verdict::Answered(64))],
            ),
            (
                "dropped before it was served",
                &[Begin(64, 3, 0, Serve), NotServed(64, 3), Begin(64, 3, 0, Serve)],
            ),
            (
                "the slot is used again",
                &[
                    Begin(64, 3, 0, Serve),
                    Answered(64, 3),
                    Begin(128, 3, 0, Serve),
                    Begin(64, 3, 0, Verdict::Answered(64)),
                    Answered(128, 3),
                    Begin(64, 3, 0, Past),
                    Begin(128, 3, 0, Verdict::Answered(128)),
                ],
            ),
            (
                "the client has the answer",
                &[
                    Begin(64, 1, 0, Serve),
                    Answered(64, 1),
                    Begin(128, 2, 64, Serve),
                    Begin(64, 1, 0, Past),
                    Begin(192, 1, 64, Serve),
                ],
            ),
            (
                "slots are apart",
                &[
                    Begin(64, 1, 0, Serve),
                    Begin(128, 2, 0, Serve),
                    Answered(128, 2),
                    Answered(64, 1),
                    Begin(64, 1, 0, Verdict::Answered(64)),
                    Begin(128, 2, 0, Verdict::Answered(128)),
                ],
            ),
            ("no such slot", &[Begin(64, 8, 0, Serve), Begin(128, 9, 0, NoSlot)]),
        ] {
            let mut duplicates = Duplicates::<u64, u64>::new(8);
            for step in steps {
                match *step {
                    Begin(xid, tag, last, want) => {
                        assert_eq!(duplicates.begin(asked(xid, tag, last), xid), want, "{name}: {step:?}");
                    }
                    Answered(xid, tag) => duplicates.end(asked(xid, tag, 0), Some(xid)),
                    NotServed(xid, tag) => duplicates.end(asked(xid, tag, 0), None),
                }
            }
        }
    }

    proptest! {
        /// A client that resends as it likes, with answers lost, delayed and overtaken.
        #[test]
        fn what_has_a_tag_is_served_at_most_once(
            steps in prop::collection::vec((0_u64..12, 0_u8..3), 1..200),
        ) {
            let mut duplicates = Duplicates::<u64, u64>::new(4);
            let (mut running, mut served) = (HashSet::new(), HashSet::new());
            for (number, what) in steps {
                // Each request has its slot, as a client has it that uses four in turn.
                let (xid, tag) = (64 * (number + 1), (number % 4 + 1) as u16);
                let it = asked(xid, tag, 0);
                match what {
                    0 | 1 => match duplicates.begin(it, xid) {
                        Serve => {
                            prop_assert!(!served.contains(&xid) && running.insert(xid));
                        }
                        Running(which) => prop_assert!(which == xid && running.contains(&xid)),
                        Verdict::Answered(which) => prop_assert!(which == xid && served.contains(&xid)),
                        Past => prop_assert!(!running.contains(&xid)),
                        NoSlot => prop_assert!(false),
                    },
                    _ => if running.remove(&xid) {
                        duplicates.end(it, Some(xid));
                        served.insert(xid);
                    },
                }
                prop_assert!(duplicates.kept.len() <= 4);
                prop_assert_eq!(duplicates.running.len(), running.len());
            }
        }
    }
}

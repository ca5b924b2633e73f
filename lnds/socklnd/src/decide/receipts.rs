//! Receipts for messages sent (the kernel's zero-copy cookies, wire spec 3.4).
//!
//! A message that asks for a receipt is done with when its bytes are written *and* its receipt has come;
//! either may be first. Receipts belong to the peer, not to the connection.

use crate::proto::Version;
use crate::proto::frame::{Cookies, KEEPALIVE_COOKIE};
use std::collections::VecDeque;
use std::time::Instant;

const FIRST_COOKIE: u64 = 2;

/// What the cookies of something received say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought {
    /// No receipt.
    Nothing,
    /// One.
    One(u64),
    /// Two.
    Pair(u64, u64),
    /// All from the first to the second.
    Range(u64, u64),
}

impl Brought {
    /// Of a NOOP on a connection of `version`.
    pub(crate) const fn by_noop(version: Version, cookies: Cookies) -> Self {
        match (cookies.request, cookies.receipt) {
            (0, receipt) => Self::one(version, receipt),
            (a, b) if a > b => Self::Pair(a, b),
            (a, b) => Self::Range(a, b),
        }
    }

    /// Of an LNet message on a connection of `version`.
    pub(crate) const fn by_message(version: Version, cookies: Cookies) -> Self {
        Self::one(version, cookies.receipt)
    }

    const fn one(version: Version, cookie: u64) -> Self {
        match (version, cookie) {
            (_, 0) => Self::Nothing,
            (Version::V3 | Version::V4, KEEPALIVE_COOKIE) => Self::Nothing,
            _ => Self::One(cookie),
        }
    }
}

/// A receipt that nobody asked for: the peer breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotOutstanding;

/// The messages to one peer that want a receipt.
#[derive(Debug)]
pub(crate) struct Outstanding<M> {
    next: u64,
    entries: VecDeque<Entry<M>>,
}

#[derive(Debug)]
struct Entry<M> {
    cookie: u64,
    since: Instant,
    state: State<M>,
}

#[derive(Debug)]
enum State<M> {
    /// Not all of its bytes have been written.
    Writing,
    /// Not all of its bytes have been written (as far as the writer has told), and the receipt is here.
    Acknowledged,
    /// Written; the receipt is missing.
    Written(M),
    /// Not all of its bytes have been written, and the receipt will never come.
    Hopeless,
}

/// What becomes of a message when its last byte is written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Written<M> {
    /// It is done with.
    Done(M),
    /// The receipt will never come: the connections that it could have come by have ended.
    Lost(M),
    /// It is kept until its receipt comes.
    Waits,
}

impl<M> Default for Outstanding<M> {
    fn default() -> Self {
        Self { next: FIRST_COOKIE, entries: VecDeque::new() }
    }
}

impl<M> Outstanding<M> {
    /// The cookie for a message about to be written.
    pub(crate) fn open(&mut self, now: Instant) -> u64 {
        let cookie = self.next;
        self.next = self.next.checked_add(1).unwrap_or(FIRST_COOKIE);
        self.entries.push_back(Entry { cookie, since: now, state: State::Writing });
        cookie
    }

    /// The message is written.
    pub(crate) fn written(&mut self, cookie: u64, message: M, now: Instant) -> Written<M> {
        let Some(at) = self.entries.iter().position(|entry| entry.cookie == cookie) else {
            return Written::Lost(message);
        };
        match self.entries[at].state {
            State::Acknowledged => {
                self.entries.remove(at);
                Written::Done(message)
            }
            State::Hopeless => {
                self.entries.remove(at);
                Written::Lost(message)
            }
            State::Writing | State::Written(_) => {
                self.entries[at] = Entry { cookie, since: now, state: State::Written(message) };
                Written::Waits
            }
        }
    }

    /// The message will never be written.
    pub(crate) fn abandon(&mut self, cookie: u64) {
        self.entries.retain(|entry| entry.cookie != cookie);
    }

    /// Receipts have come. Gives back the messages that are done with.
    pub(crate) fn acknowledge(&mut self, brought: Brought) -> Result<Vec<M>, NotOutstanding> {
        let (want, wanted): (u64, &dyn Fn(u64) -> bool) = match brought {
            Brought::Nothing => return Ok(Vec::new()),
            Brought::One(one) => (1, &move |cookie| cookie == one),
            Brought::Pair(a, b) => (2, &move |cookie| cookie == a || cookie == b),
            Brought::Range(a, b) => ((b - a).saturating_add(1), &move |cookie| (a..=b).contains(&cookie)),
        };
        let waits = |entry: &Entry<M>| {
            wanted(entry.cookie) && matches!(entry.state, State::Writing | State::Written(_))
        };
        if self.entries.iter().filter(|entry| waits(entry)).count() as u64 != want {
            return Err(NotOutstanding);
        }
        let mut done = Vec::new();
        for _ in 0..self.entries.len() {
            let Some(mut entry) = self.entries.pop_front() else { break };
            if waits(&entry) {
                match entry.state {
                    State::Written(message) => {
                        done.push(message);
                        continue;
                    }
                    _ => entry.state = State::Acknowledged,
                }
            }
            self.entries.push_back(entry);
        }
        Ok(done)
    }

    /// Since when the oldest written message has been waiting.
    pub(crate) fn waiting_since(&self) -> Option<Instant> {
        self.entries
            .iter()
            .filter(|entry| matches!(entry.state, State::Written(_)))
            .map(|entry| entry.since)
            .min()
    }

    /// Takes the written messages: their receipts will never come, nor those of the messages being written.
    pub(crate) fn give_up(&mut self) -> Vec<M> {
        let mut lost = Vec::new();
        for mut entry in std::mem::take(&mut self.entries) {
            match entry.state {
                State::Written(message) => {
                    lost.push(message);
                    continue;
                }
                State::Writing => entry.state = State::Hopeless,
                State::Acknowledged | State::Hopeless => {}
            }
            self.entries.push_back(entry);
        }
        lost
    }

    /// Whether nothing is outstanding.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn noop(request: u64, receipt: u64) -> Brought {
        Brought::by_noop(Version::V3, Cookies { request, receipt })
    }

    #[test]
    fn what_the_cookies_of_a_noop_say() {
        for (a, b, want) in [
            (0, 0, Brought::Nothing),
            (0, 1, Brought::Nothing),
            (0, 5, Brought::One(5)),
            (6, 5, Brought::Pair(6, 5)),
            (5, 5, Brought::Range(5, 5)),
            (5, 9, Brought::Range(5, 9)),
            (2, 1, Brought::Pair(2, 1)),
            (1, 2, Brought::Range(1, 2)),
        ] {
            assert_eq!(noop(a, b), want, "{a} {b}");
        }
        let keepalive = Cookies { request: 0, receipt: 1 };
        assert_eq!(Brought::by_noop(Version::V2, keepalive), Brought::One(1));
        assert_eq!(Brought::by_message(Version::V3, Cookies { request: 9, receipt: 4 }), Brought::One(4));
    }

    fn written(n: u64) -> Outstanding<u64> {
        let now = Instant::now();
        let mut all = Outstanding::default();
        for _ in 0..n {
            let cookie = all.open(now);
            assert_eq!(all.written(cookie, cookie, now), Written::Waits);
        }
        all
    }

    #[test]
    fn cookies_start_at_2() {
        let now = Instant::now();
        let mut all = Outstanding::<()>::default();
        assert_eq!([all.open(now), all.open(now)], [2, 3]);
        all.next = u64::MAX;
        assert_eq!([all.open(now), all.open(now)], [u64::MAX, 2]);
    }

    #[test]
    fn receipts_come_one_by_one_in_pairs_and_in_ranges() {
        let mut all = written(6);
        assert_eq!(all.acknowledge(noop(0, 4)), Ok(vec![4]));
        assert_eq!(all.acknowledge(noop(6, 2)), Ok(vec![2, 6]));
        assert_eq!(all.acknowledge(noop(3, 3)), Ok(vec![3]));
        assert_eq!(all.acknowledge(noop(5, 5)), Ok(vec![5]));
        assert_eq!(all.acknowledge(noop(0, 7)), Ok(vec![7]));
        assert!(all.is_empty());
    }

    #[test]
    fn a_receipt_that_nobody_waits_for_is_an_error_and_changes_nothing() {
        for wrong in [noop(0, 9), noop(2, 1), noop(1, 2), noop(2, 9), noop(2, u64::MAX), noop(9, 2)] {
            let mut all = written(3);
            assert_eq!(all.acknowledge(wrong), Err(NotOutstanding), "{wrong:?}");
            assert_eq!(all.acknowledge(noop(2, 4)), Ok(vec![2, 3, 4]));
            assert_eq!(all.acknowledge(noop(0, 3)), Err(NotOutstanding));
        }
    }

    #[test]
    fn a_receipt_may_be_faster_than_the_writer() {
        let now = Instant::now();
        let mut all = Outstanding::default();
        let cookie = all.open(now);
        assert_eq!(all.acknowledge(noop(0, cookie)), Ok(vec![]));
        assert_eq!(all.acknowledge(noop(0, cookie)), Err(NotOutstanding));
        assert_eq!(all.written(cookie, "message", now), Written::Done("message"));
        assert!(all.is_empty());
    }

    #[test]
    fn messages_whose_receipts_will_never_come_are_given_back_once() {
        let mut all = written(2);
        let now = Instant::now();
        let (writing, unwritten, acknowledged) = (all.open(now), all.open(now), all.open(now));
        assert_eq!(all.acknowledge(noop(0, acknowledged)), Ok(vec![]));
        assert_eq!(all.give_up(), [2, 3]);
        assert_eq!(all.give_up(), []);
        assert!(all.waiting_since().is_none());
        assert_eq!(all.written(writing, 4, now), Written::Lost(4));
        assert_eq!(all.written(acknowledged, 6, now), Written::Done(6));
        all.abandon(unwritten);
        assert!(all.is_empty());
    }

    proptest! {
        #[test]
        fn each_message_comes_back_exactly_once(acks in prop::collection::vec((0_u64..12, 0_u64..12), 0..30)) {
            let mut all = written(8);
            let mut model: Vec<u64> = (2..10).collect();
            for (a, b) in acks {
                let named: Vec<u64> = match (a, b) {
                    (0, 0 | 1) => vec![],
                    (0, b) => vec![b],
                    (a, b) if a > b => vec![b, a],
                    (a, b) => (a..=b).collect(),
                };
                let want = if named.iter().all(|cookie| model.contains(cookie)) {
                    model.retain(|cookie| !named.contains(cookie));
                    Ok(named)
                } else {
                    Err(NotOutstanding)
                };
                prop_assert_eq!(all.acknowledge(noop(a, b)), want);
            }
        }
    }
}

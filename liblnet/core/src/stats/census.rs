//! How many messages a node has, counted so that threads with different peers do not meet at a counter.

use super::Population;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Groups that peers are divided into. More make threads meet less often and the maximum less exact.
const GROUPS: usize = 16;

/// Counts messages from when they are made to when they are put away.
#[derive(Debug, Default)]
pub(crate) struct Census {
    groups: [Group; GROUPS],
    /// Written only when something goes wrong.
    errors: AtomicU64,
}

/// Which group counts a message; it stays with the message, whatever peer that goes to in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupNumber(u8);

/// On cache lines of its own: two, because processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Group {
    alive: AtomicI64,
    most: AtomicI64,
    /// Of those alive, answers to other nodes.
    answers: AtomicI64,
}

impl Census {
    /// Counts a message that is made for the peer that came as the `peer`th.
    pub(crate) fn enter(&self, peer: u64) -> GroupNumber {
        let number = GroupNumber((peer % GROUPS as u64) as u8);
        let group = self.group(number);
        let alive = group.alive.fetch_add(1, Ordering::Relaxed) + 1;
        if alive > group.most.load(Ordering::Relaxed) {
            group.most.fetch_max(alive, Ordering::Relaxed);
        }
        number
    }

    /// Counts that it is put away.
    pub(crate) fn leave(&self, number: GroupNumber) {
        self.group(number).alive.fetch_sub(1, Ordering::Relaxed);
    }

    /// One of those counted is an answer now.
    pub(crate) fn answers(&self, number: GroupNumber) {
        self.group(number).answers.fetch_add(1, Ordering::Relaxed);
    }

    /// And is over.
    pub(crate) fn answered(&self, number: GroupNumber) {
        self.group(number).answers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether there are `most` answers in all, and in this group its share of these. The other groups are looked at only
    /// when this one has its share.
    pub(crate) fn is_answering_too_much(&self, number: GroupNumber, most: u32) -> bool {
        let most = i64::from(most);
        let share = most / GROUPS as i64;
        self.group(number).answers.load(Ordering::Relaxed) >= share && self.answers_in_all() >= most
    }

    /// Whether any of those alive is an answer.
    pub(crate) fn has_answers(&self) -> bool {
        self.answers_in_all() > 0
    }

    fn answers_in_all(&self) -> i64 {
        self.groups.iter().map(|group| group.answers.load(Ordering::Relaxed)).sum()
    }

    /// Counts something that went wrong.
    pub(crate) fn error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// The numbers as they are at this moment.
    pub(crate) fn read(&self) -> Population {
        let sum = |of: fn(&Group) -> &AtomicI64| -> u64 {
            let sum: i64 = self.groups.iter().map(|group| of(group).load(Ordering::Relaxed)).sum();
            u64::try_from(sum).unwrap_or(0)
        };
        let alive = sum(|group| &group.alive);
        let most = sum(|group| &group.most).max(alive);
        Population { alive, most, errors: self.errors.load(Ordering::Relaxed) }
    }

    /// Begins anew: no errors, and never more messages than now.
    pub(crate) fn reset(&self) {
        self.errors.store(0, Ordering::Relaxed);
        for group in &self.groups {
            group.most.store(group.alive.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn group(&self, number: GroupNumber) -> &Group {
        &self.groups[usize::from(number.0) % GROUPS]
    }
}

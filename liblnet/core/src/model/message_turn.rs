//! Turns of several messages, which selection rules give to candidates (cfg-145).

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The number of messages that a candidate gets in a row before the next candidate has its turn. Without a rule that counts
/// messages it has no effect. Several threads that send at the same time may give a turn a few messages more.
#[derive(Debug, Default)]
pub(crate) struct MessageTurn {
    /// The number of messages of a turn; 0: messages are not counted.
    messages: AtomicU32,
    /// The number of messages sent in the current turn.
    sent: AtomicU32,
    /// The number of the last turn's end, by [`TurnClock`]; 0 before the first.
    ended: AtomicU64,
}

/// A counter that numbers the ends of turns.
#[derive(Debug, Default)]
pub(crate) struct TurnClock(AtomicU64);

impl MessageTurn {
    pub(crate) fn new(messages: Option<NonZeroU32>) -> Self {
        let turn = Self::default();
        turn.set(messages);
        turn
    }

    /// Sets the number of messages of a turn, and begins a new one if that changes; `None`: messages are not counted.
    pub(crate) fn set(&self, messages: Option<NonZeroU32>) {
        let messages = messages.map_or(0, NonZeroU32::get);
        if self.messages.swap(messages, Ordering::Relaxed) != messages {
            self.sent.store(0, Ordering::Relaxed);
            self.ended.store(0, Ordering::Relaxed);
        }
    }

    /// The number of messages of a turn; `None`: messages are not counted.
    pub(crate) fn messages(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.messages.load(Ordering::Relaxed))
    }

    /// The order of the last turn's end: of several candidates the one with the lowest number is next. Of those that have not
    /// ended a turn yet, one whose turn has begun comes first. 0 if the messages are not counted.
    pub(crate) fn ended(&self) -> u64 {
        if !self.is_counted() {
            return 0;
        }
        let has_begun = self.sent.load(Ordering::Relaxed) > 0;
        self.ended.load(Ordering::Relaxed) << 1 | u64::from(!has_begun)
    }

    pub(crate) fn is_counted(&self) -> bool {
        self.messages.load(Ordering::Relaxed) > 0
    }

    /// Counts a message; the last message of a turn ends it.
    pub(crate) fn note_message(&self, clock: &TurnClock) {
        let messages = self.messages.load(Ordering::Relaxed);
        if messages > 0 && self.sent.fetch_add(1, Ordering::Relaxed) + 1 >= messages {
            self.sent.store(0, Ordering::Relaxed);
            self.ended.store(clock.0.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn sequence(turns: &[MessageTurn], clock: &TurnClock, times: usize) -> Vec<usize> {
        let next = || {
            let (at, turn) = turns.iter().enumerate().min_by_key(|(_, turn)| turn.ended()).unwrap();
            turn.note_message(clock);
            at
        };
        std::iter::repeat_with(next).take(times).collect()
    }

    /// cfg-145: fails if candidates with turns of three messages and of one message do not share messages 3:1.
    #[test]
    fn each_has_as_many_messages_in_a_row_as_its_rule_gives_it() {
        let clock = TurnClock::default();
        let turns = [3, 1].map(|messages| MessageTurn::new(NonZeroU32::new(messages)));
        assert_eq!(sequence(&turns, &clock, 9), [0, 0, 0, 1, 0, 0, 0, 1, 0]);
        turns[1].set(NonZeroU32::new(2));
        assert_eq!(sequence(&turns, &clock, 6), [1, 1, 0, 0, 1, 1], "the turn that had begun goes on");
    }

    #[test]
    fn without_a_number_nothing_is_counted() {
        let (clock, turn) = (TurnClock::default(), MessageTurn::default());
        turn.note_message(&clock);
        assert_eq!((turn.ended(), turn.is_counted()), (0, false));
    }
}

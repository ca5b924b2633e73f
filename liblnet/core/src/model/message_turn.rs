//! Turns of several messages, as selection rules give them (cfg-145).

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many messages in a row a candidate gets before the next one has its turn. Without a rule that counts messages it
/// says nothing. Several threads that send at the same time may give a turn a few messages more.
#[derive(Debug, Default)]
pub(crate) struct MessageTurn {
    /// Messages of a turn; 0: none are counted.
    messages: AtomicU32,
    /// Those of this turn so far.
    sent: AtomicU32,
    /// When its last turn ended; 0 if it had none.
    ended: AtomicU64,
}

/// Numbers the ends of turns.
#[derive(Debug, Default)]
pub(crate) struct TurnClock(AtomicU64);

impl MessageTurn {
    pub(crate) fn new(messages: Option<NonZeroU32>) -> Self {
        let turn = Self::default();
        turn.set(messages);
        turn
    }

    /// Sets the number of messages; `None`: they are not counted.
    pub(crate) fn set(&self, messages: Option<NonZeroU32>) {
        let messages = messages.map_or(0, NonZeroU32::get);
        if self.messages.swap(messages, Ordering::Relaxed) != messages {
            self.sent.store(0, Ordering::Relaxed);
            self.ended.store(0, Ordering::Relaxed);
        }
    }

    /// The number of messages; `None`: they are not counted.
    pub(crate) fn messages(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.messages.load(Ordering::Relaxed))
    }

    /// When its last turn ended: of several the lowest number is next, which is one whose turn has begun if more than one had none
    /// yet. The same for all whose messages are not counted.
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

    /// One message more.
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

    /// cfg-145: fails if three messages and one in turn are not 3:1.
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

//! The ID of a message that requests a delivery ACK.
//!
//! A kernel does not interpret the ID, as long as it is neither 0 nor 1. A node of this implementation reads from it the
//! connection on which the message was sent first, its number there, and whether it is sent again.

use std::num::NonZeroU64;

const SEQUENCE_BITS: u32 = 40;
const CONN_SEQ_BITS: u32 = 23;
const RESEND: u64 = 1 << 63;

/// A connection in one incarnation of the node that sends on it. Numbers repeat after 8 million connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnSeq(u32);

/// The ID of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(NonZeroU64);

impl ConnSeq {
    /// Returns the sequence of the connection that was made as number `count`.
    pub const fn nth(count: u64) -> Self {
        Self((count % ((1 << CONN_SEQ_BITS) - 1)) as u32 + 1)
    }
}

impl MessageId {
    /// Makes the ID of the message that is first sent on `conn_seq` as number `sequence`, which begins at 1. `None`: there
    /// is no such number.
    pub fn new(conn_seq: ConnSeq, sequence: u64) -> Option<Self> {
        let in_range = (1..1 << SEQUENCE_BITS).contains(&sequence);
        NonZeroU64::new(u64::from(conn_seq.0) << SEQUENCE_BITS | sequence).filter(|_| in_range).map(Self)
    }

    /// Reads the ID from a received cookie. `None`: this implementation does not send such a cookie.
    pub fn of(wire: u64) -> Option<Self> {
        let id = Self(NonZeroU64::new(wire)?);
        (id.conn_seq().0 > 0 && id.sequence() > 0).then_some(id)
    }

    /// The cookie of the message, and of its delivery ACK.
    pub const fn wire(self) -> u64 {
        self.0.get()
    }

    /// The sequence of the connection on which the message was sent first.
    pub const fn conn_seq(self) -> ConnSeq {
        ConnSeq((self.wire() >> SEQUENCE_BITS) as u32 & ((1 << CONN_SEQ_BITS) - 1))
    }

    /// The number of the message in that sequence.
    pub const fn sequence(self) -> u64 {
        self.wire() & ((1 << SEQUENCE_BITS) - 1)
    }

    /// Whether the message is sent again, by another connection.
    pub const fn is_resend(self) -> bool {
        self.wire() & RESEND != 0
    }

    /// The ID of the same message when it is sent again.
    #[must_use]
    pub const fn resent(self) -> Self {
        Self(self.0.saturating_add(if self.is_resend() { 0 } else { RESEND }))
    }

    /// The ID of the same message when it was sent first: its unique name.
    pub fn first(self) -> NonZeroU64 {
        NonZeroU64::new(self.wire() & !RESEND).unwrap_or(self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_that_are_no_message_ids_are_rejected() {
        for wire in [0, 1, 2, (1 << 40) - 1, 1 << 40, RESEND, RESEND | 1, RESEND | 1 << 40] {
            assert_eq!(MessageId::of(wire), None, "{wire:x}");
        }
        assert_eq!(MessageId::new(ConnSeq::nth(0), 0), None);
        assert_eq!(MessageId::new(ConnSeq::nth(0), 1 << 40), None);
    }

    #[test]
    fn sequences_wrap_around_and_skip_0() {
        let all = (1 << CONN_SEQ_BITS) - 1;
        for (count, conn_seq) in [(0, 1), (1, 2), (all - 1, all), (all, 1), (all + 1, 2)] {
            assert_eq!(u64::from(ConnSeq::nth(count).0), conn_seq);
        }
    }

    proptest! {
        #[test]
        fn a_message_id_holds_its_sequence_and_number(count: u64, sequence in 1_u64..1 << 40) {
            let id = MessageId::new(ConnSeq::nth(count), sequence).unwrap();
            prop_assert_eq!((id.conn_seq(), id.sequence(), id.is_resend()), (ConnSeq::nth(count), sequence, false));
            let resent = id.resent();
            prop_assert_eq!((resent.conn_seq(), resent.sequence(), resent.is_resend()), (ConnSeq::nth(count), sequence, true));
            prop_assert_eq!((resent.resent(), resent.first(), id.first()), (resent, id.0, id.0));
            prop_assert_eq!(MessageId::of(resent.wire()), Some(resent));
            prop_assert_eq!(MessageId::of(id.wire()), Some(id));
            prop_assert!(id.wire() > 1);
        }
    }
}

//! Match bits, which address a buffer of a transfer machine, and header data, which identify the sender (motr-net 3.4).

use super::address::Tmid;

/// The bits of a buffer identifier.
const ID_BITS: u32 = 52;
const ID_MASK: u64 = (1 << ID_BITS) - 1;

/// The identifier of a passive buffer of a transfer machine: 52 bits, and not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId(u64);

impl BufferId {
    /// The first identifier of a transfer machine.
    pub const FIRST: Self = Self(1);

    /// The identifier with this number; `None` if it is 0 or has more than 52 bits.
    pub const fn new(number: u64) -> Option<Self> {
        if number != 0 && number <= ID_MASK { Some(Self(number)) } else { None }
    }

    /// The next identifier; after the largest one comes the first.
    #[must_use]
    pub const fn next(self) -> Self {
        if self.0 == ID_MASK { Self::FIRST } else { Self(self.0 + 1) }
    }
}

/// The match bits of messages to a transfer machine.
pub const fn of_messages(tmid: Tmid) -> u64 {
    (tmid.number() as u64) << ID_BITS
}

/// The match bits of a passive buffer.
pub const fn of_buffer(tmid: Tmid, id: BufferId) -> u64 {
    of_messages(tmid) | id.0
}

/// The transfer machine and the buffer that match bits address; `None` if they are those of messages.
pub fn parse_buffer(bits: u64) -> Option<(Tmid, BufferId)> {
    Some((Tmid::new((bits >> ID_BITS) as u32)?, BufferId::new(bits & ID_MASK)?))
}

/// The bits that distinguish the buffers of a transfer machine: a machine has all match bits that differ from [`of_messages`] in these only.
pub const BUFFER_BITS: u64 = ID_MASK;

/// The header data of messages from a transfer machine.
pub const fn header_data(tmid: Tmid, portal: u32) -> u64 {
    of_messages(tmid) | portal as u64
}

/// The sender's transfer machine and portal in header data, unchecked: the peer chose them.
pub fn parse_header_data(data: u64) -> (Tmid, u32) {
    let tmid = Tmid::new((data >> ID_BITS) as u32).unwrap_or(Tmid::MAX);
    (tmid, data as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_transfer_machine_is_in_the_upper_twelve_bits() {
        let tmid = Tmid::new(0xabc).unwrap();
        assert_eq!(of_messages(tmid), 0xabc0_0000_0000_0000);
        assert_eq!(of_buffer(tmid, BufferId::FIRST), 0xabc0_0000_0000_0001);
        assert_eq!(header_data(tmid, 30), 0xabc0_0000_0000_001e);
        assert_eq!(of_messages(Tmid::new(0).unwrap()), 0);
    }

    #[test]
    fn buffer_identifiers_begin_again_at_one() {
        let last = BufferId::new(ID_MASK).unwrap();
        assert_eq!(last.next(), BufferId::FIRST);
        assert_eq!(BufferId::FIRST.next(), BufferId(2));
        assert_eq!(BufferId::new(0), None);
        assert_eq!(BufferId::new(ID_MASK + 1), None);
    }

    #[test]
    fn header_data_that_names_no_sender_is_read_all_the_same() {
        assert_eq!(parse_header_data(0), (Tmid::new(0).unwrap(), 0));
        assert_eq!(parse_header_data(u64::MAX), (Tmid::MAX, u32::MAX));
    }

    proptest! {
        #[test]
        fn bits_are_read_as_they_were_written(tmid in 0_u32..=4095, id in 1_u64..=ID_MASK, portal in 1_u32..) {
            let (tmid, id) = (Tmid::new(tmid).unwrap(), BufferId::new(id).unwrap());
            prop_assert_eq!(parse_buffer(of_buffer(tmid, id)), Some((tmid, id)));
            prop_assert_eq!(parse_buffer(of_messages(tmid)), None);
            prop_assert_eq!(parse_header_data(header_data(tmid, portal)), (tmid, portal));
        }
    }
}

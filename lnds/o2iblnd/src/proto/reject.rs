//! Reject data: why a node refuses a connection request, in the private data of the connection manager's reject (wire-o2ib 6.3).

use super::byte_order::{check_received, sender_order};
use super::{ConnParams, MAGIC, ProtoError, REJECT_LEN, Version};
use lnet_wire::byte_order::{ByteOrder, put_u32, put_u64};
use std::fmt;

/// Length in bytes up to the reason, and the pad byte behind it.
const HEAD_LEN: usize = 8;
/// Offset of the connection parameters.
const PARAMS: usize = 16;

/// The reason of a reject; wire-o2ib 6.4 says what the caller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RejectReason {
    /// Both nodes connect to each other, and the connection of the higher NID is used: the rejecting node's.
    Race,
    /// The rejecting node is out of memory.
    NoResources,
    /// The request is invalid, or not for the rejecting node.
    Fatal,
    /// The rejecting node does not know the version. Kernel nodes never send it.
    IncompatibleVersion,
    /// The request is for another incarnation, or existing connections are of another.
    Stale,
    /// The request has too many fragments; the parameters say how many the rejecting node takes.
    TooManyFragments,
    /// The request has too deep a queue; the parameters say how deep a one the rejecting node takes.
    QueueTooDeep,
    /// The service number is invalid. Kernel nodes never send it.
    InvalidServiceId,
    /// The request came before the rejecting node was ready (2.17).
    TooEarly,
    /// Another number, 0 or from 10 on.
    Unknown(u8),
}

impl RejectReason {
    /// The reason with this number on the wire.
    pub const fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Race,
            2 => Self::NoResources,
            3 => Self::Fatal,
            4 => Self::IncompatibleVersion,
            5 => Self::Stale,
            6 => Self::TooManyFragments,
            7 => Self::QueueTooDeep,
            8 => Self::InvalidServiceId,
            9 => Self::TooEarly,
            other => Self::Unknown(other),
        }
    }

    /// The number on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Self::Race => 1,
            Self::NoResources => 2,
            Self::Fatal => 3,
            Self::IncompatibleVersion => 4,
            Self::Stale => 5,
            Self::TooManyFragments => 6,
            Self::QueueTooDeep => 7,
            Self::InvalidServiceId => 8,
            Self::TooEarly => 9,
            Self::Unknown(number) => number,
        }
    }
}

/// Writes the reason as log lines name it.
impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Race => f.write_str("connection race"),
            Self::NoResources => f.write_str("no resources"),
            Self::Fatal => f.write_str("invalid request"),
            Self::IncompatibleVersion => f.write_str("incompatible version"),
            Self::Stale => f.write_str("stale incarnation"),
            Self::TooManyFragments => f.write_str("too many fragments"),
            Self::QueueTooDeep => f.write_str("queue too deep"),
            Self::InvalidServiceId => f.write_str("invalid service number"),
            Self::TooEarly => f.write_str("not ready yet"),
            Self::Unknown(number) => write!(f, "unknown reason {number}"),
        }
    }
}

/// What a reject says of the rejecting node. All zeros, but for a message size of 4096, if that does not know which of its
/// interfaces the request is for (wire-o2ib 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RejectDetails {
    /// The incarnation of the rejecting interface: its start in microseconds since 1970, or 0.
    pub incarnation: u64,
    /// The limits of the rejecting node.
    pub params: ConnParams,
}

/// Decoded reject data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reject {
    /// The version of the rejecting node: any number may arrive. [`Version::from_number`] says which are known.
    pub version: u16,
    /// The reason.
    pub reason: RejectReason,
    /// What is valid only in version 0x12 and later, and if all 24 bytes have arrived (wire-o2ib 6.4).
    pub details: Option<RejectDetails>,
}

impl Reject {
    /// Reads reject data in either byte order. `private_data` is that of the connection manager's event, which may be longer.
    pub fn decode(private_data: &[u8]) -> Result<Self, ProtoError> {
        check_received(private_data, HEAD_LEN)?;
        let order = sender_order(private_data)?;
        let version = order.u16(private_data, 4);
        let has_details = version > Version::V1.number() && private_data.len() >= REJECT_LEN;
        let details = RejectDetails {
            incarnation: order.u64(private_data, HEAD_LEN),
            params: ConnParams::decode(order, private_data, PARAMS),
        };
        Ok(Self {
            version,
            reason: RejectReason::from_number(private_data[6]),
            details: has_details.then_some(details),
        })
    }

    /// Encodes the reject data, little-endian; without details they are zeros.
    pub fn encode(&self) -> [u8; REJECT_LEN] {
        let mut out = [0; REJECT_LEN];
        put_u32(&mut out, 0, MAGIC);
        ByteOrder::Little.put_u16(&mut out, 4, self.version);
        out[6] = self.reason.number();
        if let Some(details) = self.details {
            put_u64(&mut out, HEAD_LEN, details.incarnation);
            details.params.encode(&mut out, PARAMS);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUEUE_TOO_DEEP: Reject = Reject {
        version: 0x12,
        reason: RejectReason::QueueTooDeep,
        details: Some(RejectDetails {
            incarnation: 0x0006_60bf_58cd_c90f,
            params: ConnParams { queue_depth: 8, max_fragments: 257, max_message_size: 4096 },
        }),
    };

    /// The bytes of the other order.
    fn swapped(mut bytes: [u8; REJECT_LEN]) -> [u8; REJECT_LEN] {
        for (offset, size) in [(0, 4), (4, 2), (8, 8), (16, 2), (18, 2), (20, 4)] {
            bytes[offset..offset + size].reverse();
        }
        bytes
    }

    #[test]
    fn a_reject_has_the_bytes_of_the_worked_example() {
        let bytes = [
            0x91, 0x1b, 0xe9, 0x0b, 0x12, 0, 7, 0, 0x0f, 0xc9, 0xcd, 0x58, 0xbf, 0x60, 6, 0, 8, 0, 1, 1, 0,
            0x10, 0, 0,
        ];
        assert_eq!(QUEUE_TOO_DEEP.encode(), bytes);
        assert_eq!(Reject::decode(&bytes), Ok(QUEUE_TOO_DEEP));
    }

    #[test]
    fn every_number_has_one_reason() {
        for number in 0..=u8::MAX {
            let reason = RejectReason::from_number(number);
            assert_eq!(reason.number(), number);
            assert_eq!(matches!(reason, RejectReason::Unknown(_)), number == 0 || number > 9, "{number}");
        }
    }

    #[test]
    fn details_count_only_in_the_newer_version_and_if_they_are_complete() {
        let bytes = QUEUE_TOO_DEEP.encode();
        let mut padded = [0xee; 148];
        padded[..REJECT_LEN].copy_from_slice(&bytes);
        assert_eq!(Reject::decode(&padded), Ok(QUEUE_TOO_DEEP));
        let without = Reject { details: None, ..QUEUE_TOO_DEEP };
        for len in 8..REJECT_LEN {
            assert_eq!(Reject::decode(&bytes[..len]), Ok(without), "{len}");
        }
        let older = Reject { version: 0x11, ..QUEUE_TOO_DEEP }.encode();
        assert_eq!(Reject::decode(&older), Ok(Reject { version: 0x11, ..without }));
        let newer = Reject { version: 0x13, ..QUEUE_TOO_DEEP };
        assert_eq!(Reject::decode(&newer.encode()), Ok(newer));
    }

    #[test]
    fn short_data_and_another_magic_are_refused() {
        let bytes = QUEUE_TOO_DEEP.encode();
        for received in 0..8 {
            let short = Reject::decode(&bytes[..received]);
            assert_eq!(short, Err(ProtoError::TooShort { received, needed: 8 }));
        }
        assert_eq!(Reject::decode(&[0; 148]), Err(ProtoError::BadMagic(0)));
    }

    proptest! {
        #[test]
        fn a_reject_reads_back_in_either_order(
            version in 0x12_u16.., number: u8, incarnation: u64, depth: u16, fragments: u16, size: u32,
        ) {
            let params = ConnParams { queue_depth: depth, max_fragments: fragments, max_message_size: size };
            let details = Some(RejectDetails { incarnation, params });
            let reject = Reject { version, reason: RejectReason::from_number(number), details };
            prop_assert_eq!(Reject::decode(&reject.encode()), Ok(reject));
            prop_assert_eq!(Reject::decode(&swapped(reject.encode())), Ok(reject));
        }

        #[test]
        fn no_bytes_panic(rest in prop::collection::vec(any::<u8>(), 0..160)) {
            let _ = Reject::decode(&rest);
            let _ = Reject::decode(&[&MAGIC.to_le_bytes()[..], &rest].concat());
        }
    }
}

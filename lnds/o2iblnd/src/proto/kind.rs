//! The version and the type of a message: what its bytes 4 to 6 say (wire-o2ib 3).

use super::{CONN_MESSAGE_LEN, MESSAGE_HEADER_LEN, PAYLOAD_OFFSET};
use std::fmt;

/// The driver protocol of a connection. The layout of messages is the same in both; the rules of credits are not (wire-o2ib 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Version {
    /// The older one, in which a NOOP costs a credit.
    V1 = 0x11,
    /// The one of all nodes today.
    V2 = 0x12,
}

impl Version {
    /// The version with this number on the wire, if there is one.
    pub const fn from_number(number: u16) -> Option<Self> {
        match number {
            0x11 => Some(Self::V1),
            0x12 => Some(Self::V2),
            _ => None,
        }
    }

    /// The number on the wire.
    pub const fn number(self) -> u16 {
        self as u16
    }
}

/// The type of a message (wire-o2ib 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageKind {
    /// A connection request.
    ConnReq = 0xc0,
    /// The acceptance of a connection request.
    ConnAck = 0xc1,
    /// Credits, or a keep-alive.
    Noop = 0xd0,
    /// An LNet message with its payload.
    Immediate = 0xd1,
    /// The LNet header of a PUT or REPLY whose payload goes by RDMA.
    PutReq = 0xd2,
    /// The refusal of a PUT_REQ.
    PutNak = 0xd3,
    /// The memory that the payload of a PUT_REQ is to be written to.
    PutAck = 0xd4,
    /// The end of a PUT_REQ: its payload is written.
    PutDone = 0xd5,
    /// The LNet header of a GET, and the memory that its data is to be written to.
    GetReq = 0xd6,
    /// The end of a GET_REQ.
    GetDone = 0xd7,
}

impl MessageKind {
    /// All types, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::ConnReq,
        Self::ConnAck,
        Self::Noop,
        Self::Immediate,
        Self::PutReq,
        Self::PutNak,
        Self::PutAck,
        Self::PutDone,
        Self::GetReq,
        Self::GetDone,
    ];

    /// The type with this number on the wire, if there is one.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// The number on the wire.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Minimum length of a message in bytes: all but the payload, and but the fragments of a descriptor.
    pub const fn min_len(self) -> usize {
        match self {
            Self::ConnReq | Self::ConnAck => CONN_MESSAGE_LEN,
            Self::Noop => MESSAGE_HEADER_LEN,
            Self::Immediate => PAYLOAD_OFFSET,
            Self::PutReq => PAYLOAD_OFFSET + 8,
            Self::PutNak | Self::PutDone | Self::GetDone => MESSAGE_HEADER_LEN + 12,
            Self::PutAck => MESSAGE_HEADER_LEN + 24,
            Self::GetReq => PAYLOAD_OFFSET + 16,
        }
    }

    /// Whether a message of this type costs its sender a credit, on a connection of `version` (wire-o2ib 9).
    pub const fn costs_credit(self, version: Version) -> bool {
        match self {
            Self::Immediate | Self::PutReq | Self::GetReq => true,
            Self::Noop => matches!(version, Version::V1),
            _ => false,
        }
    }
}

/// Writes the name as in wire-o2ib 3: `PUT_REQ`.
impl fmt::Display for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ConnReq => "CONNREQ",
            Self::ConnAck => "CONNACK",
            Self::Noop => "NOOP",
            Self::Immediate => "IMMEDIATE",
            Self::PutReq => "PUT_REQ",
            Self::PutNak => "PUT_NAK",
            Self::PutAck => "PUT_ACK",
            Self::PutDone => "PUT_DONE",
            Self::GetReq => "GET_REQ",
            Self::GetDone => "GET_DONE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lengths_are_those_of_the_table() {
        let table = [
            (0xc0, "CONNREQ", 56),
            (0xc1, "CONNACK", 56),
            (0xd0, "NOOP", 48),
            (0xd1, "IMMEDIATE", 120),
            (0xd2, "PUT_REQ", 128),
            (0xd3, "PUT_NAK", 60),
            (0xd4, "PUT_ACK", 72),
            (0xd5, "PUT_DONE", 60),
            (0xd6, "GET_REQ", 136),
            (0xd7, "GET_DONE", 60),
        ];
        let kinds = MessageKind::ALL.map(|kind| (kind.number(), kind.to_string(), kind.min_len()));
        assert_eq!(kinds.each_ref().map(|(number, name, len)| (*number, name.as_str(), *len)), table);
        for number in 0..=u8::MAX {
            let is_known = table.iter().any(|row| row.0 == number);
            assert_eq!(MessageKind::from_number(number).map(MessageKind::number), is_known.then_some(number));
        }
    }

    #[test]
    fn versions_are_0x11_and_0x12() {
        let known: Vec<_> = (0..=u16::MAX).filter_map(Version::from_number).collect();
        assert_eq!(known, [Version::V1, Version::V2]);
        assert_eq!(known.iter().map(|version| version.number()).collect::<Vec<_>>(), [0x11, 0x12]);
    }

    #[test]
    fn requests_and_immediate_messages_cost_a_credit_and_a_noop_in_the_older_version() {
        let costly = |version| {
            let costly = MessageKind::ALL.into_iter().filter(move |kind| kind.costs_credit(version));
            costly.map(|kind| kind.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(costly(Version::V2), ["IMMEDIATE", "PUT_REQ", "GET_REQ"]);
        assert_eq!(costly(Version::V1), ["NOOP", "IMMEDIATE", "PUT_REQ", "GET_REQ"]);
    }
}

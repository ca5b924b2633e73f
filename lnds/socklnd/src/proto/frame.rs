//! The frame of a message on an established connection (wire-tcp 3.1).
//!
//! From version 2 on 24 bytes precede each LNet header: kind, checksum, two cookies. A NOOP consists of these
//! 24 bytes. Version 1 has bare LNet headers.
//!
//! Two kinds of frame exist in this implementation only, and are sent only to its nodes: a message with its origin, which is
//! between those 24 bytes and the LNet header, and the confirmation of a gateway.

use crate::proto::hello::Version;
use lnet_core::{CarriedOrigin, Confirmation, MessageOrigin};
use lnet_wire::Header;
use lnet_wire::byte_order::{ByteOrder, put_u32, put_u64};
use lnet_wire::header::{HEADER_LEN, HeaderError, LONG_HEADER_LEN};
use std::num::NonZeroU64;
use thiserror::Error;

/// Length of the driver's header in bytes.
pub const FRAME_LEN: usize = 24;
/// Length of an origin in bytes: the node, and the message ID, whose topmost bit is set if the message may have arrived.
pub const ORIGIN_LEN: usize = 16;
/// Maximum number of bytes before a payload: frame, origin and 96-byte LNet header.
pub const MAX_HEAD_LEN: usize = FRAME_LEN + ORIGIN_LEN + LONG_HEADER_LEN;
/// The delivery ACK cookie of a keep-alive, which no message asked for and no node responds to.
pub const KEEPALIVE_COOKIE: u64 = 1;

const NOOP: u32 = 0xc0;
const LNET: u32 = 0xc1;
const WITH_ORIGIN: u32 = 0x6c72_00c1;
const DELIVERED: u32 = 0x6c72_00c2;
const NOT_DELIVERED: u32 = 0x6c72_00c3;
const DELIVERY_UNKNOWN: u32 = 0x6c72_00c4;
const WITHHELD: u32 = 0x6c72_00c5;

const MAY_HAVE_ARRIVED: u64 = 1 << 63;

/// The two cookies of a frame, by which the drivers exchange delivery ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cookies {
    /// The cookie of the delivery ACK that a message asks for (0: none). In a NOOP: a second delivery ACK.
    pub request: u64,
    /// A delivery ACK for the message that came with this cookie (0: none).
    pub ack: u64,
}

/// The bytes from the start of a message, or NOOP, to its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head(Vec<u8>);

impl Head {
    /// Encodes the head of a message on a connection of `version`, little-endian, checksum 0. Version 1 has no
    /// field for cookies. `None` when a NID does not fit in the version's header.
    pub fn message(version: Version, header: &Header, cookies: Cookies) -> Option<Self> {
        Self::encoded(|heads| heads.add_message(version, header, cookies, None))
    }

    /// Encodes the head of a message with its origin, for a node of this implementation. Not for version 1.
    pub fn message_with_origin(
        version: Version,
        header: &Header,
        cookies: Cookies,
        carried: CarriedOrigin,
    ) -> Option<Self> {
        Self::encoded(|heads| heads.add_message(version, header, cookies, Some(carried)))
    }

    /// Encodes the confirmation of the message that came with the cookie `cookies.request`, and a delivery ACK. For a node
    /// of this implementation; not for version 1.
    pub fn confirmation(confirmation: Confirmation, cookies: Cookies) -> Self {
        let mut heads = Heads::default();
        heads.add_confirmation(confirmation, cookies);
        Self(heads.0)
    }

    /// Encodes a NOOP, little-endian, checksum 0.
    pub fn noop(cookies: Cookies) -> Self {
        let mut heads = Heads::default();
        heads.add_noop(cookies);
        Self(heads.0)
    }

    /// Sets the checksum. Not for version 1, which has none.
    pub fn set_checksum(&mut self, checksum: u32) {
        put_u32(&mut self.0, 4, checksum);
    }

    /// The bytes in wire format.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn encoded(encode: impl FnOnce(&mut Heads) -> bool) -> Option<Self> {
        let mut heads = Heads::default();
        encode(&mut heads).then_some(Self(heads.0))
    }
}

/// The heads of messages and NOOPs that leave together, in wire format, one behind the other. Each is encoded as [`Head`] says.
#[derive(Debug, Default)]
pub(crate) struct Heads(Vec<u8>);

impl Heads {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The number of bytes that [`Heads::add_message`] adds; `None` when that returns false.
    pub(crate) const fn len_of_message(version: Version, header: &Header, with_origin: bool) -> Option<u8> {
        let fits = header.dest_nid.to_u64().is_some() && header.src_nid.to_u64().is_some();
        match (version, with_origin) {
            (Version::V1, true) => None,
            (Version::V1 | Version::V2 | Version::V3, _) if !fits => None,
            (_, true) => Some((head_len(version) + ORIGIN_LEN) as u8),
            (_, false) => Some(head_len(version) as u8),
        }
    }

    /// Adds the head of a message, with its origin if it is `carried`; returns whether there is one.
    pub(crate) fn add_message(
        &mut self,
        version: Version,
        header: &Header,
        cookies: Cookies,
        carried: Option<CarriedOrigin>,
    ) -> bool {
        let begin = self.0.len();
        match (version, carried) {
            (Version::V1, None) => {}
            (Version::V1, Some(_)) => return false,
            (_, None) => self.add_frame(LNET, cookies),
            (_, Some(carried)) => {
                self.add_frame(WITH_ORIGIN, cookies);
                let flag = if carried.may_have_arrived { MAY_HAVE_ARRIVED } else { 0 };
                self.0.extend_from_slice(&carried.origin.node.get().to_le_bytes());
                self.0.extend_from_slice(&(carried.origin.id.get() | flag).to_le_bytes());
            }
        }
        match version {
            Version::V4 => self.0.extend_from_slice(&header.encode_long()),
            _ => match header.encode() {
                Some(bytes) => self.0.extend_from_slice(&bytes),
                None => {
                    self.0.truncate(begin);
                    return false;
                }
            },
        }
        true
    }

    /// Adds a confirmation.
    pub(crate) fn add_confirmation(&mut self, confirmation: Confirmation, cookies: Cookies) {
        let kind = match confirmation {
            Confirmation::Delivered => DELIVERED,
            Confirmation::NotDelivered => NOT_DELIVERED,
            Confirmation::Unknown => DELIVERY_UNKNOWN,
            Confirmation::Withheld => WITHHELD,
        };
        self.add_frame(kind, cookies);
    }

    /// Adds a NOOP.
    pub(crate) fn add_noop(&mut self, cookies: Cookies) {
        self.add_frame(NOOP, cookies);
    }

    /// Sets the checksum of the head that begins at `begin`. Not for version 1, which has none.
    pub(crate) fn set_checksum(&mut self, begin: usize, checksum: u32) {
        put_u32(&mut self.0, begin + 4, checksum);
    }

    /// Removes `count` bytes from `begin` on.
    pub(crate) fn remove(&mut self, begin: usize, count: usize) {
        self.0.drain(begin..(begin + count).min(self.0.len()));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn add_frame(&mut self, kind: u32, cookies: Cookies) {
        let mut bytes = [0; FRAME_LEN];
        put_u32(&mut bytes, 0, kind);
        put_u64(&mut bytes, 8, cookies.request);
        put_u64(&mut bytes, 16, cookies.ack);
        self.0.extend_from_slice(&bytes);
    }
}

/// The reason why bytes are not the head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The kind is neither NOOP nor LNet message.
    #[error("a frame of unknown kind {0:#x}")]
    UnknownKind(u32),
    /// No node sends such an origin.
    #[error("an invalid origin of a message")]
    InvalidOrigin,
    /// The LNet header behind the frame is invalid.
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// The frame that the next bytes of a connection start with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// Read until this many bytes are there.
    Need(usize),
    /// A NOOP of [`FRAME_LEN`] bytes.
    Noop {
        /// The delivery ACKs.
        cookies: Cookies,
        /// The checksum; 0 for none.
        checksum: u32,
    },
    /// A confirmation of [`FRAME_LEN`] bytes.
    Confirmation {
        /// The confirmation.
        confirmation: Confirmation,
        /// The ID of the confirmed message, and a delivery ACK.
        cookies: Cookies,
        /// The checksum; 0 for none.
        checksum: u32,
    },
    /// A message.
    Message {
        /// The delivery ACK that the message asks for, and the one that it carries.
        cookies: Cookies,
        /// The checksum; 0 for none.
        checksum: u32,
        /// The message's origin, if it carries one.
        carried: Option<CarriedOrigin>,
        /// The LNet header.
        header: Header,
        /// Number of bytes before the payload.
        len: usize,
    },
}

/// Number of bytes before the payload of a message on a connection of `version`.
pub const fn head_len(version: Version) -> usize {
    match version {
        Version::V1 => HEADER_LEN,
        Version::V2 | Version::V3 => FRAME_LEN + HEADER_LEN,
        Version::V4 => FRAME_LEN + LONG_HEADER_LEN,
    }
}

/// Decodes the next head on a connection. `order` is that of the peer's HELLO and applies to the
/// frame; LNet headers are always little-endian.
#[inline]
pub fn decode(version: Version, order: ByteOrder, bytes: &[u8]) -> Result<Incoming, FrameError> {
    let (cookies, checksum, at, has_origin) = match version {
        Version::V1 => (Cookies::default(), 0, 0, false),
        _ => {
            let Some(frame) = bytes.first_chunk::<FRAME_LEN>() else {
                return Ok(Incoming::Need(FRAME_LEN));
            };
            let checksum = order.u32(frame, 4);
            let cookies = Cookies { request: order.u64(frame, 8), ack: order.u64(frame, 16) };
            match order.u32(frame, 0) {
                NOOP => return Ok(Incoming::Noop { cookies, checksum }),
                LNET => (cookies, checksum, FRAME_LEN, false),
                WITH_ORIGIN => (cookies, checksum, FRAME_LEN + ORIGIN_LEN, true),
                kind => {
                    let confirmation = confirmation_of(kind).ok_or(FrameError::UnknownKind(kind))?;
                    return Ok(Incoming::Confirmation { confirmation, cookies, checksum });
                }
            }
        }
    };
    let len = head_len(version) + if has_origin { ORIGIN_LEN } else { 0 };
    let headers = bytes.get(at..len).unwrap_or_default();
    let header = match (version, headers.first_chunk(), headers.first_chunk()) {
        (Version::V4, Some(long), _) => Header::decode_long(long)?,
        (Version::V1 | Version::V2 | Version::V3, _, Some(short)) => Header::decode(short)?,
        _ => return Ok(Incoming::Need(len)),
    };
    let carried = if has_origin { Some(origin(bytes).ok_or(FrameError::InvalidOrigin)?) } else { None };
    Ok(Incoming::Message { cookies, checksum, carried, header, len })
}

const fn confirmation_of(kind: u32) -> Option<Confirmation> {
    match kind {
        DELIVERED => Some(Confirmation::Delivered),
        NOT_DELIVERED => Some(Confirmation::NotDelivered),
        DELIVERY_UNKNOWN => Some(Confirmation::Unknown),
        WITHHELD => Some(Confirmation::Withheld),
        _ => None,
    }
}

/// Decodes the origin behind a frame: little-endian, as LNet headers are.
fn origin(bytes: &[u8]) -> Option<CarriedOrigin> {
    let node = ByteOrder::Little.u64(bytes, FRAME_LEN);
    let id = ByteOrder::Little.u64(bytes, FRAME_LEN + 8);
    Some(CarriedOrigin {
        origin: MessageOrigin { node: NonZeroU64::new(node)?, id: NonZeroU64::new(id & !MAY_HAVE_ARRIVED)? },
        may_have_arrived: id & MAY_HAVE_ARRIVED != 0,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use lnet_wire::{Body, NetId, NetType, Nid, Pid, WireHandle};
    use proptest::prelude::*;

    const LITTLE: ByteOrder = ByteOrder::Little;

    fn header() -> Header {
        let net = NetId::new(NetType::TCP, 0);
        Header {
            dest_nid: Nid::new(net, 0x0a00_0002),
            src_nid: Nid::new(net, 0x0a00_0001),
            dest_pid: Pid::LUSTRE,
            src_pid: Pid::LUSTRE,
            payload_length: 0,
            body: Body::Get {
                reply: WireHandle { interface_cookie: 0x17aa_aaaa_aaaa_aaaa, object_cookie: 0x1d },
                match_bits: lnet_wire::PING_MATCH_BITS,
                portal: 0,
                offset: 0,
                sink_length: 272,
            },
        }
    }

    #[test]
    fn a_ping_has_the_bytes_of_the_worked_example() {
        let want = "c10000000000000000000000000000000000000000000000\
                    0200000a000002000100000a00000200393000003930000002000000000000\
                    00aaaaaaaaaaaaaa171d0000000000000000000000000000800000000000000000\
                    1001000000000000";
        let head = Head::message(Version::V3, &header(), Cookies::default()).unwrap();
        let hex: String = head.bytes().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, want.replace(char::is_whitespace, ""));
    }

    #[test]
    fn a_keepalive_has_the_bytes_of_the_worked_example() {
        let head = Head::noop(Cookies { request: 0, ack: KEEPALIVE_COOKIE });
        let mut want = [0; 24];
        want[0] = 0xc0;
        want[16] = 1;
        assert_eq!(head.bytes(), want);
    }

    #[test]
    fn a_head_is_as_long_as_its_version_says_and_reads_back() {
        for (version, len) in [(Version::V1, 72), (Version::V2, 96), (Version::V3, 96), (Version::V4, 120)] {
            let sent = match version {
                Version::V1 => Cookies::default(),
                _ => Cookies { request: 2, ack: 3 },
            };
            let head = Head::message(version, &header(), sent).unwrap();
            assert_eq!(head.bytes().len(), len);
            assert_eq!(Heads::len_of_message(version, &header(), false), Some(len as u8));
            assert_eq!(
                decode(version, LITTLE, head.bytes()).unwrap(),
                Incoming::Message { cookies: sent, checksum: 0, carried: None, header: header(), len }
            );
            for short in 0..len {
                match decode(version, LITTLE, &head.bytes()[..short]).unwrap() {
                    Incoming::Need(n) => assert!(n > short && n <= len),
                    other => panic!("{other:?} of {short} bytes"),
                }
            }
        }
    }

    #[test]
    fn a_noop_needs_no_more_than_its_24_bytes() {
        let head = Head::noop(Cookies { request: 7, ack: 9 });
        let want = Incoming::Noop { cookies: Cookies { request: 7, ack: 9 }, checksum: 0 };
        assert_eq!(decode(Version::V3, LITTLE, head.bytes()), Ok(want));
    }

    #[test]
    fn origins_and_confirmations_read_back() {
        let number = |n| NonZeroU64::new(n).unwrap();
        let origin = MessageOrigin { node: number(0x6c73_0000_0000_0001), id: number(1 << 40 | 7) };
        let cookies = Cookies { request: 2, ack: 3 };
        for (version, len) in [(Version::V2, 112), (Version::V3, 112), (Version::V4, 136)] {
            assert_eq!(Heads::len_of_message(version, &header(), true), Some(len as u8));
            for may_have_arrived in [false, true] {
                let carried = CarriedOrigin { origin, may_have_arrived };
                let head = Head::message_with_origin(version, &header(), cookies, carried).unwrap();
                assert_eq!(head.bytes().len(), len);
                assert_eq!(
                    decode(version, LITTLE, head.bytes()).unwrap(),
                    Incoming::Message { cookies, checksum: 0, carried: Some(carried), header: header(), len }
                );
                for short in 0..len {
                    match decode(version, LITTLE, &head.bytes()[..short]).unwrap() {
                        Incoming::Need(n) => assert!(n > short && n <= len),
                        other => panic!("{other:?} of {short} bytes"),
                    }
                }
                let mut invalid = head.bytes().to_vec();
                invalid[24..32].fill(0);
                assert_eq!(decode(version, LITTLE, &invalid), Err(FrameError::InvalidOrigin));
            }
        }
        for confirmation in [
            Confirmation::Delivered,
            Confirmation::NotDelivered,
            Confirmation::Unknown,
            Confirmation::Withheld,
        ] {
            let head = Head::confirmation(confirmation, cookies);
            let want = Incoming::Confirmation { confirmation, cookies, checksum: 0 };
            assert_eq!((head.bytes().len(), decode(Version::V3, LITTLE, head.bytes())), (24, Ok(want)));
        }
    }

    #[test]
    fn the_frame_follows_the_peers_order_and_the_lnet_header_does_not() {
        let mut head = Head::message(Version::V3, &header(), Cookies { request: 5, ack: 6 }).unwrap();
        head.set_checksum(0x0102_0304);
        let mut bytes = head.bytes().to_vec();
        for (offset, size) in [(0, 4), (4, 4), (8, 8), (16, 8)] {
            bytes[offset..offset + size].reverse();
        }
        assert_eq!(
            decode(Version::V3, ByteOrder::Big, &bytes).unwrap(),
            Incoming::Message {
                cookies: Cookies { request: 5, ack: 6 },
                checksum: 0x0102_0304,
                carried: None,
                header: header(),
                len: 96
            }
        );
    }

    #[test]
    fn other_kinds_and_other_message_types_are_errors() {
        let mut bytes = Head::message(Version::V3, &header(), Cookies::default()).unwrap().bytes().to_vec();
        bytes[24 + 24] = 9;
        assert_eq!(decode(Version::V3, LITTLE, &bytes), Err(FrameError::Header(HeaderError::UnknownType(9))));
        bytes[0] = 0xc2;
        assert_eq!(decode(Version::V3, LITTLE, &bytes), Err(FrameError::UnknownKind(0xc2)));
    }

    #[test]
    fn a_long_nid_fits_only_in_version_4() {
        let long = Header { src_nid: Nid::new_long(NetId::new(NetType::TCP, 0), [1; 16]), ..header() };
        assert!(Head::message(Version::V3, &long, Cookies::default()).is_none());
        assert!(Head::message(Version::V4, &long, Cookies::default()).is_some());
        assert_eq!(Heads::len_of_message(Version::V3, &long, false), None);
        assert_eq!(Heads::len_of_message(Version::V4, &long, false), Some(120));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..130), kind in 0xbf_u8..0xc3) {
            for version in [Version::V1, Version::V2, Version::V3, Version::V4] {
                for order in [ByteOrder::Little, ByteOrder::Big] {
                    let _ = decode(version, order, &bytes);
                }
                let _ = decode(version, LITTLE, &[&[kind, 0, 0, 0], &bytes[..]].concat());
            }
        }
    }
}

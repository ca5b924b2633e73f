//! The LNet message header: source, target, type and length of a message.
//!
//! Two forms carry the same content: 72 bytes with eight-byte NIDs (every IPv4 network), 96 bytes with twenty-byte
//! NIDs (2.16 and later, on IPv6). Integers are little-endian in both; twenty-byte NIDs are big-endian; wire handles
//! are opaque.

use crate::byte_order::{ByteOrder, array, put_u32, put_u64};
use crate::nid::{Nid, Pid};
use std::fmt;
use thiserror::Error;

/// Length in bytes of the header with eight-byte NIDs.
pub const HEADER_LEN: usize = 72;
/// Length in bytes of the header with twenty-byte NIDs.
pub const LONG_HEADER_LEN: usize = 96;
/// Length in bytes of what follows the NIDs in either form.
const REST_LEN: usize = 56;

/// The four kinds of message, and the fifth number that only the oldest handshake uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum MessageType {
    /// The acknowledgement of a PUT.
    Ack = 0,
    /// Data for the target's memory.
    Put = 1,
    /// A request for the target's data.
    Get = 2,
    /// The data that a GET asked for.
    Reply = 3,
    /// The version 1 handshake, which is never a message.
    Hello = 4,
}

/// Writes the name as in the protocol's documents: `PUT`.
impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ack => "ACK",
            Self::Put => "PUT",
            Self::Get => "GET",
            Self::Reply => "REPLY",
            Self::Hello => "HELLO",
        })
    }
}

/// Handle of an MD, as its owner wrote it into a PUT or GET. Only the owner can read it; any other node sends
/// the sixteen bytes back unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WireHandle {
    /// Number of one incarnation of the owner: responses meant for an earlier one are dropped.
    pub interface_cookie: u64,
    /// Number of the MD within that incarnation.
    pub object_cookie: u64,
}

impl WireHandle {
    const NONE: Self = Self { interface_cookie: u64::MAX, object_cookie: u64::MAX };

    fn get(bytes: &[u8], offset: usize) -> Self {
        Self {
            interface_cookie: ByteOrder::Little.u64(bytes, offset),
            object_cookie: ByteOrder::Little.u64(bytes, offset + 8),
        }
    }

    fn put(self, bytes: &mut [u8], offset: usize) {
        put_u64(bytes, offset, self.interface_cookie);
        put_u64(bytes, offset + 8, self.object_cookie);
    }
}

/// The fields of a header that depend on the type of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// The acknowledgement of a PUT.
    Ack {
        /// The MD, from the PUT.
        handle: WireHandle,
        /// The match bits, from the PUT.
        match_bits: u64,
        /// Number of bytes that the target kept.
        accepted: u32,
    },
    /// Data for the target's memory.
    Put {
        /// The MD of the ACK; `None` if none is requested (all ones on the wire).
        ack: Option<WireHandle>,
        /// The match bits for the target.
        match_bits: u64,
        /// Header data: 64 bits of the sender for the target's event, never interpreted.
        hdr_data: u64,
        /// The target's portal; any value may arrive.
        portal: u32,
        /// Offset in the target's buffer in bytes, if the sender manages it.
        offset: u32,
    },
    /// A request for the target's data.
    Get {
        /// The MD that the data goes to.
        reply: WireHandle,
        /// The match bits for the target.
        match_bits: u64,
        /// The target's portal; any value may arrive.
        portal: u32,
        /// Offset in the target's buffer in bytes, if the sender manages it.
        offset: u32,
        /// Maximum number of bytes that the sender can take.
        sink_length: u32,
    },
    /// The data that a GET asked for.
    Reply {
        /// The MD, from the GET.
        handle: WireHandle,
    },
}

impl Body {
    /// The type of the message.
    pub const fn kind(&self) -> MessageType {
        match self {
            Self::Ack { .. } => MessageType::Ack,
            Self::Put { .. } => MessageType::Put,
            Self::Get { .. } => MessageType::Get,
            Self::Reply { .. } => MessageType::Reply,
        }
    }
}

/// The header of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The interface that is the final destination.
    pub dest_nid: Nid,
    /// The interface that the message first left from.
    pub src_nid: Nid,
    /// The target process; not checked.
    pub dest_pid: Pid,
    /// The process that sent the message.
    pub src_pid: Pid,
    /// Number of bytes that follow the header. Not yet checked against any limit.
    pub payload_length: u32,
    /// The fields that depend on the type of the message.
    pub body: Body,
}

/// The reason why bytes are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// The type is not ACK, PUT, GET or REPLY.
    #[error("unknown message type {0}")]
    UnknownType(u32),
    /// Source or destination is the wildcard, or has an unknown address size.
    #[error("the {0} NID does not name one interface")]
    NidNotConcrete(&'static str),
}

impl Header {
    /// Reads the 72-byte form.
    #[inline]
    pub fn decode(bytes: &[u8; HEADER_LEN]) -> Result<Self, HeaderError> {
        let nid = |offset, which| {
            Nid::from_u64(ByteOrder::Little.u64(bytes, offset)).ok_or(HeaderError::NidNotConcrete(which))
        };
        Self::decode_rest(nid(0, "destination")?, nid(8, "source")?, last(bytes))
    }

    /// Reads the 96-byte form.
    #[inline]
    pub fn decode_long(bytes: &[u8; LONG_HEADER_LEN]) -> Result<Self, HeaderError> {
        let nid =
            |offset, which| Nid::from_wire20(array(bytes, offset)).ok_or(HeaderError::NidNotConcrete(which));
        Self::decode_rest(nid(0, "destination")?, nid(20, "source")?, last(bytes))
    }

    /// Writes the 72-byte form; `None` when a NID does not fit in it.
    #[inline]
    pub fn encode(&self) -> Option<[u8; HEADER_LEN]> {
        let mut out = [0; HEADER_LEN];
        put_u64(&mut out, 0, self.dest_nid.to_u64()?);
        put_u64(&mut out, 8, self.src_nid.to_u64()?);
        if let Some(rest) = out.last_chunk_mut() {
            self.encode_rest(rest);
        }
        Some(out)
    }

    /// Writes the 96-byte form.
    #[inline]
    pub fn encode_long(&self) -> [u8; LONG_HEADER_LEN] {
        let mut out = [0; LONG_HEADER_LEN];
        out[..20].copy_from_slice(&self.dest_nid.to_wire20());
        out[20..40].copy_from_slice(&self.src_nid.to_wire20());
        if let Some(rest) = out.last_chunk_mut() {
            self.encode_rest(rest);
        }
        out
    }

    #[inline]
    fn decode_rest(dest_nid: Nid, src_nid: Nid, rest: &[u8; REST_LEN]) -> Result<Self, HeaderError> {
        let le = ByteOrder::Little;
        let body = match le.u32(rest, 8) {
            0 => Body::Ack {
                handle: WireHandle::get(rest, 16),
                match_bits: le.u64(rest, 32),
                accepted: le.u32(rest, 40),
            },
            1 => Body::Put {
                ack: Some(WireHandle::get(rest, 16)).filter(|h| *h != WireHandle::NONE),
                match_bits: le.u64(rest, 32),
                hdr_data: le.u64(rest, 40),
                portal: le.u32(rest, 48),
                offset: le.u32(rest, 52),
            },
            2 => Body::Get {
                reply: WireHandle::get(rest, 16),
                match_bits: le.u64(rest, 32),
                portal: le.u32(rest, 40),
                offset: le.u32(rest, 44),
                sink_length: le.u32(rest, 48),
            },
            3 => Body::Reply { handle: WireHandle::get(rest, 16) },
            other => return Err(HeaderError::UnknownType(other)),
        };
        Ok(Self {
            dest_nid,
            src_nid,
            dest_pid: Pid(le.u32(rest, 0)),
            src_pid: Pid(le.u32(rest, 4)),
            payload_length: le.u32(rest, 12),
            body,
        })
    }

    #[inline]
    fn encode_rest(&self, rest: &mut [u8; REST_LEN]) {
        put_u32(rest, 0, self.dest_pid.0);
        put_u32(rest, 4, self.src_pid.0);
        put_u32(rest, 8, self.body.kind() as u32);
        put_u32(rest, 12, self.payload_length);
        match self.body {
            Body::Ack { handle, match_bits, accepted } => {
                handle.put(rest, 16);
                put_u64(rest, 32, match_bits);
                put_u32(rest, 40, accepted);
            }
            Body::Put { ack, match_bits, hdr_data, portal, offset } => {
                ack.unwrap_or(WireHandle::NONE).put(rest, 16);
                put_u64(rest, 32, match_bits);
                put_u64(rest, 40, hdr_data);
                put_u32(rest, 48, portal);
                put_u32(rest, 52, offset);
            }
            Body::Get { reply, match_bits, portal, offset, sink_length } => {
                reply.put(rest, 16);
                put_u64(rest, 32, match_bits);
                put_u32(rest, 40, portal);
                put_u32(rest, 44, offset);
                put_u32(rest, 48, sink_length);
            }
            Body::Reply { handle } => handle.put(rest, 16),
        }
    }
}

/// The bytes behind the NIDs.
#[inline]
fn last<const LEN: usize>(bytes: &[u8; LEN]) -> &[u8; REST_LEN] {
    // Either form is longer.
    bytes.last_chunk().unwrap_or(&[0; REST_LEN])
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;

//! HELLO: the handshake by which each side learns the identity of the other and the purpose of the connection
//! (wire-tcp 2.2 to 2.5).

use lnet_wire::byte_order::{ByteOrder, array, put_u32, put_u64};
use lnet_wire::{Nid, Pid};
use std::fmt;
use thiserror::Error;

/// The first four bytes of a HELLO of version 2 and later, in the sender's order.
pub const MAGIC: u32 = 0x4572_6963;
/// The first four bytes of a HELLO of version 1, always little-endian.
pub const MAGIC_V1: u32 = 0xeebc_0ded;
/// Maximum number of IP addresses in a HELLO.
pub const MAX_IPS: u32 = 16;
/// Maximum length of a HELLO in bytes: version 1 with a full list.
pub const MAX_LEN: usize = HELLO_LEN_V1 + 4 * MAX_IPS as usize;

const HELLO_LEN_V1: usize = 72;
const HELLO_LEN: usize = 56;
const HELLO_LEN_V4: usize = 80;
/// The message type "HELLO" inside a version 1 handshake.
const V1_MESSAGE_TYPE: u32 = 4;

/// The driver protocol of a connection, which determines the HELLO's layout and the framing of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Version {
    /// Bare LNet messages; only the oldest peers.
    V1 = 1,
    /// Framed messages, checksums possible.
    V2 = 2,
    /// Version 2 with separate connections for bulk and delivery ACKs. The default.
    V3 = 3,
    /// Twenty-byte NIDs; spoken over IPv6 by 2.16 and later.
    V4 = 4,
}

impl Version {
    const fn from_number(number: u32) -> Option<Self> {
        match number {
            2 => Some(Self::V2),
            3 => Some(Self::V3),
            4 => Some(Self::V4),
            _ => None,
        }
    }
}

/// The purpose of a connection, from the view of the node that sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum ConnectionType {
    /// Messages of any kind.
    Any = 0,
    /// Small messages, both ways.
    Control = 1,
    /// The sender receives bulk on it.
    BulkIn = 2,
    /// The sender sends bulk on it.
    BulkOut = 3,
}

impl fmt::Display for ConnectionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "any",
            Self::Control => "control",
            Self::BulkIn => "bulk in",
            Self::BulkOut => "bulk out",
        })
    }
}

impl ConnectionType {
    const NONE: u32 = u32::MAX;

    /// Returns the type of the same connection from the other side's view.
    #[must_use]
    pub const fn mirror(self) -> Self {
        match self {
            Self::BulkIn => Self::BulkOut,
            Self::BulkOut => Self::BulkIn,
            same => same,
        }
    }

    const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Any),
            1 => Some(Self::Control),
            2 => Some(Self::BulkIn),
            3 => Some(Self::BulkOut),
            _ => None,
        }
    }
}

/// A decoded HELLO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The protocol version that the HELLO proposes or agrees to, which decides its layout.
    pub version: Version,
    /// The NI of the sender.
    pub src_nid: Nid,
    /// The NI that the HELLO is sent to; no node checks it. `None` is the wildcard (all ones), and stands for version 1, which
    /// has no such field.
    pub dest_nid: Option<Nid>,
    /// The PID of the sender.
    pub src_pid: Pid,
    /// PID of the receiver: 0 from every kernel; no node checks it. Not in version 1.
    pub dest_pid: Pid,
    /// The time when the sender's NI was started, in nanoseconds: another value is another incarnation.
    pub src_incarnation: u64,
    /// Incarnation of the receiver: 0 from every kernel; no node checks it. Not in version 1.
    pub dest_incarnation: u64,
    /// Purpose of the connection; `None` (all ones) refuses the connection, for now or in this
    /// version.
    pub connection_type: Option<ConnectionType>,
    /// IPv4 addresses, at most 16, which every node since 2.14.52 ignores. Not in version 4.
    pub ips: Vec<u32>,
}

/// The reason why bytes are not a HELLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HelloError {
    /// The bytes are not the start of any HELLO.
    #[error("it sent {0:#010x} where a HELLO starts")]
    BadMagic(u32),
    /// This implementation does not support the version. A passive node responds with an offer.
    #[error("HELLO of unknown version {0:#x}")]
    UnknownVersion(u32),
    /// The sender gave the wildcard (or an address of an unknown size) as its own NID.
    #[error("the source NID of the HELLO does not name one interface")]
    SourceNotConcrete,
    /// A version 1 handshake that is another kind of LNet message.
    #[error("LNet message type {0} in place of HELLO")]
    NotHello(u32),
    /// The type is neither a connection type nor "none".
    #[error("unknown connection type {0}")]
    UnknownType(u32),
    /// The list has more than 16 IP addresses, or a length that is not a multiple of 4.
    #[error("an IP list of {0} bytes")]
    BadIpList(u64),
    /// One of the IP addresses is 0.
    #[error("an IP list that contains 0")]
    ZeroIp,
}

/// The result of decoding the first bytes of a HELLO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// Read until this many bytes are there.
    Need(usize),
    /// The HELLO is complete.
    Done {
        /// The HELLO.
        hello: Hello,
        /// The order of its integers, which is that of the message frames that follow.
        order: ByteOrder,
        /// Length of the HELLO in bytes.
        len: usize,
    },
}

impl Hello {
    /// Reads a HELLO from its first bytes, of any version in either byte order. In a big-endian HELLO every
    /// integer is swapped, including the NIDs (2.15 and 2.17 kernels omit those).
    pub fn decode(bytes: &[u8]) -> Result<Decoded, HelloError> {
        if bytes.len() < 4 {
            return Ok(Decoded::Need(4));
        }
        let magic: [u8; 4] = array(bytes, 0);
        let v1 = u32::from_le_bytes(magic) == MAGIC_V1;
        let order = match ByteOrder::detect(magic, MAGIC) {
            Some(order) => order,
            None if v1 => ByteOrder::Little,
            None => return Err(HelloError::BadMagic(u32::from_le_bytes(magic))),
        };
        if bytes.len() < 8 {
            return Ok(Decoded::Need(8));
        }
        let number = order.u32(bytes, 4);
        let version = match Version::from_number(number) {
            // Major 1, minor 0, each two bytes.
            _ if v1 && number == 1 => Version::V1,
            Some(version) if !v1 => version,
            _ => return Err(HelloError::UnknownVersion(number)),
        };
        match version {
            Version::V1 => Self::decode_v1(bytes),
            Version::V2 | Version::V3 => Self::decode_v3(bytes, order, version),
            Version::V4 => Self::decode_v4(bytes, order),
        }
    }

    /// Encodes the HELLO, little-endian, in the layout of its version. `None` when a NID does not fit in the version.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let kind = self.connection_type.map_or(ConnectionType::NONE, |kind| kind as u32);
        let dest_short = || self.dest_nid.map_or(Some(u64::MAX), Nid::to_u64);
        let mut out;
        match self.version {
            Version::V1 => {
                out = vec![0; HELLO_LEN_V1];
                put_u32(&mut out, 0, MAGIC_V1);
                put_u32(&mut out, 4, 1);
                put_u64(&mut out, 8, self.src_nid.to_u64()?);
                put_u32(&mut out, 20, self.src_pid.0);
                put_u32(&mut out, 24, V1_MESSAGE_TYPE);
                put_u32(&mut out, 28, 4 * self.ips.len() as u32);
                put_u64(&mut out, 32, self.src_incarnation);
                put_u32(&mut out, 40, kind);
            }
            Version::V2 | Version::V3 => {
                out = vec![0; HELLO_LEN];
                put_u32(&mut out, 0, MAGIC);
                put_u32(&mut out, 4, self.version as u32);
                put_u64(&mut out, 8, self.src_nid.to_u64()?);
                put_u64(&mut out, 16, dest_short()?);
                put_u32(&mut out, 24, self.src_pid.0);
                put_u32(&mut out, 28, self.dest_pid.0);
                put_u64(&mut out, 32, self.src_incarnation);
                put_u64(&mut out, 40, self.dest_incarnation);
                put_u32(&mut out, 48, kind);
                put_u32(&mut out, 52, self.ips.len() as u32);
            }
            Version::V4 => {
                out = vec![0; HELLO_LEN_V4];
                put_u32(&mut out, 0, MAGIC);
                put_u32(&mut out, 4, 4);
                out[8..28].copy_from_slice(&self.src_nid.to_wire20());
                out[28..48].copy_from_slice(&self.dest_nid.map_or([0xff; 20], Nid::to_wire20));
                put_u32(&mut out, 48, self.src_pid.0);
                put_u32(&mut out, 52, self.dest_pid.0);
                put_u64(&mut out, 56, self.src_incarnation);
                put_u64(&mut out, 64, self.dest_incarnation);
                put_u32(&mut out, 72, kind);
                return Some(out);
            }
        }
        out.extend(self.ips.iter().flat_map(|ip| ip.to_le_bytes()));
        Some(out)
    }

    fn decode_v1(bytes: &[u8]) -> Result<Decoded, HelloError> {
        if bytes.len() < HELLO_LEN_V1 {
            return Ok(Decoded::Need(HELLO_LEN_V1));
        }
        let order = ByteOrder::Little;
        match order.u32(bytes, 24) {
            V1_MESSAGE_TYPE => {}
            other => return Err(HelloError::NotHello(other)),
        }
        let list = order.u32(bytes, 28);
        if !list.is_multiple_of(4) || list / 4 > MAX_IPS {
            return Err(HelloError::BadIpList(list.into()));
        }
        let hello = Self {
            version: Version::V1,
            src_nid: Nid::from_u64(order.u64(bytes, 8)).ok_or(HelloError::SourceNotConcrete)?,
            dest_nid: None,
            src_pid: Pid(order.u32(bytes, 20)),
            dest_pid: Pid(0),
            src_incarnation: order.u64(bytes, 32),
            dest_incarnation: 0,
            connection_type: decode_type(order.u32(bytes, 40))?,
            ips: Vec::new(),
        };
        hello.with_ips(bytes, order, HELLO_LEN_V1, list / 4)
    }

    fn decode_v3(bytes: &[u8], order: ByteOrder, version: Version) -> Result<Decoded, HelloError> {
        if bytes.len() < HELLO_LEN {
            return Ok(Decoded::Need(HELLO_LEN));
        }
        let ips = order.u32(bytes, 52);
        if ips > MAX_IPS {
            return Err(HelloError::BadIpList(4 * u64::from(ips)));
        }
        let hello = Self {
            version,
            src_nid: Nid::from_u64(order.u64(bytes, 8)).ok_or(HelloError::SourceNotConcrete)?,
            dest_nid: Nid::from_u64(order.u64(bytes, 16)),
            src_pid: Pid(order.u32(bytes, 24)),
            dest_pid: Pid(order.u32(bytes, 28)),
            src_incarnation: order.u64(bytes, 32),
            dest_incarnation: order.u64(bytes, 40),
            connection_type: decode_type(order.u32(bytes, 48))?,
            ips: Vec::new(),
        };
        hello.with_ips(bytes, order, HELLO_LEN, ips)
    }

    fn decode_v4(bytes: &[u8], order: ByteOrder) -> Result<Decoded, HelloError> {
        if bytes.len() < HELLO_LEN_V4 {
            return Ok(Decoded::Need(HELLO_LEN_V4));
        }
        // The count of IPs is present, but no list follows, whatever the count.
        let hello = Self {
            version: Version::V4,
            src_nid: Nid::from_wire20(array(bytes, 8)).ok_or(HelloError::SourceNotConcrete)?,
            dest_nid: Nid::from_wire20(array(bytes, 28)),
            src_pid: Pid(order.u32(bytes, 48)),
            dest_pid: Pid(order.u32(bytes, 52)),
            src_incarnation: order.u64(bytes, 56),
            dest_incarnation: order.u64(bytes, 64),
            connection_type: decode_type(order.u32(bytes, 72))?,
            ips: Vec::new(),
        };
        Ok(Decoded::Done { hello, order, len: HELLO_LEN_V4 })
    }

    fn with_ips(
        mut self,
        bytes: &[u8],
        order: ByteOrder,
        fixed: usize,
        count: u32,
    ) -> Result<Decoded, HelloError> {
        let len = fixed + 4 * count as usize;
        if bytes.len() < len {
            return Ok(Decoded::Need(len));
        }
        self.ips = (0..count as usize).map(|i| order.u32(bytes, fixed + 4 * i)).collect();
        if self.ips.contains(&0) {
            return Err(HelloError::ZeroIp);
        }
        Ok(Decoded::Done { hello: self, order, len })
    }
}

fn decode_type(number: u32) -> Result<Option<ConnectionType>, HelloError> {
    match number {
        ConnectionType::NONE => Ok(None),
        _ => ConnectionType::from_number(number).map(Some).ok_or(HelloError::UnknownType(number)),
    }
}

#[cfg(test)]
#[path = "hello_tests.rs"]
mod tests;

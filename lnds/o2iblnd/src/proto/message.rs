//! Messages: what a node sends on a connection, and in the private data of the connection manager to make one (wire-o2ib 3, 4).

use super::byte_order::{check_received, sender_order};
use super::checksum::{CHECKSUM_OFFSET, checksum};
use super::{
    ConnParams, Descriptor, EncodeError, MAGIC, MESSAGE_HEADER_LEN, MESSAGE_SIZE, MessageKind,
    PAYLOAD_OFFSET, ProtoError, Version,
};
use lnet_wire::byte_order::{ByteOrder, array, put_u32, put_u64};
use lnet_wire::{Header, Nid};

/// Number of bytes that say what the others mean: magic and version.
const VERSION_END: usize = 6;
/// Offset of the type's own part, and of what follows the LNet header, if the message has one.
const BODY: usize = MESSAGE_HEADER_LEN;
const BEHIND_LNET_HEADER: usize = PAYLOAD_OFFSET;

/// One message. Decoding takes both byte orders; encoding is little-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The version of the connection, or the one that a CONNREQ asks for.
    pub version: Version,
    /// Number of credits that the sender returns: receive buffers that it has posted again (wire-o2ib 9).
    pub credits: u8,
    /// The interface of the sender.
    pub src_nid: Nid,
    /// The incarnation of the sender's interface: its start in microseconds since 1970 (wire-o2ib 6.7).
    pub src_stamp: u64,
    /// The interface that the message is sent to.
    pub dst_nid: Nid,
    /// The incarnation of the receiver's interface; 0 in a CONNREQ if the sender does not know it (wire-o2ib 6.1).
    pub dst_stamp: u64,
    /// What depends on the type.
    pub body: Body<'a>,
}

/// The part of a message that depends on its type.
///
/// A cookie names one transfer to the node that made it; the other node sends it back unchanged. Cookies are read and written in the
/// same way whatever the sender's order, so that what a node reads there is what it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// CONNREQ: a connection request, with the limits of its sender.
    ConnReq(ConnParams),
    /// CONNACK: the acceptance of a connection request, with the limits of the connection.
    ConnAck(ConnParams),
    /// NOOP: nothing but credits, or a keep-alive.
    Noop,
    /// IMMEDIATE: an LNet message.
    Immediate {
        /// The LNet header.
        header: Header,
        /// The payload, as many bytes as the LNet header announces.
        payload: &'a [u8],
    },
    /// PUT_REQ: asks for memory to which the payload of a PUT or REPLY may be written. The type in the LNet header is not checked.
    PutReq {
        /// The LNet header.
        header: Header,
        /// The cookie of the source, the sender.
        cookie: u64,
    },
    /// PUT_NAK: refuses a PUT_REQ, with its cookie. A status of 0 is a PUT that nothing matched or whose length is 0 (wire-o2ib 8.3).
    PutNak(Completion),
    /// PUT_ACK: accepts a PUT_REQ.
    PutAck {
        /// The cookie of the source, from the PUT_REQ.
        src_cookie: u64,
        /// The cookie of the sink, the sender.
        dst_cookie: u64,
        /// The memory to write to; its size is what the sink accepts of the payload.
        descriptor: Descriptor,
    },
    /// PUT_DONE: ends a PUT_REQ, with the cookie of the sink. The status is the number of bytes written.
    PutDone(Completion),
    /// GET_REQ: asks for data, and for writing them to the sender's memory. The type in the LNet header is not checked.
    GetReq {
        /// The LNet header.
        header: Header,
        /// The cookie of the sink, the sender.
        cookie: u64,
        /// The memory to write to.
        descriptor: Descriptor,
    },
    /// GET_DONE: ends a GET_REQ, with its cookie. The status is the length of the data in bytes.
    GetDone(Completion),
}

/// The end of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Completion {
    /// The cookie of the receiver.
    pub cookie: u64,
    /// A number of bytes, or if it is negative, a negative Linux errno.
    pub status: i32,
}

impl Completion {
    fn decode(order: ByteOrder, message: &[u8]) -> Self {
        Self { cookie: cookie(message, BODY), status: order.u32(message, BODY + 8).cast_signed() }
    }

    fn encode(self, out: &mut [u8]) {
        put_u64(out, BODY, self.cookie);
        put_u32(out, BODY + 8, self.status.cast_unsigned());
    }
}

impl Body<'_> {
    /// The type of the message.
    pub const fn kind(&self) -> MessageKind {
        match self {
            Self::ConnReq(_) => MessageKind::ConnReq,
            Self::ConnAck(_) => MessageKind::ConnAck,
            Self::Noop => MessageKind::Noop,
            Self::Immediate { .. } => MessageKind::Immediate,
            Self::PutReq { .. } => MessageKind::PutReq,
            Self::PutNak(_) => MessageKind::PutNak,
            Self::PutAck { .. } => MessageKind::PutAck,
            Self::PutDone(_) => MessageKind::PutDone,
            Self::GetReq { .. } => MessageKind::GetReq,
            Self::GetDone(_) => MessageKind::GetDone,
        }
    }
}

impl<'a> Message<'a> {
    /// Reads a message in either byte order, with all checks that need no connection (wire-o2ib 4). `received` is what was received,
    /// or the private data of the connection manager, which is padded; what is behind the message does not count.
    ///
    /// To the caller it is left whether NIDs, stamps and version are those of the connection, whether credits fit, and whether a
    /// cookie is known.
    pub fn decode(received: &'a [u8]) -> Result<Self, ProtoError> {
        check_received(received, VERSION_END)?;
        let order = sender_order(received)?;
        let version = order.u16(received, 4);
        let version = Version::from_number(version).ok_or(ProtoError::UnknownVersion(version))?;
        check_received(received, MESSAGE_HEADER_LEN)?;
        let length = order.u32(received, 8);
        let message = usize::try_from(length).ok().and_then(|length| received.get(..length));
        let message = message.ok_or(ProtoError::LengthBeyondReceived { length, received: received.len() })?;
        verify_checksum(order.u32(received, CHECKSUM_OFFSET), message)?;
        let (src_nid, dst_nid) = (order.u64(received, 16), order.u64(received, 32));
        let src_nid = Nid::from_u64(src_nid).ok_or(ProtoError::SourceNotConcrete(src_nid))?;
        let dst_nid = Nid::from_u64(dst_nid).ok_or(ProtoError::DestinationNotConcrete(dst_nid))?;
        let kind = MessageKind::from_number(received[6]).ok_or(ProtoError::UnknownKind(received[6]))?;
        if message.len() < kind.min_len() {
            return Err(ProtoError::BelowMinimum { kind, length: message.len(), needed: kind.min_len() });
        }
        Ok(Self {
            version,
            credits: received[7],
            src_nid,
            src_stamp: order.u64(received, 24),
            dst_nid,
            dst_stamp: order.u64(received, 40),
            body: decode_body(kind, order, message)?,
        })
    }

    /// Length of the message in bytes. Of an IMMEDIATE it counts the payload that the LNet header announces.
    pub fn encoded_len(&self) -> usize {
        self.len_before_payload() + self.announced_payload()
    }

    /// Writes the message to the beginning of `buffer`, without a checksum, and returns its length in bytes.
    ///
    /// # Errors
    /// If a NID, the message or the payload has the wrong length.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let payload = match self.body {
            Body::Immediate { payload, header } if payload.len() != self.announced_payload() => {
                let announced = header.payload_length;
                return Err(EncodeError::PayloadLength { announced, present: payload.len() });
            }
            Body::Immediate { payload, .. } => payload,
            _ => &[],
        };
        let before = self.encode_before_payload(buffer)?;
        let length = before + payload.len();
        buffer[before..length].copy_from_slice(payload);
        Ok(length)
    }

    /// Writes all but the payload of an IMMEDIATE, and returns the offset in `buffer` at which the caller puts as many bytes as
    /// the LNet header announces: the payload in the body does not count. Other messages are complete.
    ///
    /// # Errors
    /// If a NID is too long, or the message with its payload.
    pub fn encode_before_payload(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let length = self.encoded_len();
        let space = buffer.len().min(MESSAGE_SIZE);
        if length > space {
            return Err(EncodeError::TooLong { length, space });
        }
        let before = self.len_before_payload();
        let out = &mut buffer[..before];
        out.fill(0);
        put_u32(out, 0, MAGIC);
        ByteOrder::Little.put_u16(out, 4, self.version.number());
        out[6] = self.body.kind().number();
        out[7] = self.credits;
        put_u32(out, 8, length as u32);
        put_u64(out, 16, eight_bytes(self.src_nid)?);
        put_u64(out, 24, self.src_stamp);
        put_u64(out, 32, eight_bytes(self.dst_nid)?);
        put_u64(out, 40, self.dst_stamp);
        encode_body(&self.body, out)?;
        Ok(before)
    }

    fn len_before_payload(&self) -> usize {
        match &self.body {
            Body::PutAck { descriptor, .. } => BODY + 16 + descriptor.encoded_len(),
            Body::GetReq { descriptor, .. } => BEHIND_LNET_HEADER + 8 + descriptor.encoded_len(),
            body => body.kind().min_len(),
        }
    }

    /// The payload that the LNet header of an IMMEDIATE announces, in bytes; 0 for all other types.
    fn announced_payload(&self) -> usize {
        match &self.body {
            // More fits in no message; this much keeps sums from overflowing where a usize has 32 bits.
            Body::Immediate { header, .. } => header.payload_length.min(1 << 30) as usize,
            _ => 0,
        }
    }
}

fn verify_checksum(sent: u32, message: &[u8]) -> Result<(), ProtoError> {
    if sent == 0 {
        return Ok(());
    }
    let computed = checksum(message);
    if sent == computed { Ok(()) } else { Err(ProtoError::ChecksumMismatch { sent, computed }) }
}

/// Reads the part of a message that depends on its type. The caller has checked the type's minimum length.
fn decode_body(kind: MessageKind, order: ByteOrder, message: &[u8]) -> Result<Body<'_>, ProtoError> {
    let lnet_header = || Header::decode(&array(message, BODY));
    Ok(match kind {
        MessageKind::ConnReq => Body::ConnReq(ConnParams::decode(order, message, BODY)),
        MessageKind::ConnAck => Body::ConnAck(ConnParams::decode(order, message, BODY)),
        MessageKind::Noop => Body::Noop,
        MessageKind::Immediate => {
            let header = lnet_header()?;
            let announced = header.payload_length;
            let present = &message[PAYLOAD_OFFSET..];
            let payload = usize::try_from(announced).ok().and_then(|length| present.get(..length));
            let too_long = ProtoError::PayloadBeyondMessage { announced, present: present.len() };
            Body::Immediate { header, payload: payload.ok_or(too_long)? }
        }
        MessageKind::PutReq => {
            Body::PutReq { header: lnet_header()?, cookie: cookie(message, BEHIND_LNET_HEADER) }
        }
        MessageKind::PutNak => Body::PutNak(Completion::decode(order, message)),
        MessageKind::PutAck => Body::PutAck {
            src_cookie: cookie(message, BODY),
            dst_cookie: cookie(message, BODY + 8),
            descriptor: Descriptor::decode(order, message, BODY + 16)?,
        },
        MessageKind::PutDone => Body::PutDone(Completion::decode(order, message)),
        MessageKind::GetReq => Body::GetReq {
            header: lnet_header()?,
            cookie: cookie(message, BEHIND_LNET_HEADER),
            descriptor: Descriptor::decode(order, message, BEHIND_LNET_HEADER + 8)?,
        },
        MessageKind::GetDone => Body::GetDone(Completion::decode(order, message)),
    })
}

/// Writes the part of a message that depends on its type. `out` is the message up to the payload.
fn encode_body(body: &Body<'_>, out: &mut [u8]) -> Result<(), EncodeError> {
    match body {
        Body::ConnReq(params) | Body::ConnAck(params) => params.encode(out, BODY),
        Body::Noop => {}
        Body::Immediate { header, .. } => put_lnet_header(out, header)?,
        Body::PutReq { header, cookie } => {
            put_lnet_header(out, header)?;
            put_u64(out, BEHIND_LNET_HEADER, *cookie);
        }
        Body::PutNak(completion) | Body::PutDone(completion) | Body::GetDone(completion) => {
            completion.encode(out);
        }
        Body::PutAck { src_cookie, dst_cookie, descriptor } => {
            put_u64(out, BODY, *src_cookie);
            put_u64(out, BODY + 8, *dst_cookie);
            descriptor.encode(out, BODY + 16);
        }
        Body::GetReq { header, cookie, descriptor } => {
            put_lnet_header(out, header)?;
            put_u64(out, BEHIND_LNET_HEADER, *cookie);
            descriptor.encode(out, BEHIND_LNET_HEADER + 8);
        }
    }
    Ok(())
}

fn put_lnet_header(out: &mut [u8], header: &Header) -> Result<(), EncodeError> {
    let Some(bytes) = header.encode() else {
        let long = if header.src_nid.to_u64().is_none() { header.src_nid } else { header.dest_nid };
        return Err(EncodeError::LongNid(long));
    };
    out[BODY..BEHIND_LNET_HEADER].copy_from_slice(&bytes);
    Ok(())
}

fn eight_bytes(nid: Nid) -> Result<u64, EncodeError> {
    nid.to_u64().ok_or(EncodeError::LongNid(nid))
}

/// Reads a cookie, which is in no order but that of its owner. This node's own are little-endian.
fn cookie(message: &[u8], offset: usize) -> u64 {
    ByteOrder::Little.u64(message, offset)
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;

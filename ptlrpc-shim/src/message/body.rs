//! The body of every message: the operation, and its outcome (`ptlrpc_body`).

use super::flags::flags;
use super::header::BadMessage;
use super::opcode::Opcode;
use super::version::{Service, Version};
use super::xid::Xid;
use lnet_wire::byte_order::{ByteOrder, array};

/// A body. Requests and replies use different fields; the others are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    /// The server's handle of the connection. A connect reply assigns it.
    pub handle: ExportCookie,
    /// The type of the message.
    pub kind: MessageKind,
    /// The protocol.
    pub version: Version,
    /// The operation; a reply repeats it.
    pub opcode: Opcode,
    /// The status of a reply: 0 or a negative errno. Unused in a request.
    pub status: i32,
    /// The XID up to which the client has all replies (requests).
    pub last_xid: Xid,
    /// The slot of a modifying request.
    pub tag: u16,
    /// The highest committed transaction (replies).
    pub last_committed: u64,
    /// The transaction number of the request (replies). A replayed request repeats it.
    pub transno: u64,
    /// Flags of a request, such as that it was sent before.
    pub flags: BodyFlags,
    /// Flags of connect requests and their replies.
    pub op_flags: ConnectOps,
    /// The connection count (requests); servers drop requests with an earlier one.
    pub conn_cnt: u32,
    /// Seconds: in a request its timeout, in a reply the estimate of the service's time.
    pub timeout: u32,
    /// The time that this request took, in seconds (replies).
    pub service_time: u32,
    /// The number of locks that the client may keep (replies).
    pub limit: u32,
    /// The server's lock volume (replies).
    pub slv: u64,
    /// Versions of objects before the operation.
    pub pre_versions: [u64; 4],
    /// The match bits of the last MD of the bulk transfer; those of the reply too, where both sides have
    /// [`ConnectFlags::REP_MBITS`](super::ConnectFlags::REP_MBITS).
    pub mbits: u64,
    /// The ID of the job that sends the request: text, padded with zeros. Not in version 2.
    pub job_id: [u8; 32],
}

/// The handle that one side of a connection has assigned to it, and that messages to that side carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExportCookie(pub u64);

/// The type of a message (`pb_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum MessageKind {
    /// A request.
    Request = 4711,
    /// The reply to a request that was not executed.
    Error = 4712,
    /// The reply to a request that was executed.
    Reply = 4713,
}

flags! {
    /// Flags of a request (`pb_flags`).
    pub struct BodyFlags(u32) {
        /// The request has been sent before, with the same XID.
        RESENT = 0x2;
        /// The request is replayed: a server that has restarted had executed it.
        REPLAY = 0x4;
        /// The client has replayed all requests.
        REQ_REPLAY_DONE = 0x40;
        /// The client has replayed all locks.
        LOCK_REPLAY_DONE = 0x80;
    }

    /// Flags of connect requests and their replies (`pb_op_flags`; PR-11).
    pub struct ConnectOps(u32) {
        /// Reply: the server is in recovery.
        RECOVERING = 0x1;
        /// Reply: the server knew this client.
        RECONNECT = 0x2;
        /// Reply: requests can be replayed.
        REPLAYABLE = 0x4;
        /// Request: the client has not been connected before.
        INITIAL = 0x20;
        /// Request: the client supports the next version.
        NEXT_VER = 0x80;
        /// Request: the connect data's transaction number is valid.
        TRANSNO = 0x100;
    }
}

impl ExportCookie {
    /// No handle.
    pub const NONE: Self = Self(0);
}

impl MessageKind {
    /// Converts a type number from the wire.
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            4711 => Some(Self::Request),
            4712 => Some(Self::Error),
            4713 => Some(Self::Reply),
            _ => None,
        }
    }
}

impl Body {
    /// Bytes of a body that is sent: version 3.
    pub const LEN: usize = 184;
    /// Bytes of the shortest body that is read: version 2, without a job ID.
    pub const V2_LEN: usize = AT_JOB_ID;

    /// The body of a request; all other fields are 0.
    pub const fn request(service: Service, opcode: Opcode) -> Self {
        Self {
            handle: ExportCookie::NONE,
            kind: MessageKind::Request,
            version: Version::of(service),
            opcode,
            status: 0,
            last_xid: Xid(0),
            tag: 0,
            last_committed: 0,
            transno: 0,
            flags: BodyFlags::NONE,
            op_flags: ConnectOps::NONE,
            conn_cnt: 0,
            timeout: 0,
            service_time: 0,
            limit: 0,
            slv: 0,
            pre_versions: [0; 4],
            mbits: 0,
            job_id: [0; 32],
        }
    }

    /// The body of the reply to `request`: its version and opcode, status 0; all other fields are 0.
    pub const fn reply_to(request: &Self) -> Self {
        Self {
            kind: MessageKind::Reply,
            version: request.version,
            ..Self::request(Service::OBD, request.opcode)
        }
    }

    /// Reads a body of version 2 (without a job ID), of version 3, or of a later one, whose further fields are ignored.
    #[inline(always)]
    pub fn decode(bytes: &[u8], order: ByteOrder) -> Result<Self, BadMessage> {
        if bytes.len() < Self::V2_LEN {
            return Err(BadMessage::BodyLength(bytes.len()));
        }
        let u32_at = |offset| order.u32(bytes, offset);
        let u64_at = |offset| order.u64(bytes, offset);
        let kind = u32_at(8);
        Ok(Self {
            handle: ExportCookie(u64_at(0)),
            kind: MessageKind::from_number(kind).ok_or(BadMessage::Kind(kind))?,
            version: Version(u32_at(12)),
            opcode: Opcode(u32_at(16)),
            status: u32_at(20).cast_signed(),
            last_xid: Xid(u64_at(24)),
            tag: order.u16(bytes, 32),
            last_committed: u64_at(40),
            transno: u64_at(48),
            flags: BodyFlags(u32_at(56)),
            op_flags: ConnectOps(u32_at(60)),
            conn_cnt: u32_at(64),
            timeout: u32_at(68),
            service_time: u32_at(72),
            limit: u32_at(76),
            slv: u64_at(80),
            pre_versions: [u64_at(88), u64_at(96), u64_at(104), u64_at(112)],
            mbits: u64_at(120),
            job_id: array(bytes, AT_JOB_ID),
        })
    }

    /// Encodes the body for sending: version 3, in this machine's byte order.
    pub fn encode(&self) -> [u8; Self::LEN] {
        self.encode_in(ByteOrder::NATIVE)
    }

    /// The body in version 3, in a byte order of the caller's choice: for tests.
    pub fn encode_in(&self, order: ByteOrder) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        self.encode_to(order, &mut out);
        out
    }

    /// Encodes the body like [`Body::encode_in`], into bytes that are zero.
    #[inline]
    pub(super) fn encode_to(&self, order: ByteOrder, out: &mut [u8; Self::LEN]) {
        let mut put_u32 = |offset, value| order.put_u32(out, offset, value);
        put_u32(8, self.kind as u32);
        put_u32(12, self.version.0);
        put_u32(16, self.opcode.0);
        put_u32(20, self.status.cast_unsigned());
        put_u32(56, self.flags.0);
        put_u32(60, self.op_flags.0);
        put_u32(64, self.conn_cnt);
        put_u32(68, self.timeout);
        put_u32(72, self.service_time);
        put_u32(76, self.limit);
        let mut put_u64 = |offset, value| order.put_u64(out, offset, value);
        let [v0, v1, v2, v3] = self.pre_versions;
        put_u64(0, self.handle.0);
        put_u64(24, self.last_xid.0);
        put_u64(40, self.last_committed);
        put_u64(48, self.transno);
        put_u64(80, self.slv);
        put_u64(88, v0);
        put_u64(96, v1);
        put_u64(104, v2);
        put_u64(112, v3);
        put_u64(120, self.mbits);
        order.put_u16(out, 32, self.tag);
        out[AT_JOB_ID..].copy_from_slice(&self.job_id);
    }
}

const AT_JOB_ID: usize = 152;

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;

//! The body of every message: who asks for what, and how it went (`ptlrpc_body`).

use super::flags::flags;
use super::header::BadMessage;
use super::opcode::Opcode;
use super::version::{Service, Version};
use super::xid::Xid;
use lnet_wire::byte_order::{ByteOrder, array};

/// A body. What a request and what a reply says is in different fields; the others are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    /// The server's name for the connection, from the connect reply; there, the one that is given.
    pub handle: ExportCookie,
    /// What the message is.
    pub kind: MessageKind,
    /// The protocol it speaks.
    pub version: Version,
    /// What the request asks for; a reply repeats it.
    pub opcode: Opcode,
    /// In a reply 0 or a negative errno. In a request it means nothing.
    pub status: i32,
    /// In a request: it and all below have been answered.
    pub last_xid: Xid,
    /// In a request that modifies: its slot.
    pub tag: u16,
    /// In a reply: the highest transaction that is on disk.
    pub last_committed: u64,
    /// In a reply the transaction that the request became; in a request that is replayed, the same.
    pub transno: u64,
    /// In a request: whether it comes again, and such things.
    pub flags: BodyFlags,
    /// In connect requests and their replies.
    pub op_flags: ConnectOps,
    /// In a request: how often the client has connected; servers drop what comes from before.
    pub conn_cnt: u32,
    /// Seconds: in a request how long the client waits, in a reply how long the service reckons to take.
    pub timeout: u32,
    /// In a reply: the seconds that this request took.
    pub service_time: u32,
    /// In a reply: how many locks the client may keep.
    pub limit: u32,
    /// In a reply: the server's lock volume.
    pub slv: u64,
    /// Versions of objects before the operation.
    pub pre_versions: [u64; 4],
    /// The match bits of the last MD of the bulk transfer; those of the reply too, where both sides have
    /// [`ConnectFlags::REP_MBITS`](super::ConnectFlags::REP_MBITS).
    pub mbits: u64,
    /// The name of the job that the request is made for: text, zeros behind it. Not in version 2.
    pub job_id: [u8; 32],
}

/// The name that one side of a connection has for it, given to the other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExportCookie(pub u64);

/// What a message is (`pb_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum MessageKind {
    /// Asks for something.
    Request = 4711,
    /// The answer of one who could not look at the request.
    Error = 4712,
    /// The answer.
    Reply = 4713,
}

flags! {
    /// What is special about a request (`pb_flags`).
    pub struct BodyFlags(u32) {
        /// It has been sent before, with the same xid.
        RESENT = 0x2;
        /// It has been answered before, by a server that forgot.
        REPLAY = 0x4;
        /// The client has no more to replay.
        REQ_REPLAY_DONE = 0x40;
        /// The client has no more locks to replay.
        LOCK_REPLAY_DONE = 0x80;
    }

    /// What connect requests and their replies say beside their data (`pb_op_flags`; PR-11).
    pub struct ConnectOps(u32) {
        /// Reply: the server recovers.
        RECOVERING = 0x1;
        /// Reply: the server knew this client.
        RECONNECT = 0x2;
        /// Reply: requests can be replayed.
        REPLAYABLE = 0x4;
        /// Request: the client's first.
        INITIAL = 0x20;
        /// Request: the client understands the next version.
        NEXT_VER = 0x80;
        /// Request: the connect data's transaction number means something.
        TRANSNO = 0x100;
    }
}

impl ExportCookie {
    /// What clients say before the server has given one.
    pub const NONE: Self = Self(0);
}

impl MessageKind {
    /// From the word on the wire.
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
    /// Bytes of what we send: version 3.
    pub const LEN: usize = 184;
    /// Bytes of the shortest that is read: version 2, which has no job.
    pub const V2_LEN: usize = AT_JOB_ID;

    /// That of a request, everything else 0.
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

    /// That of the reply to `request`: its version and opcode, status 0, everything else 0.
    pub const fn reply_to(request: &Self) -> Self {
        Self {
            kind: MessageKind::Reply,
            version: request.version,
            ..Self::request(Service::OBD, request.opcode)
        }
    }

    /// Reads a body of version 2 (then without a job), of version 3, or of a later one, whose further fields are
    /// left out.
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

    /// The body as we send it: version 3, in this machine's byte order.
    pub fn encode(&self) -> [u8; Self::LEN] {
        self.encode_in(ByteOrder::NATIVE)
    }

    /// The body in version 3, in a byte order of the caller's choice: for tests.
    pub fn encode_in(&self, order: ByteOrder) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        for (offset, value) in [
            (8, self.kind as u32),
            (12, self.version.0),
            (16, self.opcode.0),
            (20, self.status.cast_unsigned()),
            (56, self.flags.0),
            (60, self.op_flags.0),
            (64, self.conn_cnt),
            (68, self.timeout),
            (72, self.service_time),
            (76, self.limit),
        ] {
            order.put_u32(&mut out, offset, value);
        }
        let [v0, v1, v2, v3] = self.pre_versions;
        for (offset, value) in [
            (0, self.handle.0),
            (24, self.last_xid.0),
            (40, self.last_committed),
            (48, self.transno),
            (80, self.slv),
            (88, v0),
            (96, v1),
            (104, v2),
            (112, v3),
            (120, self.mbits),
        ] {
            order.put_u64(&mut out, offset, value);
        }
        order.put_u16(&mut out, 32, self.tag);
        out[AT_JOB_ID..].copy_from_slice(&self.job_id);
        out
    }
}

const AT_JOB_ID: usize = 152;

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;

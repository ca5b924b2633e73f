//! Decides which requests are served (PR-70).

use crate::Errno;
use crate::clock::Time;
use crate::message::{
    BadMessage, Body, BodyFlags, ByteOrder, ExportCookie, Message, MessageFlags, MessageKind, Opcode,
    Service as Protocol, Version, Xid,
};
use crate::service::counters::Dropped;
use thiserror::Error;

/// The parts of a request's message that admission needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestHead {
    pub(crate) body: RequestBody,
    pub(crate) order: ByteOrder,
    /// The number of buffers, and the bytes of the message.
    count: usize,
    len: usize,
    /// The client understands early replies, and has space for one in front of the reply.
    pub(crate) at_support: bool,
}

/// The fields of a request's body that a service uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestBody {
    pub(crate) handle: ExportCookie,
    pub(crate) version: Version,
    pub(crate) opcode: Opcode,
    pub(crate) last_xid: Xid,
    pub(crate) tag: u16,
    pub(crate) flags: BodyFlags,
    pub(crate) conn_cnt: u32,
    pub(crate) timeout: u32,
    pub(crate) mbits: u64,
}

/// The reason why a message is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum UnpackError {
    #[error("{0}")]
    Malformed(#[from] BadMessage),
    #[error("message type {0} is not a request")]
    NotARequest(u32),
}

/// The decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Serve,
    /// Reply with an error of type 4712: the request was not executed.
    Refuse(Errno),
    Drop(Dropped),
}

/// The state on which admission depends beside the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdmissionContext {
    pub(crate) now: Time,
    /// The time at which the client gives up.
    pub(crate) deadline: Time,
    /// The client's connection count; `None`: it has no connection with this handle.
    pub(crate) conn_cnt: Option<u32>,
    /// The service's protocol.
    pub(crate) protocol: Protocol,
    /// Whether the program, or the service itself, serves the operation.
    pub(crate) is_served: bool,
}

/// Reads the message of a request. Any bytes are accepted.
pub(crate) fn unpack(bytes: &[u8]) -> Result<RequestHead, UnpackError> {
    let message = Message::parse(bytes)?;
    let body = message.body()?;
    if body.kind != MessageKind::Request {
        return Err(UnpackError::NotARequest(body.kind as u32));
    }
    let at_support = message.flags().contains(MessageFlags::AT_SUPPORT);
    let (order, count, len) = (message.order(), message.buffer_count(), message.as_bytes().len());
    Ok(RequestHead { body: RequestBody::of(&body), order, count, len, at_support })
}

impl RequestBody {
    #[inline]
    const fn of(body: &Body) -> Self {
        let Body { handle, version, opcode, last_xid, tag, flags, conn_cnt, timeout, mbits, .. } = *body;
        Self { handle, version, opcode, last_xid, tag, flags, conn_cnt, timeout, mbits }
    }

    /// The body of a reply, as [`Body::reply_to`] has it.
    pub(crate) const fn reply(&self) -> Body {
        Body { kind: MessageKind::Reply, version: self.version, ..Body::request(Protocol::OBD, self.opcode) }
    }
}

impl RequestHead {
    /// The whole message, of the bytes that the head was unpacked from.
    pub(crate) fn message<'a>(&self, bytes: &'a [u8]) -> Message<'a> {
        Message::parsed_before(self.order, self.count, bytes.get(..self.len).unwrap_or(bytes))
    }
}

impl UnpackError {
    pub(crate) const fn dropped(self) -> Dropped {
        match self {
            Self::Malformed(_) => Dropped::Malformed,
            Self::NotARequest(_) => Dropped::NotARequest,
        }
    }
}

/// Decides about a request, except for duplicates.
pub(crate) fn admit(body: &RequestBody, context: &AdmissionContext) -> Admission {
    if body.timeout == 0 {
        return Admission::Drop(Dropped::NoTimeout);
    }
    if context.now >= context.deadline {
        return Admission::Drop(Dropped::Expired);
    }
    if !body.opcode.is_connect() {
        match context.conn_cnt {
            None => return Admission::Refuse(Errno::NotConnected),
            Some(latest) if body.conn_cnt < latest => return Admission::Drop(Dropped::StaleConnection),
            Some(_) => {}
        }
    }
    let spoken = body.version.service();
    if spoken != context.protocol && ![Protocol::OBD, Protocol::DLM, Protocol::LOG].contains(&spoken) {
        return Admission::Refuse(Errno::Protocol);
    }
    if !context.is_served {
        return Admission::Refuse(Errno::NotSupported);
    }
    Admission::Serve
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::MessageMut;
    use proptest::prelude::*;
    use std::time::Duration;

    fn message(kind: MessageKind, flags: MessageFlags) -> Vec<u8> {
        let mut bytes = vec![0; 224];
        let mut message = MessageMut::new(&mut bytes, &[Body::LEN as u32]).unwrap();
        message.set_body(&Body { kind, ..Body::request(Protocol::OST, Opcode::PING) });
        message.set_flags(flags);
        bytes
    }

    #[test]
    fn messages_that_are_no_requests_are_found() {
        let good = message(MessageKind::Request, MessageFlags::AT_SUPPORT);
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        for (name, bytes, want) in [
            ("a request", good.clone(), None),
            ("nothing", Vec::new(), Some(Dropped::Malformed)),
            ("half a header", good[..16].to_vec(), Some(Dropped::Malformed)),
            ("no magic", with(8, 0), Some(Dropped::Malformed)),
            ("no buffer", with(0, 0), Some(Dropped::Malformed)),
            ("more buffers than bytes", with(0, 30), Some(Dropped::Malformed)),
            ("a buffer that goes on behind the end", with(33, 1), Some(Dropped::Malformed)),
            ("a buffer of 4 GiB", with(35, 0xff), Some(Dropped::Malformed)),
            ("a body that is too short", with(32, 100), Some(Dropped::Malformed)),
            ("a security flavour", with(4, 1), Some(Dropped::Malformed)),
            ("no known kind", with(48, 0), Some(Dropped::Malformed)),
            ("a reply", message(MessageKind::Reply, MessageFlags::NONE), Some(Dropped::NotARequest)),
            ("an error", message(MessageKind::Error, MessageFlags::NONE), Some(Dropped::NotARequest)),
        ] {
            assert_eq!(unpack(&bytes).err().map(UnpackError::dropped), want, "{name}");
        }
        assert!(unpack(&good).unwrap().at_support);
        assert!(!unpack(&message(MessageKind::Request, MessageFlags::NONE)).unwrap().at_support);
    }

    #[test]
    fn which_requests_are_served() {
        let start = Time::START;
        let at = |seconds| start + Duration::from_secs(seconds);
        let context = AdmissionContext {
            now: at(1),
            deadline: at(10),
            conn_cnt: Some(4),
            protocol: Protocol::OST,
            is_served: true,
        };
        let read = Body { timeout: 10, conn_cnt: 4, ..Body::request(Protocol::OST, Opcode::OST_READ) };
        let connect =
            Body { conn_cnt: 0, opcode: Opcode::OST_CONNECT, version: Version::of(Protocol::OBD), ..read };
        let unconnected = AdmissionContext { conn_cnt: None, ..context };
        for (name, body, context, want) in [
            ("a request", read, context, Admission::Serve),
            (
                "after the deadline",
                read,
                AdmissionContext { now: at(10), ..context },
                Admission::Drop(Dropped::Expired),
            ),
            ("no timeout", Body { timeout: 0, ..read }, context, Admission::Drop(Dropped::NoTimeout)),
            ("not connected", read, unconnected, Admission::Refuse(Errno::NotConnected)),
            (
                "a ping without a connection",
                Body { opcode: Opcode::PING, ..read },
                unconnected,
                Admission::Refuse(Errno::NotConnected),
            ),
            (
                "a disconnect without a connection",
                Body { opcode: Opcode::OST_DISCONNECT, ..read },
                unconnected,
                Admission::Refuse(Errno::NotConnected),
            ),
            (
                "not connected, too late",
                read,
                AdmissionContext { now: at(11), ..unconnected },
                Admission::Drop(Dropped::Expired),
            ),
            ("a first connect", connect, unconnected, Admission::Serve),
            ("a reconnect", connect, context, Admission::Serve),
            (
                "an old connection",
                Body { conn_cnt: 3, ..read },
                context,
                Admission::Drop(Dropped::StaleConnection),
            ),
            ("a later connection", Body { conn_cnt: 5, ..read }, context, Admission::Serve),
            ("a lock", Body { version: Version::of(Protocol::DLM), ..read }, context, Admission::Serve),
            (
                "another protocol",
                Body { version: Version::of(Protocol::MDS), ..read },
                context,
                Admission::Refuse(Errno::Protocol),
            ),
            (
                "not supported",
                read,
                AdmissionContext { is_served: false, ..context },
                Admission::Refuse(Errno::NotSupported),
            ),
            (
                "not supported and not connected",
                read,
                AdmissionContext { is_served: false, ..unconnected },
                Admission::Refuse(Errno::NotConnected),
            ),
        ] {
            assert_eq!(admit(&RequestBody::of(&body), &context), want, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_lead_to_a_decision(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            at in 0_usize..224,
            byte: u8,
        ) {
            let _ = unpack(&bytes);
            let mut changed = message(MessageKind::Request, MessageFlags::NONE);
            changed[at] = byte;
            let _ = unpack(&changed);
        }
    }
}

//! What the peer has received.

use crate::device::ConnId;
use crate::proto::{Body, Descriptor, Message, MessageKind};

/// A message that the peer has received.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) conn: ConnId,
    pub(crate) bytes: Vec<u8>,
}

impl Heard {
    pub(crate) fn message(&self) -> Message<'_> {
        Message::decode(&self.bytes).unwrap()
    }

    pub(crate) fn kind(&self) -> MessageKind {
        self.message().body.kind()
    }

    /// The cookie and status of a completion.
    pub(crate) fn completion(&self) -> (MessageKind, u64, i32) {
        match self.message().body {
            Body::PutNak(c) | Body::PutDone(c) | Body::GetDone(c) => (self.kind(), c.cookie, c.status),
            other => panic!("{other:?}"),
        }
    }

    /// The cookie that the engine made.
    pub(crate) fn cookie(&self) -> u64 {
        match self.message().body {
            Body::PutReq { cookie, .. } | Body::GetReq { cookie, .. } => cookie,
            Body::PutAck { dst_cookie, .. } => dst_cookie,
            other => panic!("{other:?}"),
        }
    }

    /// The memory that the engine offers.
    pub(crate) fn descriptor(&self) -> Descriptor {
        match self.message().body {
            Body::PutAck { descriptor, .. } | Body::GetReq { descriptor, .. } => descriptor,
            other => panic!("{other:?}"),
        }
    }
}

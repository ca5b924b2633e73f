//! The messages of a service (PR-72): pure.

use crate::Errno;
use crate::message::builder::size_behind_body;
use crate::message::checksum::seal_early_reply;
use crate::message::header::BODY_ONLY_LEN;
use crate::message::{Body, MessageFlags, MessageKind, MessageMut};
use crate::service::handler::Reply;
use crate::service::rules::admission::RequestHead;
use crate::service::rules::early_reply::ClientTimeout;

/// The server's fields of a reply.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerFields {
    pub(crate) last_committed: u64,
    /// Seconds that the request took.
    pub(crate) service_time: u32,
    /// Seconds that a request is estimated to take.
    pub(crate) estimate: u32,
}

/// A message of a service, to be written.
pub(crate) struct ReplyMessage<'a> {
    at_support: bool,
    body: &'a Body,
    buffers: &'a [Vec<u8>],
    len: usize,
}

/// The body of a reply of the program's.
pub(crate) fn reply_body(head: &RequestHead, reply: &Reply, fields: ServerFields) -> Body {
    Body {
        status: reply.status,
        transno: reply.transno,
        last_committed: fields.last_committed,
        service_time: fields.service_time,
        timeout: fields.estimate,
        ..head.body.reply()
    }
}

/// The body of an error reply (type 4712), to a request that was not executed.
pub(crate) fn error_body(head: &RequestHead, errno: Errno) -> Body {
    Body { kind: MessageKind::Error, status: errno.to_c(), ..head.body.reply() }
}

impl<'a> ReplyMessage<'a> {
    /// A message with this body and these buffers behind it. `EOVERFLOW`: it is longer than `max_reply`, or than any message can be.
    pub(crate) fn new(
        head: &RequestHead,
        body: &'a Body,
        buffers: &'a [Vec<u8>],
        max_reply: usize,
    ) -> Result<Self, Errno> {
        let len = size_behind_body(buffers.iter().map(Vec::len)).filter(|len| *len <= max_reply);
        Ok(Self { at_support: head.at_support, body, buffers, len: len.ok_or(Errno::Overflow)? })
    }

    /// Bytes of the message.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Writes the message into memory of its length.
    pub(crate) fn write(&self, bytes: &mut [u8]) -> Result<(), Errno> {
        let mut message = MessageMut::compose(bytes, self.body, self.buffers).map_err(|bad| bad.errno())?;
        if self.at_support {
            message.set_flags(MessageFlags::AT_SUPPORT);
        }
        Ok(())
    }
}

/// Writes an early reply, which extends the client's timeout to `timeout` (PR-72).
pub(crate) fn early_reply(head: &RequestHead, timeout: ClientTimeout) -> Option<[u8; BODY_ONLY_LEN]> {
    let body = Body { timeout: timeout.seconds(), ..head.body.reply() };
    let mut bytes = [0; BODY_ONLY_LEN];
    let mut message = MessageMut::new(&mut bytes, &[Body::LEN as u32]).ok()?;
    message.set_body(&body);
    message.set_flags(MessageFlags::AT_SUPPORT);
    seal_early_reply(&mut message);
    Some(bytes)
}

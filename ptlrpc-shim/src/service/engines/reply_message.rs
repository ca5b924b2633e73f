//! The messages of a service (PR-72): pure.

use crate::Errno;
use crate::message::builder::BufferLengths;
use crate::message::checksum::seal_early_reply;
use crate::message::header::BODY_ONLY_LEN;
use crate::message::{Body, MessageFlags, MessageKind, MessageMut};
use crate::service::handler::{Reply, ReplyBuffers};
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
    body: Body,
    buffers: &'a ReplyBuffers,
    lengths: BufferLengths,
    len: usize,
}

/// No buffer but the body.
pub(crate) const NO_BUFFERS: &ReplyBuffers = &ReplyBuffers::NONE;

impl<'a> ReplyMessage<'a> {
    /// A reply of the program's. `EOVERFLOW`: it is longer than `max_reply`, or than any message can be.
    pub(crate) fn reply(
        head: &RequestHead,
        reply: &'a Reply,
        fields: ServerFields,
        max_reply: usize,
    ) -> Result<Self, Errno> {
        let body = Body {
            status: reply.status,
            transno: reply.transno,
            last_committed: fields.last_committed,
            service_time: fields.service_time,
            timeout: fields.estimate,
            ..Body::reply_to(&head.body)
        };
        Self::new(head, body, &reply.buffers, max_reply)
    }

    /// An error reply (type 4712), to a request that was not executed.
    pub(crate) fn error(head: &RequestHead, errno: Errno, max_reply: usize) -> Result<Self, Errno> {
        let body = Body { kind: MessageKind::Error, status: errno.to_c(), ..Body::reply_to(&head.body) };
        Self::new(head, body, NO_BUFFERS, max_reply)
    }

    /// A message with this body.
    pub(crate) fn new(
        head: &RequestHead,
        body: Body,
        buffers: &'a ReplyBuffers,
        max_reply: usize,
    ) -> Result<Self, Errno> {
        let of_buffers = buffers.iter().map(|buffer| u32::try_from(buffer.len()).unwrap_or(u32::MAX));
        let lengths = BufferLengths::behind_body(of_buffers).ok_or(Errno::Overflow)?;
        let len = lengths.size().filter(|len| *len <= max_reply).ok_or(Errno::Overflow)?;
        Ok(Self { at_support: head.at_support, body, buffers, lengths, len })
    }

    /// Bytes of the message.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Writes the message into memory of its length.
    pub(crate) fn write(&self, bytes: &mut [u8]) -> Result<(), Errno> {
        let mut message = MessageMut::new(bytes, self.lengths.as_slice()).map_err(|bad| bad.errno())?;
        message.set_body(&self.body);
        if self.at_support {
            message.set_flags(MessageFlags::AT_SUPPORT);
        }
        for (index, buffer) in self.buffers.iter().enumerate() {
            if let Some(to) = message.buffer_mut(index + 1) {
                to.copy_from_slice(buffer);
            }
        }
        Ok(())
    }
}

/// Writes an early reply, which extends the client's timeout to `timeout` (PR-72).
pub(crate) fn early_reply(head: &RequestHead, timeout: ClientTimeout) -> Option<[u8; BODY_ONLY_LEN]> {
    let body = Body { timeout: timeout.seconds(), ..Body::reply_to(&head.body) };
    let mut bytes = [0; BODY_ONLY_LEN];
    let mut message = MessageMut::new(&mut bytes, &[Body::LEN as u32]).ok()?;
    message.set_body(&body);
    message.set_flags(MessageFlags::AT_SUPPORT);
    seal_early_reply(&mut message);
    Some(bytes)
}

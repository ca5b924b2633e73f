//! The messages of a service (PR-21, PR-72): pure.

use super::incoming_request::ReplyRoute;
use crate::Errno;
use crate::lnet::Region;
use crate::message::builder::BufferLengths;
use crate::message::checksum::seal_early_reply;
use crate::message::header::BODY_ONLY_LEN;
use crate::message::{Body, MessageFlags, MessageKind, MessageMut};
use crate::service::handler::Reply;
use crate::service::rules::admission::RequestHead;
use crate::service::rules::early_reply::ClientTimeout;
use std::sync::Arc;

/// The server's fields of a reply.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerFields {
    pub(crate) last_committed: u64,
    /// Seconds that the request took.
    pub(crate) service_time: u32,
    /// Seconds that a request is estimated to take.
    pub(crate) estimate: u32,
}

/// A message for a client's reply buffer.
#[derive(Clone)]
pub(crate) struct ReplyMessage {
    pub(crate) region: Arc<Region>,
    pub(crate) match_bits: u64,
    pub(crate) offset: u32,
}

impl ReplyMessage {
    /// The message of a reply: behind the space for early replies, if there is some.
    pub(crate) const fn reply(region: Arc<Region>, route: &ReplyRoute) -> Self {
        let offset = if route.at_support { BODY_ONLY_LEN as u32 } else { 0 };
        Self { region, match_bits: route.reply_bits, offset }
    }

    /// An early reply, which extends the client's timeout to `timeout` (PR-72).
    pub(crate) fn early(head: &RequestHead, route: &ReplyRoute, timeout: ClientTimeout) -> Option<Self> {
        let body = Body { timeout: timeout.seconds(), ..Body::reply_to(&head.body) };
        let mut region = Region::zeroed(BODY_ONLY_LEN);
        let mut message = MessageMut::new(region.bytes_mut(), &[Body::LEN as u32]).ok()?;
        message.set_body(&body);
        message.set_flags(MessageFlags::AT_SUPPORT);
        seal_early_reply(&mut message);
        Some(Self { region: Arc::new(region), match_bits: route.reply_bits, offset: 0 })
    }
}

/// Writes a reply of the program's. `EOVERFLOW`: it is longer than `max_reply`, or than any message can be.
pub(crate) fn build_reply(
    head: &RequestHead,
    reply: &Reply,
    fields: ServerFields,
    max_reply: usize,
) -> Result<Region, Errno> {
    let body = Body {
        status: reply.status,
        transno: reply.transno,
        last_committed: fields.last_committed,
        service_time: fields.service_time,
        timeout: fields.estimate,
        ..Body::reply_to(&head.body)
    };
    build(head, &body, &reply.buffers, max_reply)
}

/// Writes an error reply (type 4712), to a request that was not executed.
pub(crate) fn build_error(head: &RequestHead, errno: Errno, max_reply: usize) -> Result<Region, Errno> {
    let body = Body { kind: MessageKind::Error, status: errno.to_c(), ..Body::reply_to(&head.body) };
    build(head, &body, &[], max_reply)
}

/// Writes a message with this body.
pub(crate) fn build(
    head: &RequestHead,
    body: &Body,
    buffers: &[Vec<u8>],
    max_reply: usize,
) -> Result<Region, Errno> {
    let of_buffers = buffers.iter().map(|buffer| u32::try_from(buffer.len()).unwrap_or(u32::MAX));
    let lengths = BufferLengths::behind_body(of_buffers).ok_or(Errno::Overflow)?;
    let size = lengths.size().filter(|size| *size <= max_reply).ok_or(Errno::Overflow)?;
    let mut region = Region::zeroed(size);
    let mut message = MessageMut::new(region.bytes_mut(), lengths.as_slice()).map_err(|bad| bad.errno())?;
    message.set_body(body);
    if head.at_support {
        message.set_flags(MessageFlags::AT_SUPPORT);
    }
    for (index, buffer) in buffers.iter().enumerate() {
        if let Some(to) = message.buffer_mut(index + 1) {
            to.copy_from_slice(buffer);
        }
    }
    Ok(region)
}

//! Sends replies (PR-40, PR-41): by the path of the request, and by any other if that fails.

use super::descriptors::DescriptorGuard;
use super::difficult_reply::{DifficultReply, ReplyEvent};
use super::environment::Environment;
use super::incoming_request::ReplyRoute;
use crate::Errno;
use crate::lnet::{
    Ack, Destination, Event, EventHandler, EventKind, MdSpec, NotSent, ProcessId, Region, SendBuffer,
    SendEvents, SendPool,
};
use crate::message::header::BODY_ONLY_LEN;
use crate::service::counters::Counters;
use std::sync::Arc;

/// Sends the replies of a service that need no ACK.
pub(crate) type ReplySender = SendPool<ReplyEvents>;

/// A reply that could not be sent, and is to be sent by any path.
pub(crate) struct ReplyRetry {
    bytes: Vec<u8>,
    to: Destination,
}

/// Takes replies that are to be sent again, from event handlers.
pub(crate) trait RetryQueue: Send + Sync {
    /// Queues a reply for [`resend`].
    fn push_retry(&self, retry: ReplyRetry);
}

/// Takes the outcomes of replies. The data of each is where to send it if that fails.
#[derive(Clone)]
pub(crate) struct ReplyEvents {
    pub(crate) retries: Arc<dyn RetryQueue>,
    pub(crate) counters: Arc<Counters>,
}

/// The destination of the reply to a request: the space for replies of its client, behind that for early replies, if there is some
/// (PR-21, PR-72).
fn destination(env: &Environment, route: &ReplyRoute) -> Destination {
    Destination {
        from: Some(route.self_nid),
        to: route.source,
        portal: env.config.reply_portal.0,
        match_bits: route.reply_bits,
        offset: if route.at_support { BODY_ONLY_LEN as u32 } else { 0 },
    }
}

/// The destination if `first` fails: `peer`, from any NI, provided that the service permits it.
fn alternative(env: &Environment, first: &Destination, peer: ProcessId) -> Option<Destination> {
    env.config.reply_fallback.then_some(Destination { from: None, to: peer, ..*first })
}

/// Sends a reply by the path of the request, backwards. `peer`: the process to send it to if that fails.
pub(crate) fn send(
    env: &Environment,
    message: SendBuffer<'_, ReplyEvents>,
    route: &ReplyRoute,
    peer: ProcessId,
) {
    let first = destination(env, route);
    put(env, message, &first, alternative(env, &first, peer));
}

/// Sends a copy of a reply, like [`send`].
pub(crate) fn send_copy(env: &Environment, bytes: &[u8], route: &ReplyRoute, peer: ProcessId) {
    let first = destination(env, route);
    put_copy(env, bytes, &first, alternative(env, &first, peer));
}

/// Sends a reply again, from any NI.
pub(crate) fn resend(env: &Environment, retry: &ReplyRetry) {
    env.counters.replies_again.add_one();
    put_copy(env, &retry.bytes, &retry.to, None);
}

/// Sends an early reply, once.
pub(crate) fn send_early(env: &Environment, bytes: &[u8], route: &ReplyRoute) {
    env.counters.early_replies.add_one();
    put_copy(env, bytes, &Destination { offset: 0, ..destination(env, route) }, None);
}

fn put_copy(env: &Environment, bytes: &[u8], to: &Destination, retry: Option<Destination>) {
    match env.replies.buffer(bytes.len(), None) {
        Ok(mut message) => {
            message.bytes_mut().copy_from_slice(bytes);
            put(env, message, to, retry);
        }
        Err(errno) => env.replies.events().on_failed(errno, || bytes.to_vec(), retry),
    }
}

fn put(
    env: &Environment,
    message: SendBuffer<'_, ReplyEvents>,
    to: &Destination,
    retry: Option<Destination>,
) {
    if let Err((message, errno, retry)) = message.send(to, retry) {
        env.replies.events().on_failed(errno, || message.bytes().to_vec(), retry);
    }
}

impl SendEvents for ReplyEvents {
    type Context = Option<Destination>;

    fn on_sent(&self, retry: Option<Destination>, outcome: Result<(), NotSent<'_>>) {
        if let Err(NotSent { errno, bytes }) = outcome {
            self.on_failed(errno, || bytes.to_vec(), retry);
        }
    }
}

impl ReplyEvents {
    fn on_failed(&self, errno: Errno, bytes: impl FnOnce() -> Vec<u8>, retry: Option<Destination>) {
        let next = if retry.is_some() { "sending it by another path" } else { "the client has to resend" };
        log::debug!("reply could not be sent ({errno}); {next}");
        self.counters.replies_failed.add_one();
        if let Some(to) = retry {
            self.retries.push_retry(ReplyRetry { bytes: bytes(), to });
        }
    }
}

/// The events of a difficult reply.
struct DifficultEvents {
    events: ReplyEvents,
    difficult: Arc<DifficultReply>,
    region: Arc<Region>,
    retry: Option<Destination>,
    _descriptor: DescriptorGuard,
}

/// Sends a difficult reply, with a descriptor of its own, by the path of the request, backwards. `peer`: the process to send it to if that
/// fails.
pub(crate) fn send_difficult(
    env: &Environment,
    region: Arc<Region>,
    route: &ReplyRoute,
    peer: ProcessId,
    difficult: Arc<DifficultReply>,
) {
    let to = destination(env, route);
    let descriptor = env.descriptors.add();
    let id = descriptor.id();
    let handler = Arc::new(DifficultEvents {
        events: env.replies.events().clone(),
        difficult: Arc::clone(&difficult),
        region: Arc::clone(&region),
        retry: alternative(env, &to, peer),
        _descriptor: descriptor,
    });
    let spec = MdSpec::active(region, 2);
    let md = match env.node.bind(spec, Arc::clone(&handler) as Arc<dyn EventHandler>) {
        Ok(md) => md,
        Err(errno) => return handler.on_failed(errno),
    };
    env.descriptors.set_md(id, md);
    // The reply may have ended before there was a descriptor.
    let has_ended = !difficult.set_md(md);
    let Destination { from, to, portal, match_bits, offset } = to;
    if let Err(errno) = env.node.put(from, md, Ack::Wanted, to, portal, match_bits, offset, 0) {
        env.node.unlink(md);
        handler.on_failed(errno);
    } else if has_ended {
        env.node.unlink(md);
    }
}

impl EventHandler for DifficultEvents {
    fn on_event(&self, event: &Event) {
        match (event.kind, event.status) {
            (EventKind::Send, Err(errno)) => self.on_failed(errno),
            _ => self.difficult.on_md_event(event),
        }
    }
}

impl DifficultEvents {
    fn on_failed(&self, errno: Errno) {
        self.difficult.on_reply_event(ReplyEvent::Sent);
        let bytes = || self.region.copy_while_written(0..self.region.len());
        self.events.on_failed(errno, bytes, self.retry);
    }
}

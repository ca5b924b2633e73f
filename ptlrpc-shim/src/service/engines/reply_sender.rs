//! Sends replies (PR-40, PR-41): by the path of the request, and by any other if that fails.

use super::descriptors::DescriptorGuard;
use super::difficult_reply::{DifficultReply, ReplyEvent};
use super::environment::Environment;
use super::incoming_request::ReplyRoute;
use super::reply_message::ReplyMessage;
use crate::Errno;
use crate::lnet::{Ack, Event, EventHandler, EventKind, MdSpec, Nid, ProcessId};
use crate::service::counters::Counters;
use std::sync::Arc;

/// A reply that could not be sent, and is to be sent by any path.
pub(crate) struct ReplyRetry {
    message: ReplyMessage,
    to: ProcessId,
}

/// Takes replies that are to be sent again, from event handlers.
pub(crate) trait RetryQueue: Send + Sync {
    /// Queues a reply for [`resend`].
    fn push_retry(&self, retry: ReplyRetry);
}

struct ReplyEvents {
    retries: Arc<dyn RetryQueue>,
    counters: Arc<Counters>,
    difficult: Option<Arc<DifficultReply>>,
    retry: Option<ReplyRetry>,
    _descriptor: DescriptorGuard,
}

/// Sends a reply by the path of the request, backwards. `peer`: the destination if that fails, provided that the service
/// permits it.
pub(crate) fn send(
    env: &Environment,
    retries: Arc<dyn RetryQueue>,
    message: ReplyMessage,
    route: &ReplyRoute,
    peer: ProcessId,
    difficult: Option<Arc<DifficultReply>>,
) {
    let retry = env.config.reply_fallback.then(|| ReplyRetry { message: message.clone(), to: peer });
    put(env, retries, Some(route.self_nid), route.source, message, difficult, retry);
}

/// Sends a reply again, from any NI.
pub(crate) fn resend(env: &Environment, retries: Arc<dyn RetryQueue>, retry: ReplyRetry) {
    env.counters.replies_again.add_one();
    put(env, retries, None, retry.to, retry.message, None, None);
}

/// Sends an early reply, once.
pub(crate) fn send_early(
    env: &Environment,
    retries: Arc<dyn RetryQueue>,
    message: ReplyMessage,
    route: &ReplyRoute,
) {
    env.counters.early_replies.add_one();
    put(env, retries, Some(route.self_nid), route.source, message, None, None);
}

fn put(
    env: &Environment,
    retries: Arc<dyn RetryQueue>,
    from: Option<Nid>,
    to: ProcessId,
    message: ReplyMessage,
    difficult: Option<Arc<DifficultReply>>,
    retry: Option<ReplyRetry>,
) {
    let descriptor = env.descriptors.add();
    let id = descriptor.id();
    let (threshold, ack) = if difficult.is_some() { (2, Ack::Wanted) } else { (1, Ack::No) };
    let handler = Arc::new(ReplyEvents {
        retries,
        counters: Arc::clone(&env.counters),
        difficult: difficult.clone(),
        retry,
        _descriptor: descriptor,
    });
    let spec = MdSpec::active(message.region, threshold);
    let md = match env.node.bind(spec, Arc::clone(&handler) as Arc<dyn EventHandler>) {
        Ok(md) => md,
        Err(errno) => return handler.on_failed(errno),
    };
    env.descriptors.set_md(id, md);
    // A difficult reply may have ended before there was a descriptor.
    let has_ended = difficult.is_some_and(|difficult| !difficult.set_md(md));
    let portal = env.config.reply_portal.0;
    if let Err(errno) = env.node.put(from, md, ack, to, portal, message.match_bits, message.offset, 0) {
        env.node.unlink(md);
        handler.on_failed(errno);
    } else if has_ended {
        env.node.unlink(md);
    }
}

impl EventHandler for ReplyEvents {
    fn on_event(&self, event: &Event) {
        if let (EventKind::Send, Err(errno)) = (event.kind, event.status) {
            return self.on_failed(errno);
        }
        if let Some(difficult) = &self.difficult {
            difficult.on_md_event(event);
        }
    }
}

impl ReplyEvents {
    fn on_failed(&self, errno: Errno) {
        let next =
            if self.retry.is_some() { "sending it by another path" } else { "the client has to resend" };
        log::debug!("reply could not be sent ({errno}); {next}");
        self.counters.replies_failed.add_one();
        if let Some(difficult) = &self.difficult {
            difficult.on_reply_event(ReplyEvent::Sent);
        }
        if let Some(retry) = &self.retry {
            self.retries.push_retry(ReplyRetry { message: retry.message.clone(), to: retry.to });
        }
    }
}

//! A request and its phases, from the first transmission to its completion (`rq_phase`).

mod send;

use super::decisions::{ReplyDecision, RpcFacts, UnregisterReason, in_rpc_phase, on_reply, timeout_errno};
use super::reply::Reply;
use super::spec::{Direction, Request};
use super::transmission::{RequestSender, Transmission, TransmissionStatus};
use crate::Errno;
use crate::clock::Time;
use crate::import::connect_state::{ActiveConnection, SendPermission};
use crate::import::{ReplyTimes, Session, Tag};
use crate::message::builder::size_behind_body;
use crate::message::{BulkBits, Message, MessageKind, Xid};
use crate::wakeup::Waker;
use lnet_log::LogClass;
use std::sync::Arc;
use std::time::Duration;

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A request of the caller's, or a ping.
    Use,
    /// A connect request: it does not wait for a connection, and is sent once (PR-62).
    Connect { connection: ActiveConnection, timeout: Duration, initial: bool },
}

/// The parts of an import that its requests use.
pub(crate) struct RpcContext {
    pub(crate) sender: Arc<RequestSender>,
    pub(crate) session: Arc<Session>,
}

/// A request in progress.
pub(crate) struct Rpc {
    context: Arc<RpcContext>,
    request: Arc<Request>,
    purpose: Purpose,
    phase: RpcPhase,
    began: Time,
    xid: Xid,
    bits: Option<BulkBits>,
    tag: Option<Tag>,
    /// The incarnation of the server that it was sent to first, if it was sent.
    sent_to: Option<u32>,
    /// Whether the request has been sent with this XID before.
    is_resent: bool,
    /// Replies with the result that the request is not executed now.
    in_progress_replies: u32,
    /// Bytes of the expected reply.
    reply_len: u32,
    /// Bytes of bulk data that an earlier transmission without a reply has transferred.
    transferred: u64,
    early_replies: u32,
}

/// The phase.
enum RpcPhase {
    /// `RQ_PHASE_NEW`: waits for a connection or a slot, or until then.
    New(Option<Time>),
    /// `RQ_PHASE_RPC`: sent, and waits for the reply.
    Rpc(Sent),
    /// `RQ_PHASE_UNREG_RPC`: waits for the last events of its descriptors.
    UnregRpc(Sent, UnregisterReason),
    /// `RQ_PHASE_BULK`: has the reply, and waits for bulk data.
    Bulk(Sent, Box<Reply>),
    /// `RQ_PHASE_COMPLETE`: the result, until it is taken.
    Complete(Option<Result<Reply, Errno>>),
}

/// A transmission, with its connection and its time.
struct Sent {
    transmission: Transmission,
    connection: ActiveConnection,
    at: Time,
    deadline: Time,
}

/// The time of the next step.
enum Next {
    /// Take another step at once.
    Step,
    /// Take another step when the request is woken, or at that time.
    Wait(Option<Time>),
}

/// A request that could not be sent is tried again after this time.
const SEND_RETRY_INTERVAL: Duration = Duration::from_millis(100);

impl Rpc {
    pub(crate) fn new(context: &Arc<RpcContext>, request: Arc<Request>, purpose: Purpose, now: Time) -> Self {
        let reply_len = size_behind_body(request.reply_lengths.iter().map(|length| *length as usize));
        let phase = match reply_len.is_some() && request.bulk_md_count().is_ok() {
            true => RpcPhase::New(None),
            false => RpcPhase::Complete(Some(Err(Errno::Invalid))),
        };
        Self {
            context: Arc::clone(context),
            request,
            purpose,
            phase,
            began: now,
            xid: Xid(0),
            bits: None,
            tag: None,
            sent_to: None,
            is_resent: false,
            in_progress_replies: 0,
            reply_len: reply_len.unwrap_or(0) as u32,
            transferred: 0,
            early_replies: 0,
        }
    }

    pub(crate) const fn is_complete(&self) -> bool {
        matches!(self.phase, RpcPhase::Complete(_))
    }

    /// The result, once.
    pub(crate) const fn take_result(&mut self) -> Option<Result<Reply, Errno>> {
        match &mut self.phase {
            RpcPhase::Complete(result) => result.take(),
            _ => None,
        }
    }

    pub(crate) const fn early_replies(&self) -> u32 {
        self.early_replies
    }

    /// Aborts the request for its caller: it completes with [`Errno::Interrupted`] when its memory is no longer used.
    pub(crate) fn abort(&mut self) {
        match self.take_phase() {
            RpcPhase::New(_) => {
                self.complete(Err(Errno::Interrupted));
            }
            RpcPhase::Rpc(sent) | RpcPhase::UnregRpc(sent, _) | RpcPhase::Bulk(sent, _) => {
                self.unregister(sent, UnregisterReason::Fail(Errno::Interrupted));
            }
            complete @ RpcPhase::Complete(_) => self.phase = complete,
        }
    }

    /// Takes as many steps as are possible now; returns when to call it again if the request is not woken before.
    pub(crate) fn poll(&mut self, waker: &Waker, now: Time) -> Option<Time> {
        loop {
            let next = match self.take_phase() {
                RpcPhase::New(until) => self.in_new(until, waker, now),
                RpcPhase::Rpc(sent) => self.in_rpc(sent, now),
                RpcPhase::UnregRpc(sent, reason) => self.in_unreg_rpc(sent, reason, now),
                RpcPhase::Bulk(sent, reply) => self.in_bulk(sent, reply, now),
                complete @ RpcPhase::Complete(_) => self.wait_in(complete, None),
            };
            if let Next::Wait(until) = next {
                if self.is_complete() {
                    self.release();
                }
                return until;
            }
        }
    }

    /// Takes the phase. Each step sets the next one.
    const fn take_phase(&mut self) -> RpcPhase {
        std::mem::replace(&mut self.phase, RpcPhase::Complete(None))
    }

    fn step_to(&mut self, phase: RpcPhase) -> Next {
        self.phase = phase;
        Next::Step
    }

    fn wait_in(&mut self, phase: RpcPhase, until: Option<Time>) -> Next {
        self.phase = phase;
        Next::Wait(until)
    }

    fn complete(&mut self, result: Result<Reply, Errno>) -> Next {
        self.wait_in(RpcPhase::Complete(Some(result)), None)
    }

    fn limit(&self) -> Option<Time> {
        self.request.limit.map(|limit| self.began + limit)
    }

    fn timeout_errno(&self) -> Errno {
        timeout_errno(self.request.at_most_once, self.sent_to.is_some())
    }

    fn in_new(&mut self, until: Option<Time>, waker: &Waker, now: Time) -> Next {
        let limit = self.limit();
        if limit.is_some_and(|limit| limit <= now) {
            return self.complete(Err(self.timeout_errno()));
        }
        if let Some(until) = until.filter(|until| *until > now) {
            let at = limit.map_or(until, |limit| limit.min(until));
            return self.wait_in(RpcPhase::New(Some(until)), Some(at));
        }
        let mut facts = None;
        let connection = match self.purpose {
            Purpose::Connect { connection, .. } => connection,
            Purpose::Use => {
                let permission = match self.xid == Xid(0) && !self.request.at_most_once {
                    true => {
                        let (permission, first) = self.context.session.begin_first_transmission(waker, now);
                        facts = Some(first);
                        permission
                    }
                    false => self.context.session.send_permission(waker),
                };
                match permission {
                    SendPermission::Send(connection) => connection,
                    SendPermission::Closed => return self.complete(Err(Errno::Shutdown)),
                    SendPermission::Wait if self.request.no_delay => return self.complete(Err(Errno::Again)),
                    SendPermission::Wait => return self.wait_in(RpcPhase::New(None), limit),
                }
            }
        };
        if self.request.at_most_once {
            if self.sent_to.is_some_and(|incarnation| incarnation != connection.incarnation) {
                return self.complete(Err(Errno::Stale));
            }
            if self.tag.is_none() {
                self.tag = self.context.session.acquire_slot(waker);
            }
            if self.tag.is_none() {
                return self.wait_in(RpcPhase::New(None), limit);
            }
        }
        match self.send(connection, facts, waker, now) {
            // The request is woken by each event of the transmission, and by a new connection.
            Ok(sent) => {
                let until = limit.map_or(sent.deadline, |limit| limit.min(sent.deadline));
                self.wait_in(RpcPhase::Rpc(sent), Some(until))
            }
            Err(Errno::Stale) => self.complete(Err(Errno::Stale)),
            Err(errno) => {
                self.log_debug("cannot be sent", errno);
                self.on_no_reply(connection.conn_cnt, now)
            }
        }
    }

    fn in_rpc(&mut self, mut sent: Sent, now: Time) -> Next {
        let status = sent.transmission.status();
        if let Some(timeout) = status.early_timeout {
            self.early_replies = self.early_replies.max(status.early_replies);
            let promised =
                sent.at + Duration::from_secs(timeout.into()) + self.context.session.net_latency(now);
            sent.deadline = sent.deadline.max(promised);
        }
        let replied = status.reply.is_some() || status.truncated_from.is_some();
        let facts = RpcFacts {
            replied,
            failed: status.failed.is_some(),
            // The connection is lost: requests need not find that out by their own timeouts.
            superseded: !replied
                && self.purpose == Purpose::Use
                && self.context.session.is_superseded(sent.connection.conn_cnt),
            limit: self.limit(),
            deadline: sent.deadline,
            timeout_errno: self.timeout_errno(),
        };
        match in_rpc_phase(&facts, now) {
            Ok(until) => self.wait_in(RpcPhase::Rpc(sent), Some(until)),
            // Mostly the descriptors have had their last events.
            Err(UnregisterReason::Replied)
                if !(status.reply_md_is_live || sent.transmission.request_is_live()) =>
            {
                self.on_replied(sent, &status, now)
            }
            Err(reason) => {
                if reason == UnregisterReason::NoReply {
                    self.log_debug("no reply", status.failed.unwrap_or(Errno::TimedOut));
                }
                self.unregister(sent, reason)
            }
        }
    }

    /// Unlinks the descriptors. Those of bulk data stay if there is a reply.
    fn unregister(&mut self, sent: Sent, reason: UnregisterReason) -> Next {
        sent.transmission.unlink_reply(&self.context.sender);
        if reason != UnregisterReason::Replied {
            sent.transmission.unlink_bulk(self.context.sender.node());
        }
        self.step_to(RpcPhase::UnregRpc(sent, reason))
    }

    fn in_unreg_rpc(&mut self, sent: Sent, reason: UnregisterReason, now: Time) -> Next {
        let status = sent.transmission.status();
        if status.reply_md_is_live || reason != UnregisterReason::Replied && status.live_bulk_mds > 0 {
            return self.wait_in(RpcPhase::UnregRpc(sent, reason), None);
        }
        if reason != UnregisterReason::Replied {
            self.transferred = self.transferred.max(status.bulk_bytes);
        }
        match reason {
            UnregisterReason::Replied => self.on_replied(sent, &status, now),
            UnregisterReason::NoReply => self.on_no_reply(sent.connection.conn_cnt, now),
            UnregisterReason::Resend => self.step_to(RpcPhase::New(None)),
            UnregisterReason::Fail(errno) => self.complete(Err(errno)),
        }
    }

    fn on_replied(&mut self, sent: Sent, status: &TransmissionStatus, now: Time) -> Next {
        if status.reply.is_none()
            && let Some(len) = status.truncated_from
        {
            self.reply_len = self.reply_len.max(len);
            let reason = match self.request.no_resend {
                true => UnregisterReason::Fail(Errno::Overflow),
                false => UnregisterReason::Resend,
            };
            return self.unregister(sent, reason);
        }
        let Some(bytes) = sent.transmission.reply(status) else {
            return self.on_no_reply(sent.connection.conn_cnt, now);
        };
        let body = match Message::parse(&bytes).and_then(|message| message.body()) {
            Ok(body) if body.kind != MessageKind::Request => body,
            Ok(_) => return self.on_invalid_reply(sent, "it is a request", now),
            Err(bad) => return self.on_invalid_reply(sent, bad, now),
        };
        let decision = on_reply(&body, self.purpose == Purpose::Use, self.request.no_resend);
        if body.kind == MessageKind::Reply {
            let times = ReplyTimes { sent: sent.at, service_time: body.service_time, estimate: body.timeout };
            let is_end = decision == ReplyDecision::Deliver && self.request.bulk.is_none();
            let ended = is_end.then(|| std::mem::replace(&mut self.xid, Xid(0)));
            self.context.session.on_reply(&times, ended, now);
        }
        match decision {
            ReplyDecision::Fail(errno) => self.unregister(sent, UnregisterReason::Fail(errno)),
            ReplyDecision::Reconnect => self.unregister(sent, UnregisterReason::NoReply),
            ReplyDecision::ResendLater => self.resend_later(&sent, now),
            ReplyDecision::Deliver => {
                // The service has waited for its bulk transfer before it replied (PR-76). It will not use the descriptors
                // that it has not used by now: there was an error, or less data, or this is an earlier reply. Transfers in
                // progress continue.
                sent.transmission.unlink_bulk(self.context.sender.node());
                let reply = Reply::new(bytes, body.status);
                match self.request.bulk.is_none() {
                    true => self.deliver(sent, reply),
                    false => self.step_to(RpcPhase::Bulk(sent, Box::new(reply))),
                }
            }
        }
    }

    fn deliver(&mut self, sent: Sent, reply: Reply) -> Next {
        sent.transmission.keep_buffer(&self.context.sender);
        self.complete(Ok(reply))
    }

    fn on_invalid_reply(&mut self, sent: Sent, cause: impl std::fmt::Display, now: Time) -> Next {
        self.context.session.log(
            now,
            LogClass::ReplyInvalid,
            format_args!(
                "import {}: invalid reply to request x{} ({cause}); the request fails with EPROTO",
                self.context.session.name(),
                self.xid.0,
            ),
        );
        self.unregister(sent, UnregisterReason::Fail(Errno::Protocol))
    }

    /// Sends the request again with another XID, after a pause that grows each time (PR-63).
    fn resend_later(&mut self, sent: &Sent, now: Time) -> Next {
        sent.transmission.unlink_bulk(self.context.sender.node());
        self.in_progress_replies += 1;
        let max_pause = self.context.session.estimated_timeout(now);
        let pause = Duration::from_secs(self.in_progress_replies.into()).min(max_pause);
        self.context.session.end_xid(self.xid);
        (self.xid, self.bits, self.is_resent, self.sent_to) = (Xid(0), None, false, None);
        self.transferred = 0;
        self.step_to(RpcPhase::New(Some(now + pause)))
    }

    /// Waits for bulk data. The last data that a service gets may still be in flight, so this phase is short.
    fn in_bulk(&mut self, sent: Sent, mut reply: Box<Reply>, now: Time) -> Next {
        let status = sent.transmission.status();
        if status.live_bulk_mds > 0 {
            let is_late = now >= sent.deadline;
            if is_late {
                sent.transmission.unlink_bulk(self.context.sender.node());
            }
            let until = (!is_late).then_some(sent.deadline);
            return self.wait_in(RpcPhase::Bulk(sent, reply), until);
        }
        reply.set_bulk_bytes(status.bulk_bytes);
        let Some(bulk) = self.request.bulk.as_ref().filter(|_| reply.status() >= 0) else {
            return self.deliver(sent, *reply);
        };
        if let Some(errno) = status.bulk_failed {
            let name = self.context.session.name();
            self.context.session.log(
                now,
                LogClass::ReplyInvalid,
                format_args!(
                    "import {name}: bulk transfer of request x{} failed ({errno}); the request fails with EIO",
                    self.xid.0,
                ),
            );
            return self.complete(Err(Errno::Io));
        }
        // Less data than before: this may be the reply to an earlier transmission, which had the data. If the service has
        // executed the request twice, it may since have written other data over a part of that.
        if reply.bulk_bytes() < self.transferred {
            if bulk.direction == Direction::FromService && !self.request.at_most_once {
                self.transferred = 0;
                return self.step_to(RpcPhase::New(None));
            }
            reply.set_bulk_bytes(self.transferred);
        }
        self.deliver(sent, *reply)
    }

    /// Reports the connection as lost, and makes the request wait for the next one (PR-60).
    fn on_no_reply(&mut self, conn_cnt: u32, now: Time) -> Next {
        if self.purpose != Purpose::Use {
            return self.complete(Err(Errno::TimedOut));
        }
        self.context.session.on_no_reply(conn_cnt);
        if self.request.no_resend {
            return self.complete(Err(self.timeout_errno()));
        }
        let retry_at = self.sent_to.is_none().then(|| now + SEND_RETRY_INTERVAL);
        self.step_to(RpcPhase::New(retry_at))
    }

    fn log_debug(&self, event: &str, errno: Errno) {
        let (name, opcode) = (self.context.session.name(), self.request.opcode.0);
        log::debug!("import {name}: {event}: request x{}, opcode {opcode} ({errno})", self.xid.0);
    }

    /// Releases the request's XID and slot.
    fn release(&mut self) {
        if self.xid != Xid(0) {
            self.context.session.end_xid(self.xid);
            self.xid = Xid(0);
        }
        if let Some(tag) = self.tag.take() {
            self.context.session.release_slot(tag);
        }
    }
}

impl Drop for Rpc {
    fn drop(&mut self) {
        if let RpcPhase::Rpc(sent) | RpcPhase::UnregRpc(sent, _) | RpcPhase::Bulk(sent, _) = &self.phase {
            sent.transmission.unlink_reply(&self.context.sender);
            sent.transmission.unlink_bulk(self.context.sender.node());
        }
        self.release();
    }
}

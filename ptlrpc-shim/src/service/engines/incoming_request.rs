//! A request from its admission to its reply: the route of replies, the client's timeout, and the early replies.

use super::request_buffers::ArrivedRequest;
use crate::clock::Time;
use crate::lnet::{Nid, ProcessId};
use crate::message::ConnectFlags;
use crate::service::config::Adaptive;
use crate::service::rules::admission::RequestHead;
use crate::service::rules::duplicates::RequestKey;
use crate::service::rules::early_reply::{ClientTimeout, due, extended};
use lnet_api::sync::{Condition, lock};
use std::sync::Mutex;

/// A request that is to be served, or is in service.
pub(crate) struct IncomingRequest {
    pub(crate) arrived: ArrivedRequest,
    pub(crate) head: RequestHead,
    state: Mutex<RequestState>,
    early_reply_sent: Condition,
}

/// The state that changes while the request is in service.
struct RequestState {
    route: ReplyRoute,
    timeout: ClientTimeout,
    early: EarlyState,
}

/// Whether early replies may be sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EarlyState {
    Open,
    /// An early reply is being given to LNet.
    Sending,
    /// No early replies are sent any more.
    Closed,
}

/// The addresses of replies and bulk data (PR-40), from the client's last transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyRoute {
    /// The local NI that the request was sent to.
    pub(crate) self_nid: Nid,
    /// The NI that the request was sent from.
    pub(crate) source: ProcessId,
    /// Match bits of the reply (PR-21).
    pub(crate) reply_bits: u64,
    /// Match bits of the last MD of bulk data (PR-22).
    pub(crate) mbits: u64,
    /// The reply is put behind the space for early replies (PR-72).
    pub(crate) at_support: bool,
}

/// The next action about the early replies of a request.
pub(crate) enum EarlyReplyAction {
    /// Send an early reply with this timeout; then [`IncomingRequest::on_early_reply_sent`].
    Send(ReplyRoute, ClientTimeout),
    /// Schedule it: it is not due yet.
    Wait,
    /// No more early replies are sent.
    Nothing,
}

impl ReplyRoute {
    /// Returns the route for replies to a request that has arrived. `agreed`: the flags of its connection, if it has one.
    pub(crate) fn new(arrived: &ArrivedRequest, head: &RequestHead, agreed: ConnectFlags) -> Self {
        let reply_by_mbits = agreed.contains(ConnectFlags::REP_MBITS) && !head.body.opcode.is_connect();
        Self {
            self_nid: arrived.self_nid,
            source: arrived.source,
            reply_bits: if reply_by_mbits { head.body.mbits } else { arrived.xid.0 },
            mbits: head.body.mbits,
            at_support: head.at_support,
        }
    }
}

/// The time of the first early reply to a request with this route and this timeout, if there is to be one.
pub(crate) fn first_early_reply(
    adaptive: &Adaptive,
    route: &ReplyRoute,
    timeout: ClientTimeout,
) -> Option<Time> {
    if route.at_support { due(adaptive, timeout) } else { None }
}

impl IncomingRequest {
    pub(crate) fn new(
        arrived: ArrivedRequest,
        head: RequestHead,
        route: ReplyRoute,
        timeout: ClientTimeout,
    ) -> Self {
        let state = RequestState { route, timeout, early: EarlyState::Open };
        Self { arrived, head, state: Mutex::new(state), early_reply_sent: Condition::new() }
    }

    /// The key that identifies the request among duplicates.
    pub(crate) const fn key(&self) -> RequestKey {
        RequestKey { xid: self.arrived.xid, tag: self.head.body.tag, last_xid: self.head.body.last_xid }
    }

    pub(crate) fn route(&self) -> ReplyRoute {
        lock(&self.state).route
    }

    /// The time at which the client gives up.
    pub(crate) fn deadline(&self) -> Time {
        lock(&self.state).timeout.deadline()
    }

    /// Takes the route and the timeout of a request that the client has sent again.
    pub(crate) fn on_resent(&self, route: ReplyRoute, timeout: ClientTimeout) {
        let mut state = lock(&self.state);
        state.route = route;
        if timeout.deadline() > state.timeout.deadline() {
            state.timeout = timeout;
        }
    }

    /// Schedules the next early reply, if there is to be one: `schedule` is passed the time.
    pub(crate) fn schedule_early_reply(&self, adaptive: &Adaptive, schedule: impl FnOnce(Time)) {
        let state = lock(&self.state);
        if state.early != EarlyState::Closed
            && let Some(due) = first_early_reply(adaptive, &state.route, state.timeout)
        {
            schedule(due);
        }
    }

    /// Decides about early replies at the time `now`.
    pub(crate) fn poll_early_reply(&self, adaptive: &Adaptive, now: Time) -> EarlyReplyAction {
        let mut state = lock(&self.state);
        match due(adaptive, state.timeout) {
            _ if state.early != EarlyState::Open => EarlyReplyAction::Nothing,
            None => EarlyReplyAction::Nothing,
            Some(due) if due > now => EarlyReplyAction::Wait,
            Some(_) => match extended(adaptive, state.timeout, now) {
                None => EarlyReplyAction::Nothing,
                Some(timeout) => {
                    (state.timeout, state.early) = (timeout, EarlyState::Sending);
                    EarlyReplyAction::Send(state.route, timeout)
                }
            },
        }
    }

    /// Notes that the early reply was given to LNet, and schedules the next one, before the reply can be sent.
    pub(crate) fn on_early_reply_sent(&self, adaptive: &Adaptive, schedule: impl FnOnce(Time)) {
        let mut state = lock(&self.state);
        state.early = EarlyState::Open;
        self.early_reply_sent.notify_all();
        if let Some(due) = due(adaptive, state.timeout) {
            schedule(due);
        }
    }

    /// Ends early replies; waits for one that is being sent. Returns the route of the reply.
    pub(crate) fn close(&self) -> ReplyRoute {
        let mut state = lock(&self.state);
        while state.early == EarlyState::Sending {
            state = self.early_reply_sent.wait(state);
        }
        state.early = EarlyState::Closed;
        state.route
    }
}

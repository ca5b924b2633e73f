//! Decisions about a request in progress: pure (PR-60, PR-63).

use crate::Errno;
use crate::clock::Time;
use crate::message::{Body, MessageKind};

/// The reason why the descriptors of a transmission are unlinked, which decides the action after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnregisterReason {
    /// The reply, or a truncated one, has arrived.
    Replied,
    /// The request could not be delivered, or there was no reply in time.
    NoReply,
    /// The request is sent again at once.
    Resend,
    /// The request fails.
    Fail(Errno),
}

/// The state on which the decision about a request in phase RPC depends.
#[derive(Clone, Copy, Debug)]
pub(super) struct RpcFacts {
    /// A reply has arrived, if only a truncated one.
    pub(super) replied: bool,
    /// The request could not be delivered.
    pub(super) failed: bool,
    /// The import has been connected again since the request was sent.
    pub(super) superseded: bool,
    /// The time at which the request as a whole times out.
    pub(super) limit: Option<Time>,
    /// The time at which the transmission times out.
    pub(super) deadline: Time,
    /// The errno of the request after `limit`.
    pub(super) timeout_errno: Errno,
}

/// Decides about a request in phase RPC: `Ok` is the time until which it waits, `Err` the reason to unlink.
pub(super) fn in_rpc_phase(facts: &RpcFacts, now: Time) -> Result<Time, UnregisterReason> {
    let limit = facts.limit;
    if facts.replied {
        Err(UnregisterReason::Replied)
    } else if facts.failed || facts.superseded {
        Err(UnregisterReason::NoReply)
    } else if limit.is_some_and(|limit| limit <= now) {
        Err(UnregisterReason::Fail(facts.timeout_errno))
    } else if facts.deadline <= now {
        Err(UnregisterReason::NoReply)
    } else {
        Ok(limit.map_or(facts.deadline, |limit| limit.min(facts.deadline)))
    }
}

/// The action after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyDecision {
    /// The reply is delivered to the caller.
    Deliver,
    /// The server does not execute the request now: it is sent again later, with a new XID.
    ResendLater,
    /// The server does not know the connection: the request is sent again over another one.
    Reconnect,
    /// The request fails.
    Fail(Errno),
}

/// Decides about a reply. `is_use`: the request is no connect request.
#[inline]
pub(super) fn on_reply(body: &Body, is_use: bool, no_resend: bool) -> ReplyDecision {
    let errno = Errno::from_status(body.status).filter(|_| is_use);
    match errno {
        // PR-63: the server does not know this client, and has not executed the request.
        Some(errno) if body.kind == MessageKind::Error && is_unknown_connection(errno) => match no_resend {
            true => ReplyDecision::Fail(errno),
            false => ReplyDecision::Reconnect,
        },
        Some(Errno::InProgress) if !no_resend => ReplyDecision::ResendLater,
        _ => ReplyDecision::Deliver,
    }
}

fn is_unknown_connection(errno: Errno) -> bool {
    matches!(errno, Errno::NotConnected | Errno::NoDevice)
}

/// The errno of a request without a reply. `may_be_executed`: it was sent.
pub(super) const fn timeout_errno(at_most_once: bool, may_be_executed: bool) -> Errno {
    if at_most_once && may_be_executed { Errno::Stale } else { Errno::TimedOut }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Opcode, Service};
    use std::time::Duration;

    #[test]
    fn a_transmission_ends_with_a_reply_a_failure_or_a_timeout() {
        let start = Time::START;
        let at = |seconds| start + Duration::from_secs(seconds);
        let facts = RpcFacts {
            replied: false,
            failed: false,
            superseded: false,
            limit: Some(at(20)),
            deadline: at(10),
            timeout_errno: Errno::TimedOut,
        };
        for (name, facts, now, want) in [
            ("nothing yet", facts, at(0), Ok(at(10))),
            ("the limit is earlier", RpcFacts { limit: Some(at(5)), ..facts }, at(0), Ok(at(5))),
            ("no limit", RpcFacts { limit: None, ..facts }, at(0), Ok(at(10))),
            ("a reply", RpcFacts { replied: true, ..facts }, at(30), Err(UnregisterReason::Replied)),
            ("not delivered", RpcFacts { failed: true, ..facts }, at(0), Err(UnregisterReason::NoReply)),
            ("reconnected", RpcFacts { superseded: true, ..facts }, at(0), Err(UnregisterReason::NoReply)),
            ("the deadline", facts, at(10), Err(UnregisterReason::NoReply)),
            ("the limit", facts, at(20), Err(UnregisterReason::Fail(Errno::TimedOut))),
        ] {
            assert_eq!(in_rpc_phase(&facts, now), want, "{name}");
        }
    }

    #[test]
    fn what_a_reply_leads_to() {
        use MessageKind::{Error, Reply};
        use ReplyDecision::{Deliver, Fail, Reconnect, ResendLater};
        let body = |kind, errno: Option<Errno>| Body {
            kind,
            status: errno.map_or(0, Errno::to_c),
            ..Body::request(Service::OST, Opcode::OST_READ)
        };
        for (kind, errno, is_use, no_resend, want) in [
            (Reply, None, true, false, Deliver),
            (Reply, Some(Errno::NotConnected), true, false, Deliver),
            (Error, Some(Errno::NotConnected), true, false, Reconnect),
            (Error, Some(Errno::NoDevice), true, false, Reconnect),
            (Error, Some(Errno::NoDevice), true, true, Fail(Errno::NoDevice)),
            (Error, Some(Errno::NoDevice), false, false, Deliver),
            (Error, Some(Errno::NotSupported), true, false, Deliver),
            (Reply, Some(Errno::InProgress), true, false, ResendLater),
            (Reply, Some(Errno::InProgress), true, true, Deliver),
            (Reply, Some(Errno::InProgress), false, false, Deliver),
        ] {
            assert_eq!(on_reply(&body(kind, errno), is_use, no_resend), want, "{kind:?} {errno:?} {is_use}");
        }
    }

    #[test]
    fn a_timeout_leaves_the_outcome_unknown_only_where_that_matters() {
        assert_eq!(timeout_errno(true, true), Errno::Stale);
        assert_eq!(timeout_errno(true, false), Errno::TimedOut);
        assert_eq!(timeout_errno(false, true), Errno::TimedOut);
    }
}

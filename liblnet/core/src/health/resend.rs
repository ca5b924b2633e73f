//! Resends of failed messages (core-behaviour 4.3).
//!
//! The kernel resends messages that have certainly not arrived, `retry_count` times. This library also resends messages that
//! may have arrived, if the peer deduplicates them, or if they may arrive twice (`repeats`). A resend on a path on which the
//! message has not failed yet costs no retry: each path may be tried once (snd-055), paths on which the peer was heard first,
//! unresponsive paths last; returning to a path costs one. A broken connection costs none either, if the peer deduplicates
//! the message; then only the deadline ends the resends, and unresponsive paths are not tried.

use super::repeats::is_repeatable;
use super::value::is_single_nid;
use super::{Cause, Delivery, Health, SendFailure};
use crate::environment::Environment;
use crate::environment::time::Time;
use crate::model::PeerNi;
use crate::model::message::{OutgoingMessage, Pooled};
use crate::select::{self, ChosenPath};
use crate::sync::lock;
use crate::topology::Topology;
use lnet_log::LogClass;
use lnet_wire::{Errno, Nid};
use std::time::Duration;

/// The pause before the first retry on a path that has failed; each further one is five times as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The pause after all retries are spent, as long as no path has recovered: that of the pings of unresponsive paths.
const PAUSE_WHEN_SPENT: Duration = Duration::from_secs(5);

/// The path and the time of a resend.
#[derive(Debug)]
pub(crate) struct ResendPlan {
    /// The path; `None`: none is left, but one may come.
    path: Option<ChosenPath>,
    /// The earliest time; `None`: at once.
    at: Option<Time>,
    spends_a_retry: bool,
}

/// The result of a resend.
pub(crate) enum Resend {
    /// The message is sent now, on this path.
    Now(Pooled<OutgoingMessage>, ChosenPath),
    /// The message is in the queue.
    Later,
}

/// Whether the failure allows a resend (core-behaviour 4.2, and deduplication). `may_arrive_twice`: a second copy does no harm.
const fn may_repeat(failure: SendFailure, may_arrive_twice: bool, is_routed: bool) -> bool {
    match failure.delivery {
        Delivery::Deduplicated | Delivery::Abandoned | Delivery::Returned => true,
        Delivery::Withheld => false,
        // Another gateway may accept the origin, or have room for the NIDs.
        Delivery::NeedsOrigin | Delivery::DoesNotFit => is_routed,
        // Nothing was sent, so it does not matter which end is to blame.
        Delivery::NotSent => !matches!(failure.cause, Cause::LocalError | Cause::RemoteError),
        Delivery::Unknown => may_arrive_twice,
    }
}

/// Whether an accepted connection broke, or a gateway returned the message: trying again is worth it until the deadline.
const fn is_broken_connection(failure: SendFailure) -> bool {
    if matches!(failure.delivery, Delivery::Returned | Delivery::Abandoned) {
        return true;
    }
    let waited = matches!(failure.cause, Cause::LocalTimeout | Cause::RemoteTimeout | Cause::NetworkTimeout);
    matches!(failure.delivery, Delivery::Deduplicated) && !waited
}

/// The pause after this number of resends.
pub(crate) fn pause(resends: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(5_u32.saturating_pow(resends)).min(MAX_PAUSE)
}

impl ResendPlan {
    /// The plan for a message for which there is no path, and one may come.
    pub(crate) fn wait_for_route(message: &mut OutgoingMessage, now: Time) -> Self {
        message.attempts.failed.clear();
        Self { path: None, at: Some((now + MAX_PAUSE).min(message.deadline)), spends_a_retry: false }
    }
}

impl Health {
    /// Whether a failed message may be resent (HE-20). If so, the path on which it failed is added to its attempts: the next path
    /// is selected by them.
    pub(crate) fn note_failed_attempt(
        &self,
        env: &Environment,
        topology: &Topology,
        message: &mut OutgoingMessage,
        failure: SendFailure,
    ) -> bool {
        let settings = env.settings();
        let (Some(ni), Some(peer_ni)) = (message.ni.clone(), message.peer_ni.clone()) else { return false };
        if settings.retry_count == 0
            || message.is_recovery_ping()
            || env.is_ending()
            || message.is_given_up()
            || !may_repeat(
                failure,
                settings.resend_unconfirmed || is_repeatable(message),
                message.is_routed(),
            )
            || env.now() >= message.deadline
        {
            return false;
        }
        let broke = is_broken_connection(failure);
        if broke {
            // A connection that breaks shows a path on which data arrived: the message may return to that path.
            message.attempts.has_returned = false;
        } else {
            forget_responsive_paths(topology, message);
        }
        message.attempts.failed.push((ni.nid(), peer_ni.nid()));
        message.attempts.tries_unresponsive = !broke && message.attempts.retries == 0;
        true
    }

    /// Plans the resend of a message whose failed attempt is noted, on this path; `None` if it is not resent. `spend_retry` spends
    /// one of the message's retries to the peer NI on which it failed; false: none is left.
    pub(crate) fn plan_resend(
        &self,
        env: &Environment,
        topology: &Topology,
        message: &mut OutgoingMessage,
        failure: SendFailure,
        path: ChosenPath,
        spend_retry: impl FnOnce(&OutgoingMessage, &PeerNi) -> bool,
    ) -> Option<ResendPlan> {
        let now = env.now();
        let peer_ni = message.peer_ni.clone()?;
        let broke = is_broken_connection(failure);
        let next_peer_ni = path.peer_ni.as_ref()?;
        let path_nids = (path.ni.nid(), next_peer_ni.nid());
        let may_be_tried =
            message.attempts.tries_unresponsive || !next_peer_ni.unresponsive().has(path_nids.0);
        let is_new = may_be_tried && !message.attempts.failed.contains(&path_nids);
        // The previous node may know another path; and a message that circulates must not occupy buffers there.
        if message.is_returnable() && failure.delivery == Delivery::Returned && !is_new {
            return None;
        }
        // HE-10: the interface to blame has no substitute. A deduplicated message may be sent again over another connection.
        let alone = (!failure.cause.blames_ni() || topology.is_single_rail())
            && (!failure.cause.blames_peer_ni() || is_single_nid(&peer_ni));
        let is_kept = retries_until_deadline(topology, message, &peer_ni, failure);
        if alone
            && !is_new
            && !matches!(failure.delivery, Delivery::Deduplicated | Delivery::Abandoned)
            && !is_kept
        {
            return None;
        }
        // The first message on each path is free: after the second on one path, all have had their first.
        let spends_a_retry = (!is_new || message.attempts.retries > 0) && !broke;
        let is_spent = spends_a_retry && !spend_retry(message, &peer_ni);
        if is_spent && !is_kept {
            return None;
        }
        if !is_new {
            // All paths have failed; any may have recovered.
            message.attempts.failed.clear();
        }
        let wait = if is_spent { PAUSE_WHEN_SPENT } else { pause(message.attempts.resends) };
        let at = (!is_new).then(|| (now + wait).min(message.deadline));
        Some(ResendPlan { path: Some(path), at, spends_a_retry })
    }

    /// Queues a message without credits for which there is no path until one may have come.
    pub(crate) fn wait_for_route(&self, mut message: Pooled<OutgoingMessage>, now: Time) {
        (message.ni, message.peer_ni) = (None, None);
        self.resend_queue.push((now + MAX_PAUSE).min(message.deadline), message);
        self.wake();
    }

    /// A route has come up: messages that may take it are due now.
    pub(crate) fn expedite_routed(&self, topology: &Topology, now: Time) {
        let is_local = |nid: Nid| topology.with_nets(|nets| nets.net(nid.net()).is_some());
        self.resend_queue.expedite_where(now, |message| !is_local(message.header.dest_nid));
        self.wake();
    }

    /// Messages whose MDs have been unlinked are due now.
    pub(crate) fn expedite_given_up(&self, now: Time) {
        self.resend_queue.expedite_where(now, OutgoingMessage::is_given_up);
        self.wake();
    }

    /// Counts and logs a resend (HE-24) of a message without credits, and queues it if it is not to be sent now.
    pub(crate) fn resend(
        &self,
        env: &Environment,
        mut message: Pooled<OutgoingMessage>,
        plan: ResendPlan,
        failure: SendFailure,
    ) -> Resend {
        let ResendPlan { path, at, spends_a_retry } = plan;
        log_resend(env, &message, path.as_ref(), failure);
        self.count_resend();
        message.attempts.retries += u32::from(spends_a_retry);
        message.attempts.resends += 1;
        match (at, path) {
            (None, Some(path)) => Resend::Now(message, path),
            (at, _) => {
                (message.ni, message.peer_ni) = (None, None);
                self.resend_queue.push(at.unwrap_or(message.deadline), message);
                self.wake();
                Resend::Later
            }
        }
    }
}

/// Treats failed paths on which something was received since as untried, as they are better than paths of unknown
/// state. This is done once per message, unless its connection broke, so that a path that works in the other direction only does
/// not hold the message.
fn forget_responsive_paths(topology: &Topology, message: &mut OutgoingMessage) {
    if message.attempts.has_returned || message.attempts.failed.is_empty() {
        return;
    }
    let before = message.attempts.failed.len();
    topology.with_nets(|nets| {
        let is_responsive = |(local, peer): &(Nid, Nid)| {
            let ends = nets.ni(*local).zip(topology.peer_ni(*peer));
            ends.is_some_and(|(ni, peer_ni)| peer_ni.was_heard_by(ni) && !select::is_avoided(ni, &peer_ni))
        };
        message.attempts.failed.retain(|path| !is_responsive(path));
    });
    message.attempts.has_returned = message.attempts.failed.len() < before;
}

/// Whether a message that has spent its retries is resent until its deadline: a message of an application, to a peer
/// that has responded before and does not refuse it, lacks only a path at the moment. A gateway that refuses connections
/// may be starting, which does not concern the node behind it. A gateway that returns the message has responded by that. One that
/// has no room for the NIDs of the message will have none later.
fn retries_until_deadline(
    topology: &Topology,
    message: &OutgoingMessage,
    peer_ni: &PeerNi,
    failure: SendFailure,
) -> bool {
    !message.is_reserved()
        && failure.delivery != Delivery::DoesNotFit
        && (failure.errno != Errno::ConnectionRefused || message.is_routed())
        && (failure.delivery == Delivery::Returned || topology.was_heard(&peer_ni.peer_now()))
}

fn log_resend(env: &Environment, message: &OutgoingMessage, path: Option<&ChosenPath>, failure: SendFailure) {
    let Some(ni) = &message.ni else { return };
    if let Some(peer_ni) = &message.peer_ni {
        lock(&peer_ni.peer_now().discovery.reachability).outage.note_resend(failure.errno);
    }
    let (kind, from, to) = (message.header.body.kind(), ni.nid(), message.next_hop.nid);
    let (cause, errno) = (failure.cause.text(), failure.errno.name());
    let Some(path) = path else {
        return env.log(
            LogClass::MessageResent,
            format_args!("{from} -> {to}"),
            format_args!("{kind} {from} -> {to} failed ({cause}, {errno}); waiting for a route"),
        );
    };
    let (new_from, new_to, resend) = (path.ni.nid(), path.next_hop(), message.attempts.resends + 1);
    env.log(LogClass::MessageResent,
        format_args!("{from} -> {to}"),
        format_args!(
            "{kind} {from} -> {to} failed ({cause}, {errno}); resending via {new_from} -> {new_to}, resend {resend}"
        ),
    );
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_resent_if_it_was_not_sent_or_would_be_deduplicated() {
        let failure = |cause, delivery| SendFailure { errno: Errno::Io, cause, delivery };
        for cause in Cause::ALL {
            let timeout = matches!(cause, Cause::RemoteTimeout | Cause::NetworkTimeout);
            let repeats = may_repeat(failure(cause, Delivery::NotSent), false, false);
            assert_eq!(repeats, cause.is_safe_to_resend() || timeout, "{cause:?}");
            assert!(may_repeat(failure(cause, Delivery::Deduplicated), false, false));
            assert!(!may_repeat(failure(cause, Delivery::Unknown), false, false));
            assert!(may_repeat(failure(cause, Delivery::Unknown), true, false));
            // Another gateway may accept the origin that this one does not.
            for is_routed in [false, true] {
                for delivery in [Delivery::NeedsOrigin, Delivery::DoesNotFit] {
                    let repeats = may_repeat(failure(cause, delivery), false, is_routed);
                    assert_eq!(repeats, is_routed, "{cause:?} {delivery:?}");
                }
            }
        }
    }

    #[test]
    fn retries_by_the_same_path_wait_longer_each_time() {
        let pauses = (0..5).map(|attempts| pause(attempts).as_millis()).collect::<Vec<_>>();
        assert_eq!(pauses, [50, 250, 1000, 1000, 1000]);
    }
}

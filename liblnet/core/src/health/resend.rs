//! Messages that failed and go out again (core-behaviour 4.3).
//!
//! The kernel sends again what certainly has not arrived, `retry_count` times. Here also what may have arrived goes again
//! if the peer would know it again. And moving on to a pair by which the message has not failed yet is no retry: each may
//! be tried once (snd-055), those first by which the peer has been heard, and those that are silent last; only who comes
//! back to one spends a retry. Nor is it one when a connection breaks and the peer would know the message again; then
//! only the deadline is an end, and what is silent is not tried.

use super::{Cause, Delivery, Health, SendFailure};
use crate::core::Core;
use crate::environment::time::Time;
use crate::model::message::Message;
use crate::select::{self, Chosen};
use crate::sync::{Mutex, lock};
use crate::topology::{Peer, PeerNi};
use lnet_log::LogClass;
use lnet_wire::{Body, Errno, Nid};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The wait before the first retry by a way that has failed; each further one is five times as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The same once all retries are spent, as long as no way is heard to be well again: as seldom as silent pairs are tried.
const PAUSE_WHEN_SPENT: Duration = Duration::from_secs(5);

/// Messages that are sent again later.
#[derive(Debug, Default)]
#[allow(clippy::vec_box, reason = "boxes are what drivers give and take")]
pub(super) struct Later(Mutex<Vec<(Time, Box<Message>)>>);

/// How a message that failed is sent again.
#[derive(Debug)]
pub(crate) struct Again {
    chosen: Chosen,
    /// Not before; `None`: at once.
    at: Option<Time>,
    spends_a_retry: bool,
}

/// Whether a failure by itself lets a message be sent again (core-behaviour 4.2, and what the peer would know again).
const fn may_repeat(failure: SendFailure, at_least_once: bool) -> bool {
    match failure.delivery {
        Delivery::Deduplicated => true,
        // Whoever did not answer does not matter: nothing has left.
        Delivery::NotSent => !matches!(failure.cause, Cause::LocalError | Cause::RemoteError),
        Delivery::Unknown => at_least_once,
    }
}

/// Whether a connection broke that the peer had accepted: the next one is worth a try as long as there is time.
const fn is_broken_connection(failure: SendFailure) -> bool {
    let waited = matches!(failure.cause, Cause::LocalTimeout | Cause::RemoteTimeout | Cause::NetworkTimeout);
    matches!(failure.delivery, Delivery::Deduplicated) && !waited
}

/// The wait before what has failed so often is tried again.
pub(crate) fn pause(resends: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(5_u32.saturating_pow(resends)).min(LONGEST_PAUSE)
}

impl Core {
    /// Whether a message that failed is sent again, and how (HE-20).
    pub(crate) fn again(&self, message: &mut Message, failure: SendFailure) -> Option<Again> {
        let settings = self.settings();
        let (ni, peer_ni) = (message.ni.clone()?, message.peer_ni.clone()?);
        if settings.retry_count == 0
            || message.recovery
            || self.is_ending()
            || message.md.as_ref().is_some_and(|md| md.is_aborted())
            || !may_repeat(failure, settings.resend_unconfirmed)
        {
            return None;
        }
        let now = self.env.now();
        if now >= message.deadline {
            return None;
        }
        let broke = is_broken_connection(failure);
        if broke {
            // What breaks is not what works in the other direction only: it may be returned to again.
            message.has_returned = false;
        } else {
            self.forget_what_is_well(message);
        }
        message.failed.push((ni.nid(), peer_ni.nid()));
        message.tries_silent = !broke && message.attempts == 0;
        let chosen = self.way_again(message).ok()?;
        let its = chosen.peer_ni.as_ref()?;
        let pair = (chosen.ni.nid(), its.nid());
        let may_be_tried = message.tries_silent || !its.unresponsive().has(pair.0);
        let is_new = may_be_tried && !message.failed.contains(&pair);
        // HE-10: what is to blame has no substitute. What the peer would know again is worth another connection.
        let alone = (!failure.cause.blames_ni() || self.is_single_rail())
            && (!failure.cause.blames_peer_ni() || self.is_single_nid(&peer_ni));
        let lives_on = self.may_live_on(message, &peer_ni, failure);
        if alone && !is_new && failure.delivery != Delivery::Deduplicated && !lives_on {
            return None;
        }
        // Each pair is free once: when one has had its second turn, so have all.
        let spends_a_retry = (!is_new || message.attempts > 0) && !broke;
        let is_spent = spends_a_retry && !self.may_retry(message, &peer_ni, settings.retry_count);
        if is_spent && !lives_on {
            return None;
        }
        if !is_new {
            // All have failed; any may be well again.
            message.failed.clear();
        }
        let wait = if is_spent { PAUSE_WHEN_SPENT } else { pause(message.resends) };
        let at = (!is_new).then(|| (now + wait).min(message.deadline));
        Some(Again { chosen, at, spends_a_retry })
    }

    /// A path by which a message has failed, and on which something was heard since, is better than one that nothing is
    /// known of: it counts as untried. Once, unless its connection broke, so that one that works in the other direction only
    /// does not hold the message.
    fn forget_what_is_well(&self, message: &mut Message) {
        if message.has_returned || message.failed.is_empty() {
            return;
        }
        let before = message.failed.len();
        self.topology.with_nets(|nets| {
            let is_well = |(local, peer): &(Nid, Nid)| {
                let ends = nets.ni(*local).zip(self.topology.peer_ni(*peer));
                ends.is_some_and(|(ni, peer_ni)| peer_ni.was_heard_by(ni) && !select::is_bad(ni, &peer_ni))
            };
            message.failed.retain(|path| !is_well(path));
        });
        message.has_returned = message.failed.len() < before;
    }

    /// Whether a message that has spent its retries goes on until its time is over: an application's, to a peer that was
    /// there and does not refuse it. Nothing speaks against its getting there but that there is no way at the moment.
    fn may_live_on(&self, message: &Message, peer_ni: &PeerNi, failure: SendFailure) -> bool {
        !message.is_reserved()
            && failure.errno != Errno::ConnectionRefused
            && self.topology.was_heard(&peer_ni.peer_now())
    }

    /// Has messages to a peer that are to be sent again later go at once: a way there is well again.
    pub(super) fn hurry_later(&self, peer: &Peer) {
        let now = self.env.now();
        let mut later = lock(&self.health.later.0);
        for (at, _) in later.iter_mut().filter(|(_, message)| peer.nids.contains(&message.header.dest_nid)) {
            *at = now;
        }
    }

    /// Gives a message that holds no credits its new way, and tells the log (HE-24); the message if it is to go now.
    pub(crate) fn prepare_again(
        &self,
        mut message: Box<Message>,
        again: Again,
        failure: SendFailure,
    ) -> Option<Box<Message>> {
        let Again { chosen, at, spends_a_retry } = again;
        self.log_switch(&message, &chosen, failure);
        self.health.resends.fetch_add(1, Ordering::Relaxed);
        message.attempts += u32::from(spends_a_retry);
        message.resends += 1;
        match at {
            None => {
                self.readdress(&mut message, chosen);
                Some(message)
            }
            Some(at) => {
                (message.ni, message.peer_ni) = (None, None);
                lock(&self.health.later.0).push((at, message));
                self.health.wakeup.notify();
                // Whoever ends the node may have looked there just before.
                if self.is_ending() {
                    self.end_later();
                }
                None
            }
        }
    }

    fn log_switch(&self, message: &Message, chosen: &Chosen, failure: SendFailure) {
        let Some(ni) = &message.ni else { return };
        let (kind, from, to) = (message.header.body.kind(), ni.nid(), message.next_hop.nid);
        let (cause, errno) = (failure.cause.text(), failure.errno.name());
        let (new_from, new_to, resend) = (chosen.ni.nid(), chosen.destination(), message.resends + 1);
        self.env.log(
            LogClass::MessageResent,
            format_args!("{from} -> {to}"),
            format_args!("{kind} {from} -> {to} failed ({cause}, {errno}); resending via {new_from} -> {new_to}, resend {resend}"),
        );
    }

    /// Which way a message goes that has gone one already: a request as it was asked for, an answer back if it can, by
    /// any other way if not (snd-070).
    pub(crate) fn way_again(&self, message: &Message) -> Result<Chosen, Errno> {
        let destination = self.destination_again(message);
        let peer_ni = match &message.peer_ni {
            Some(peer_ni) if peer_ni.nid() == destination => std::sync::Arc::clone(peer_ni),
            _ => self.topology.peer_ni(destination).ok_or(Errno::HostUnreachable)?,
        };
        self.choose_again(message, &peer_ni)
    }

    fn destination_again(&self, message: &Message) -> Nid {
        let named = message.event.as_ref().and_then(|event| event.target.nid);
        match message.header.body {
            Body::Put { .. } | Body::Get { .. } => named.unwrap_or(message.header.dest_nid),
            Body::Ack { .. } | Body::Reply { .. } => message.header.dest_nid,
        }
    }

    pub(crate) fn readdress(&self, message: &mut Message, chosen: Chosen) {
        chosen.used();
        let destination = chosen.destination();
        message.header.dest_nid = destination;
        message.header.src_nid = chosen.ni.nid();
        message.next_hop.nid = destination;
        if let (Some(md), Body::Put { .. } | Body::Get { .. }) = (&message.md, message.header.body) {
            md.goes_to(destination);
        }
        message.ni = Some(chosen.ni);
        message.peer_ni = chosen.peer_ni;
    }

    /// Whether a message that has waited has a way that is not to be used while there is another.
    pub(crate) fn is_cut_off(&self, message: &Message) -> bool {
        let Some((ni, peer_ni)) = message.ni.as_ref().zip(message.peer_ni.as_ref()) else { return false };
        select::is_bad(ni, peer_ni) && self.may_change_path(message)
    }

    /// Takes the messages whose time has come; when the next is to go.
    #[allow(clippy::vec_box, reason = "boxes are what drivers give and take")]
    pub(super) fn take_later(&self, now: Time) -> (Vec<Box<Message>>, Option<Time>) {
        let mut later = lock(&self.health.later.0);
        let (due, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut *later).into_iter().partition(|(at, _)| *at <= now);
        *later = rest;
        let next = later.iter().map(|(at, _)| *at).min();
        (due.into_iter().map(|(_, message)| message).collect(), next)
    }

    /// Ends what would have been sent later: the node is ending.
    pub(crate) fn end_later(&self) {
        let later = std::mem::take(&mut *lock(&self.health.later.0));
        for (_, message) in later {
            self.end(message, Err(Errno::Shutdown.into()));
        }
    }
}

impl Health {
    pub(super) fn has_later(&self) -> bool {
        !lock(&self.later.0).is_empty()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_certainly_has_not_arrived_or_would_be_known_again_may_go_again() {
        let failure = |cause, delivery| SendFailure { errno: Errno::Io, cause, delivery };
        for cause in Cause::ALL {
            let timeout = matches!(cause, Cause::RemoteTimeout | Cause::NetworkTimeout);
            let repeats = may_repeat(failure(cause, Delivery::NotSent), false);
            assert_eq!(repeats, cause.is_safe_to_resend() || timeout, "{cause:?}");
            assert!(may_repeat(failure(cause, Delivery::Deduplicated), false));
            assert!(!may_repeat(failure(cause, Delivery::Unknown), false));
            assert!(may_repeat(failure(cause, Delivery::Unknown), true));
        }
    }

    #[test]
    fn retries_by_the_same_way_wait_longer_each_time() {
        let pauses = (0..5).map(|attempts| pause(attempts).as_millis()).collect::<Vec<_>>();
        assert_eq!(pauses, [50, 250, 1000, 1000, 1000]);
    }
}

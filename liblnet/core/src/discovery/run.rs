//! The discovery thread's work: one peer after the other.

use super::step::{Action, Input, step};
use super::{Failure, Step};
use crate::core::Core;
use crate::environment::time::Time;
use crate::event::in_handler;
use crate::health::pause;
use crate::model::{DiscoveryState, Inner};
use crate::sync::lock;
use crate::topology::Peer;
use lnet_log::LogClass;
use lnet_wire::Errno;
use std::sync::Arc;

/// Looks at one peer in a row; more would be a fault of the table's.
const MOST_LOOKS: usize = 32;

impl Core {
    /// Does what discovery has to do now: one thread at a time, and not from an event handler. Returns when
    /// it wants to be called again at the latest, if it waits for anything; before that whenever
    /// [`Core::wait_for_discovery`] says so. Event handlers of the application run inside.
    pub fn run_discovery(&self) -> Option<Time> {
        if in_handler() {
            return Some(self.env.now());
        }
        let _one_at_a_time = lock(&self.discovery.running);
        self.discovery.wakeup.reset();
        if !self.is_ending() {
            self.republish();
            self.post_push_targets();
        }
        loop {
            let now = self.env.now();
            self.end_stale(now);
            self.clear_removed();
            self.see_to_parked(now);
            let next = lock(&self.discovery.queue).pop(now);
            match next {
                Some(record) => self.examine(&record),
                None => break,
            }
        }
        self.end_stale(self.env.now());
        let due = lock(&self.discovery.queue).due();
        due.into_iter().chain(self.discovery.next_due()).min()
    }

    /// Begins anew the discoveries that have failed while something waits for them, and ends what has waited too long.
    fn see_to_parked(&self, now: Time) {
        let (again, late) = self.discovery.take_due(now);
        for record in again {
            if record.with(|inner| inner.parked > 0) {
                self.tell(&record, Input::Wanted);
            }
        }
        for (request, errno) in late {
            self.refuse(request, errno);
        }
    }

    /// Ends requests that have waited too long, and the MDs of those that have failed.
    fn end_stale(&self, now: Time) {
        loop {
            let expired = lock(&self.discovery.queue).expired(now);
            match expired {
                Some(sent) => self.fail_sent(sent, Errno::TimedOut),
                None => break,
            }
        }
        let stale = std::mem::take(&mut lock(&self.discovery.queue).stale);
        for md in stale {
            // It may have ended by itself.
            let _ = self.md_unlink(md);
        }
    }

    /// What waited for peers that are gone begins anew (OM-5), and what was under way to them is over.
    fn clear_removed(&self) {
        for record in self.topology.peers().take_removed() {
            let ended = lock(&self.discovery.queue).ended_of(&record);
            for md in ended.into_iter().filter_map(|sent| sent.md) {
                let _ = self.md_unlink(md);
            }
            for request in self.discovery.unpark(&record) {
                self.send_request(request);
            }
            self.discovery.tell_finished();
        }
    }

    fn examine(&self, record: &Arc<DiscoveryState>) {
        let is_to_come = record.with(|inner| {
            let is_to_come = inner.queued && !inner.removed;
            (inner.queued, inner.urgent) = (false, false);
            is_to_come
        });
        if !is_to_come || self.is_ending() {
            return;
        }
        for _ in 0..MOST_LOOKS {
            let Some(peer) = self.topology.peer_of(record) else { return };
            let local = self.discovery.local_state();
            let action = record.with(|inner| {
                let action = step(&mut inner.progress, Input::Look, &local);
                // With the end of the discovery: who waits for that looks at both.
                match action {
                    Action::Finish => inner.failure = None,
                    Action::GiveUp(step, errno) => inner.failure = failure(inner, step, errno),
                    _ => {}
                }
                action
            });
            match action {
                Action::Again => {}
                Action::Nothing | Action::Queue | Action::Wait => return,
                Action::Merge(info) => self.merge(&peer, *info),
                Action::Ping => return self.send_ping(&peer),
                Action::Push => return self.send_push(&peer),
                Action::Forget => return self.forget_discovered(&peer),
                Action::Finish => return self.finish_discovery(record, Ok(())),
                Action::GiveUp(_, errno) => return self.finish_discovery(record, Err(errno)),
            }
        }
        let primary = record.with(|inner| inner.primary).map_or_else(String::new, |nid| nid.to_string());
        self.env.log(
            LogClass::DiscoveryLoop,
            &primary,
            format_args!("peer {primary}: discovery does not end; stopped until the next event"),
        );
    }

    fn forget_discovered(&self, peer: &Arc<Peer>) {
        let primary = peer.primary;
        self.env.log(
            LogClass::PeerRemoved,
            primary,
            format_args!(
                "peer {primary}: no longer takes part in discovery; removed until it is needed again"
            ),
        );
        let _configuration = lock(&self.configuration);
        // It may have changed before the lock was there.
        if let Some(peer) = self.topology.peer_of(&peer.record) {
            self.forget_peer(&peer);
        }
    }

    /// What waited for a peer is sent, or fails (DI-20). It waits on until its own time is over if the peer was ever
    /// heard, or is not known not to be there: what failed is no more than a ping or a push.
    fn finish_discovery(&self, record: &Arc<DiscoveryState>, result: Result<(), Errno>) {
        let parked = self.discovery.unpark(record);
        let waits_on = !parked.is_empty()
            && result.is_err_and(|errno| {
                matches!(errno, Errno::TimedOut | Errno::ConnectionReset)
                    || self.topology.peer_of(record).is_some_and(|peer| self.topology.was_heard(&peer))
            });
        if let Some(failure) = record.with(|inner| inner.failure) {
            let consequence = match (parked.is_empty(), waits_on) {
                (true, _) => "",
                (false, true) => "; retrying for the messages that wait for it",
                (false, false) => "; the messages that waited for it fail",
            };
            self.env.log(
                LogClass::DiscoveryFailed,
                failure.nid,
                format_args!(
                    "discovery {} to {} failed: {}{consequence}",
                    failure.step,
                    failure.nid,
                    failure.errno.text()
                ),
            );
        }
        self.discovery.tell_finished();
        let rounds = record.with(|inner| {
            let rounds = inner.rounds;
            inner.rounds = if waits_on { rounds.saturating_add(1) } else { 0 };
            rounds
        });
        let now = self.env.now();
        for request in parked {
            match result {
                Ok(()) => self.send_request(request),
                Err(_) if waits_on && now < request.deadline => {
                    let refused = self.discovery.park(record, request, || self.is_ending());
                    refused.into_iter().for_each(|request| self.send_request(request));
                }
                Err(errno) => self.refuse(request, errno),
            }
        }
        if waits_on {
            self.discovery.begin_again(record, now + pause(rounds));
        }
    }

    /// Ends what waits for discoveries: the node is ending (DI-23).
    pub(crate) fn end_discovery(&self) {
        for record in self.discovery.waited_for() {
            for request in self.discovery.unpark(&record) {
                self.refuse(request, Errno::Shutdown);
            }
        }
        self.discovery.tell_finished();
        self.discovery.wakeup.notify();
    }
}

fn failure(inner: &Inner, step: Step, errno: Errno) -> Option<Failure> {
    Some(Failure { step, nid: inner.failing.or(inner.primary)?, errno })
}

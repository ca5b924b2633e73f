//! What is done once in a while (HE-50), by the thread `lnet_monitor` of a node.

use super::{Health, HealthTotals};
use crate::core::Core;
use crate::environment::time::Time;
use crate::event::in_handler;
use crate::sync::lock;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Core {
    /// Does what health has to do now: sends again what failed, ends what has waited too long, tries what is sick. One
    /// thread at a time, and not from an event handler. Returns when it wants to be called again at the latest; before
    /// that whenever [`Core::wait_for_monitor`] returns. Event handlers of the application run inside.
    pub fn run_monitor(&self) -> Option<Time> {
        if in_handler() {
            return Some(self.env.now());
        }
        let _one_at_a_time = lock(&self.health.running);
        self.health.wakeup.reset();
        if self.is_ending() {
            return None;
        }
        let now = self.env.now();
        let (due, later) = self.take_later(now);
        due.into_iter().for_each(|message| self.send_later(message, now));
        let delayed = self.release_delayed(now);
        let credits = self.reclaim_ni_credits(now);
        let scan = self.scan(now);
        let paths = self.try_paths(now);
        let suspects = self.try_suspects(now);
        let sick = self.try_sick(now);
        let reachability = self.update_reachability(now);
        let log = self.env.poll_log(now);
        let later = if self.health.has_later() { later.or(Some(now)) } else { None };
        [later, delayed, credits, scan, paths, suspects, sick, reachability, log].into_iter().flatten().min()
    }

    /// ResponseState until there is something for [`Core::run_monitor`] to do, or the node ends, at most so long.
    pub fn wait_for_monitor(&self, timeout: Option<Duration>) {
        self.health.wakeup.wait(timeout, || self.is_ending());
    }

    /// What went wrong on the whole node.
    pub fn health_totals(&self) -> HealthTotals {
        self.health.totals(self.responses_awaited())
    }

    /// Something waits that must not wait for ever.
    pub(crate) fn watch(&self) {
        if !self.health.armed.load(Ordering::Relaxed) && !self.health.armed.swap(true, Ordering::Relaxed) {
            self.health.wakeup.notify();
        }
    }

    /// Ends what has waited too long for an answer or for a credit: when the first of what waits is late, and twice in a
    /// transaction time-out for what begins to wait. When the next time is.
    fn scan(&self, now: Time) -> Option<Time> {
        let pause = self.env.transaction_timeout() / 2;
        let mut next = lock(&self.health.next_scan);
        match *next {
            Some(at) if now < at => {}
            Some(_) => {
                // Before the look: what begins to wait meanwhile is seen by the next one.
                self.health.armed.store(false, Ordering::Relaxed);
                let unanswered = self.end_unanswered(now);
                let waiting = self.end_waiting(now);
                let late = [unanswered, waiting].into_iter().flatten().min();
                let again = late.is_some() || self.health.armed.load(Ordering::Relaxed);
                self.health.armed.store(again, Ordering::Relaxed);
                *next = again.then(|| late.map_or(now + pause, |late| late.min(now + pause)));
            }
            None => *next = self.health.armed.load(Ordering::Relaxed).then(|| now + pause),
        }
        *next
    }
}

impl Health {
    /// The node is ending.
    pub(crate) fn stop(&self) {
        self.wakeup.notify();
    }
}

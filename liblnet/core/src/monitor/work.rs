//! Periodic work (HE-50), run by the thread `lnet_monitor` of a node.

use super::Monitor;
use crate::environment::time::Time;
use crate::event::in_handler;
use crate::health::ProbeAction;
use crate::md::ResponseState;
use std::time::Duration;

impl Monitor<'_> {
    /// Performs the work that is due: resends failed messages, ends those that have timed out, pings unhealthy interfaces. One
    /// thread at a time, and not in an event handler. Returns the latest time of the next call;
    /// [`Monitor::wait`] returns when an earlier call is needed. Event handlers of the application run
    /// inside.
    pub fn run(&self) -> Option<Time> {
        if in_handler() {
            return Some(self.env.now());
        }
        let _one_at_a_time = self.health.run();
        if self.env.is_ending() {
            return None;
        }
        self.data_path.send_deferred();
        let now = self.env.now();
        // The first step, so that messages that wait for a route that has come up are sent in the same call.
        let gateways = self.check_gateways(now);
        let resends = self.resend_due(now);
        let delayed = self.data_path.release_delayed(now);
        let credits = self.data_path.reclaim_ni_credits(now);
        let scan = self.health.scan(now, self.env.transaction_timeout(), || {
            let unanswered = self.end_missing_responses(now);
            let waiting = self.data_path.end_waiting(now);
            unanswered.into_iter().chain(waiting).min()
        });
        self.carry_out(self.health.poll_paths(self.env, self.topology, now));
        let paths = self.health.next_path(now);
        self.repeat_requests(now);
        self.carry_out(self.health.poll_suspects(self.topology, now));
        let suspects = self.health.next_suspect(now);
        self.carry_out(self.health.poll_recovery(self.env, self.topology, now));
        let recovery = self.health.next_recovery(self.topology);
        let watch = self.watch_gateways(now);
        let own_nets = self.poll_net_liveness(now);
        let stopping = self.poll_stopping(now);
        let waiting = self.poll_waiting(now);
        let unconfirmed = self.data_path.poll_unconfirmed(now);
        let origins = self.data_path.poll_origins(now);
        let lost = self.data_path.poll_lost_deferred(now);
        let truncated = self.topology.poll_truncated(now);
        let reachability = self.health.update_reachability(self.env, self.topology, now);
        let ni_states = self.health.log_ni_states(self.env, self.topology, now);
        let (is_news, ni_reports) = self.health.report_nis(self.env, self.topology, now);
        if is_news {
            self.discovery.schedule_republish();
        }
        let resends = if self.health.has_resends() { resends.or(Some(now)) } else { None };
        let log = self.env.poll_log(now);
        let due = [
            resends,
            delayed,
            credits,
            scan,
            paths,
            suspects,
            recovery,
            gateways,
            watch,
            own_nets,
            stopping,
            waiting,
            unconfirmed,
            origins,
            lost,
            truncated,
            reachability,
            ni_states,
            ni_reports,
            log,
        ];
        due.into_iter().flatten().min()
    }

    /// Waits until [`Monitor::run`] has something to do, or the node shuts down; at most `timeout`.
    pub fn wait(&self, timeout: Option<Duration>) {
        self.health.wait(timeout, || self.env.is_ending());
    }

    fn carry_out(&self, actions: Vec<ProbeAction>) {
        for action in actions {
            match action {
                ProbeAction::End(md) => {
                    // The MD may have been unlinked already.
                    let _ = self.data_path.md_unlink(md);
                }
                ProbeAction::Send(probe) => match self.send_recovery_ping(probe.local, probe.peer) {
                    Ok(md) => self.health.probe_sent(probe, md),
                    Err(errno) => self.health.probe_refused(self.env, self.topology, probe, errno),
                },
            }
        }
    }

    /// Unlinks the MDs whose response has timed out (HE-41, HE-42); returns the time at which the next times out.
    fn end_missing_responses(&self, now: Time) -> Option<Time> {
        let mut next: Option<Time> = None;
        for md in self.objects.mds() {
            match md.response_state(now) {
                ResponseState::No => {}
                ResponseState::Until(deadline) => {
                    next = Some(next.map_or(deadline, |next| next.min(deadline)))
                }
                ResponseState::TooLong(missing) => {
                    self.health.response_timed_out(self.env, self.topology, missing);
                    // The MD may have been unlinked meanwhile.
                    let _ = self.data_path.md_unlink(md.handle());
                }
            }
        }
        next
    }
}

//! Sending, from the selected path to the driver and back: the steps of a message, whose completion is in `sent`.
//!
//! The completion of one message may start others (those that waited for its credits), which may complete at once,
//! and so on; `DataPath::run` takes these steps in a loop, so that the stack does not grow with the queue. Handlers that
//! send over the loopback from inside themselves, against the rules of the API, do make it grow: beyond a certain
//! depth their messages are sent by another thread, or when the outermost handler has returned.

use super::DataPath;
use crate::health::SendFailure;
use crate::model::Gateway;
use crate::model::lnd::SendOutcome;
use crate::model::message::{OutgoingMessage, Pooled};
use crate::sending::Admission;
use lnet_wire::Errno;
use lnet_wire::latency::Delay;
use std::cell::Cell;
use std::collections::VecDeque;

/// The next step of a message.
pub(super) enum SendStep {
    /// Take the credits and give the message to its driver.
    Post(Pooled<OutgoingMessage>),
    /// Send a message that has waited in a queue, otherwise like `Post`.
    Resume(Pooled<OutgoingMessage>),
    /// Select another path for a message without credits whose path should be avoided.
    Reroute(Pooled<OutgoingMessage>),
    /// Complete the message.
    End(Pooled<OutgoingMessage>, Result<(), SendFailure>),
}

impl DataPath {
    /// Sends a message with a selected path.
    #[inline(always)]
    pub(crate) fn launch(&self, message: Pooled<OutgoingMessage>) {
        if let Some(message) = self.defer_post(message) {
            self.post_now(message);
        }
    }

    /// Posts a message like [`DataPath::launch`], even if handlers are deeply nested.
    #[inline(always)]
    pub(crate) fn post_now(&self, message: Pooled<OutgoingMessage>) {
        let mut steps = Steps::begin();
        self.post(message, &mut steps);
        self.run_rest(steps);
    }

    /// Sends a response, on another path if its own is known to be late or unresponsive.
    #[inline(always)]
    pub(crate) fn launch_response(&self, message: Pooled<OutgoingMessage>) {
        if !message.stays_on_path() && self.topology.needs_other_path(&message) {
            self.run(SendStep::Reroute(message))
        } else {
            self.launch(message)
        }
    }

    /// Selects the path of a message again and sends it.
    pub(crate) fn reroute_now(&self, message: Pooled<OutgoingMessage>) {
        self.run(SendStep::Reroute(message));
    }

    /// Completes a message that a driver had.
    pub(crate) fn end(&self, message: Pooled<OutgoingMessage>, result: Result<(), SendFailure>) {
        let mut steps = Steps::begin();
        self.finish(message, result, &mut steps);
        self.run_rest(steps);
    }

    pub(super) fn resume_all(&self, messages: impl IntoIterator<Item = Pooled<OutgoingMessage>>) {
        messages.into_iter().for_each(|message| self.run(SendStep::Resume(message)));
    }

    fn run(&self, first: SendStep) {
        let mut steps = Steps::begin();
        steps.push(first);
        self.run_rest(steps);
    }

    /// Takes the steps that the first one has left, of which most messages have none.
    #[inline(always)]
    fn run_rest(&self, steps: Steps) {
        if steps.0.is_some() {
            self.run_steps(steps);
        }
    }

    #[inline(never)]
    fn run_steps(&self, mut steps: Steps) {
        let mut next = steps.pop();
        while let Some(mut step) = next {
            if let SendStep::Resume(message) = &mut step {
                self.count_wait(Delay::CreditWait, message);
            }
            match step {
                SendStep::Post(message) => self.post(message, &mut steps),
                SendStep::Resume(message) if message.is_given_up() => {
                    steps.push(SendStep::End(message, Err(Errno::Cancelled.into())));
                }
                SendStep::Resume(message) | SendStep::Reroute(message)
                    if message.attempts.resends > 0 && message.has_response() =>
                {
                    steps.push(SendStep::End(message, Ok(())));
                }
                // The same applies to a message that is still waiting at its deadline, see `end_waiting`.
                SendStep::Resume(message) if message.deadline <= self.env.now() => {
                    steps.push(SendStep::End(message, Err(Errno::TimedOut.into())));
                }
                SendStep::Resume(message)
                    if self.topology.needs_other_path(&message) || self.is_by_old_list(&message) =>
                {
                    self.reroute(message, &mut steps)
                }
                SendStep::Resume(message) => self.post(message, &mut steps),
                SendStep::Reroute(message) => self.reroute(message, &mut steps),
                SendStep::End(message, result) => self.finish(message, result, &mut steps),
            }
            next = steps.pop();
        }
    }

    /// Takes the missing credits of the message, the peer's first, and passes it to its driver; without a credit it
    /// stays in a queue (core-behaviour 3.2).
    fn post(&self, mut message: Pooled<OutgoingMessage>, steps: &mut Steps) {
        let Some(ni) = message.ni.clone() else {
            steps.push(SendStep::End(message, Err(Errno::HostUnreachable.into())));
            return;
        };
        self.note_leaving(&mut message);
        // A recovery ping must not wait for messages that are stuck on another path to the same peer NI.
        let takes_credits = message.peer_ni.is_some() && !message.is_recovery_ping();
        if takes_credits && (self.sending.waives(&message) || self.sending.try_admit(&mut message)) {
            message.waiting_since = None;
        } else if let Some(peer_ni) = message.peer_ni.clone().filter(|_| takes_credits) {
            let expect_wait = |message: &mut OutgoingMessage| self.begin_credit_wait(message, &peer_ni);
            match self.sending.admit(message, &ni, &peer_ni, expect_wait) {
                Admission::Granted(granted) => {
                    message = granted;
                    message.waiting_since = None;
                }
                Admission::WaitsForPeer => return self.health.watch(),
                Admission::WaitsForNi => {
                    self.health.watch();
                    if self.sending.watch() {
                        self.health.wake();
                    }
                    return;
                }
            }
        }
        let outcome = match ni.lnd() {
            Some(lnd) if self.faults.act_on_leaving() => self.send_under_fault_rules(&ni, lnd, message),
            Some(lnd) => lnd.send(message),
            None => SendOutcome::Done(message, Err(Errno::Shutdown.into())),
        };
        match outcome {
            SendOutcome::Done(message, result) => steps.push(SendStep::End(message, result)),
            SendOutcome::Sent(credits) => {
                self.sending.release_taken(credits).for_each(|woken| steps.push(SendStep::Resume(woken)));
            }
            SendOutcome::Pending => {}
        }
    }

    /// Records that a message is about to leave for its next hop.
    #[inline(always)]
    pub(super) fn note_leaving(&self, message: &mut OutgoingMessage) {
        if let Some(peer_ni) = &message.peer_ni {
            peer_ni.note_sent();
            let connection_epoch = peer_ni.connection_epoch();
            message.gateway = message.is_routed().then_some(Gateway { connection_epoch, confirms: false });
            if message.gateway.is_some() && self.gateway_watch.arm(|| self.env.now()) {
                self.health.wake();
            }
        }
    }

    /// Selects the path again, and posts the message; without another path it keeps its own.
    fn reroute(&self, mut message: Pooled<OutgoingMessage>, steps: &mut Steps) {
        if self.env.is_ending() || message.is_given_up() {
            let errno = if self.env.is_ending() { Errno::Shutdown } else { Errno::Cancelled };
            return steps.push(SendStep::End(message, Err(errno.into())));
        }
        match self.select_path_again(&message) {
            // If a message passed its credit on to the next one, and that did the same, none would ever be sent.
            Ok(chosen) if message.held.peer && (chosen.is_last_resort() || chosen.is_late()) => {
                steps.push(SendStep::Post(message));
            }
            Ok(chosen) => {
                self.release_credits_of(&mut message, steps);
                self.readdress(&mut message, chosen);
                self.count_wait(Delay::RouteWait, &mut message);
                steps.push(SendStep::Post(message));
            }
            Err(Errno::HostUnreachable) if self.awaits_route(&message) => {
                self.release_credits_of(&mut message, steps);
                self.wait_for_route(message);
            }
            Err(errno) => steps.push(SendStep::End(message, Err(errno.into()))),
        }
    }

    #[inline(always)]
    pub(super) fn release_credits_of(&self, message: &mut OutgoingMessage, steps: &mut Steps) {
        self.sending.release(message, |woken| steps.push(SendStep::Resume(woken)));
    }
}

/// The pending steps, in a queue that each thread keeps. Most messages need no queue, and do not touch it.
pub(super) struct Steps(Option<VecDeque<SendStep>>);

thread_local! {
    static SPARE_STEP_QUEUE: Cell<VecDeque<SendStep>> = const { Cell::new(VecDeque::new()) };
}

impl Steps {
    const fn begin() -> Self {
        Self(None)
    }

    pub(super) fn push(&mut self, step: SendStep) {
        self.0
            .get_or_insert_with(|| SPARE_STEP_QUEUE.try_with(Cell::take).unwrap_or_default())
            .push_back(step);
    }

    fn pop(&mut self) -> Option<SendStep> {
        self.0.as_mut()?.pop_front()
    }
}

impl Drop for Steps {
    #[inline]
    fn drop(&mut self) {
        if let Some(steps) = self.0.take() {
            // A handler of the program's exit sends when the variables of its thread are gone.
            _ = SPARE_STEP_QUEUE.try_with(|spare| spare.set(steps));
        }
    }
}

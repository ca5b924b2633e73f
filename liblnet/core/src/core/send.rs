//! From the chosen path to the driver and back: credits, queues, the end of a message.
//!
//! Ending one message may start others (those that waited for its credits), which may end at once, and so
//! on; `Core::run` takes these steps one after the other, so that the stack does not grow with the queue.
//! Handlers that send over the loopback from inside themselves, against the API's rule, do make it grow: from
//! some depth on their messages leave only when the outermost handler has returned.

use crate::core::Core;
use crate::environment::time::Time;
use crate::event::{Event, handler_depth, in_handler};
use crate::health::{Cause, SendFailure};
use crate::memory::Md;
use crate::model::answer_to;
use crate::model::lnd::SendOutcome;
use crate::model::message::{Message, TakenCredits};
use crate::model::{Ni, PeerNi};
use crate::sending::{Admission, leaves_by};
use crate::stats::Outcome;
use lnet_log::LogClass;
use lnet_wire::{Body, Errno};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

/// What is to be done next with a message.
enum Step {
    /// Get its credits and give it to its driver.
    Post(Box<Message>),
    /// The same, after it waited in a queue.
    Resume(Box<Message>),
    /// It has no credits, and its path is not to be used any more: it gets another.
    Reroute(Box<Message>),
    /// It is done with.
    End(Box<Message>, Result<(), SendFailure>),
}

impl Core {
    /// Sends a message whose path is chosen.
    pub(crate) fn launch(&self, message: Box<Message>) {
        match (handler_depth() >= DEEPEST).then(|| self.this()).flatten() {
            Some(this) => {
                DEFERRED.with_borrow_mut(|deferred| deferred.push_back((this, message)));
            }
            None => self.run(Step::Post(message)),
        }
    }

    /// Gives a peer NI the credits of its net, if this node is on that (OM-6).
    pub(crate) fn grant_credits(&self, peer_ni: &PeerNi) {
        let Some(credits) = self.topology.peer_credits(peer_ni.nid()) else { return };
        self.resume_all(self.sending.grant(peer_ni, credits));
    }

    /// Sends an answer, by another path if its own is known to be unresponsive.
    pub(crate) fn launch_answer(&self, message: Box<Message>) {
        if self.topology.needs_other_path(&message) {
            self.run(Step::Reroute(message))
        } else {
            self.launch(message)
        }
    }

    /// Chooses the path of a message anew and sends it.
    pub(super) fn reroute_now(&self, message: Box<Message>) {
        self.run(Step::Reroute(message));
    }

    /// Ends a message that a driver had.
    pub(crate) fn end(&self, message: Box<Message>, result: Result<(), SendFailure>) {
        self.run(Step::End(message, result));
    }

    /// Gives those that wait for a credit of this interface, or of a peer NI to leave by it, another path (snd-085).
    pub(crate) fn move_waiting(&self, ni: &Arc<Ni>) {
        let may_move = |message: &Message| message.source.is_none() && leaves_by(message, ni);
        self.resume_all(self.sending.withdraw_from_ni(ni, may_move));
        self.move_waiting_for_peers(may_move);
    }

    /// Gives those that wait for a credit of a peer NI's, and that may move, another path if theirs is to be avoided.
    pub(crate) fn move_waiting_for_peers(&self, may_move: impl Fn(&Message) -> bool) {
        self.resume_all(self.sending.withdraw_from_peers(&self.topology, may_move));
    }

    /// Ends messages that have waited for a credit for as long as a transaction may take; when the next of those that
    /// wait on is late.
    pub(crate) fn end_waiting(&self, now: Time) -> Option<Time> {
        let (late, next) = self.sending.take_late(&self.topology, now);
        for message in late {
            self.end(message, Err(Errno::TimedOut.into()));
        }
        next
    }

    /// Takes the credits of interfaces back from messages that their drivers have had for too long. When the next time is.
    pub(crate) fn reclaim_ni_credits(&self, now: Time) -> Option<Time> {
        match self.sending.reclaim(&self.topology, now) {
            Ok(granted) => {
                self.resume_all(granted);
                self.sending.next_reclaim(&self.topology, now)
            }
            Err(next) => next,
        }
    }

    fn resume_all(&self, messages: impl IntoIterator<Item = Box<Message>>) {
        messages.into_iter().for_each(|message| self.run(Step::Resume(message)));
    }

    /// Tells the MD's owner how an operation went.
    pub(crate) fn complete(&self, md: &Md, event: Event, status: Result<(), Errno>) {
        self.objects.complete(md, Event { status, ..event });
        send_deferred();
    }

    /// The same of a message that this node has sent. If it failed its answer is not waited for any more.
    pub(crate) fn complete_request(&self, md: &Md, event: Event, body: &Body, status: Result<(), Errno>) {
        let answer = answer_to(body).filter(|_| status.is_err());
        self.objects.complete_without(md, Event { status, ..event }, answer);
        send_deferred();
    }

    fn run(&self, first: Step) {
        let mut steps = Steps::begin();
        let mut next = Some(first);
        while let Some(step) = next {
            match step {
                Step::Post(message) => self.post(message, &mut steps),
                Step::Resume(message) if message.md.as_ref().is_some_and(|md| md.is_aborted()) => {
                    steps.push(Step::End(message, Err(Errno::Cancelled.into())));
                }
                Step::Resume(message) | Step::Reroute(message)
                    if message.resends > 0 && message.is_answered() =>
                {
                    steps.push(Step::End(message, Ok(())));
                }
                // As one that is still waiting then: see `end_waiting`.
                Step::Resume(message) if message.deadline <= self.env.now() => {
                    steps.push(Step::End(message, Err(Errno::TimedOut.into())));
                }
                Step::Resume(message) if self.topology.needs_other_path(&message) => {
                    self.reroute(message, &mut steps)
                }
                Step::Resume(message) => self.post(message, &mut steps),
                Step::Reroute(message) => self.reroute(message, &mut steps),
                Step::End(message, result) => self.finish(message, result, &mut steps),
            }
            next = steps.pop();
        }
    }

    /// Takes the credits that the message does not have yet, peer's first, and gives it to its driver; it
    /// stays in a queue if there is none (core-behaviour 3.2).
    fn post(&self, mut message: Box<Message>, steps: &mut Steps) {
        let Some(ni) = message.ni.clone() else {
            steps.push(Step::End(message, Err(Errno::HostUnreachable.into())));
            return;
        };
        if let Some(peer_ni) = &message.peer_ni {
            peer_ni.note_sent();
        }
        // A ping that tries a path must not wait for messages that are stuck on another path to the same interface.
        if let Some(peer_ni) = message.peer_ni.clone().filter(|_| !message.recovery) {
            match self.sending.admit(message, &ni, &peer_ni) {
                Admission::Granted(granted) => message = granted,
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
            Some(lnd) => self.send_by(lnd, message),
            None => SendOutcome::Done(message, Err(Errno::Shutdown.into())),
        };
        if let SendOutcome::Done(message, result) = outcome {
            steps.push(Step::End(message, result));
        }
    }

    /// Chooses the path anew, and posts the message; without another one, by the one that it has.
    fn reroute(&self, mut message: Box<Message>, steps: &mut Steps) {
        if self.is_ending() || message.md.as_ref().is_some_and(|md| md.is_aborted()) {
            let errno = if self.is_ending() { Errno::Shutdown } else { Errno::Cancelled };
            return steps.push(Step::End(message, Err(errno.into())));
        }
        match self.path_again(&message) {
            // It must not make room for those behind it, who would do the same, for ever.
            Ok(chosen) if message.held.peer && chosen.is_last_resort() => steps.push(Step::Post(message)),
            Ok(chosen) => {
                self.release_credits_of(&mut message, steps);
                self.readdress(&mut message, chosen);
                steps.push(Step::Post(message));
            }
            Err(errno) => steps.push(Step::End(message, Err(errno.into()))),
        }
    }

    /// Ends a message, or sends it again. Event first, then the credits: NI's, then peer's (CR-10).
    fn finish(&self, mut message: Box<Message>, result: Result<(), SendFailure>, steps: &mut Steps) {
        let answered = result.is_err() && message.is_answered();
        if let Err(failure) = result {
            self.health.message_failed(&self.env, &self.topology, &message, failure);
            if !answered && let Some(plan) = self.plan_resend(&mut message, failure) {
                self.release_credits_of(&mut message, steps);
                let now = self.resend(message, plan, failure);
                return now.into_iter().for_each(|message| steps.push(Step::Post(message)));
            }
            if !answered {
                self.message_counters.error();
                self.log_given_up(&message, failure);
            }
        } else if let Some(ni) = &message.ni {
            self.health.ni_works(&self.env, ni);
        }
        // Nothing was heard of its arrival but the answer.
        let result = if answered { Ok(()) } else { result };
        let outcome = if result.is_ok() { Outcome::Sent } else { Outcome::Dropped };
        self.count(&message, outcome);
        if let (Some(md), Some(event)) = (message.md.take(), message.event.take()) {
            let result = result.map_err(|failure| failure.errno);
            self.complete_request(&md, event, &message.header.body, result);
        }
        self.release_credits_of(&mut message, steps);
        let peer_ni = message.peer_ni.take();
        self.recycle(message, peer_ni.as_ref());
    }

    /// Logs that a message is not sent again (dbg-025). What its owner or the end of the node has cancelled was not
    /// lost, and recovery pings have a line of their own.
    fn log_given_up(&self, message: &Message, failure: SendFailure) {
        let is_cancelled = self.is_ending() || message.md.as_ref().is_some_and(|md| md.is_aborted());
        if is_cancelled || message.recovery || failure.cause == Cause::LocalAborted {
            return;
        }
        let (from, to, kind) = (message.header.src_nid, message.next_hop.nid, message.header.body.kind());
        let (cause, errno, resends) = (failure.cause.text(), failure.errno.name(), message.resends);
        self.env.log(
            LogClass::MessageFailed,
            format_args!("{from} -> {to}"),
            format_args!("{kind} {from} -> {to} failed ({cause}, {errno}); given up after {resends} resends"),
        );
    }

    fn release_credits_of(&self, message: &mut Message, steps: &mut Steps) {
        steps.extend(self.sending.release(message));
    }

    /// What was stuck does not keep others waiting: they may go by other paths.
    pub(crate) fn release_taken(&self, credits: Vec<TakenCredits>) {
        for taken in credits {
            self.resume_all(self.sending.release_taken(taken));
        }
    }

    /// Counts a message on its NI and its peer NI.
    pub(crate) fn count(&self, message: &Message, outcome: Outcome) {
        let kind = message.header.body.kind();
        let bytes = message.header.payload_length;
        if let Some(ni) = &message.ni {
            ni.counters().count(outcome, kind, bytes);
        }
        if let Some(peer_ni) = &message.peer_ni {
            peer_ni.counters().count(outcome, kind, bytes);
        }
    }
}

/// Sends what handlers inside handlers wanted to send, once this thread is out of all of them.
pub(crate) fn send_deferred() {
    if in_handler() {
        return;
    }
    while let Some((core, message)) = DEFERRED.with_borrow_mut(VecDeque::pop_front) {
        core.run(Step::Post(message));
    }
}

/// The steps that are to follow, in a queue that each thread keeps.
struct Steps(VecDeque<Step>);

/// Handlers inside handlers from which on messages wait.
const DEEPEST: u32 = 8;

thread_local! {
    static DEFERRED: RefCell<VecDeque<(Arc<Core>, Box<Message>)>> = const { RefCell::new(VecDeque::new()) };
    static KEPT: Cell<VecDeque<Step>> = const { Cell::new(VecDeque::new()) };
}

impl Steps {
    fn begin() -> Self {
        Self(KEPT.take())
    }

    fn push(&mut self, step: Step) {
        self.0.push_back(step);
    }

    fn extend(&mut self, woken: impl Iterator<Item = Box<Message>>) {
        self.0.extend(woken.map(Step::Resume));
    }

    fn pop(&mut self) -> Option<Step> {
        self.0.pop_front()
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        KEPT.set(std::mem::take(&mut self.0));
    }
}

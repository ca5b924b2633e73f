//! Sending, from the selected path to the driver and back: credits, queues, completion.
//!
//! The completion of one message may start others (those that waited for its credits), which may complete at once,
//! and so on; `DataPath::run` takes these steps in a loop, so that the stack does not grow with the queue. Handlers that
//! send over the loopback from inside themselves, against the rules of the API, do make it grow: beyond a certain
//! depth their messages are sent by another thread, or when the outermost handler has returned.

use super::DataPath;
use crate::data_path::confirm::confirmation_of;
use crate::data_path::receive::write_arrival_event;
use crate::environment::time::Time;
use crate::event::{Event, EventKind, EventParty};
use crate::health::{Cause, Delivery, SendFailure};
use crate::md::Md;
use crate::memory::MdSpec;
use crate::model::lnd::SendOutcome;
use crate::model::message::{
    AnsweredGet, MessageHead, Operation, OutgoingMessage, Pooled, Request, Response, Role, SendReport,
    TakenCredits,
};
use crate::model::response_to;
use crate::model::{Gateway, Ni, PeerNi};
use crate::sending::Admission;
use crate::stats::MessageOutcome;
use crate::sync::lock;
use lnet_log::LogClass;
use lnet_wire::latency::Delay;
use lnet_wire::{Body, Errno, Header, Nid, Pid};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

/// The next step of a message.
enum SendStep {
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

    /// Sets the credits of a peer NI to those of its net, if this node is on that net (OM-6).
    pub(crate) fn grant_credits(&self, peer_ni: &PeerNi) {
        let Some(credits) = self.topology.peer_credits(peer_ni.nid()) else { return };
        self.resume_all(self.sending.grant(peer_ni, credits));
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

    /// Moves the messages that wait for a credit of this interface, or of a peer NI and would leave by this
    /// interface, to other paths (snd-085).
    pub(crate) fn move_waiting(&self, ni: &Arc<Ni>) {
        let may_move = |message: &OutgoingMessage| message.source().is_none() && message.is_by(ni);
        self.resume_all(self.sending.withdraw_from_ni(ni, may_move));
        self.move_waiting_for_peers(may_move);
    }

    /// Moves the messages that wait for a peer credit and satisfy `may_move` to other paths, if theirs should
    /// be avoided.
    pub(crate) fn move_waiting_for_peers(&self, may_move: impl Fn(&OutgoingMessage) -> bool) {
        self.resume_all(self.sending.withdraw_from_peers(&self.topology, may_move));
    }

    /// Ends the messages that have waited for a credit until their deadline; returns the time of the next
    /// deadline.
    pub(crate) fn end_waiting(&self, now: Time) -> Option<Time> {
        let (late, next) = self.sending.take_late(&self.topology, now);
        for message in late {
            self.end(message, Err(Errno::TimedOut.into()));
        }
        next
    }

    /// Ends the messages that wait for a credit, and whose MDs have been unlinked: they need not wait for their turn. Those that wait to
    /// be resent are looked at now.
    pub fn end_given_up(&self) {
        let given_up = self.sending.take_where(&self.topology, OutgoingMessage::is_given_up);
        for message in given_up {
            self.end(message, Err(Errno::Cancelled.into()));
        }
        self.health.expedite_given_up(self.env.now());
    }

    /// Takes NI credits back from messages that drivers have had for too long; returns the time of the next check.
    pub(crate) fn reclaim_ni_credits(&self, now: Time) -> Option<Time> {
        match self.sending.reclaim(&self.topology, now) {
            Ok(granted) => {
                self.resume_all(granted);
                self.sending.next_reclaim(&self.topology, now)
            }
            Err(next) => next,
        }
    }

    pub(super) fn resume_all(&self, messages: impl IntoIterator<Item = Pooled<OutgoingMessage>>) {
        messages.into_iter().for_each(|message| self.run(SendStep::Resume(message)));
    }

    /// Reports the end of an operation in which a message from a peer takes part to the owner of the MD. `header` and `from` are those
    /// of the message.
    #[inline(never)]
    pub(crate) fn complete(
        &self,
        operation: &Operation,
        header: &Header,
        from: Nid,
        status: Result<(), Errno>,
    ) {
        self.objects
            .complete(&operation.md, |event| write_arrival_event(event, header, from, operation, status));
        self.send_deferred();
    }

    /// Reports the end of a PUT or GET of this node to the process `pid`. After a failure, the MD no longer waits for the response.
    pub(crate) fn report_request(
        &self,
        md: &Md,
        report: SendReport,
        pid: Pid,
        body: &Body,
        status: Result<(), Errno>,
    ) {
        let response = response_to(body).filter(|_| status.is_err());
        let own = md.pid(self.env.pid());
        self.note_if_lost(report.target, body, status);
        self.objects.complete_without(md, response, |event| {
            write_send_event(event, own, md, report, pid, body, status)
        });
        self.send_deferred();
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

    /// Completes a message, or resends it. The event comes first, then the NI credit, then the peer credit (CR-10).
    #[inline(always)]
    fn finish(
        &self,
        mut message: Pooled<OutgoingMessage>,
        result: Result<(), SendFailure>,
        steps: &mut Steps,
    ) {
        let answered = result.is_err() && message.has_response();
        let mut result = result;
        if let Err(mut failure) = result {
            if message.arrival().is_some() {
                self.release_credits_of(&mut message, steps);
                return self.hold_until_arrived(message, result);
            }
            self.health.message_failed(&self.env, &self.topology, &message, failure);
            message.note_failure(failure);
            if let (Delivery::NeedsOrigin, Some(peer_ni)) = (failure.delivery, &message.peer_ni) {
                peer_ni.note_takes_origins(false);
            }
            self.note_failure_of_gateway(&message, failure);
            if !answered && let Some(plan) = self.plan_resend(&mut message, failure) {
                self.release_credits_of(&mut message, steps);
                let (destination, is_returned) = (message.header.dest_nid, is_returned(&message, failure));
                let now = self.resend(message, plan, failure);
                if is_returned && now.is_none() {
                    self.note_returned(destination);
                }
                return now.into_iter().for_each(|message| steps.push(SendStep::Post(message)));
            }
            if !answered && !message.is_copy() {
                self.message_counters.error();
                failure = self.failure_of(&message, failure);
                if is_returned(&message, failure) {
                    self.note_returned(message.header.dest_nid);
                }
                result = Err(failure);
                self.log_given_up(&message, failure);
            }
        } else if let Some(ni) = &message.ni {
            self.health.ni_sends(&self.env, &self.topology, ni);
            if message.awaits_confirmation() && !message.has_response() {
                self.release_credits_of(&mut message, steps);
                let ended = self.await_confirmation(message);
                return ended
                    .into_iter()
                    .for_each(|(message, result)| steps.push(SendStep::End(message, result)));
            }
        }
        // Only the response shows that the message arrived.
        let result = if answered { Ok(()) } else { result };
        match result {
            Ok(()) => {
                self.count(&message, MessageOutcome::Sent);
                self.count_sent(&mut message);
            }
            Err(_) => self.count(&message, MessageOutcome::Dropped),
        }
        if message.attempts.resends > 0 {
            self.health.count_resent(result);
        }
        self.report_sent(&mut message, result);
        self.release_credits_of(&mut message, steps);
        self.retire(message);
    }

    /// Reports the end of a message: by an event, or by a confirmation to the node that it came from.
    #[inline(always)]
    pub(crate) fn report_sent(&self, message: &mut OutgoingMessage, result: Result<(), SendFailure>) {
        let OutgoingMessage { head, role, .. } = message;
        let header = &head.header;
        match role {
            Role::Request(Request { md, report, .. }) => {
                if let Some(report) = report.take() {
                    let status = result.map_err(|failure| failure.errno);
                    self.report_request(md, report, header.dest_pid, &header.body, status);
                }
            }
            Role::Response(Response { get, .. }) => {
                if let Some(AnsweredGet { operation, header, from }) = get {
                    operation.fetched = None;
                    self.complete(operation, header, *from, result.map_err(|failure| failure.errno));
                    *get = None;
                }
            }
            Role::Forwarded(forwarded) => {
                if result.is_ok()
                    && let Some(buffer) = &mut forwarded.buffer
                {
                    buffer.sent = Some(header.payload_length);
                }
                if let Some(previous) = forwarded.previous_hop.take() {
                    let result = result.map_err(|failure| failure.delivery);
                    self.confirm_to(previous, confirmation_of(result, message.may_have_arrived));
                }
            }
        }
    }

    /// The failure reported when a message is given up. If no path is left it is EHOSTUNREACH, not the error of the last
    /// attempt. If the message could not be resent because no gateway supports its origin, it is the failure that made a resend
    /// necessary.
    fn failure_of(&self, message: &OutgoingMessage, last: SendFailure) -> SendFailure {
        let may_mean_no_path = matches!(
            last.errno,
            Errno::TimedOut
                | Errno::ConnectionRefused
                | Errno::ConnectionReset
                | Errno::NetworkUnreachable
                | Errno::HostUnreachable
        );
        if may_mean_no_path && self.is_unroutable(message) {
            return SendFailure { errno: Errno::HostUnreachable, ..last };
        }
        let lacks_path = matches!(last.errno, Errno::TimedOut | Errno::HostUnreachable);
        match message.first_failure.filter(|_| lacks_path && message.needs_origin()) {
            Some(first) => SendFailure { errno: first.errno, cause: first.cause, ..last },
            None => last,
        }
    }

    /// Logs that a message is not resent (dbg-025). A message that its owner or the shutdown has cancelled was not
    /// lost, and failed recovery pings are logged elsewhere.
    fn log_given_up(&self, message: &OutgoingMessage, failure: SendFailure) {
        let is_cancelled = self.env.is_ending() || message.is_given_up();
        let is_truncated = message.peer_ni.as_ref().is_some_and(|peer_ni| peer_ni.is_truncated());
        if is_cancelled || is_truncated || message.is_recovery_ping() || failure.cause == Cause::LocalAborted
        {
            return;
        }
        let (from, to, kind) = (message.header.src_nid, message.header.dest_nid, message.header.body.kind());
        if let Some(peer_ni) = &message.peer_ni {
            lock(&peer_ni.peer_now().discovery.reachability).outage.note_failure(failure.errno);
        }
        let (cause, errno, resends) = (failure.cause.text(), failure.errno.name(), message.attempts.resends);
        self.env.log(
            LogClass::MessageFailed,
            format_args!("{from} -> {to}"),
            format_args!("{kind} {from} -> {to} failed ({cause}, {errno}); given up after {resends} resends"),
        );
    }

    #[inline(always)]
    fn release_credits_of(&self, message: &mut OutgoingMessage, steps: &mut Steps) {
        self.sending.release(message, |woken| steps.push(SendStep::Resume(woken)));
    }

    /// Returns the credits of a message that its driver keeps, so that waiting messages may leave.
    pub(crate) fn release_taken(&self, credits: TakenCredits) {
        self.resume_all(self.sending.release_taken(credits));
    }

    /// Counts a message at its NI and its peer NI.
    #[inline(always)]
    pub(crate) fn count(&self, message: &MessageHead, outcome: MessageOutcome) {
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

/// Writes the SEND event of a request with this body to the process `pid`; `own` is that of the program whose request it is.
#[inline(always)]
fn write_send_event(
    event: &mut Event,
    own: Pid,
    md: &Md,
    report: SendReport,
    pid: Pid,
    body: &Body,
    status: Result<(), Errno>,
) {
    let this_node = EventParty { nid: None, pid: own };
    let (portal, match_bits, hdr_data, offset) = match *body {
        Body::Put { portal, match_bits, hdr_data, offset, .. } => (portal, match_bits, hdr_data, offset),
        Body::Get { portal, match_bits, offset, .. } => (portal, match_bits, 0, offset),
        Body::Ack { .. } | Body::Reply { .. } => (0, 0, 0, 0),
    };
    event.kind = EventKind::Send;
    event.of_get = matches!(body, Body::Get { .. });
    event.target = EventParty { nid: report.target, pid };
    event.initiator = this_node;
    event.source = this_node;
    event.sender = None;
    event.portal = portal;
    event.match_bits = match_bits;
    event.rlength = md.memory().len();
    event.mlength = md.memory().len();
    event.md_handle = md.handle();
    event.md = MdSpec { threshold: report.threshold, ..*md.spec() };
    event.hdr_data = hdr_data;
    event.status = status;
    event.offset = offset;
}

/// Whether a gateway has reported that it could not forward this node's message.
fn is_returned(message: &OutgoingMessage, failure: SendFailure) -> bool {
    failure.delivery == Delivery::Returned && message.is_routed() && !message.is_forwarded()
}

/// The pending steps, in a queue that each thread keeps. Most messages need no queue, and do not touch it.
struct Steps(Option<VecDeque<SendStep>>);

thread_local! {
    static SPARE_STEP_QUEUE: Cell<VecDeque<SendStep>> = const { Cell::new(VecDeque::new()) };
}

impl Steps {
    const fn begin() -> Self {
        Self(None)
    }

    fn push(&mut self, step: SendStep) {
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

//! The completion of a message that has been sent, or has failed: it is resent, kept until it is confirmed, or reported.

use super::DataPath;
use super::confirm::confirmation_of;
use super::send::{SendStep, Steps};
use crate::health::{Cause, Delivery, SendFailure};
use crate::model::message::Pooled;
use crate::model::message::{AnsweredGet, OutgoingMessage, Request, Response, Role};
use crate::stats::MessageOutcome;
use crate::sync::lock;
use lnet_log::LogClass;
use lnet_wire::Errno;

impl DataPath {
    /// Completes a message, or resends it. The event comes first, then the NI credit, then the peer credit (CR-10).
    #[inline(always)]
    pub(super) fn finish(
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
}

/// Whether a gateway has reported that it could not forward this node's message.
fn is_returned(message: &OutgoingMessage, failure: SendFailure) -> bool {
    failure.delivery == Delivery::Returned && message.is_routed() && !message.is_forwarded()
}

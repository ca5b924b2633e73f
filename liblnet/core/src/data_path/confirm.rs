//! Messages that gateways confirm, and copies of messages that come by several gateways (see `crate::confirm`).

use super::DataPath;
use crate::confirm::{Arrived, BrokenOff, BroughtBy, DueMessages, Recovered, WaitingCopy};
use crate::environment::time::Time;
use crate::health::{Cause, Delivery, SendFailure};
use crate::model::lnd::{DeferredRx, RxAction};
use crate::model::message::{IncomingMessage, OutgoingMessage, Pooled};
use crate::model::{
    CarriedOrigin, Confirmation, Gateway, MessageOrigin, Ni, PeerNi, PreviousHop, Provenance,
};
use crate::stats::Partial;
use lnet_log::LogClass;
use lnet_wire::{Errno, Header, Nid};
use std::num::NonZeroU64;
use std::sync::Arc;

/// The part of the sender, or of a gateway before another.
impl DataPath {
    /// Keeps a message that its gateway has received until it is confirmed. If the result is known already, returns the message
    /// with it.
    pub(crate) fn await_confirmation(
        &self,
        message: Pooled<OutgoingMessage>,
    ) -> Option<(Pooled<OutgoingMessage>, Result<(), SendFailure>)> {
        let (Some(id), Some(Gateway { connection_epoch: epoch, .. })) = (message.message_id, message.gateway)
        else {
            return Some((message, Ok(())));
        };
        let peer_ni = message.peer_ni.clone();
        let gateway = message.next_hop.nid;
        let is_gateway = |from: Nid| self.topology.is_same_peer(gateway, from);
        match self.unconfirmed.keep(id, message, self.env.now(), is_gateway) {
            Ok(true) => self.health.wake(),
            Ok(false) => {}
            Err((mut message, confirmation)) => {
                let result = settle(&mut message, confirmation);
                return Some((message, result));
            }
        }
        // The connection may have ended, or the shutdown begun, just before.
        let failure = if self.env.is_ending() {
            Errno::Shutdown.into()
        } else if peer_ni.is_some_and(|peer_ni| peer_ni.connection_epoch() != epoch) {
            CONNECTION_ENDED
        } else {
            return None;
        };
        let taken = self.unconfirmed.take(|message| message.message_id == Some(id));
        taken.into_iter().next().map(|message| (message, Err(failure)))
    }

    /// Ends the message that a gateway has confirmed. A confirmation from another node than that gateway is ignored.
    pub(crate) fn take_confirmation(&self, from: Nid, id: NonZeroU64, confirmation: Confirmation) {
        let is_gateway = |next_hop: Nid| self.topology.is_same_peer(next_hop, from);
        if let Some(mut message) = self.unconfirmed.confirmed(from, id, confirmation, is_gateway) {
            // Only nodes of this library send confirmations.
            if let Some(peer_ni) = &message.peer_ni {
                peer_ni.note_takes_origins(true);
            }
            let result = settle(&mut message, confirmation);
            self.end(message, result);
        }
    }

    /// Ends the unconfirmed messages on this path, to be resent: no more confirmations will come on its connections, or it is
    /// unresponsive.
    pub(crate) fn lose_confirmations(&self, ni: &Ni, gateway: Nid) {
        let went_there = |message: &OutgoingMessage| {
            message.next_hop.nid == gateway && message.ni.as_ref().is_some_and(|its| its.nid() == ni.nid())
        };
        for message in self.unconfirmed.take(went_there) {
            self.end(message, Err(CONNECTION_ENDED));
        }
    }

    /// Ends all unconfirmed messages, because the node shuts down.
    pub(crate) fn end_unconfirmed(&self) {
        for message in self.unconfirmed.take(|_| true) {
            self.end(message, Err(Errno::Shutdown.into()));
        }
    }

    /// Ends the messages that have waited for a confirmation until their deadline; returns the time of the next call.
    pub(crate) fn poll_unconfirmed(&self, now: Time) -> Option<Time> {
        let is_over = |message: &OutgoingMessage| {
            message.deadline <= now || message.has_response() || message.is_given_up()
        };
        let DueMessages { ended, next } = self.unconfirmed.poll(now, is_over);
        for mut message in ended {
            message.gateway = None;
            let result = match (message.has_response(), message.deadline <= now) {
                (true, _) => Ok(()),
                (false, true) => Err(returned(Errno::TimedOut, Cause::RemoteTimeout)),
                (false, false) => Err(Errno::Cancelled.into()),
            };
            self.end(message, result);
        }
        next
    }
}

/// The part of a gateway.
impl DataPath {
    /// Sends the confirmation of a message to the node that it came from.
    pub(crate) fn confirm_to(&self, previous: PreviousHop, confirmation: Confirmation) {
        let PreviousHop { ni, from, name } = previous;
        if let Some(lnd) = ni.lnd() {
            lnd.confirm(from, name, confirmation);
        }
    }
}

/// The confirmation of a message that this node was to forward and that ends with this result.
pub(crate) const fn confirmation_of(result: Result<(), Delivery>, may_have_arrived: bool) -> Confirmation {
    match (result, may_have_arrived) {
        (Ok(()), _) => Confirmation::Delivered,
        (Err(Delivery::Unknown | Delivery::Withheld | Delivery::NeedsOrigin), _) => Confirmation::Withheld,
        (Err(_), true) => Confirmation::Unknown,
        (Err(_), false) => Confirmation::NotDelivered,
    }
}

/// The part of a gateway, or of the destination.
impl DataPath {
    /// The provenance of an arriving message, with an origin marked as refused that the previous hop could not know: it is
    /// neither the previous hop's own, nor is that node a gateway on the path from the source. Routers still use a refused
    /// origin to recognise messages that circulate.
    pub(crate) fn with_refusals(
        &self,
        header: &Header,
        from: Nid,
        peer_ni: Option<&PeerNi>,
        provenance: &Provenance,
        carried: CarriedOrigin,
    ) -> Provenance {
        let source = header.src_nid;
        if carried.origin.is_refused()
            || provenance.is_from_its_origin()
            || peer_ni.is_some_and(|gateway| self.topology.is_gateway_to(source.net(), gateway))
            || self.topology.may_come_through(source, from, self.env.now())
        {
            return *provenance;
        }
        self.message_counters.origin_refused();
        let is_first = peer_ni.is_some_and(|peer_ni| {
            let state = &peer_ni.peer_now().discovery;
            state.with(|inner| !std::mem::replace(&mut inner.origin_refused, true))
        });
        if is_first {
            self.env.log(
                LogClass::OriginRefused,
                from,
                format_args!(
                    "message {source} -> {} from {from}: origin refused (no route to the net of {source} goes over {from}); \
                     copies of such messages are not recognised",
                    header.dest_nid
                ),
            );
        }
        let carried = CarriedOrigin { origin: carried.origin.refused(), ..carried };
        Provenance { carried: Some(carried), ..*provenance }
    }
}

/// The part of the destination.
impl DataPath {
    /// Returns the message, unless it is a copy of one that has arrived or is arriving; otherwise returns the action for the
    /// driver.
    ///
    /// A copy that may be newer than the one that is arriving shows that the sender has given up the gateway of that one, whose
    /// connections end, since nothing else might end them. A copy that says that nothing was sent before it is the oldest: it
    /// comes late, perhaps from a gateway that is dead.
    pub(crate) fn unless_duplicate(
        &self,
        CarriedOrigin { origin, may_have_arrived }: CarriedOrigin,
        message: Pooled<IncomingMessage>,
        make_deferred: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> Result<Pooled<IncomingMessage>, RxAction> {
        let copy_from = message.from;
        match self.origins.arrives(origin, message, make_deferred) {
            Arrived::First(mut message) => {
                message.origin = Some(origin);
                Ok(message)
            }
            Arrived::Duplicate(copy) => {
                self.forget(copy);
                Err(RxAction::Discard)
            }
            Arrived::Waits { first: (ni, from), too_many } => {
                if let Some(oldest) = too_many {
                    self.drop_copy(oldest);
                }
                if may_have_arrived
                    && from != copy_from
                    && let Some(lnd) = ni.as_ref().and_then(|ni| ni.lnd())
                {
                    lnd.abort_tx(Some(from), Cause::NetworkTimeout);
                }
                Err(RxAction::Defer)
            }
            Arrived::Resumes { partial, copy } => {
                self.message_counters.partial(Partial::Resumed);
                Err(RxAction::Deliver(self.in_place_of(partial, copy).into()))
            }
        }
    }

    /// Records that a message with an origin has arrived or is dropped; copies that wait are dropped.
    pub(crate) fn note_arrival(&self, origin: MessageOrigin, message: &IncomingMessage) {
        let by = self.brought_by(message);
        for copy in self.origins.arrived(origin, by, self.env.now()) {
            self.drop_copy(copy);
        }
    }

    /// The gateway that a message has come by; `None` if its origin has sent it directly.
    fn brought_by(&self, message: &IncomingMessage) -> BroughtBy {
        let peer_ni = message.peer_ni.as_ref()?;
        self.topology.is_of_gateway(peer_ni).then(|| peer_ni.primary())
    }

    fn drop_copy(&self, copy: WaitingCopy) {
        let WaitingCopy { message, deferred } = copy;
        self.forget(message);
        deferred.resume(RxAction::Discard);
    }

    /// Keeps a message with an origin whose payload has ended early, or completes it with a copy that waits. Returns the
    /// message if it cannot be kept.
    pub(crate) fn keep_partial(
        &self,
        origin: MessageOrigin,
        mut message: Pooled<IncomingMessage>,
    ) -> Option<Pooled<IncomingMessage>> {
        if message.operation.is_none() || self.env.is_ending() {
            message.origin = None;
            if let Some(copy) = self.origins.lost(origin) {
                self.deliver_copy(origin, copy);
            }
            return Some(message);
        }
        let until = self.deadline_from_now();
        match self.origins.incomplete(origin, message, until) {
            BrokenOff::Resumes(Recovered { partial, copy: WaitingCopy { message, deferred } }) => {
                let message = self.in_place_of(partial, message);
                deferred.resume(RxAction::Deliver(message.into()));
            }
            BrokenOff::Kept(too_many) => {
                self.message_counters.partial(Partial::Kept);
                self.end_partial(too_many);
                self.health.wake();
            }
        }
        None
    }

    /// Delivers a copy that has waited, since it is now the first one to arrive.
    fn deliver_copy(&self, origin: MessageOrigin, copy: WaitingCopy) {
        let WaitingCopy { mut message, deferred } = copy;
        message.origin = Some(origin);
        match self.deliver(message, &|| Arc::clone(&deferred)) {
            RxAction::Defer => {}
            action => deferred.resume(action),
        }
    }

    /// Ends the partial messages of which no copy came in time; returns the time of the next call.
    pub(crate) fn poll_origins(&self, now: Time) -> Option<Time> {
        let (over, next) = self.origins.expire(now, IncomingMessage::is_given_up);
        self.end_partial(over);
        next
    }

    /// Ends the partial messages that came by the interface `ni`.
    pub(crate) fn end_partial_of(&self, ni: &Arc<Ni>) {
        self.end_partial(self.origins.take_partial(|message| message.is_by(ni)));
    }

    fn end_partial(&self, messages: Vec<Pooled<IncomingMessage>>) {
        for mut message in messages {
            self.message_counters.partial(Partial::GivenUp);
            message.origin = None;
            self.finish_received(message, Err(Errno::Io));
        }
    }

    /// The copy, with the memory of the partial message.
    fn in_place_of(
        &self,
        mut partial: Pooled<IncomingMessage>,
        mut copy: Pooled<IncomingMessage>,
    ) -> Pooled<IncomingMessage> {
        copy.operation = partial.operation.take();
        copy.origin = partial.origin.take();
        self.forget(partial);
        copy
    }
}

const CONNECTION_ENDED: SendFailure = SendFailure {
    errno: Errno::ConnectionReset,
    cause: Cause::RemoteError,
    delivery: Delivery::Deduplicated,
};

const fn returned(errno: Errno, cause: Cause) -> SendFailure {
    SendFailure { errno, cause, delivery: Delivery::Returned }
}

/// Applies a confirmation to the message; returns the result of the attempt.
fn settle(message: &mut OutgoingMessage, confirmation: Confirmation) -> Result<(), SendFailure> {
    message.gateway = None;
    message.may_have_arrived |= confirmation == Confirmation::Unknown;
    match confirmation {
        Confirmation::Delivered => Ok(()),
        Confirmation::NotDelivered | Confirmation::Unknown => {
            Err(returned(Errno::HostUnreachable, Cause::RemoteDropped))
        }
        Confirmation::Withheld => Err(SendFailure {
            delivery: Delivery::Withheld,
            ..returned(Errno::HostUnreachable, Cause::RemoteError)
        }),
    }
}

//! Forwarding: messages for other nodes (core-behaviour 7.2).

use super::DataPath;
use crate::model::lnd::{DeferredRx, RxAction};
use crate::model::message::{OutgoingMessage, Pooled, TransitMessage};
use crate::model::{Ni, Onward, PeerNi, PreviousHop, Provenance, RouterBuffer};
use crate::router::{BufferGrant, BufferRequest, Served, Waiting};
use crate::select::ChosenPath;
use crate::stats::MessageOutcome;
use lnet_log::LogClass;
use lnet_wire::{Errno, Header, Nid, ProcessId};
use std::sync::Arc;

/// The log text for a message for another node that arrives at a node which does not forward.
const NO_ROUTER: &str = "destination is another node, and this one is no router";

impl DataPath {
    /// A message that has arrived for another node.
    #[inline(always)]
    pub(crate) fn transit(
        &self,
        ni: &Arc<Ni>,
        from: Nid,
        peer_ni: Option<Arc<PeerNi>>,
        header: &Header,
        provenance: &Provenance,
    ) -> Pooled<TransitMessage> {
        let mut message: Pooled<TransitMessage> = self.new_message(peer_ni.as_ref(), header);
        message.from = from;
        message.origin = provenance.origin();
        message.previous_hop = provenance.hop.map(|name| PreviousHop { ni: Arc::clone(ni), from, name });
        message.ni = Some(Arc::clone(ni));
        message.peer_ni = peer_ni;
        message
    }

    /// Receives a message for another node, to which `onward` leads, as soon as a buffer is free for it (RT-10).
    pub(crate) fn forward(
        &self,
        ni: &Ni,
        onward: Option<Onward>,
        message: Pooled<TransitMessage>,
        make_deferred: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> RxAction {
        if !self.topology.forwards() {
            return self.discard_transit(message, NO_ROUTER);
        }
        let Some(onward) = onward else {
            return self.discard_transit(message, "no route to the net of its destination");
        };
        let Some(from) = message.peer_ni.as_ref().map(|peer_ni| peer_ni.nid()) else {
            return self
                .discard_transit(message, "destination is another node, but it came over the loopback");
        };
        if onward == Onward::ToRouter
            && let Some(carried) = message.origin
            && self.unconfirmed.has_come_back(carried, |nid| self.topology.is_same_peer(nid, from))
        {
            return self.discard_transit(message, "it goes in a circle: this node has forwarded it before");
        }
        let share = ni.tunables().router_share();
        let request = BufferRequest { message, cpt: ni.cpt_of(from) as usize, from, share, onward };
        let begin_wait = |message: &mut TransitMessage| {
            self.begin_buffer_wait(message);
            make_deferred()
        };
        match self.router_buffers.apply(request, begin_wait) {
            BufferGrant::Granted(message) => RxAction::Deliver(message.into()),
            BufferGrant::Waits => RxAction::Defer,
            BufferGrant::Refused(message) => self.discard_transit(message, NO_ROUTER),
        }
    }

    /// Sends a message on that has been received into its buffer.
    pub(crate) fn transit_received(&self, mut message: Pooled<TransitMessage>, result: Result<(), Errno>) {
        self.note_received(&message, result);
        self.note_pace(&mut message, result);
        if let Some(arrival) = message.arrival.take() {
            return self.arrival_ended(message, &arrival, result);
        }
        if result.is_err() {
            return self.forget_transit(message);
        }
        let destination = message.destination.take();
        match message.into_forwarded() {
            Ok(message) => self.send_onwards(message, destination),
            Err(message) => self.forget_transit(message),
        }
    }

    /// Sends a message on whose payload is complete. `destination` is the peer NI that it is for, if that was known when it arrived.
    pub(super) fn send_onwards(
        &self,
        mut message: Pooled<OutgoingMessage>,
        destination: Option<Arc<PeerNi>>,
    ) {
        message.deadline = self.deadline_from_now();
        // The peer may have been removed meanwhile.
        let revision = self.topology.peers().revision().get();
        let known = destination.filter(|peer_ni| peer_ni.routing().onward_at(revision).is_some());
        let Some(destination) = known.or_else(|| self.destination_onwards(&message)) else {
            return self.drop_forwarded(message, "this node knows as many peers as it may");
        };
        if let Some(ni) = self.topology.take_only_path(&destination) {
            message.next_hop = ProcessId { nid: destination.nid(), pid: message.header.dest_pid };
            (message.ni, message.peer_ni) = (Some(ni), Some(destination));
            if message.is_reserved() {
                self.note_request(&message);
            }
            return self.launch(message);
        }
        match self.select_path_onwards_to(&message, &destination) {
            Ok(chosen) => {
                self.readdress(&mut message, chosen);
                self.launch(message);
            }
            Err(_) => self
                .drop_forwarded(message, "no way to its destination is up, but for the net that it came by"),
        }
    }

    fn discard_transit(&self, message: Pooled<TransitMessage>, why: &'static str) -> RxAction {
        self.log_drop(&message.header, why);
        self.count(&message, MessageOutcome::Dropped);
        self.forget_transit(message);
        RxAction::Discard
    }

    /// Drops a message for which there is no path onwards.
    fn drop_forwarded(&self, mut message: Pooled<OutgoingMessage>, why: &'static str) {
        let Header { src_nid: from, dest_nid: to, body, .. } = &message.header;
        self.env.log(
            LogClass::TransitDropped,
            from,
            format_args!("{} {from} -> {to} dropped ({why})", body.kind()),
        );
        self.count(&message, MessageOutcome::Dropped);
        self.report_sent(&mut message, Err(Errno::HostUnreachable.into()));
        self.retire(message);
    }

    /// The path of a forwarded message: to its very destination NID, if that works, or to a gateway.
    pub(crate) fn select_path_onwards(&self, message: &OutgoingMessage) -> Result<ChosenPath, Errno> {
        let destination = self.destination_onwards(message).ok_or(Errno::NoMemory)?;
        self.select_path_onwards_to(message, &destination)
    }

    /// The peer NI that a forwarded message is for. Their number is limited, so that messages to NIDs that do not exist cannot fill the
    /// table of peers.
    fn destination_onwards(&self, message: &OutgoingMessage) -> Option<Arc<PeerNi>> {
        self.peer_ni_if_room(message.header.dest_nid)
    }

    fn select_path_onwards_to(
        &self,
        message: &OutgoingMessage,
        destination: &Arc<PeerNi>,
    ) -> Result<ChosenPath, Errno> {
        let chosen = self.select_path_from(None, message, destination)?;
        if !chosen.is_dead() {
            return Ok(chosen);
        }
        if let Some(other) = self.select_path_to_other_nid(message, destination) {
            return Ok(other);
        }
        // The previous hop may know a gateway with a better path.
        match message.is_returnable() {
            true => Err(Errno::HostUnreachable),
            false => Ok(chosen),
        }
    }

    /// Returns the buffer of a message that has ended; waiting messages may get it.
    pub(crate) fn return_buffer(&self, buffer: Box<RouterBuffer>) {
        if let Some(served) = self.router_buffers.give_back(buffer) {
            self.resume_served(served);
        }
    }

    #[inline(never)]
    fn resume_served(&self, served: Served) {
        self.resume_waiting(served.by_buffer.into_iter().chain(served.by_credit));
    }

    /// Resumes messages that have got their buffers: their drivers receive them.
    pub(crate) fn resume_waiting(&self, waiting: impl IntoIterator<Item = Waiting>) {
        for Waiting { mut message, deferred, .. } in waiting {
            self.count_buffer_wait(&mut message);
            deferred.resume(RxAction::Deliver(message.into()));
        }
    }

    /// Drops messages that waited for a buffer.
    pub(crate) fn drop_waiting(&self, waiting: Vec<Waiting>, why: &'static str) {
        for Waiting { message, deferred, .. } in waiting {
            self.discard_transit(message, why);
            deferred.resume(RxAction::Discard);
        }
    }
}

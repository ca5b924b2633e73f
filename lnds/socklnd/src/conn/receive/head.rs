//! Heads of messages: decoding, duplicates, delivery ACKs, and the core's decision about the payload.

use super::Flow;
use super::acks::WithRequest;
use super::state::{Pending, ReceiveSide, Report, RxEnd};
use crate::conn::Connection;
use crate::conn::deferred_rx::Deferred;
use crate::decide::delivery_acks::AcksIn;
use crate::proto::checksum::Checksum;
use crate::proto::frame::{self, Cookies, FRAME_LEN, Incoming};
use crate::remote_nodes::{Dedup, Parked, ParkedState};
use lnd_common::message_id::MessageId;
use lnet_core::lnd::{DeferredRx, RxAction};
use lnet_core::{CarriedOrigin, Confirmation, Provenance};
use lnet_wire::{Body, Header};
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

impl Connection {
    /// Takes a head out of the buffer, or reads if it is not complete.
    pub(super) fn decode(
        self: &Arc<Self>,
        side: &mut ReceiveSide,
        drained: &mut bool,
    ) -> Result<Flow, RxEnd> {
        let mut incoming = match side.buffer.bytes() {
            // As before and after most reads.
            [] => Ok(Incoming::Need(0)),
            bytes => frame::decode(self.terms.version, self.terms.order, bytes),
        };
        match &mut incoming {
            Err(error) => Err(RxEnd::ProtocolViolation(error.to_string())),
            Ok(Incoming::Need(_)) if *drained => Ok(Flow::Pause),
            Ok(Incoming::Need(len)) => {
                // An origin makes this head longer than the last one.
                side.head_len = side.head_len.max(*len);
                self.read(side, drained)
            }
            Ok(Incoming::Noop { cookies, checksum }) => self.on_noop(side, *cookies, *checksum),
            Ok(Incoming::Confirmation { confirmation, cookies, checksum }) => {
                self.on_confirmation(side, *confirmation, *cookies, *checksum)
            }
            Ok(Incoming::Message { carried: Some(_), .. }) if !self.same_implementation() => {
                Err(RxEnd::ProtocolViolation("a message with an origin".into()))
            }
            Ok(Incoming::Message { cookies, checksum, carried, header, len }) => {
                match self.check_duplicate(side, cookies.request) {
                    Dedup::Busy => {
                        self.scheduler.schedule(Arc::clone(self));
                        Ok(Flow::Pause)
                    }
                    Dedup::Invalid => Err(RxEnd::ProtocolViolation(format!(
                        "a message with the invalid ID {:#x}",
                        cookies.request
                    ))),
                    dedup => {
                        let mut pending = self.take_head(side, *cookies, *checksum, header, *len, &dedup);
                        pending.kept = carried.is_none() && header.dest_nid.net() == self.lnet_ni.nid().net();
                        self.on_message(side, *cookies, header, pending, *carried, dedup)
                    }
                }
            }
        }
    }

    fn on_noop(
        self: &Arc<Self>,
        side: &mut ReceiveSide,
        cookies: Cookies,
        checksum: u32,
    ) -> Result<Flow, RxEnd> {
        take_frame(side, checksum)?;
        self.acknowledge(AcksIn::by_noop(self.terms.version, cookies), WithRequest::No, &mut side.reports)?;
        Ok(Flow::Continue)
    }

    fn on_confirmation(
        self: &Arc<Self>,
        side: &mut ReceiveSide,
        confirmation: Confirmation,
        cookies: Cookies,
        checksum: u32,
    ) -> Result<Flow, RxEnd> {
        take_frame(side, checksum)?;
        let id = MessageId::of(cookies.request).filter(|_| self.same_implementation());
        let Some(id) = id else {
            return Err(RxEnd::ProtocolViolation("a confirmation that nobody asked for".into()));
        };
        self.acknowledge(
            AcksIn::by_message(self.terms.version, cookies),
            WithRequest::No,
            &mut side.reports,
        )?;
        side.reports.push_back(Report::Confirmed(id.first(), confirmation));
        Ok(Flow::Continue)
    }

    /// Takes the head of a message, of `len` bytes, out of the buffer.
    fn take_head(
        &self,
        side: &mut ReceiveSide,
        cookies: Cookies,
        checksum: u32,
        header: &Header,
        len: usize,
        dedup: &Dedup,
    ) -> Pending {
        let message_id = MessageId::of(cookies.request).filter(|_| self.same_implementation());
        let bytes = side.buffer.bytes().get(..len).unwrap_or_default();
        let pending = Pending {
            length: header.payload_length as usize,
            ack: Some(cookies.request).filter(|cookie| *cookie != 0),
            ack_for: self.ack_for(header),
            message_id: message_id.filter(|_| !matches!(dedup, Dedup::Duplicate)),
            kept: true,
            kept_until: None,
            check: (checksum != 0).then(|| (checksum, head_checksum(bytes))),
        };
        side.buffer.consume(len);
        side.head_len = len;
        side.heads += 1;
        pending
    }

    /// Handles the head of a message: first its delivery ACKs, then the memory for its payload.
    fn on_message(
        self: &Arc<Self>,
        side: &mut ReceiveSide,
        cookies: Cookies,
        header: &mut Header,
        pending: Pending,
        carried: Option<CarriedOrigin>,
        dedup: Dedup,
    ) -> Result<Flow, RxEnd> {
        let is_request = matches!(header.body, Body::Put { .. } | Body::Get { .. });
        let acks_in = AcksIn::by_message(self.terms.version, cookies);
        let is_single = || side.batch.is_single(side.heads, side.buffer.bytes().len(), pending.length);
        let with_request = match is_request {
            false => WithRequest::No,
            true if is_single() => WithRequest::Single,
            true => WithRequest::Several,
        };
        let acknowledged = self.acknowledge(acks_in, with_request, &mut side.reports);
        match dedup {
            Dedup::Resumed(parked) => match acknowledged {
                Ok(()) => self.resume(side, *parked, pending),
                Err(end) => {
                    parked.end();
                    Err(end)
                }
            },
            Dedup::Duplicate => {
                acknowledged?;
                self.ni.counts.duplicates.add();
                self.begin(side, RxAction::Discard, pending)
            }
            Dedup::New | Dedup::Busy | Dedup::Invalid => {
                acknowledged?;
                self.ask_core(side, header, carried, pending)
            }
        }
    }

    /// Receives a message again that had arrived in part before.
    #[cold]
    fn resume(
        self: &Arc<Self>,
        side: &mut ReceiveSide,
        parked: Parked,
        pending: Pending,
    ) -> Result<Flow, RxEnd> {
        if parked.length != pending.length {
            parked.end();
            return Err(RxEnd::ProtocolViolation("a message again, with another length".into()));
        }
        self.ni.counts.resumed.add();
        let pending = Pending { kept_until: Some(parked.until), ..pending };
        match parked.state {
            ParkedState::Matched(message) => self.begin(side, RxAction::Deliver(message), pending),
            ParkedState::Deferred(deferred) => {
                deferred.move_to(self);
                Ok(self.defer(side, deferred, pending))
            }
        }
    }

    /// Requests the core's decision about a message.
    fn ask_core(
        self: &Arc<Self>,
        side: &mut ReceiveSide,
        header: &mut Header,
        carried: Option<CarriedOrigin>,
        pending: Pending,
    ) -> Result<Flow, RxEnd> {
        self.terms.identity.relabel(header);
        let hop = pending.message_id.and_then(|id| self.origin(id.first()));
        let provenance = Provenance { hop, carried, ..Provenance::default() };
        let (deferred, spare) = (OnceCell::new(), RefCell::new(&mut side.deferred));
        let new = || Deferred::new(&mut spare.borrow_mut(), &self.ni, self);
        let defer = || Arc::clone(deferred.get_or_init(new)) as Arc<dyn DeferredRx>;
        let action =
            self.ni.upcalls.receive(&self.lnet_ni, self.terms.identity.id.nid, header, &provenance, &defer);
        match (action, deferred.into_inner()) {
            (RxAction::Defer, Some(deferred)) => Ok(self.defer(side, deferred, pending)),
            (action, _) => self.begin(side, action, pending),
        }
    }
}

/// Takes a frame without a message out of the buffer.
fn take_frame(side: &mut ReceiveSide, checksum: u32) -> Result<(), RxEnd> {
    let bytes = side.buffer.bytes().get(..FRAME_LEN).unwrap_or_default();
    if checksum != 0 && head_checksum(bytes).value() != checksum {
        return Err(RxEnd::ProtocolViolation("a NOOP with a wrong checksum".into()));
    }
    side.buffer.consume(FRAME_LEN);
    side.heads += 1;
    Ok(())
}

/// Computes the checksum of a head, with its checksum field as 0.
fn head_checksum(head: &[u8]) -> Checksum {
    let mut sum = Checksum::new();
    sum.update(head.get(..4).unwrap_or_default());
    sum.update(&[0; 4]);
    sum.update(head.get(8..).unwrap_or_default());
    sum
}

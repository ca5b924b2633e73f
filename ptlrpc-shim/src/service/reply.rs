//! Answers on their way (PR-21, PR-40, PR-41, PR-72).

use super::admit::Head;
use super::counts::Tally;
use super::difficult::{Happened, Outstanding};
use super::early::Patience;
use super::flights::Flight;
use super::handler::Reply;
use super::housekeeper::House;
use super::incoming::Arrived;
use super::request::{Admitted, Route};
use super::server::Core;
use crate::errno::Errno;
use crate::lnet::{Ack, Event, EventHandler, EventKind, MdSpec, Nid, ProcessId, Region};
use crate::message::checksum::seal_early_reply;
use crate::message::header::BODY_ONLY_LEN;
use crate::message::{Body, ConnectFlags, MessageFlags, MessageKind, MessageMut, size_of_message};
use std::sync::Arc;

/// What an answer says in its body, beside what it repeats.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    pub(super) last_committed: u64,
    /// Seconds that the request took.
    pub(super) service_time: u32,
    /// Seconds that requests take.
    pub(super) estimate: u32,
}

/// A message for a client's reply buffer.
#[derive(Clone)]
pub(super) struct Parcel {
    pub(super) region: Arc<Region>,
    pub(super) bits: u64,
    pub(super) offset: u32,
}

/// A reply that could not be sent, and is to go another way.
pub(super) struct Again {
    parcel: Parcel,
    to: ProcessId,
}

struct ReplySink {
    house: Arc<House>,
    tally: Arc<Tally>,
    difficult: Option<Arc<Outstanding>>,
    again: Option<Again>,
    _flight: Flight,
}

/// Writes a reply. `EOVERFLOW`: it is longer than `max_reply`, or than anything that can be written.
pub(super) fn build(head: &Head, reply: &Reply, facts: Facts, max_reply: usize) -> Result<Region, Errno> {
    let body = Body {
        status: reply.status,
        transno: reply.transno,
        last_committed: facts.last_committed,
        service_time: facts.service_time,
        timeout: facts.estimate,
        ..Body::reply_to(&head.body)
    };
    build_message(head, &body, &reply.buffers, max_reply)
}

/// Writes a message that answers, with this body.
pub(super) fn build_message(
    head: &Head,
    body: &Body,
    buffers: &[Vec<u8>],
    max_reply: usize,
) -> Result<Region, Errno> {
    let of_buffers = buffers.iter().map(|buffer| u32::try_from(buffer.len()).unwrap_or(u32::MAX));
    let lengths: Vec<u32> = std::iter::once(Body::LEN as u32).chain(of_buffers).collect();
    let size = size_of_message(&lengths).filter(|size| *size <= max_reply).ok_or(Errno::OVERFLOW)?;
    let mut region = Region::zeroed(size);
    let mut message = MessageMut::new(region.bytes_mut(), &lengths).map_err(|bad| bad.errno())?;
    message.set_body(body);
    if head.at_support {
        message.set_flags(MessageFlags::AT_SUPPORT);
    }
    for (index, buffer) in buffers.iter().enumerate() {
        if let Some(to) = message.buffer_mut(index + 1) {
            to.copy_from_slice(buffer);
        }
    }
    Ok(region)
}

impl Parcel {
    /// A reply: behind the room for early ones, where there is some.
    pub(super) fn reply(region: Arc<Region>, route: &Route) -> Self {
        let offset = if route.at_support { BODY_ONLY_LEN as u32 } else { 0 };
        Self { region, bits: route.reply_bits, offset }
    }
}

/// Sends a reply the way the request came, backwards. `peer`: where it goes if that fails, by the service's fall-back.
pub(super) fn send(
    core: &Core,
    parcel: Parcel,
    route: &Route,
    peer: ProcessId,
    difficult: Option<Arc<Outstanding>>,
) {
    let again = core.config.reply_fallback.then(|| Again { parcel: parcel.clone(), to: peer });
    post(core, Some(route.self_nid), route.source, parcel, difficult, again);
}

/// Sends a reply by any interface.
pub(super) fn send_again(core: &Core, again: Again) {
    core.tally.replies_again.one();
    post(core, None, again.to, again.parcel, None, None);
}

/// Tells the client to wait longer (PR-72).
pub(super) fn send_early(core: &Core, admitted: &Admitted, route: Route, patience: Patience) {
    let body = Body { timeout: patience.seconds(), ..Body::reply_to(&admitted.head.body) };
    let mut region = Region::zeroed(BODY_ONLY_LEN);
    let Ok(mut message) = MessageMut::new(region.bytes_mut(), &[Body::LEN as u32]) else { return };
    message.set_body(&body);
    message.set_flags(MessageFlags::AT_SUPPORT);
    seal_early_reply(&mut message);
    core.tally.early_replies.one();
    let parcel = Parcel { region: Arc::new(region), bits: route.reply_bits, offset: 0 };
    post(core, Some(route.self_nid), route.source, parcel, None, None);
}

/// Answers a request at which nobody has looked, with an error (kind 4712).
pub(super) fn refuse(core: &Core, arrived: &Arrived, head: &Head, agreed: ConnectFlags, errno: Errno) {
    core.tally.refused.one();
    let body = Body { kind: MessageKind::Error, status: errno.to_c(), ..Body::reply_to(&head.body) };
    let Ok(region) = build_message(head, &body, &[], core.config.max_reply) else { return };
    let route = Route::new(arrived, head, agreed);
    send(core, Parcel::reply(Arc::new(region), &route), &route, arrived.peer, None);
}

fn post(
    core: &Core,
    from: Option<Nid>,
    to: ProcessId,
    parcel: Parcel,
    difficult: Option<Arc<Outstanding>>,
    again: Option<Again>,
) {
    let flight = core.flights.begin();
    let id = flight.id();
    let (threshold, ack) = if difficult.is_some() { (2, Ack::Wanted) } else { (1, Ack::No) };
    let sink = Arc::new(ReplySink {
        house: Arc::clone(&core.house),
        tally: Arc::clone(&core.tally),
        difficult: difficult.clone(),
        again,
        _flight: flight,
    });
    let spec = MdSpec::active(parcel.region, threshold);
    let md = match core.node.bind(&spec, Arc::clone(&sink) as Arc<dyn EventHandler>) {
        Ok(md) => md,
        Err(errno) => return sink.failed(errno),
    };
    core.flights.name(id, md);
    // Its client may have gone before there was a descriptor.
    let is_over = difficult.is_some_and(|difficult| !difficult.name(md));
    let portal = core.config.reply_portal.0;
    if let Err(errno) = core.node.put(from, md, ack, to, portal, parcel.bits, parcel.offset, 0) {
        core.node.unlink(md);
        sink.failed(errno);
    } else if is_over {
        core.node.unlink(md);
    }
}

impl EventHandler for ReplySink {
    fn on_event(&self, event: &Event) {
        if let (EventKind::Send, Err(errno)) = (event.kind, event.status) {
            return self.failed(errno);
        }
        if let Some(difficult) = &self.difficult {
            difficult.event(event);
        }
    }
}

impl ReplySink {
    fn failed(&self, errno: Errno) {
        log::debug!("a reply could not be sent: {errno}");
        self.tally.replies_failed.one();
        if let Some(difficult) = &self.difficult {
            difficult.happened(Happened::Sent);
        }
        if let Some(again) = &self.again {
            self.house.send_again(Again { parcel: again.parcel.clone(), to: again.to });
        }
    }
}

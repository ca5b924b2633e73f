//! One message on its way out or in.
//!
//! The same object serves a whole exchange: a received PUT becomes its ACK, a received GET its REPLY.

use super::ni::Ni;
use super::peer_ni::PeerNi;
use crate::credit::NiCredit;
use crate::environment::time::Time;
use crate::event::{Event, EventKind};
use crate::memory::{Answer, Md, MemSlice};
use crate::stats::ShardId;
use crate::sync::{Mutex, lock};
use lnet_wire::{Body, Header, Nid, Pid, ProcessId, RESERVED_PORTAL, WireHandle};
use std::num::NonZeroU64;
use std::sync::Arc;

/// Bytes of a header on the wire.
const HEADER_LEN: u64 = 72;

/// A message that a driver sends, or whose payload it reads. Made by the core, handed back to the core.
#[derive(Debug)]
pub struct Message {
    pub(crate) header: Header,
    pub(crate) next_hop: ProcessId,
    /// Whose memory the payload is, and where in it.
    pub(crate) md: Option<Arc<Md>>,
    pub(crate) offset: u32,
    pub(crate) length: u32,
    /// What the MD's owner will be told when this is over; `None` when there is no MD to tell it of.
    pub(crate) event: Option<Event>,
    pub(crate) ni: Option<Arc<Ni>>,
    /// Not for messages over the loopback.
    pub(crate) peer_ni: Option<Arc<PeerNi>>,
    pub(crate) held: HeldCredits,
    /// Who it answers, as long as it counts among the answers to that one.
    pub(crate) answers: Option<Arc<PeerNi>>,
    /// Where it is counted as long as the node has it.
    pub(crate) counted: ShardId,
    /// The id under which a driver sent it first.
    pub(crate) message_id: Option<NonZeroU64>,
    /// The source that its sender asked for, if any: then it goes by no other.
    pub(crate) source: Option<Nid>,
    /// After this it is not sent again.
    pub(crate) deadline: Time,
    /// How often it was sent again by a path that had failed.
    pub(crate) attempts: u32,
    /// How often it was sent again at all.
    pub(crate) resends: u32,
    /// the paths by which it has failed since all had been tried, this node's NID first.
    pub(crate) failed: Vec<(Nid, Nid)>,
    /// Whether paths by which it has failed, and on which something was heard since, have counted as untried once.
    pub(crate) has_returned: bool,
    /// Whether it goes by an unresponsive path sooner than by one of those.
    pub(crate) tries_unresponsive: bool,
    /// It is to find out whether an unhealthy interface has recovered: nobody's health suffers from it (HE-10).
    pub(crate) recovery: bool,
}

/// The send credits that a message holds, which it must return once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldCredits {
    pub(crate) peer: bool,
    /// Not while it waits for one.
    pub(crate) ni: Option<NiCredit>,
}

/// Credits of a message that its driver still has: see [`Message::take_credits`].
#[derive(Debug)]
pub struct TakenCredits {
    pub(crate) ni: Option<(Arc<Ni>, NiCredit)>,
    pub(crate) peer_ni: Option<Arc<PeerNi>>,
    pub(crate) next_hop: Nid,
    pub(crate) bytes: u64,
}

impl Message {
    /// Takes the send credits that it holds, for [`crate::model::lnd::Upcalls::release_credits`]: it is stuck on an unresponsive
    /// path, and others are not to wait for it. `None` if it holds none any more.
    pub fn take_credits(&mut self) -> Option<TakenCredits> {
        let held = std::mem::take(&mut self.held);
        (held.ni.is_some() || held.peer).then(|| TakenCredits {
            ni: self.ni.clone().zip(held.ni),
            peer_ni: self.peer_ni.clone().filter(|_| held.peer),
            next_hop: self.next_hop.nid,
            bytes: self.wire_len(),
        })
    }

    /// The header, complete, as it goes on the wire (or came off it).
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The node to hand it to: its destination, or a router on the way there.
    pub const fn next_hop(&self) -> ProcessId {
        self.next_hop
    }

    /// Bytes of [`Message::payload`]: on the way out what follows the header; on the way in what is wanted
    /// of it, which may be less than the header announces.
    pub const fn payload_len(&self) -> usize {
        self.length as usize
    }

    /// The id that a driver gave it when it was sent first, by which the peer recognises it if it comes by another
    /// path; `None` for a message that was never sent, or without an id.
    pub const fn message_id(&self) -> Option<NonZeroU64> {
        self.message_id
    }

    /// Gives it that id. Once: the first one stays.
    pub fn set_message_id(&mut self, id: NonZeroU64) {
        self.message_id.get_or_insert(id);
    }

    /// Whether what it asked for has come: it has arrived, whatever its driver knows of that.
    pub(crate) fn is_answered(&self) -> bool {
        let Some(answer) = answer_to(&self.header.body) else { return false };
        self.event.as_ref().is_some_and(|event| event.kind == EventKind::Send)
            && self.md.as_ref().is_some_and(|md| md.is_answered(answer))
    }

    /// Whether the owner of its memory does not want it any more: a driver need not go out of its way for it.
    pub fn is_given_up(&self) -> bool {
        self.md.as_ref().is_some_and(|md| md.is_aborted())
    }

    /// Whether it is a request to the reserved portal.
    pub(crate) const fn is_reserved(&self) -> bool {
        matches!(
            self.header.body,
            Body::Put { portal: RESERVED_PORTAL, .. } | Body::Get { portal: RESERVED_PORTAL, .. }
        )
    }

    /// Whether it may go to a peer of one rail by any interface: a request to the reserved portal, and an answer, which its
    /// receiver knows by a handle. A node that was just started knows all by one NID each, and may have heard them on a
    /// better path than the first one.
    pub(crate) const fn leaves_by_any(&self) -> bool {
        self.is_reserved() || matches!(self.header.body, Body::Ack { .. } | Body::Reply { .. })
    }

    /// Bytes that it is on the wire, header included.
    pub(crate) const fn wire_len(&self) -> u64 {
        HEADER_LEN + self.length as u64
    }

    /// The memory to send from or to read into.
    pub fn payload(&self) -> MemSlice<'_> {
        self.md.as_ref().map_or(MemSlice::EMPTY, |md| md.memory().slice(self.offset, self.length))
    }

    fn blank() -> Self {
        let nobody = WireHandle { interface_cookie: 0, object_cookie: 0 };
        Self {
            header: Header {
                dest_nid: Nid::LOOPBACK,
                src_nid: Nid::LOOPBACK,
                dest_pid: Pid(0),
                src_pid: Pid(0),
                payload_length: 0,
                body: Body::Reply { handle: nobody },
            },
            next_hop: ProcessId { nid: Nid::LOOPBACK, pid: Pid(0) },
            md: None,
            offset: 0,
            length: 0,
            event: None,
            ni: None,
            peer_ni: None,
            held: HeldCredits::default(),
            answers: None,
            counted: ShardId::default(),
            message_id: None,
            source: None,
            deadline: Time::START,
            attempts: 0,
            resends: 0,
            failed: Vec::new(),
            has_returned: false,
            tries_unresponsive: false,
            recovery: false,
        }
    }
}

/// What a message asks to be answered with.
pub(crate) const fn answer_to(body: &Body) -> Option<Answer> {
    match body {
        Body::Put { ack: Some(_), .. } => Some(Answer::Ack),
        Body::Get { .. } => Some(Answer::Reply),
        _ => None,
    }
}

/// Messages kept for the next use, so that the steady state allocates nothing.
#[derive(Debug, Default)]
#[allow(clippy::vec_box, reason = "the boxes are what is kept")]
pub(crate) struct MessagePool(Mutex<Vec<Box<Message>>>);

/// More than a peer's default credits each way; what a burst leaves beyond it is freed.
const KEPT: usize = 32;

impl MessagePool {
    pub(crate) fn take(&self, header: Header) -> Box<Message> {
        let mut message = lock(&self.0).pop().unwrap_or_else(|| Box::new(Message::blank()));
        message.header = header;
        message
    }

    /// Takes back a message that refers to nothing any more.
    pub(crate) fn put(&self, mut message: Box<Message>) {
        *message = Message::blank();
        let mut kept = lock(&self.0);
        if kept.len() < KEPT {
            kept.push(message);
        }
    }
}

//! The roles of messages that this node sends: what depends on them.

use super::message::{
    Asker, Forwarded, MessageHead, OutgoingMessage, Pooled, Request, Response, Role, response_to,
};
use super::peer_ni::PeerNi;
use crate::credit::{SenderId, Sent};
use crate::md::Md;
use crate::memory::EqHandle;
use lnet_wire::{NetId, Nid, Pid};
use std::sync::Arc;

impl OutgoingMessage {
    /// Sets the role of the message.
    #[inline(always)]
    pub(crate) fn begin(&mut self, role: Role) {
        match self.role {
            // There is nothing to drop, which the compiler does not know.
            Role::Response(Response { get: None, asker: Asker::None, .. }) => {
                std::mem::forget(std::mem::replace(&mut self.role, role));
            }
            _ => self.role = role,
        }
    }
}

impl Asker {
    /// The peer NI that counts `message`, whose asker this is, as a pending response.
    #[inline(always)]
    pub(crate) fn peer_ni<'a>(&'a self, message: &'a MessageHead) -> Option<&'a Arc<PeerNi>> {
        match self {
            Self::None => None,
            Self::OfMessage => message.peer_ni.as_ref(),
            Self::Other(asker) => Some(asker),
        }
    }
}

/// The role that refers to nothing, of a message that has ended.
impl Default for Role {
    fn default() -> Self {
        Self::Response(Response::default())
    }
}

/// A program that shares the node is the sender of its requests, and of the REPLYs from its memory.
impl Sent for Pooled<OutgoingMessage> {
    fn sender(&self) -> SenderId {
        let node = Pid(SenderId::default().0);
        SenderId(self.md().map_or(node, |md| md.pid(node)).0)
    }
}

/// Methods about the role.
impl OutgoingMessage {
    /// The MD of the payload: none of an ACK, or of a message that is forwarded.
    pub(crate) const fn md(&self) -> Option<&Arc<Md>> {
        match &self.role {
            Role::Request(request) => Some(&request.md),
            Role::Response(Response { get: Some(get), .. }) => Some(&get.operation.md),
            Role::Response(Response { get: None, .. }) | Role::Forwarded(_) => None,
        }
    }

    /// The queue for the event to report when the message ends.
    pub(crate) fn event_queue(&self) -> Option<EqHandle> {
        match &self.role {
            Role::Request(Request { report: None, .. }) => None,
            _ => self.md()?.spec().eq,
        }
    }

    /// The only NID by which the message may leave, if there is only one: the caller of a request asked for it, or the response
    /// leaves by the path of its request.
    pub(crate) const fn source(&self) -> Option<Nid> {
        match &self.role {
            Role::Request(request) => request.source,
            Role::Response(Response { stays_on_path: true, .. }) => Some(self.head.header.src_nid),
            Role::Response(_) | Role::Forwarded(_) => None,
        }
    }

    /// Whether the message may leave only by the path that its request came by.
    pub(crate) const fn stays_on_path(&self) -> bool {
        matches!(self.role, Role::Response(Response { stays_on_path: true, .. }))
    }

    /// Whether this node forwards the message from one node to another.
    pub(crate) const fn is_forwarded(&self) -> bool {
        matches!(self.role, Role::Forwarded(_))
    }

    /// Whether the message can be returned to the node that it came from, which waits for its confirmation.
    pub(crate) const fn is_returnable(&self) -> bool {
        matches!(self.role, Role::Forwarded(Forwarded { previous_hop: Some(_), .. }))
    }

    /// The net from which a forwarded message arrived.
    pub(crate) fn came_by(&self) -> Option<NetId> {
        match &self.role {
            Role::Forwarded(forwarded) => forwarded.buffer.as_ref()?.from.map(Nid::net),
            Role::Request(_) | Role::Response(_) => None,
        }
    }

    /// Whether the message repeats a request whose result another message reports.
    pub(crate) const fn is_copy(&self) -> bool {
        matches!(self.role, Role::Request(Request { report: None, .. }))
    }

    /// Whether the response to the message has arrived, which proves that the message has arrived, whatever its driver reports.
    pub(crate) fn has_response(&self) -> bool {
        let Role::Request(request) = &self.role else { return false };
        response_to(&self.header.body).is_some_and(|response| request.md.has_response(response))
    }
}

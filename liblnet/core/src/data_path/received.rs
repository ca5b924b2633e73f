//! The completion of a message whose payload has been received: its event, and the ACK or REPLY to it.

use super::DataPath;
use crate::memory::MdOptions;
use crate::model::message::Pooled;
use crate::model::message::{Asker, IncomingMessage, MessageHead, Operation};
use crate::stats::MessageOutcome;
use lnet_wire::{Body, Errno, Pid, RESERVED_PORTAL, WireHandle};
use std::sync::Arc;

impl DataPath {
    /// Handles a message for this node whose payload has been received or has failed.
    #[inline]
    pub(super) fn incoming_received(&self, mut message: Pooled<IncomingMessage>, result: Result<(), Errno>) {
        match (message.origin, result) {
            (None, _) => {}
            (Some(origin), Ok(())) => {
                message.origin = None;
                self.note_arrival(origin, &message);
            }
            (Some(origin), Err(_)) => match self.keep_partial(origin, message) {
                Some(failed) => message = failed,
                None => return,
            },
        }
        self.finish_received(message, result);
    }

    /// Completes a message for this node whose payload has been received, or has finally failed.
    #[inline(always)]
    pub(crate) fn finish_received(&self, message: Pooled<IncomingMessage>, result: Result<(), Errno>) {
        self.note_received(&message, result);
        if let (Ok(()), Some(peer_ni)) = (result, &message.peer_ni)
            && let Some(source) = &message.behind_gateway
            && source.nid().net() != peer_ni.nid().net()
        {
            self.health.heard_behind_gateway(&self.env, source);
        }
        match message.header.body {
            Body::Put { ack, match_bits, .. } => self.put_received(message, match_bits, ack, result),
            Body::Get { reply, .. } if result.is_ok() => self.reply_to(message, reply),
            _ => self.respond_to_received(message, result),
        }
    }

    /// Counts a message whose payload has been received, or has finally failed, and records that its path works.
    #[inline(always)]
    pub(crate) fn note_received(&self, message: &MessageHead, result: Result<(), Errno>) {
        match result {
            Ok(()) => self.count(message, MessageOutcome::Received),
            Err(_) => self.count(message, MessageOutcome::Dropped),
        }
        match (result, &message.ni, &message.peer_ni) {
            (Err(_), ..) => self.message_counters.error(),
            (Ok(()), Some(ni), Some(peer_ni)) => {
                self.health.heard(&self.env, &self.topology, ni, peer_ni);
                if self.gateway_checks.any_down() {
                    self.recheck_gateway_now(peer_ni, message.header.src_nid != peer_ni.nid());
                }
            }
            _ => {}
        }
    }

    /// Reports the PUT event, then sends the ACK, if one is requested and the PUT succeeded: at once, or when a program in another
    /// process has handled the event.
    #[inline(always)]
    fn put_received(
        &self,
        mut message: Pooled<IncomingMessage>,
        match_bits: u64,
        ack: Option<WireHandle>,
        result: Result<(), Errno>,
    ) {
        let Some(Operation { md, length, .. }) = &message.operation else { return self.forget(message) };
        let ack = ack.filter(|_| result.is_ok() && !md.options().has(MdOptions::ACK_DISABLE));
        let client = ack.and_then(|_| md.acknowledging_client()).map(Arc::clone);
        // Counted before the event: if its handler shuts the node down, the ACK is still sent.
        let is_counted = ack.is_some() && client.is_none();
        let asker = if is_counted { self.count_response(&message) } else { Asker::None };
        let pid = self.sender_pid(md, message.from.is_loopback());
        let accepted = *length;
        self.end_operation(&mut message, result);
        let Some(handle) = ack else { return self.forget(message) };
        let body = Body::Ack { handle, match_bits, accepted };
        match client {
            None => self.respond(message, body, pid, asker),
            Some(client) => self.acknowledge_when_handled(message, body, pid, &*client),
        }
    }

    /// Sends the REPLY to a GET; the GET event is reported when it has left.
    fn reply_to(&self, message: Pooled<IncomingMessage>, handle: WireHandle) {
        let asker = self.count_response(&message);
        let reply = Body::Reply { handle };
        let client = message.operation.as_ref().and_then(|its| its.md.fetched_memory()).map(Arc::clone);
        match client {
            None => {
                let pid = self.pid_of_reply(&message);
                self.respond(message, reply, pid, asker);
            }
            Some(client) => self.reply_when_fetched(message, reply, asker, &*client),
        }
    }

    /// The PID that the REPLY to a GET comes from.
    pub(super) fn pid_of_reply(&self, get: &IncomingMessage) -> Pid {
        let stays_on_node = get.from.is_loopback();
        get.operation
            .as_ref()
            .map_or_else(|| self.env.pid(), |operation| self.sender_pid(&operation.md, stays_on_node))
    }

    /// Sends the response to a message, from this PID.
    pub(super) fn respond(&self, message: Pooled<IncomingMessage>, body: Body, pid: Pid, asker: Asker) {
        let is_ping = matches!(message.header.body, Body::Get { portal: RESERVED_PORTAL, .. });
        let mut message = message.into_response(body, pid, asker);
        let (asker, asked) = (message.header.dest_nid, message.header.src_nid);
        // A node that sends requests from many unknown NIDs gets its responses by the interface on which they came, and no
        // peers are created for these NIDs.
        if !message.stays_on_path()
            && asker.net() == asked.net()
            && asker != message.next_hop.nid
            && let Some(peer_ni) = self.topology.peer_ni(asker)
        {
            message.next_hop.nid = asker;
            message.change_peer_ni(Some(peer_ni));
        }
        if let (Some(ni), Some(peer_ni)) = (&message.ni, &message.peer_ni) {
            self.topology.note_answered(ni, peer_ni);
        }
        message.deadline = self.deadline_from_now();
        match is_ping && !self.topology.is_broken_path(&message) {
            true => self.launch(message),
            false => self.launch_response(message),
        }
    }

    #[inline(always)]
    fn respond_to_received(&self, mut message: Pooled<IncomingMessage>, result: Result<(), Errno>) {
        if result.is_ok() {
            self.count_response_delay(&mut message);
        }
        self.end_operation(&mut message, result);
        self.forget(message);
    }

    /// Reports the end of the operation of a message, if it has one, which does not answer it.
    #[inline(always)]
    fn end_operation(&self, message: &mut IncomingMessage, result: Result<(), Errno>) {
        if let Some(operation) = &message.operation {
            self.complete(operation, &message.header, message.from, result);
            message.operation = None;
        }
    }
}

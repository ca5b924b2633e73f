//! What every message and buffer becomes when a connection ends.

use super::queue::Queued;
use super::receiving::deliver_reply;
use super::{Conn, Context, Decision, Ended, Output, RxId, Sink, Then, Transfer, Undecided};
use crate::memory::Prepared;
use crate::message::{Arriving, Outgoing};
use lnd_common::conn_error::BytesSent;
use lnet_core::Errno;

/// A message that has arrived over a connection which ended before the core decided on it.
#[derive(Debug)]
pub(crate) enum Orphan<M> {
    /// All of it is here: the payload.
    Immediate(Box<[u8]>),
    /// Its payload will not come.
    Lost,
    /// The data of a GET of this node are in its memory.
    Reply(Transfer<M>),
}

impl<M: Outgoing, A: Arriving> Conn<M, A> {
    /// Ends the connection. Messages of which the peer has nothing are returned as such. When the device has forgotten the connection, it
    /// uses no memory of theirs any more.
    pub(crate) fn end(mut self, reason: &Ended, context: &mut Context<'_, M, A>) -> Vec<(RxId, Orphan<M>)> {
        let orphans = self.take_orphans(context);
        context.device.destroy(self.id);
        let error = reason.error();
        let mut finalize = |message: M, memory: Option<Prepared>, sent: BytesSent| {
            if let Some(memory) = memory {
                context.memory.end(context.device, memory, |_| ());
            }
            context.out.push(Output::Finalize(message, Err(error.failure(sent))));
        };
        for posted in self.posted {
            match posted.then {
                Then::Nothing => {}
                Then::Finalize(message) => finalize(message, None, BytesSent::Something),
                Then::End(message, memory) => finalize(message, Some(memory), BytesSent::Something),
            }
        }
        // The peer has the header of a PUT that waits for its PUT_ACK, and nothing of the payload: it has not received the message. Of a
        // GET that waits for its GET_DONE nothing has been delivered here. Both may take another path.
        for (_, Transfer { message, memory, .. }) in self.puts.into_iter().chain(self.gets) {
            finalize(message, Some(memory), BytesSent::Nothing);
        }
        for queued in self.queue.drain() {
            match queued {
                Queued::Noop | Queued::PutNak { .. } | Queued::PutAck { .. } => {}
                Queued::Immediate(message) => finalize(message, None, BytesSent::Nothing),
                Queued::PutRequest { message, memory } | Queued::GetRequest { message, memory } => {
                    finalize(message, Some(memory), BytesSent::Nothing);
                }
                Queued::PutDone { payload, .. } | Queued::GetDone { payload, .. } => {
                    if let Some((message, memory)) = payload {
                        finalize(message, Some(memory), BytesSent::Nothing);
                    }
                }
            }
        }
        for (_, Sink { arriving, memory, .. }) in self.sinks {
            context.memory.end(context.device, memory, |_| ());
            context.out.push(Output::Received(arriving, Err(Errno::ConnectionReset)));
        }
        orphans
    }

    /// Takes the messages that wait for a decision, with what is in the connection's buffers.
    fn take_orphans(&mut self, context: &Context<'_, M, A>) -> Vec<(RxId, Orphan<M>)> {
        let undecided = std::mem::take(&mut self.undecided);
        let orphan = |undecided| match undecided {
            Undecided::Immediate { slot, offset, len } => {
                let bytes = context.device.received(self.id, slot, offset + len);
                Orphan::Immediate(bytes[offset..].into())
            }
            Undecided::PutRequest { .. } | Undecided::GetRequest { .. } => Orphan::Lost,
            Undecided::Reply(transfer) => Orphan::Reply(transfer),
        };
        let rx = |serial| RxId { conn: self.id, serial };
        undecided.into_iter().map(|(serial, undecided)| (rx(serial), orphan(undecided))).collect()
    }
}

impl<M: Outgoing> Orphan<M> {
    /// The core has decided on the message.
    pub(crate) fn decided<A: Arriving>(self, decision: Decision<A>, context: &mut Context<'_, M, A>) {
        match (self, decision) {
            (Self::Immediate(bytes), Decision::Deliver(arriving)) => {
                arriving.fill(&bytes);
                context.out.push(Output::Received(arriving, Ok(())));
            }
            (Self::Lost, Decision::Deliver(arriving)) => {
                context.out.push(Output::Received(arriving, Err(Errno::ConnectionReset)));
            }
            (Self::Reply(transfer), decision) => deliver_reply(transfer, decision, context),
            (Self::Immediate(_) | Self::Lost, Decision::Discard | Decision::Reject(_)) => {}
        }
    }

    /// Ends a message that the core will not decide on any more.
    pub(crate) fn give_up<A: Arriving>(self, context: &mut Context<'_, M, A>) {
        self.decided(Decision::Discard, context);
    }
}

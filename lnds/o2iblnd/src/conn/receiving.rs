//! Messages of the peer, and what becomes of their payloads.

use super::credits::TooManyCredits;
use super::queue::Queued;
use super::{
    Asked, Conn, Context, Decision, Ended, Output, RxId, Sink, Terms, Transfer, Undecided, ViolationOf,
};
use crate::device::Slot;
use crate::message::{Arriving, Outgoing};
use crate::proto::{Body, Completion, Descriptor, Message, MessageKind, PAYLOAD_OFFSET};
use lnet_core::{Errno, SendFailure};
use lnet_wire::{Header, WireHandle};

/// What a message of the peer says, without its payload, which stays in the buffer.
enum Arrived {
    Noop,
    Immediate { header: Header, len: usize },
    PutReq { header: Header, cookie: u64 },
    PutNak(Completion),
    PutAck { src_cookie: u64, dst_cookie: u64, descriptor: Descriptor },
    PutDone(Completion),
    GetReq { header: Header, cookie: u64, descriptor: Descriptor },
    GetDone(Completion),
}

impl<M: Outgoing, A: Arriving> Conn<M, A> {
    /// A message has arrived in a buffer.
    pub(crate) fn received(
        &mut self,
        slot: Slot,
        len: usize,
        context: &mut Context<'_, M, A>,
    ) -> Result<(), Ended> {
        context.counters.messages += 1;
        self.progress_at = context.now;
        let (arrived, kind, credits) = self.decode(context.device.received(self.id, slot, len))?;
        self.credits.take(credits).map_err(|TooManyCredits { held, returned, depth }| {
            Ended::Violation(ViolationOf::TooManyCredits { held, returned, depth })
        })?;
        if kind.costs_credit(self.terms.version) && !self.credits.spend() {
            return Err(ViolationOf::NoCredit(kind).into());
        }
        match arrived {
            // The buffer keeps the payload until the core has decided.
            Arrived::Immediate { header, len } => {
                let undecided = Undecided::Immediate { slot, offset: PAYLOAD_OFFSET, len };
                self.ask(undecided, header, false, context);
            }
            other => {
                self.act_on(other, context)?;
                context.device.post_receive(self.id, slot).map_err(Ended::Local)?;
            }
        }
        self.pump(context)
    }

    /// The core has decided on a message.
    pub(crate) fn decided(
        &mut self,
        rx: RxId,
        decision: Decision<A>,
        context: &mut Context<'_, M, A>,
    ) -> Result<(), Ended> {
        let Some(undecided) = self.undecided.remove(&rx.serial) else {
            if let Decision::Deliver(arriving) = decision {
                context.out.push(Output::Received(arriving, Err(Errno::ConnectionReset)));
            }
            return Ok(());
        };
        match undecided {
            Undecided::Immediate { slot, offset, len } => {
                let result = match decision {
                    Decision::Deliver(arriving) => {
                        let bytes = context.device.received(self.id, slot, offset + len);
                        arriving.fill(&bytes[offset..]);
                        context.out.push(Output::Received(arriving, Ok(())));
                        Ok(())
                    }
                    Decision::Discard => Ok(()),
                    Decision::Reject(text) => Err(Ended::Violation(ViolationOf::Lnet(text))),
                };
                context.device.post_receive(self.id, slot).map_err(Ended::Local)?;
                self.credits.owe();
                result?;
            }
            Undecided::PutRequest { cookie } => self.decide_put(cookie, decision, context)?,
            Undecided::GetRequest { handle } => match decision {
                // The REPLY follows from inside of what the core is told here.
                Decision::Deliver(arriving) => context.out.push(Output::Received(arriving, Ok(()))),
                Decision::Discard => self.refuse_get(handle),
                Decision::Reject(text) => return Err(Ended::Violation(ViolationOf::Lnet(text))),
            },
            Undecided::Reply(transfer) => deliver_reply(transfer, decision, context),
        }
        self.pump(context)
    }

    fn decode(&self, bytes: &[u8]) -> Result<(Arrived, MessageKind, u8), ViolationOf> {
        let message = Message::decode(bytes)?;
        let Terms { local, local_stamp, peer, peer_stamp, version, .. } = self.terms;
        let ends = (message.src_nid, message.src_stamp, message.dst_nid, message.dst_stamp);
        if ends != (peer, peer_stamp, local, local_stamp) || message.version != version {
            return Err(ViolationOf::Stale);
        }
        let (kind, credits) = (message.body.kind(), message.credits);
        let arrived = match message.body {
            Body::ConnReq(_) | Body::ConnAck(_) => return Err(ViolationOf::Unexpected(kind)),
            Body::Noop => Arrived::Noop,
            Body::Immediate { header, payload } => Arrived::Immediate { header, len: payload.len() },
            Body::PutReq { header, cookie } => Arrived::PutReq { header, cookie },
            Body::PutNak(completion) => Arrived::PutNak(completion),
            Body::PutAck { src_cookie, dst_cookie, descriptor } => {
                Arrived::PutAck { src_cookie, dst_cookie, descriptor }
            }
            Body::PutDone(completion) => Arrived::PutDone(completion),
            Body::GetReq { header, cookie, descriptor } => Arrived::GetReq { header, cookie, descriptor },
            Body::GetDone(completion) => Arrived::GetDone(completion),
        };
        Ok((arrived, kind, credits))
    }

    fn act_on(&mut self, arrived: Arrived, context: &mut Context<'_, M, A>) -> Result<(), Ended> {
        match arrived {
            Arrived::Noop if self.terms.version == crate::proto::Version::V1 => self.credits.owe(),
            Arrived::Noop => {}
            Arrived::Immediate { .. } => {}
            Arrived::PutReq { header, cookie } => {
                if !matches!(header.body, lnet_wire::Body::Put { .. } | lnet_wire::Body::Reply { .. }) {
                    return Err(ViolationOf::Unexpected(MessageKind::PutReq).into());
                }
                self.ask(Undecided::PutRequest { cookie }, header, false, context);
            }
            Arrived::GetReq { header, cookie, descriptor } => {
                let lnet_wire::Body::Get { reply: handle, .. } = header.body else {
                    return Err(ViolationOf::Unexpected(MessageKind::GetReq).into());
                };
                self.asked_for_get(handle, Asked { cookie, descriptor, since: context.now });
                self.ask(Undecided::GetRequest { handle }, header, true, context);
            }
            Arrived::PutAck { src_cookie, dst_cookie, descriptor } => {
                let transfer = self.end_of(src_cookie, true, MessageKind::PutAck)?;
                let (named, len) = (descriptor.total_bytes(), transfer.message.payload().remaining());
                if named > len as u64 {
                    self.puts.insert(src_cookie, transfer);
                    return Err(ViolationOf::SinkLength { named, len }.into());
                }
                self.write(transfer, named as usize, dst_cookie, &descriptor, context);
            }
            Arrived::PutNak(Completion { cookie, status }) => {
                let Transfer { message, memory, .. } = self.end_of(cookie, true, MessageKind::PutNak)?;
                context.memory.end(context.device, memory, |_| ());
                context.out.push(Output::Finalize(message, refusal_of(status)));
            }
            Arrived::PutDone(Completion { cookie, status }) => {
                let unknown = ViolationOf::UnknownCookie(MessageKind::PutDone);
                let Sink { arriving, memory, .. } = self.sinks.remove(&cookie).ok_or(unknown)?;
                self.credits.owe();
                let written = status_of(status);
                let result = written.and_then(|bytes| match bytes == arriving.payload_len() {
                    true => Ok(()),
                    false => Err(Errno::Io),
                });
                context.memory.end(context.device, memory, |bytes| {
                    if result.is_ok() {
                        arriving.fill(bytes);
                    }
                });
                context.out.push(Output::Received(arriving, result));
            }
            Arrived::GetDone(Completion { cookie, status }) => {
                let transfer = self.end_of(cookie, false, MessageKind::GetDone)?;
                self.got(transfer, status, context);
            }
        }
        Ok(())
    }

    /// Asks the core what is to become of a message.
    fn ask(
        &mut self,
        undecided: Undecided<M>,
        header: Header,
        reply_here: bool,
        context: &mut Context<'_, M, A>,
    ) {
        self.last_rx += 1;
        let rx = RxId { conn: self.id, serial: self.last_rx };
        self.undecided.insert(rx.serial, undecided);
        context.out.push(Output::Receive { rx, from: self.terms.peer, header, reply_here });
    }

    /// Remembers a GET_REQ. One with the handle of another replaces that, whose asker has given it up.
    fn asked_for_get(&mut self, handle: WireHandle, asked: Asked) {
        self.refuse_get(handle);
        self.asked.insert(handle, asked);
    }

    fn decide_put(
        &mut self,
        cookie: u64,
        decision: Decision<A>,
        context: &mut Context<'_, M, A>,
    ) -> Result<(), Ended> {
        let status = match decision {
            Decision::Deliver(arriving) if arriving.payload_len() == 0 => {
                context.out.push(Output::Received(arriving, Ok(())));
                0
            }
            Decision::Deliver(arriving) => {
                let owner = arriving.owner();
                match context.memory.sink(context.device, arriving.payload(), owner.as_ref()) {
                    Ok(memory) => {
                        self.accept_put(cookie, arriving, memory, context.now);
                        return Ok(());
                    }
                    Err(errno) => {
                        context.out.push(Output::Received(arriving, Err(errno)));
                        -errno.number()
                    }
                }
            }
            Decision::Discard => 0,
            Decision::Reject(text) => return Err(Ended::Violation(ViolationOf::Lnet(text))),
        };
        self.credits.owe();
        self.queue.push(Queued::PutNak { cookie, status }, context.now);
        Ok(())
    }

    /// Takes the transfer with this cookie of this node, and gives its reservation back.
    fn end_of(&mut self, cookie: u64, is_put: bool, kind: MessageKind) -> Result<Transfer<M>, ViolationOf> {
        let transfers = if is_put { &mut self.puts } else { &mut self.gets };
        let transfer = transfers.remove(&cookie).ok_or(ViolationOf::UnknownCookie(kind))?;
        self.credits.end_transaction();
        Ok(transfer)
    }

    /// The data of a GET_REQ of this node are in its memory, or will not come.
    fn got(&mut self, transfer: Transfer<M>, status: i32, context: &mut Context<'_, M, A>) {
        match status_of(status) {
            Ok(bytes) if bytes <= transfer.message.reply_memory().remaining() => {
                let header = reply_header(transfer.message.header(), bytes as u32);
                match header {
                    Some(header) => self.ask(Undecided::Reply(transfer), header, false, context),
                    None => self.end_get(transfer, Ok(()), context),
                }
            }
            Ok(_) => self.end_get(transfer, Err(Errno::Protocol), context),
            // The target has nothing for the GET: it has arrived, and no REPLY will come.
            Err(Errno::NoData) => self.end_get(transfer, Ok(()), context),
            Err(errno) => self.end_get(transfer, Err(errno), context),
        }
    }

    fn end_get(&mut self, transfer: Transfer<M>, result: Result<(), Errno>, context: &mut Context<'_, M, A>) {
        let Transfer { message, memory, .. } = transfer;
        context.memory.end(context.device, memory, |_| ());
        let failure = |errno| SendFailure {
            errno,
            cause: lnet_core::Cause::RemoteError,
            delivery: lnet_core::Delivery::Unknown,
        };
        context.out.push(Output::Finalize(message, result.map_err(failure)));
    }
}

/// The core has decided on the REPLY that a GET_DONE stands for. The SEND event of the GET comes before the REPLY's.
pub(super) fn deliver_reply<M, A: Arriving>(
    transfer: Transfer<M>,
    decision: Decision<A>,
    context: &mut Context<'_, M, A>,
) {
    let Transfer { message, memory, .. } = transfer;
    let arriving = match decision {
        Decision::Deliver(arriving) => Some(arriving),
        Decision::Discard | Decision::Reject(_) => None,
    };
    context.memory.end(context.device, memory, |bytes| {
        if let Some(arriving) = &arriving {
            arriving.fill(bytes);
        }
    });
    context.out.push(Output::Finalize(message, Ok(())));
    if let Some(arriving) = arriving {
        context.out.push(Output::Received(arriving, Ok(())));
    }
}

/// The number of bytes, or the error, of a completion.
fn status_of(status: i32) -> Result<usize, Errno> {
    usize::try_from(status).map_err(|_| Errno::from_number(status.unsigned_abs() as i32).unwrap_or(Errno::Io))
}

/// What a PUT_NAK says of a PUT: it has arrived, or was not accepted.
fn refusal_of(status: i32) -> Result<(), SendFailure> {
    let failure = |errno| SendFailure::unsent(errno, lnet_core::Cause::RemoteDropped);
    status_of(status).map(drop).map_err(failure)
}

/// The header of the REPLY that a GET_DONE stands for.
fn reply_header(get: &Header, payload_length: u32) -> Option<Header> {
    let lnet_wire::Body::Get { reply: handle, .. } = get.body else { return None };
    Some(Header {
        dest_nid: get.src_nid,
        src_nid: get.dest_nid,
        dest_pid: get.src_pid,
        src_pid: get.dest_pid,
        payload_length,
        body: lnet_wire::Body::Reply { handle },
    })
}

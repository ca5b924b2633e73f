//! Serving: from an admitted request to its reply.

use super::core::{AdmittedRequest, ServiceCore};
use super::timer_thread::do_work;
use crate::Errno;
use crate::lnet::Region;
use crate::message::{Body, ConnectRequest, Message, MessageKind, Opcode};
use crate::service::counters::Dropped;
use crate::service::engines::difficult_reply::{DifficultReply, OnDone, ReplyDone, ReplyEvent};
use crate::service::engines::incoming_request::{IncomingRequest, ReplyRoute};
use crate::service::engines::reply_message::{ReplyMessage, ServerFields, reply_body};
use crate::service::engines::reply_sender;
use crate::service::handler::{Reply, Response};
use crate::service::rules::early_reply::whole_seconds;
use crate::service::service_request::ServiceRequest;
use crate::service::targets::Export;
use crate::service::targets::tables::{Connected, NotConnected};
use lnet_log::LogClass;
use std::sync::Arc;

/// Serves a request, unless it `has_waited` and its client has given up.
pub(super) fn serve(core: &ServiceCore, admitted: &AdmittedRequest, has_waited: bool) {
    if has_waited && core.env.now() >= admitted.request.deadline() {
        return drop_request(core, admitted, Dropped::Expired);
    }
    let opcode = admitted.request.head.body.opcode;
    match &admitted.export {
        None => connect(core, admitted),
        Some(export) if opcode.is_disconnect() => {
            core.targets.disconnect(export);
            respond(core, admitted, export, Reply::new());
        }
        Some(export) if opcode == Opcode::PING => respond(core, admitted, export, Reply::new()),
        Some(export) => call_handler(core, admitted, export),
    }
    core.env.counters.served.add_one();
}

/// Drops a request, which is served if it comes again.
pub(super) fn drop_request(core: &ServiceCore, admitted: &AdmittedRequest, why: Dropped) {
    core.env.counters.dropped(why);
    log::debug!("service {}: request x{} dropped ({why})", core.env.name(), admitted.request.arrived.xid.0);
    end_without_reply(admitted);
}

fn end_without_reply(admitted: &AdmittedRequest) {
    if let Some(export) = &admitted.export {
        export.end(admitted.request.key(), None);
    }
    admitted.request.close();
}

fn call_handler(core: &ServiceCore, admitted: &AdmittedRequest, export: &Arc<Export>) {
    let request = &admitted.request;
    let message = request.head.message(&request.arrived.bytes);
    let stop_early_replies = || core.set_early_reply(request, None);
    let mut given = ServiceRequest::new(&core.env, request, export, message, &stop_early_replies);
    let answered = core.catch_panic(|| core.handler.handle(&mut given));
    match answered {
        Some(Response::Reply(reply)) if given.bulk_failed() => {
            end_without_reply(admitted);
            on_reply_lost(core, reply.on_done);
        }
        _ if given.bulk_failed() => end_without_reply(admitted),
        Some(Response::None) => end_without_reply(admitted),
        Some(Response::Reply(reply)) => respond(core, admitted, export, reply),
        None => respond(core, admitted, export, Reply::error(Errno::Io)),
    }
}

fn respond(core: &ServiceCore, admitted: &AdmittedRequest, export: &Arc<Export>, mut reply: Reply) {
    let head = &admitted.request.head;
    let on_done = reply.on_done.take();
    let fields = ServerFields {
        last_committed: export.target().last_committed(),
        ..server_fields(core, &admitted.request)
    };
    let max = core.env.config.max_reply;
    let reject = |errno| {
        core.env.log(
            LogClass::ReplyRejected,
            format_args!(
                "service {}: the reply to a request with opcode {} is too long or invalid ({errno}); replying with that error",
                core.env.name(),
                head.body.opcode.0,
            ),
        );
        Reply { transno: reply.transno, ..Reply::error(errno) }
    };
    let body = reply_body(head, &reply, fields);
    let (rejected, rejected_body);
    let message = match ReplyMessage::new(head, &body, reply.buffers.as_slice(), max) {
        Ok(message) => Ok(message),
        Err(errno) => {
            rejected = reject(errno);
            rejected_body = reply_body(head, &rejected, fields);
            ReplyMessage::new(head, &rejected_body, &[], max)
        }
    };
    match (message, on_done) {
        (Ok(message), None) => end_with_reply(core, admitted, &message),
        (Ok(message), Some(on_done)) => {
            let difficult = add_difficult_reply(core, export, reply.transno, on_done);
            end_with_difficult_reply(core, admitted, &message, difficult);
            if core.timer.is_closed() {
                do_work(core);
            }
        }
        (Err(_), on_done) => {
            end_without_reply(admitted);
            on_reply_lost(core, on_done);
        }
    }
}

fn add_difficult_reply(
    core: &ServiceCore,
    export: &Arc<Export>,
    transno: u64,
    on_done: OnDone,
) -> Arc<DifficultReply> {
    let target = export.target();
    let difficult = target.difficult_replies().add(export.cookie(), transno, core.ended_replies(), on_done);
    // The event that ends the reply may have come before the reply was added.
    if transno != 0 && target.last_committed() >= transno {
        difficult.on_reply_event(ReplyEvent::Done(ReplyDone::Committed));
    }
    if !export.is_connected() || core.timer.is_closed() {
        difficult.on_reply_event(ReplyEvent::Done(ReplyDone::Lost));
    }
    difficult
}

/// Calls the callback of a difficult reply that is not sent.
fn on_reply_lost(core: &ServiceCore, on_done: Option<OnDone>) {
    if let Some(on_done) = on_done {
        core.catch_panic(|| on_done(ReplyDone::Lost));
    }
}

/// Ends a request with a reply.
fn end_with_reply(core: &ServiceCore, admitted: &AdmittedRequest, reply: &ReplyMessage<'_>) {
    let written = core.env.replies.buffer(reply.len(), None).and_then(|mut message| {
        reply.write(message.bytes_mut())?;
        Ok(message)
    });
    match written {
        Ok(message) => {
            let route = close_with_reply(admitted, message.bytes());
            reply_sender::send(&core.env, message, &route, admitted.request.arrived.peer);
        }
        Err(errno) => {
            log::debug!("service {}: no memory for a reply ({errno})", core.env.name());
            end_without_reply(admitted);
        }
    }
}

/// Ends a request with a difficult reply, which LNet has a descriptor of until it ends.
fn end_with_difficult_reply(
    core: &ServiceCore,
    admitted: &AdmittedRequest,
    reply: &ReplyMessage<'_>,
    difficult: Arc<DifficultReply>,
) {
    let mut region = Region::zeroed(reply.len());
    // The memory is as long as the reply says.
    let _ = reply.write(region.bytes_mut());
    let route = close_with_reply(admitted, region.bytes_mut());
    reply_sender::send_difficult(
        &core.env,
        Arc::new(region),
        &route,
        admitted.request.arrived.peer,
        difficult,
    );
}

/// Ends a request whose reply is to be sent, in this order: while the request is in progress its client may still change the reply's
/// route; afterwards a duplicate gets the reply that is kept. Returns the route of the reply.
fn close_with_reply(admitted: &AdmittedRequest, reply: &[u8]) -> ReplyRoute {
    let request = &admitted.request;
    if let Some(export) = &admitted.export {
        export.end(request.key(), Some(reply));
    }
    request.close()
}

fn server_fields(core: &ServiceCore, request: &IncomingRequest) -> ServerFields {
    let now = core.env.now();
    let took = now.since(request.arrived.at);
    let estimate = core.estimate.add(&core.env.config.adaptive, now, took);
    ServerFields { last_committed: 0, service_time: whole_seconds(took), estimate }
}

fn connect(core: &ServiceCore, admitted: &AdmittedRequest) {
    let head = &admitted.request.head;
    let arrived = &admitted.request.arrived;
    let (peer, name) = (arrived.peer, core.env.name());
    let read = Message::parse(&arrived.bytes)
        .and_then(|message| Ok((ConnectRequest::read(&message)?, message.body()?)));
    let outcome = match read {
        Ok((request, body)) => core.targets.connect(&request, &body, peer, core.env.now()),
        Err(bad) => {
            log::debug!("service {name}: invalid connect request from {peer} ({bad}); refused");
            Err(NotConnected::Refused(Errno::Protocol))
        }
    };
    let fields = server_fields(core, &admitted.request);
    let common = Body { service_time: fields.service_time, timeout: fields.estimate, ..head.body.reply() };
    let max = core.env.config.max_reply;
    let (data_buffer, body);
    let reply = match outcome {
        Ok(Connected { export, data, ops }) => {
            let last_committed = export.target().last_committed();
            body = Body { handle: export.cookie(), op_flags: ops, last_committed, ..common };
            log::debug!("service {name}: client {} connected from {peer}", export.client());
            data_buffer = [data.encode().to_vec()];
            ReplyMessage::new(head, &body, &data_buffer, max)
        }
        Err(NotConnected::Refused(errno)) => {
            core.env.counters.refused.add_one();
            body = Body { kind: MessageKind::Error, status: errno.to_c(), ..common };
            ReplyMessage::new(head, &body, &[], max)
        }
        Err(NotConnected::Stale) => return drop_request(core, admitted, Dropped::StaleConnect),
    };
    match reply {
        Ok(reply) => end_with_reply(core, admitted, &reply),
        Err(_) => end_without_reply(admitted),
    }
}

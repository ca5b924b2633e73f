//! Intake: reads a request that has arrived, and admits, refuses or drops it (PR-70).

use super::core::{AdmittedRequest, ServiceCore};
use crate::Errno;
use crate::message::{BodyFlags, ConnectFlags, Opcode};
use crate::service::counters::Dropped;
use crate::service::engines::incoming_request::{IncomingRequest, ReplyRoute, first_early_reply};
use crate::service::engines::reply_message::{ReplyMessage, error_body};
use crate::service::engines::reply_sender;
use crate::service::engines::request_buffers::ArrivedRequest;
use crate::service::engines::request_queue::{Accepted, Priority};
use crate::service::rules::admission::{Admission, AdmissionContext, RequestHead, admit, unpack};
use crate::service::rules::duplicates::DuplicateCheck;
use crate::service::rules::early_reply::ClientTimeout;
use crate::service::targets::Export;
use std::sync::{Arc, Weak};

/// A request that is to be served.
type ToBeServed = Accepted<AdmittedRequest, Arc<IncomingRequest>>;

/// Decides about a request; returns it if it is to be served.
pub(super) fn decide(core: &ServiceCore, arrived: ArrivedRequest) -> Option<ToBeServed> {
    let env = &core.env;
    let drop_it = |why: Dropped| {
        env.counters.dropped(why);
        log::debug!("service {}: request x{} dropped ({why})", env.name(), arrived.xid.0);
        None
    };
    let head = match unpack(&arrived.bytes) {
        Ok(head) => head,
        Err(error) => {
            log::debug!("service {}: invalid message from {} ({error})", env.name(), arrived.source);
            return drop_it(error.dropped());
        }
    };
    let body = &head.body;
    let export = match body.opcode.is_connect() {
        true => None,
        false => core.targets.export(body.handle),
    };
    let timeout = ClientTimeout::new(arrived.at, body.timeout, env.config.longest_timeout);
    let is_served = is_common(body.opcode) || core.handler.serves(body.opcode);
    let now = env.now();
    // From here on until the check for duplicates the connection stays as it is.
    let connection = export.as_ref().map(|export| export.connection());
    let (conn_cnt, agreed) = match &connection {
        Some(connection) => {
            let (conn_cnt, agreed) = connection.agreed();
            (Some(conn_cnt), agreed)
        }
        None => (None, ConnectFlags::NONE),
    };
    let protocol = env.config.version;
    let context = AdmissionContext { now, deadline: timeout.deadline(), conn_cnt, protocol, is_served };
    let route = ReplyRoute::new(&arrived, &head, agreed);
    match admit(body, &context) {
        Admission::Drop(why) => {
            drop(connection);
            return drop_it(why);
        }
        Admission::Refuse(errno) => {
            drop(connection);
            refuse(core, &arrived, &head, &route, errno);
            return None;
        }
        Admission::Serve => {}
    }
    let request = Arc::new(IncomingRequest::new(arrived, head, route, timeout));
    match connection.map_or(DuplicateCheck::New, |connection| connection.begin(request.key(), &request, now))
    {
        DuplicateCheck::New => Some(serve(core, request, export, route, timeout)),
        duplicate => {
            on_duplicate(core, duplicate, &request, route, timeout);
            None
        }
    }
}

fn on_duplicate(
    core: &ServiceCore,
    duplicate: DuplicateCheck<Weak<IncomingRequest>, Arc<[u8]>>,
    request: &IncomingRequest,
    route: ReplyRoute,
    timeout: ClientTimeout,
) {
    let counters = &core.env.counters;
    match duplicate {
        DuplicateCheck::New => {}
        DuplicateCheck::InProgress(first) => {
            if let Some(first) = first.upgrade()
                && request.head.body.flags.contains(BodyFlags::RESENT)
            {
                first.on_resent(route, timeout);
                let schedule = |due| core.set_early_reply(&first, Some(due));
                first.schedule_early_reply(&core.env.config.adaptive, schedule);
            }
            counters.dropped(Dropped::Duplicate);
        }
        DuplicateCheck::Replied(bytes) => {
            counters.answered_again.add_one();
            reply_sender::send_copy(&core.env, &bytes, &route, request.arrived.peer);
        }
        DuplicateCheck::Stale => counters.dropped(Dropped::AlreadyReplied),
        DuplicateCheck::NoSlot => refuse(core, &request.arrived, &request.head, &route, Errno::Protocol),
    }
}

/// Refuses a request with an error (type 4712): it is not executed.
fn refuse(
    core: &ServiceCore,
    arrived: &ArrivedRequest,
    head: &RequestHead,
    route: &ReplyRoute,
    errno: Errno,
) {
    core.env.counters.refused.add_one();
    let body = error_body(head, errno);
    let Ok(error) = ReplyMessage::new(head, &body, &[], core.env.config.max_reply) else { return };
    let Ok(mut message) = core.env.replies.buffer(error.len(), None) else { return };
    if error.write(message.bytes_mut()).is_ok() {
        reply_sender::send(&core.env, message, route, arrived.peer);
    }
}

fn serve(
    core: &ServiceCore,
    request: Arc<IncomingRequest>,
    export: Option<Arc<Export>>,
    route: ReplyRoute,
    timeout: ClientTimeout,
) -> ToBeServed {
    let config = &core.env.config;
    let priority = match (config.is_urgent)(request.head.body.opcode) {
        true => Priority::Urgent,
        false => Priority::Normal,
    };
    let early_reply = first_early_reply(&config.adaptive, &route, timeout);
    let timed = Arc::clone(&request);
    Accepted { request: AdmittedRequest { request, export }, priority, timed, early_reply }
}

/// Whether the service itself serves the operation, without the program.
const fn is_common(opcode: Opcode) -> bool {
    opcode.is_connect() || opcode.is_disconnect() || opcode.0 == Opcode::PING.0
}

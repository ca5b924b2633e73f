//! A request is looked at: read, judged, found to be new or not (PR-70).

use super::admit::{Admission, Scene, admit, unpack};
use super::counts::Dropped;
use super::duplicates::Verdict;
use super::early::Patience;
use super::incoming::{Arrived, Class};
use super::reply::{self, Parcel};
use super::request::{Admitted, Route};
use super::server::Core;
use crate::errno::Errno;
use crate::message::{BodyFlags, ConnectFlags, Opcode};
use std::sync::Arc;
use std::time::Instant;

/// The request as it is to be served, if it is.
pub(super) fn look_at(core: &Core, arrived: Arrived) -> Option<(Arc<Admitted>, Class)> {
    let drop_it = |why: Dropped| {
        core.tally.dropped(why);
        log::debug!("{}: request {:#x} dropped: {why:?}", core.config.name, arrived.xid.0);
        None
    };
    let head = match unpack(&arrived.bytes) {
        Ok(head) => head,
        Err(why) => {
            log::debug!("{}: from {}: {why}", core.config.name, arrived.source);
            return drop_it(why.dropped());
        }
    };
    let body = &head.body;
    let export = match body.opcode.is_connect() {
        true => None,
        false => core.targets.export(body.handle),
    };
    let patience = Patience::new(arrived.at, body.timeout, core.config.longest_timeout);
    let now = Instant::now();
    let scene = Scene {
        now,
        deadline: patience.deadline(),
        conn_cnt: export.as_ref().map(|export| export.conn_cnt()),
        protocol: core.config.version,
        is_served: is_own(body.opcode) || core.handler.serves(body.opcode),
    };
    let agreed = export.as_ref().map_or(ConnectFlags::NONE, |export| export.agreed().flags);
    let refuse = |errno| {
        reply::refuse(core, &arrived, &head, agreed, errno);
        None
    };
    match admit(body, &scene) {
        Admission::Drop(why) => return drop_it(why),
        Admission::Refuse(errno) => return refuse(errno),
        Admission::Serve => {}
    }
    let route = Route::new(&arrived, &head, agreed);
    let Some(export) = export else {
        return Some(admitted(core, Admitted::new(arrived, head, None, route, patience)));
    };
    export.hear(now);
    let is_resent = body.flags.contains(BodyFlags::RESENT);
    let peer = arrived.peer;
    let request = Arc::new(Admitted::new(arrived, head, Some(Arc::clone(&export)), route, patience));
    let arrived = &request.arrived;
    match export.begin(request.asked(), &request) {
        Verdict::Serve => Some(watched(core, request)),
        Verdict::Running(first) => {
            if let Some(first) = first.upgrade()
                && is_resent
            {
                first.follow(route, patience);
                watch(core, &first);
            }
            core.tally.dropped(Dropped::Duplicate);
            None
        }
        Verdict::Answered(region) => {
            core.tally.answered_again.one();
            reply::send(core, Parcel::reply(region, &route), &route, peer, None);
            None
        }
        Verdict::Past => {
            core.tally.dropped(Dropped::Answered);
            None
        }
        Verdict::NoSlot => {
            reply::refuse(core, arrived, &head, agreed, Errno::PROTOCOL);
            None
        }
    }
}

/// What the service does without the program.
pub(super) const fn is_own(opcode: Opcode) -> bool {
    opcode.is_connect() || opcode.is_disconnect() || opcode.0 == Opcode::PING.0
}

fn admitted(core: &Core, request: Admitted) -> (Arc<Admitted>, Class) {
    watched(core, Arc::new(request))
}

fn watched(core: &Core, request: Arc<Admitted>) -> (Arc<Admitted>, Class) {
    watch(core, &request);
    let class = match (core.config.is_urgent)(request.head.body.opcode) {
        true => Class::Urgent,
        false => Class::Ordinary,
    };
    (request, class)
}

/// Sees to the next early reply, if there is to be one.
fn watch(core: &Core, request: &Arc<Admitted>) {
    if let Some(due) = request.next_early(&core.config.adaptive) {
        request.if_open(|| core.house.watch(request, due));
    }
}

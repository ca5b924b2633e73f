//! From a request to its answer.

use super::counts::Dropped;
use super::difficult::{Done, Happened};
use super::export::{Connected, Export, NotConnected};
use super::handler::{Answer, OnDone, Reply};
use super::housekeeper;
use super::reply::{self, Facts, Parcel, build, build_message};
use super::request::{Admitted, ServiceRequest};
use super::server::Core;
use super::threads::guarded;
use crate::errno::Errno;
use crate::lnet::Region;
use crate::message::{Body, ConnectRequest, Message, MessageKind, Opcode};
use crate::sync::lock;
use std::sync::Arc;
use std::time::Instant;

/// Serves a request, unless its client has given up.
pub(super) fn serve(core: &Core, admitted: &Arc<Admitted>) {
    if Instant::now() >= admitted.deadline() {
        return drop_it(core, admitted, Dropped::Late);
    }
    let opcode = admitted.head.body.opcode;
    match &admitted.export {
        None => connect(core, admitted),
        Some(export) if opcode.is_disconnect() => {
            core.targets.disconnect(export);
            answer(core, admitted, Some(export), Reply::new());
        }
        Some(export) if opcode == Opcode::PING => answer(core, admitted, Some(export), Reply::new()),
        Some(export) => ask(core, admitted, export),
    }
    core.tally.served.one();
}

/// It will not be served, and may be when it comes again.
pub(super) fn drop_it(core: &Core, admitted: &Arc<Admitted>, why: Dropped) {
    core.tally.dropped(why);
    log::debug!("{}: request {:#x} dropped: {why:?}", core.config.name, admitted.arrived.xid.0);
    forget(core, admitted);
}

fn forget(core: &Core, admitted: &Arc<Admitted>) {
    if let Some(export) = &admitted.export {
        export.end(admitted.asked(), None);
    }
    admitted.close();
    core.house.forget(admitted);
}

/// The program serves it.
fn ask(core: &Core, admitted: &Arc<Admitted>, export: &Arc<Export>) {
    let Ok(message) = Message::parse(&admitted.arrived.bytes) else { return forget(core, admitted) };
    let mut request = ServiceRequest { core, admitted, export, message, bulk_failed: false };
    let answered = guarded(core, || core.handler.handle(&mut request));
    match answered {
        Some(Answer::Reply(reply)) if request.bulk_failed => {
            forget(core, admitted);
            let_go(core, reply.on_done);
        }
        _ if request.bulk_failed => forget(core, admitted),
        Some(Answer::None) => forget(core, admitted),
        Some(Answer::Reply(reply)) => answer(core, admitted, Some(export), reply),
        None => answer(core, admitted, Some(export), Reply::error(Errno::IO)),
    }
}

fn answer(core: &Core, admitted: &Arc<Admitted>, export: Option<&Arc<Export>>, mut reply: Reply) {
    let on_done = reply.on_done.take();
    let facts = Facts {
        last_committed: export.map_or(0, |export| export.target().last_committed()),
        ..facts(core, admitted)
    };
    let max = core.config.max_reply;
    let built = build(&admitted.head, &reply, facts, max).or_else(|errno| {
        log::warn!("{}: a reply to {:?}: {errno}", core.config.name, admitted.head.body.opcode);
        build(&admitted.head, &Reply { transno: reply.transno, ..Reply::error(errno) }, facts, max)
    });
    let Ok(region) = built else {
        forget(core, admitted);
        return let_go(core, on_done);
    };
    let difficult = export.zip(on_done).map(|(export, on_done)| {
        let target = export.target();
        let ledger = target.ledger();
        let held = ledger.enter(target, export.cookie(), reply.transno, &core.house, on_done);
        // What ends it may have come before it was entered.
        if reply.transno != 0 && target.last_committed() >= reply.transno {
            held.happened(Happened::Done(Done::Committed));
        }
        if !export.is_connected() || core.house.is_closing() {
            held.happened(Happened::Done(Done::Lost));
        }
        held
    });
    let is_difficult = difficult.is_some();
    finish(core, admitted, Arc::new(region), difficult);
    if is_difficult && core.house.is_closing() {
        housekeeper::do_chores(core);
    }
}

/// What is held for a reply that is not sent.
fn let_go(core: &Core, on_done: Option<OnDone>) {
    if let Some(on_done) = on_done {
        guarded(core, || on_done(Done::Lost));
    }
}

/// The order matters: while the request is in progress its client may still move where the reply goes; afterwards it is
/// answered by what is kept.
fn finish(
    core: &Core,
    admitted: &Arc<Admitted>,
    region: Arc<Region>,
    difficult: Option<Arc<super::difficult::Outstanding>>,
) {
    if let Some(export) = &admitted.export {
        export.end(admitted.asked(), Some(Arc::clone(&region)));
    }
    let route = admitted.close();
    core.house.forget(admitted);
    reply::send(core, Parcel::reply(region, &route), &route, admitted.arrived.peer, difficult);
}

fn facts(core: &Core, admitted: &Admitted) -> Facts {
    let now = Instant::now();
    let took = now.saturating_duration_since(admitted.arrived.at);
    let estimate = lock(&core.estimate).measured(&core.config.adaptive, now, took);
    Facts { last_committed: 0, service_time: super::early::whole_seconds(took), estimate }
}

fn connect(core: &Core, admitted: &Arc<Admitted>) {
    let head = &admitted.head;
    let peer = admitted.arrived.peer;
    let asked = Message::parse(&admitted.arrived.bytes).and_then(|message| ConnectRequest::read(&message));
    let connected = match asked {
        Ok(asked) => core.targets.connect(&asked, &head.body, peer, Instant::now()),
        Err(bad) => {
            log::debug!("{}: connect request from {peer}: {bad}", core.config.name);
            Err(NotConnected::Refused(Errno::PROTOCOL))
        }
    };
    let facts = facts(core, admitted);
    let common =
        Body { service_time: facts.service_time, timeout: facts.estimate, ..Body::reply_to(&head.body) };
    let built = match connected {
        Ok(Connected { export, data, ops }) => {
            let last_committed = export.target().last_committed();
            let body = Body { handle: export.cookie(), op_flags: ops, last_committed, ..common };
            log::debug!("{}: {export:?} of {peer}", core.config.name);
            build_message(head, &body, &[data.encode().to_vec()], core.config.max_reply)
        }
        Err(NotConnected::Refused(errno)) => {
            core.tally.refused.one();
            let body = Body { kind: MessageKind::Error, status: errno.to_c(), ..common };
            build_message(head, &body, &[], core.config.max_reply)
        }
        Err(NotConnected::Past) => return drop_it(core, admitted, Dropped::OldConnect),
    };
    match built {
        Ok(region) => finish(core, admitted, Arc::new(region), None),
        Err(_) => forget(core, admitted),
    }
}

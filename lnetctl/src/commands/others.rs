//! Small commands.

use super::{CommandOutcome, Context};
use crate::cli::{Debug, Global, Lnet, Numa, Program};
use lnet_dlc::ops::global::Setting;
use lnet_dlc::ops::{global, lnet, peer, program, recovery, service_id};
use lnet_dlc::request::Configure;
use lnet_dlc::{ReturnCode, SeqNo, Value};

pub(super) fn lnet(command: &Lnet, cx: &mut Context<'_>) -> CommandOutcome {
    let start = match *command {
        Lnet::Configure { all, large } => Some(Configure { nets: all, large_nids: large }),
        Lnet::Unconfigure => None,
    };
    CommandOutcome::change(lnet::config_ni_system(cx.node, start, SeqNo::NONE, &mut cx.report))
}

pub(super) fn global(Global::Show: &Global, cx: &mut Context<'_>) -> CommandOutcome {
    CommandOutcome::show(global::show_all(cx.node, &mut cx.report))
}

pub(super) fn numa(Numa::Show: &Numa, cx: &mut Context<'_>) -> CommandOutcome {
    CommandOutcome::show(global::show(cx.node, Setting::NumaRange, SeqNo::NONE, &mut cx.report))
}

pub(super) fn program(Program::Show(show): &Program, cx: &mut Context<'_>) -> CommandOutcome {
    CommandOutcome::show(program::show(cx.node, show.process, show.verbosity.level(), &mut cx.report))
}

pub(super) fn debug(command: &Debug, cx: &mut Context<'_>) -> CommandOutcome {
    let (local, peer) = match command {
        Debug::Recovery { local, peer } => (local, peer),
        Debug::Peer { nid } => {
            let shown = peer::show(cx.node, Some(nid), EVERYTHING, SeqNo::NONE, &mut cx.report, false);
            return CommandOutcome::show(shown);
        }
    };
    let mut rc = ReturnCode::OK;
    if *local {
        rc = recovery::show_local(cx.node, SeqNo::NONE, &mut cx.report);
    }
    if *peer {
        rc = recovery::show_peer(cx.node, SeqNo::NONE, &mut cx.report).or(rc);
    }
    CommandOutcome::show(rc)
}

/// Shows the service ID of o2ib, or why there is none.
pub(super) fn service_id(cx: &mut Context<'_>) -> CommandOutcome {
    match service_id::service_id(cx.node) {
        Ok(id) => {
            cx.report.show("service_id", Value::map().with("value", format!("{id:#018x}")));
            CommandOutcome::show(ReturnCode::OK)
        }
        Err(text) => {
            cx.report.errors = error(&text);
            CommandOutcome::show(ReturnCode::NO_MATCH)
        }
    }
}

/// The level of detail on which everything is shown.
const EVERYTHING: u32 = u32::MAX;

/// The form that two commands have in place of an error block.
pub(super) fn error(text: &str) -> Value {
    Value::map().with("error", Value::map().with("msg", Value::Quoted(text.to_owned())))
}

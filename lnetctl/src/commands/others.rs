//! Small commands.

use super::{CommandOutcome, Context, unsupported};
use crate::cli::{Debug, Global, Lnet, Numa};
use lnet_dlc::ops::global::Setting;
use lnet_dlc::ops::{global, lnet, recovery};
use lnet_dlc::{Operation, ReturnCode, SeqNo, Value};

pub(super) fn lnet(command: &Lnet, cx: &mut Context<'_>) -> CommandOutcome {
    let (up, all) = match command {
        Lnet::Configure { large: true, .. } => {
            return unsupported(cx, Operation::Configure, "lnet", "--large");
        }
        Lnet::Configure { all, .. } => (true, *all),
        Lnet::Unconfigure => (false, false),
    };
    CommandOutcome::change(lnet::config_ni_system(cx.node, up, all, SeqNo::NONE, &mut cx.report))
}

pub(super) fn global(Global::Show: &Global, cx: &mut Context<'_>) -> CommandOutcome {
    CommandOutcome::show(global::show_all(cx.node, &mut cx.report))
}

pub(super) fn numa(Numa::Show: &Numa, cx: &mut Context<'_>) -> CommandOutcome {
    CommandOutcome::show(global::show(cx.node, Setting::NumaRange, SeqNo::NONE, &mut cx.report))
}

pub(super) fn debug(command: &Debug, cx: &mut Context<'_>) -> CommandOutcome {
    let Debug::Recovery { local, peer } = command;
    let mut rc = ReturnCode::OK;
    if *local {
        rc = recovery::show_local(cx.node, SeqNo::NONE, &mut cx.report);
    }
    if *peer {
        rc = recovery::show_peer(cx.node, SeqNo::NONE, &mut cx.report).or(rc);
    }
    CommandOutcome::show(rc)
}

/// Reports that there is no service ID: no driver here has a service.
pub(super) fn service_id(cx: &mut Context<'_>) -> CommandOutcome {
    let text = "there is no service: the driver for o2ib is not part of this library yet";
    cx.report.errors = error(text);
    CommandOutcome::show(ReturnCode::NO_MATCH)
}

/// The form that two commands have in place of an error block.
pub(super) fn error(text: &str) -> Value {
    Value::map().with("error", Value::map().with("msg", Value::Quoted(text.to_owned())))
}

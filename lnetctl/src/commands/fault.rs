//! `lnetctl fault`

use super::{CommandOutcome, Context};
use crate::cli::{Delay, DelayAdd, Drop, DropAdd, Fault, FaultDel, FaultFilter};
use lnet_dlc::ReturnCode;
use lnet_dlc::ops::fault::{self, RuleAction, Which, Wording};
use lnet_dlc::request::FaultKind;
use std::time::Duration;

pub(super) fn run(command: &Fault, cx: &mut Context<'_>) -> CommandOutcome {
    match command {
        Fault::Drop(Drop::Add(command)) => CommandOutcome::change(add_drop(command, cx)),
        Fault::Delay(Delay::Add(command)) => CommandOutcome::change(add_delay(command, cx)),
        Fault::Drop(Drop::Del(command)) => CommandOutcome::change(del(FaultKind::Drop, command, cx)),
        Fault::Delay(Delay::Del(command)) => CommandOutcome::change(del(FaultKind::Delay, command, cx)),
        Fault::Drop(Drop::Reset) => {
            CommandOutcome::change(fault::reset(cx.node, FaultKind::Drop, &mut cx.report))
        }
        Fault::Delay(Delay::Reset) => {
            CommandOutcome::change(fault::reset(cx.node, FaultKind::Delay, &mut cx.report))
        }
        Fault::Drop(Drop::Show(how)) => show(FaultKind::Drop, how.verbose, cx),
        Fault::Delay(Delay::Show(how)) => show(FaultKind::Delay, how.verbose, cx),
    }
}

fn add_drop(command: &DropAdd, cx: &mut Context<'_>) -> ReturnCode {
    let DropAdd { filter, interval, errors, random, all } = command;
    let action = RuleAction::Dropped { errors, random: *random, all: *all };
    fault::add(cx.node, &wording(filter, *interval), action, &mut cx.report)
}

fn add_delay(command: &DelayAdd, cx: &mut Context<'_>) -> ReturnCode {
    let DelayAdd { filter, interval, latency } = command;
    fault::add(cx.node, &wording(filter, *interval), RuleAction::Delayed(*latency), &mut cx.report)
}

fn wording(filter: &FaultFilter, interval: Option<Duration>) -> Wording<'_> {
    Wording {
        source: filter.source.as_deref(),
        dest: filter.dest.as_deref(),
        local: filter.local.as_deref(),
        messages: &filter.messages,
        portals: &filter.portals,
        rate: filter.rate,
        interval,
    }
}

fn del(kind: FaultKind, command: &FaultDel, cx: &mut Context<'_>) -> ReturnCode {
    let which = match command.all {
        true => Which::All,
        false => Which::Between(command.source.as_deref(), command.dest.as_deref()),
    };
    fault::del(cx.node, kind, which, &mut cx.report)
}

fn show(kind: FaultKind, all: bool, cx: &mut Context<'_>) -> CommandOutcome {
    CommandOutcome::show(fault::show(cx.node, kind, all, &mut cx.report))
}

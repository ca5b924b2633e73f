//! `lnetctl udsp`

use super::{CommandOutcome, Context};
use crate::cli::{Udsp, UdspAdd, UdspDel};
use lnet_dlc::ops::policy::{self, RuleAction, RuleEffect, RuleText};
use lnet_dlc::{Operation, ReturnCode, SeqNo};

pub(super) fn run(command: &Udsp, cx: &mut Context<'_>) -> CommandOutcome {
    match command {
        Udsp::Add(command) => CommandOutcome::change(add(command, cx)),
        Udsp::Del(command) => CommandOutcome::change(del(command, cx)),
        Udsp::Show(command) => {
            let index = command.index.unwrap_or(-1);
            CommandOutcome::show(policy::show(cx.node, index, SeqNo::NONE, &mut cx.report))
        }
    }
}

fn add(command: &UdspAdd, cx: &mut Context<'_>) -> ReturnCode {
    let action = command.priority.map_or(RuleAction::Suited, RuleAction::Priority);
    let effect = RuleEffect { action, messages: command.messages, index: command.index };
    policy::add(cx.node, text(&command.src, &command.dst, &command.rte), effect, SeqNo::NONE, &mut cx.report)
}

fn text<'a>(src: &'a Option<String>, dst: &'a Option<String>, rte: &'a Option<String>) -> RuleText<'a> {
    let [src, dst, rte] = [src, dst, rte].map(Option::as_deref);
    RuleText { src, dst, rte }
}

fn del(command: &UdspDel, cx: &mut Context<'_>) -> ReturnCode {
    let rule = text(&command.src, &command.dst, &command.rte);
    let is_named = rule.src.or(rule.dst).or(rule.rte).is_some();
    let index = match (command.all, command.index) {
        (true, _) | (_, None) => None,
        (false, Some(-1)) if !is_named => None,
        (false, Some(index)) => match u32::try_from(index) {
            Ok(index) => Some(index),
            Err(_) => {
                let text = format!("--idx {index}: it takes an index from 0, or -1 for all");
                return cx.report.end(Operation::Add, "udsp", SeqNo::NONE, ReturnCode::BAD_PARAM, text);
            }
        },
    };
    match is_named {
        true => policy::del_same(cx.node, rule, index, SeqNo::NONE, &mut cx.report),
        false => policy::del(cx.node, index, SeqNo::NONE, &mut cx.report),
    }
}

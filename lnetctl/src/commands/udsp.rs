//! `lnetctl udsp`

use super::{Context, Outcome};
use crate::cli::{Udsp, UdspAdd, UdspDel};
use lnet_dlc::ops::policy::{self, RuleAction};
use lnet_dlc::{Operation, ReturnCode, SeqNo};

pub(super) fn run(command: &Udsp, cx: &mut Context<'_>) -> Outcome {
    match command {
        Udsp::Add(command) => Outcome::change(add(command, cx)),
        Udsp::Del(command) => Outcome::change(del(command, cx)),
        Udsp::Show(command) => {
            let index = command.index.unwrap_or(-1);
            Outcome::show(policy::show(cx.node, index, SeqNo::NONE, &mut cx.report))
        }
    }
}

fn add(command: &UdspAdd, cx: &mut Context<'_>) -> ReturnCode {
    let action = match command.priority.map(u32::try_from) {
        None => RuleAction::Suited,
        Some(Ok(priority)) => RuleAction::Priority(priority),
        Some(Err(_)) if command.priority < Some(0) => RuleAction::Priority(u32::MAX),
        Some(Err(_)) => {
            let text = "--priority is not within 0 to 4294967295";
            return cx.report.end(Operation::Add, "udsp", SeqNo::NONE, ReturnCode::BAD_PARAM, text);
        }
    };
    let [src, dst, rte] = [&command.src, &command.dst, &command.rte].map(|text| text.as_deref().map(net_of));
    let index = command.index.unwrap_or(-1);
    policy::add(cx.node, src, dst, rte, action, index, SeqNo::NONE, &mut cx.report)
}

/// The design document's `*@tcp` is the net `tcp`.
fn net_of(text: &str) -> &str {
    text.strip_prefix("*@").unwrap_or(text)
}

fn del(command: &UdspDel, cx: &mut Context<'_>) -> ReturnCode {
    let index = match (command.all, command.index.unwrap_or(0)) {
        (true, _) | (_, -1) => None,
        (false, index) => match u32::try_from(index) {
            Ok(index) => Some(index),
            Err(_) => {
                let text = format!("--idx {index}: it takes an index from 0, or -1 for all");
                return cx.report.end(Operation::Add, "udsp", SeqNo::NONE, ReturnCode::BAD_PARAM, text);
            }
        },
    };
    policy::del(cx.node, index, SeqNo::NONE, &mut cx.report)
}

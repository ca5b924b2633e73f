//! `lnetctl ping`, `lnetctl discover`

use super::{CommandOutcome, Context};
use crate::cli::{Discover, Ping};
use lnet_dlc::ops::ping;
use lnet_dlc::{ReturnCode, SeqNo};

pub(super) fn ping(command: &Ping, cx: &mut Context<'_>) -> CommandOutcome {
    let source = command.source.as_deref();
    let timeout_ms = i32::try_from(command.timeout.unwrap_or(1)).unwrap_or(i32::MAX).saturating_mul(1000);
    let each = |nids: &String| ping::ping(cx.node, nids, source, timeout_ms, SeqNo::NONE, &mut cx.report);
    CommandOutcome::show(last_failure(command.nids.iter().map(each)))
}

pub(super) fn discover(command: &Discover, cx: &mut Context<'_>) -> CommandOutcome {
    let force = command.force;
    let each = |nids: &String| ping::discover(cx.node, nids, force, SeqNo::NONE, &mut cx.report);
    CommandOutcome::show(last_failure(command.nids.iter().map(each)))
}

fn last_failure(results: impl Iterator<Item = ReturnCode>) -> ReturnCode {
    results.fold(ReturnCode::OK, |before, rc| rc.or(before))
}

//! The beginnings and ends that the commands have in common: a cluster that is read, an input that is refused, the exit status.

use crate::commands::{CommandOutcome, Context};
use lnet_cluster::input;
use lnet_cluster::model::Cluster;
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use std::path::PathBuf;

/// The exit status of a command that has found something.
pub(super) const FOUND: ReturnCode = ReturnCode(1);
/// The exit status of a command that could not read a file, or not write one.
const UNREADABLE: ReturnCode = ReturnCode(2);

/// Reads a cluster, or reports all that cannot be read.
pub(super) fn read(paths: &[PathBuf], cx: &mut Context<'_>) -> Result<Cluster, CommandOutcome> {
    input::read(paths).map_err(|problems| {
        problems
            .into_iter()
            .map(|problem| refuse(cx, problem))
            .last()
            .unwrap_or(CommandOutcome::show(UNREADABLE))
    })
}

/// Reports a file, or an option, that cannot be used.
pub(super) fn refuse(cx: &mut Context<'_>, problem: impl ToString) -> CommandOutcome {
    let _reported = cx.report.end(Operation::Yaml, "cluster", SeqNo::NONE, UNREADABLE, problem.to_string());
    CommandOutcome::show(UNREADABLE)
}

/// The end of a command whose text is complete. It is none that shows values, so that in JSON no empty value follows the text.
pub(super) const fn end(is_failure: bool) -> CommandOutcome {
    CommandOutcome::change(if is_failure { FOUND } else { ReturnCode::OK })
}

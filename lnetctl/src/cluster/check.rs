//! `lnetctl cluster check`

use super::{compare, drill};
use crate::cli::{ClusterCheck, Format};
use crate::commands::{CommandOutcome, Context};
use lnet_cluster::model::Cluster;
use lnet_cluster::report::Counts;
use lnet_cluster::report::picture::{self, Form};
use lnet_cluster::{checks, input, report};
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use std::fs;
use std::path::PathBuf;

/// The exit status of a check that has found something.
const FOUND: ReturnCode = ReturnCode(1);
/// The exit status of a check that could not read a file, or not write the picture.
const UNREADABLE: ReturnCode = ReturnCode(2);

pub(super) fn run(command: &ClusterCheck, cx: &mut Context<'_>) -> CommandOutcome {
    if let Some(paths) = &command.compare {
        return compare::run(paths, cx);
    }
    let cluster = match read(&command.paths, cx) {
        Ok(cluster) => cluster,
        Err(outcome) => return outcome,
    };
    if command.drill.is_given() {
        return drill::run(command, &cluster, cx);
    }
    let findings = checks::check(&cluster);
    match cx.format {
        Format::Yaml => cx.text = report::to_text(&cluster, &findings),
        Format::Json => cx.report.shown = report::to_value(&cluster, &findings),
    }
    if let Some(file) = &command.picture
        && let Some(form) = Form::of_file(file)
        && let Err(error) = fs::write(file, picture::draw(form, &cluster, &findings))
    {
        return refuse(cx, format!("cannot write {}: {error}", file.display()));
    }
    let fails = Counts::of(&findings).is_failure(command.strict);
    CommandOutcome::show(if fails { FOUND } else { ReturnCode::OK })
}

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

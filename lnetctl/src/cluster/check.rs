//! `lnetctl cluster check`

use crate::cli::{ClusterCheck, Format};
use crate::commands::{CommandOutcome, Context};
use lnet_cluster::report::Counts;
use lnet_cluster::{checks, input, report};
use lnet_dlc::{Operation, ReturnCode, SeqNo};

/// The exit status of a check that has found something.
const FOUND: ReturnCode = ReturnCode(1);
/// The exit status of a check that could not read a file.
const UNREADABLE: ReturnCode = ReturnCode(2);

pub(super) fn run(command: &ClusterCheck, cx: &mut Context<'_>) -> CommandOutcome {
    let cluster = match input::read(&command.paths) {
        Ok(cluster) => cluster,
        Err(problems) => {
            for problem in problems {
                let _reported = cx.report.end(Operation::Yaml, "cluster", SeqNo::NONE, UNREADABLE, problem);
            }
            return CommandOutcome::show(UNREADABLE);
        }
    };
    let findings = checks::check(&cluster);
    match cx.format {
        Format::Yaml => cx.text = report::to_text(&cluster, &findings),
        Format::Json => cx.report.shown = report::to_value(&cluster, &findings),
    }
    let fails = Counts::of(&findings).is_failure(command.strict);
    CommandOutcome::show(if fails { FOUND } else { ReturnCode::OK })
}

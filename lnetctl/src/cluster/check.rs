//! `lnetctl cluster check`

use super::outcome::{FOUND, read, refuse};
use super::{compare, drill};
use crate::cli::{ClusterCheck, Format};
use crate::commands::{CommandOutcome, Context};
use lnet_cluster::report::Counts;
use lnet_cluster::report::picture::{self, Form};
use lnet_cluster::{checks, report};
use lnet_dlc::ReturnCode;
use std::fs;

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

//! `lnetctl report`

use super::{CommandOutcome, Context};
use crate::archive;
use crate::cli::Report;
use lnet_dlc::{Operation, ReturnCode, SeqNo, Value};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn report(command: &Report, cx: &mut Context<'_>) -> CommandOutcome {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let default = || PathBuf::from(format!("lnet-report-{seconds}.tar.gz"));
    let file = command.file.clone().unwrap_or_else(default);
    let entries = archive::entries(cx.node);
    match archive::write(&file, &entries, seconds) {
        Ok(()) => {
            let named = Value::map().with("file", Value::Quoted(file.display().to_string()));
            cx.report.show("report", named.with("entries", entries.len().to_string()));
            CommandOutcome::show(ReturnCode::OK)
        }
        Err(error) => {
            let text = format!("cannot write {}: {error}", file.display());
            let rc = cx.report.end(Operation::Show, "report", SeqNo::NONE, ReturnCode::BAD_PARAM, text);
            CommandOutcome::show(rc)
        }
    }
}

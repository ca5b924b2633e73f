//! `lnetctl convert`

use super::{CommandOutcome, Context};
use crate::cli::Convert;
use lnet_dlc::modprobe::{self, Converted};
use lnet_dlc::{Operation, ReturnCode, SeqNo, yaml};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub(super) fn run(command: &Convert, cx: &mut Context<'_>) -> CommandOutcome {
    let mut files = Vec::new();
    for path in &command.files {
        match read(path) {
            Ok(read) => files.extend(read),
            Err(error) => return refuse(cx, [format!("cannot read {}: {error}", path.display())]),
        }
    }
    if command.files.is_empty() {
        match yaml::text_of(&mut *cx.input) {
            Ok(text) => files.push(("stdin".to_owned(), text)),
            Err(error) => return refuse(cx, [format!("cannot read stdin: {error}")]),
        }
    }
    match modprobe::convert(&files) {
        Ok(Converted { document, left }) => {
            cx.report.shown = yaml::to_value(&document);
            cx.warnings.extend(left.iter().map(ToString::to_string));
            CommandOutcome::show(ReturnCode::OK)
        }
        Err(wrong) => refuse(cx, wrong.iter().map(ToString::to_string)),
    }
}

fn refuse(cx: &mut Context<'_>, texts: impl IntoIterator<Item = String>) -> CommandOutcome {
    let rc = texts.into_iter().fold(ReturnCode::OK, |_, text| {
        cx.report.end(Operation::Yaml, "convert", SeqNo::NONE, ReturnCode::BAD_PARAM, text)
    });
    CommandOutcome::show(rc)
}

/// Reads a file, or the files of a directory that modprobe(8) reads, in its order.
fn read(path: &Path) -> io::Result<Vec<(String, String)>> {
    let paths = if path.is_dir() { files_of(path)? } else { vec![path.to_owned()] };
    paths.iter().map(|path| Ok((path.display().to_string(), yaml::text_of(File::open(path)?)?))).collect()
}

fn files_of(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: io::Result<Vec<PathBuf>> = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect();
    let mut paths = entries?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "conf"));
    paths.sort();
    Ok(paths)
}

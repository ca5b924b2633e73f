//! `lnetctl cluster check --compare`

use super::outcome::{end, read};
use crate::cli::Format;
use crate::commands::{CommandOutcome, Context};
use lnet_cluster::compare::{compare, to_text};
use std::path::PathBuf;

/// Compares the first path with the last.
pub(super) fn run(paths: &[PathBuf], cx: &mut Context<'_>) -> CommandOutcome {
    let mut sides = Vec::new();
    for path in paths {
        match read(std::slice::from_ref(path), cx) {
            Ok(cluster) => sides.push(cluster),
            Err(outcome) => return outcome,
        }
    }
    let (Some(old), Some(new)) = (sides.first(), sides.last()) else { return end(false) };
    let comparison = compare(old, new);
    cx.text = match cx.format {
        Format::Yaml => to_text(&comparison),
        Format::Json => comparison.to_json(),
    };
    end(comparison.is_worse())
}

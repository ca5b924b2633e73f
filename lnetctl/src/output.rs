//! Writes results to standard output and failures to standard error.

use crate::cli::Format;
use crate::commands::{CommandKind, CommandOutcome};
use lnet_dlc::{Report, Value};
use std::io::{self, Read, Write};

/// The streams that a command reads and writes.
pub struct Streams<'a> {
    /// Standard input.
    pub input: &'a mut dyn Read,
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
}

/// A value as a text that ends with a line feed.
pub fn text(value: &Value, format: Format) -> String {
    match format {
        Format::Yaml => value.to_yaml(),
        Format::Json => format!("{:#}\n", value.to_json()),
    }
}

/// What there is to say besides the results of a command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notes<'a> {
    /// The reason why the last request reached no node, and a remedy.
    pub hint: Option<&'a str>,
    /// What the node warned about while it carried out the command; one line each.
    pub warnings: &'a [String],
}

/// Writes the result of a command: its output, if any, to standard output; errors, if it failed or could not
/// show something, to standard error, with the hint before them: as a comment in YAML, under its own key in JSON. Warnings go
/// there in the same way, and are comments if there is no error.
pub fn write(
    report: &Report,
    outcome: CommandOutcome,
    notes: Notes<'_>,
    format: Format,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<()> {
    let nothing_matters = format == Format::Json && outcome.kind != CommandKind::Change && outcome.rc.is_ok();
    if !report.shown.is_empty() || nothing_matters {
        out.write_all(text(&report.shown, format).as_bytes())?;
    }
    // The shown values may be incomplete: a ping of several nodes succeeds if one of them answers.
    let failed = !outcome.rc.is_ok() || outcome.kind != CommandKind::Change && has_failure(&report.errors);
    if !failed || format == Format::Yaml {
        for text in notes.warnings {
            writeln!(err, "# warning: {text}")?;
        }
    }
    if failed {
        let mut errors = failures(&report.errors);
        if format == Format::Json && !notes.warnings.is_empty() {
            let texts = notes.warnings.iter().map(|text| Value::Text(text.clone())).collect();
            errors.push("warnings", Value::Seq(texts));
        }
        match (notes.hint, format) {
            (Some(hint), Format::Json) => errors.push("hint", Value::Text(hint.to_owned())),
            (Some(hint), Format::Yaml) => {
                for line in hint.lines() {
                    writeln!(err, "# {line}")?;
                }
            }
            (None, _) => {}
        }
        err.write_all(text(&errors, format).as_bytes())?;
    }
    Ok(())
}

/// The tree without successful entries.
fn failures(errors: &Value) -> Value {
    let Value::Map(operations) = errors else { return errors.clone() };
    let of_operation = |value: &Value| match value {
        Value::Seq(items) => Value::Seq(items.iter().filter(|item| has_failure(item)).cloned().collect()),
        other => other.clone(),
    };
    let left = operations.iter().map(|(operation, value)| (operation.clone(), of_operation(value)));
    Value::Map(left.filter(|(_, value)| !value.is_empty()).collect())
}

/// Whether an `errno` in the tree is not 0.
fn has_failure(errors: &Value) -> bool {
    match errors {
        Value::Map(entries) => {
            entries.iter().any(|(key, value)| key == "errno" && *value != Value::Int(0) || has_failure(value))
        }
        Value::Seq(items) => items.iter().any(has_failure),
        _ => false,
    }
}

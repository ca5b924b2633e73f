//! The document.

use super::lines::LogLine;
use lnet_log::{LINES_PER_PERIOD, Limit, LogClass, MAX_LINES_IN_ALL, MAX_LINES_PER_CLASS, PERIOD};
use std::fmt::Write as _;

/// Returns the whole document.
pub(crate) fn write(found: &LogLine) -> String {
    let mut out = String::from(BEGINNING);
    let (lines, seconds) = (LINES_PER_PERIOD, PERIOD.as_secs());
    let (of_class, in_all) = (MAX_LINES_PER_CLASS, MAX_LINES_IN_ALL);
    // A String takes everything.
    let _ = writeln!(
        out,
        "A class that is limited writes at most {lines} lines in {seconds} s for each subject (the NID, path or name that the\n\
         line is about). One that any peer can cause writes at most {of_class}, whatever the subjects are, half of them for subjects that\n\
         have none yet; and all of these together write at most {in_all}, besides the first line of each class. Lines about what an operator has\n\
         configured (peers, the gateways of routes) are limited for each subject only: a flood of others does not hide them. What was\n\
         suppressed is said when the period ends, in one line for each class, at its level: `SUBJECT: COUNT lines suppressed (CLASS)`, or\n\
         `SUBJECT and others`.\n"
    );
    out.push_str("| class | level | what has happened |\n|---|---|---|\n");
    for class in LogClass::ALL {
        let (name, level) = (class.name(), level(class));
        let _ = writeln!(out, "| [`{name}`](#{name}) | {level} | {} |", class.meaning());
    }
    for class in LogClass::ALL {
        write_class(&mut out, class, found);
    }
    out.push_str(DEBUG);
    for (level, library, text) in &found.debug {
        let _ = writeln!(out, "| {level} | {library} | {} |", code(text));
    }
    out
}

fn write_class(out: &mut String, class: LogClass, found: &LogLine) {
    let limit = match class.limit() {
        Limit::Unlimited => "never suppressed",
        Limit::PerSubject | Limit::PerConfigured => "limited for each subject",
        Limit::AnyPeer => "limited, as any peer can cause it",
    };
    let _ = writeln!(out, "\n## {}\n", class.name());
    let _ = writeln!(out, "Level {}, {limit}. {}\n", level(class), class.meaning());
    let _ = writeln!(out, "What to do: {}\n", class.action());
    for (_, library, text) in found.lines.iter().filter(|(name, ..)| *name == format!("{class:?}")) {
        let _ = writeln!(out, "- {} ({library})", code(text));
    }
}

fn level(class: LogClass) -> String {
    class.level().as_str().to_lowercase()
}

/// Formats a text as code, on one line, in a table or not.
fn code(text: &str) -> String {
    let text = text.replace('\n', " ").replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

const BEGINNING: &str = "\
# What the libraries log

<!-- Made by `make generated-files` from the sources and liblnet/log/src/class.rs. -->

Every line that the libraries (`liblnet.so`, `libptlrpc.so`, `libm0net.so`, `liblnet_selftest.so` and what they consist of) can write, by class. In braces stands
what is filled in. A line is written `subject: event (cause); what the node does about it`, and a pair of NIDs `A -> B`: from
the local one to the other. [environment.md](environment.md) says how lines begin, how `LNET_DEBUG` chooses among the
levels, and `LNET_LOG_FORMAT` among text, JSON and entries of the journal. A program in Rust that installs a logger of its own gets each class with the target `lnet::` and its name.

";

const DEBUG: &str = "
## Debug and trace

For who works on the library (`LNET_DEBUG=debug`): they have no class and are never suppressed.

| level | by | line |
|---|---|---|
";

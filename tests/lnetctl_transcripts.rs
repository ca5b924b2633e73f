//! The commands that were run on a kernel node, run with ours: what each writes and how it ends.
//!
//! `tests/data/lnetctl-outputs.txt` is the record, reduced to what is compared (`transcripts/reduce.rs`).
//! LNETCTL_OUTPUTS=FILE makes it anew from the full record. What differs is in `transcripts/differences.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;
mod transcripts;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::fs;
use transcripts::compare::differences;
use transcripts::console::{self, Block, Outcome};
use transcripts::differences::{DIFFERENCES, is_at, matches};
use transcripts::reduce::reduce;
use transcripts::scene::Scene;
use transcripts::staging::{STAGING, When};

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/lnetctl-outputs.txt");

/// What was done before a session's first recorded command.
const SECOND_SESSION: [&str; 3] =
    ["lnetctl lnet configure", "lnetctl net add --net tcp --if eth0", "lnetctl net add --net tcp --if eth1"];

/// cfg-005, cfg-010, cfg-015, cfg-020, cfg-045, cfg-055, cfg-060, cfg-065, cfg-070, cfg-080, dbg-005, dbg-045.
#[test]
fn every_command_does_what_the_kernels_tool_does() {
    let blocks = record();
    let Some(mut scene) = Scene::or_skip() else { return };
    let mut differences_found = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let before = number.checked_sub(1).map(|number| &blocks[number]);
        if before.is_some_and(|before| begins_a_session(before, block)) {
            scene.reboot();
            SECOND_SESSION.iter().for_each(|command| prepare(&scene, command));
        }
        let begins_section = before.is_none_or(|before| before.section != block.section);
        stage(&scene, |when| match when {
            When::Section(section) => begins_section && section == block.section,
            When::Before(place) => is_at(place, block),
            When::After(_) => false,
        });
        let found = match runs_here(&block.command) {
            true => differences(&block.outcome, &reduced(&scene, &scene.run(&block.command))),
            false => vec!["not run".to_owned()],
        };
        stage(&scene, |when| matches!(when, When::After(place) if is_at(place, block)));
        differences_found.push((block, found));
    }
    let text = unexplained(&differences_found) + &unused_rows(&differences_found);
    assert!(text.is_empty(), "\n{text}");
}

#[test]
fn the_record_has_what_was_recorded() {
    let blocks = record();
    assert!(blocks.len() >= 370, "{} commands", blocks.len());
    for block in blocks {
        assert_eq!(reduce(&block.outcome, &|_| String::new()), block.outcome, "{}", block.command);
    }
}

fn record() -> Vec<Block> {
    if let Some(full) = env::var_os("LNETCTL_OUTPUTS") {
        let mut blocks = console::parse(&fs::read_to_string(full).unwrap());
        for block in &mut blocks {
            block.outcome = reduce(&block.outcome, &|_| String::new());
        }
        fs::write(RECORD, console::write(&blocks)).unwrap();
    }
    console::parse(&fs::read_to_string(RECORD).unwrap())
}

fn stage(scene: &Scene, is_due: impl Fn(When) -> bool) {
    for (_, commands, _) in STAGING.iter().filter(|(when, ..)| is_due(*when)) {
        commands.iter().for_each(|command| prepare(scene, command));
    }
}

fn prepare(scene: &Scene, command: &str) {
    let outcome = scene.run(command);
    assert_eq!((outcome.exit, outcome.out + &outcome.err), (0, String::new()), "{command}");
}

/// The import section was recorded twice: the second time on a node that had just been started.
fn begins_a_session(before: &Block, block: &Block) -> bool {
    let imports = |block: &Block| block.section == "import";
    imports(before) && block.command == "lnetctl import"
}

/// `lctl` is the kernel's.
fn runs_here(command: &str) -> bool {
    !command.starts_with("lctl ")
}

fn reduced(scene: &Scene, outcome: &Outcome) -> Outcome {
    reduce(outcome, &|words| scene.run(&format!("lnetctl {} --help", words.join(" "))).out)
}

fn unexplained(found: &[(&Block, Vec<String>)]) -> String {
    let mut text = String::new();
    for (block, lines) in found {
        let rows = || DIFFERENCES.iter().filter(|row| row.commands.iter().any(|it| is_at(it, block)));
        let is_explained = |line: &&String| rows().any(|row| row.lines.iter().any(|it| matches(it, line)));
        let rest: Vec<&String> = lines.iter().filter(|line| !is_explained(line)).collect();
        if !rest.is_empty() {
            writeln!(text, "# {} ({})", block.command, block.section).unwrap();
            for line in rest {
                writeln!(text, "    {line}").unwrap();
            }
        }
    }
    text
}

/// What of the table no longer differs.
fn unused_rows(found: &[(&Block, Vec<String>)]) -> String {
    let mut text = String::new();
    for row in DIFFERENCES {
        let of = |command: &str| {
            let blocks = found.iter().filter(|(block, _)| is_at(command, block));
            blocks.flat_map(|(_, lines)| lines).collect::<BTreeSet<_>>()
        };
        let found: BTreeMap<&str, BTreeSet<&String>> = row.commands.iter().map(|it| (*it, of(it))).collect();
        for (command, lines) in &found {
            if !lines.iter().any(|line| row.lines.iter().any(|it| matches(it, line))) {
                writeln!(text, "no longer so: {command}: {}", row.words).unwrap();
            }
        }
        for line in row.lines {
            if !found.values().flatten().any(|it| matches(line, it)) {
                writeln!(text, "no longer so: {line}: {}", row.words).unwrap();
            }
        }
    }
    text
}

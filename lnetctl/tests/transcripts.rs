//! Commands and their output, as text: `tests/transcripts/*.txt`. `no-node.txt` is without a node, all others are with a node
//! that accepts every request. UPDATE_TRANSCRIPTS=1 writes the files again.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod fake;

use fake::{Changes, FakeNode};
use lnetctl::cli::Globals;
use lnetctl::output::Streams;
use lnetctl::run::{self, LineEnd};
use lnetctl::shell;
use std::fmt::Write;
use std::fs;
use test_support::transcripts;

#[test]
fn every_command_prints_what_its_transcript_has() {
    transcripts::check_all(|path, transcript| play(transcript, path.file_name().unwrap() != "no-node.txt"));
}

/// Returns the transcript with the current output of its commands. Comments and commands are kept.
fn play(transcript: &str, node: bool) -> String {
    let mut text = String::new();
    for line in transcript.lines() {
        if line.starts_with("## ") {
            writeln!(text, "{line}\n").unwrap();
        } else if let Some(command) = line.strip_prefix("$ lnetctl") {
            writeln!(text, "{line}").unwrap();
            text.push_str(&carry_out(command, node));
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Carries out a command, whose words are separated by blanks or stand in double quotes; `< FILE` is standard input.
fn carry_out(command: &str, node: bool) -> String {
    let (command, input) = match command.split_once(" < ") {
        Some((command, file)) => (command, fs::read(file).unwrap()),
        None => (command, Vec::new()),
    };
    let words: Vec<String> = command
        .split('"')
        .enumerate()
        .flat_map(|(i, part)| match i % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect();
    let changes = Changes::default();
    let connect =
        |_| if node { FakeNode::boxed(fake::one_interface(changes.clone())) } else { fake::no_node() };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let globals = Globals::default();
    let exit = if words.is_empty() {
        shell::piped(input.as_slice(), &globals, &connect, &mut out, &mut err).unwrap()
    } else {
        let mut streams = Streams { input: &mut input.as_slice(), out: &mut out, err: &mut err };
        match run::line(&words, &globals, &connect, &mut streams).unwrap() {
            LineEnd::Done(rc) => rc.exit_code(),
            LineEnd::Exit => 0,
        }
    };
    let mut text = String::from_utf8(out).unwrap();
    if !err.is_empty() {
        write!(text, "--- stderr:\n{}", String::from_utf8(err).unwrap()).unwrap();
    }
    for request in changes.borrow().iter() {
        writeln!(text, "--- request: {}", serde_json::to_string(request).unwrap()).unwrap();
    }
    writeln!(text, "--- exit: {exit}").unwrap();
    text
}

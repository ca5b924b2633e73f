//! Commands and their output, as text: `tests/transcripts/*.txt`. Each file is one console with the nodes 10.99.0.11@tcp to
//! 10.99.0.14@tcp, in memory. UPDATE_TRANSCRIPTS=1 writes the files again.
//!
//! A line `! MOOD NID` changes a node: fine, unresponsive, unreachable, refusing, busy, left (without session), errors. `! key N`
//! is LST_SESSION, which is 42 at first; `! features N` is LST_FEATURES; `! serves N NID`: the node serves N RPCs of 1 MiB in a second.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

#[path = "../../selftest/tests/console/console_rig.rs"]
mod console_rig;

use console_rig::{ConsoleRig, NodeBehaviour};
use lnet_selftest::console::call::Call;
use lnet_selftest::console::{Counters, Refusal, Response};
use lst::cli::Globals;
use lst::console::{CallError, Consoles};
use lst::run::{self, LineEnd, RunContext};
use lst::shell;
use std::cell::RefCell;
use std::fmt::Write;
use std::fs;
use std::rc::Rc;
use std::time::Duration;
use test_support::transcripts;

const NODES: [&str; 4] = ["10.99.0.11@tcp", "10.99.0.12@tcp", "10.99.0.13@tcp", "10.99.0.14@tcp"];

/// The console of a transcript; without one until a session is made.
struct InMemory(Rc<RefCell<ConsoleRig>>);

impl Consoles for InMemory {
    fn call(&mut self, call: &Call) -> Result<Response, CallError> {
        let Call { key, command } = call.clone();
        self.0.borrow_mut().call(key, command).map_err(|refusal: Refusal| refusal.into())
    }

    fn wait(&mut self, time: Duration) {
        self.0.borrow_mut().pass(time);
    }

    fn now(&self) -> Duration {
        self.0.borrow().now
    }
}

struct Player {
    console_rig: Rc<RefCell<ConsoleRig>>,
    key: Option<String>,
    features: Option<String>,
}

#[test]
fn every_command_prints_what_its_transcript_has() {
    transcripts::check_all(|_, transcript| play(transcript));
}

/// Returns the transcript with the current output of its commands. Comments and commands are kept.
fn play(transcript: &str) -> String {
    let console_rig = Rc::new(RefCell::new(ConsoleRig::new(&NODES)));
    let mut player = Player { console_rig, key: Some("42".to_owned()), features: None };
    let mut text = String::new();
    for line in transcript.lines() {
        if line.starts_with("## ") {
            writeln!(text, "{line}\n").unwrap();
        } else if let Some(change) = line.strip_prefix("! ") {
            player.change(change);
            writeln!(text, "{line}\n").unwrap();
        } else if let Some(command) = line.strip_prefix("$ lst") {
            writeln!(text, "{line}").unwrap();
            text.push_str(&player.carry_out(command));
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

impl Player {
    fn change(&mut self, change: &str) {
        let (what, of) = change.split_once(' ').unwrap_or((change, ""));
        let given = (!of.is_empty()).then(|| of.to_owned());
        match what {
            "key" => return self.key = given,
            "features" => return self.features = given,
            "pass" => return self.console_rig.borrow_mut().pass(Duration::from_secs(of.parse().unwrap())),
            "serves" => {
                let (rpcs, nid) = of.split_once(' ').unwrap();
                self.console_rig.borrow_mut().node(nid).serves = rpcs.parse().unwrap();
                return;
            }
            _ => {}
        }
        let mut console_rig = self.console_rig.borrow_mut();
        let node = console_rig.node(of);
        match what {
            "fine" => node.is = NodeBehaviour::Fine,
            "unresponsive" => node.is = NodeBehaviour::Unresponsive,
            "unreachable" => node.is = NodeBehaviour::Failing(libc::EHOSTUNREACH),
            "refusing" => node.is = NodeBehaviour::Refusing(libc::EINVAL.unsigned_abs()),
            "old" => node.features = 0,
            "busy" => node.occupy("other"),
            "left" => node.session = None,
            "errors" => node.errors = Counters { brw_errors: 3, rpcs_expired: 2, ..Counters::default() },
            other => panic!("{other}"),
        }
    }

    /// Carries out a command, whose words are separated by blanks; `< FILE` is standard input.
    fn carry_out(&self, command: &str) -> String {
        let consoles = |_| -> Box<dyn Consoles> { Box::new(InMemory(Rc::clone(&self.console_rig))) };
        let run_context = RunContext {
            consoles: &consoles,
            key: self.key.clone(),
            features: self.features.clone(),
            globals: Globals::default(),
            is_terminal: false,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = match command.split_once(" < ") {
            Some((_, file)) => {
                let script = fs::read(file).unwrap();
                shell::piped(script.as_slice(), &run_context, &mut out, &mut err).unwrap()
            }
            None => {
                let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
                match run::line(&words, &run_context, &mut out, &mut err).unwrap() {
                    LineEnd::Done(exit) => exit,
                    LineEnd::Shell => panic!("the shell's"),
                }
            }
        };
        let mut text = String::from_utf8(out).unwrap();
        if !err.is_empty() {
            write!(text, "--- stderr:\n{}", String::from_utf8(err).unwrap()).unwrap();
        }
        writeln!(text, "--- exit: {}", exit.code()).unwrap();
        text
    }
}

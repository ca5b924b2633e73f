//! A process of a testbed on one of its machines: the test program itself, in another role. The test writes commands to it, it answers.
//!
//! The program that includes this has a test `a_process_of_the_testbed`, which calls [`role`].

use super::machines::Machines;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

const ROLE: &str = "TESTBED_ROLE";
/// The prefix of each line that is a response to the test.
const MARK: &str = "@ ";

/// The role of this process; `None` in the test itself.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Answers the test; the first answer is `ready`.
pub fn respond(what: &str) {
    println!("{MARK}{what}");
}

/// A process on a machine, which ends when this is dropped.
pub struct Process {
    child: Child,
    commands: Option<ChildStdin>,
    responses: Lines<BufReader<ChildStdout>>,
    /// The directory of the node's control socket.
    _runtime_dir: TempDir,
}

impl Process {
    pub fn start(machines: &Machines, machine: usize, role: &str, variables: &[(&str, &str)]) -> Self {
        let runtime_dir = tempfile::tempdir().unwrap();
        let mut child = machines.on(machine, || {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "a_process_of_the_testbed", "--nocapture", "--test-threads=1"])
                .envs([(ROLE, role), ("RUST_BACKTRACE", "1")])
                .envs(variables.iter().copied())
                .env("LNET_RUNTIME_DIR", runtime_dir.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        });
        let responses = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Self { commands: child.stdin.take(), responses, child, _runtime_dir: runtime_dir };
        assert_eq!(process.read_response(), "ready");
        process
    }

    /// The process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process, and waits for its end.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends the process a command; returns the response.
    pub fn command(&mut self, command: &str) -> String {
        writeln!(self.commands.as_mut().unwrap(), "{command}").unwrap();
        self.read_response()
    }

    /// Reads the process's next answer.
    pub fn read_response(&mut self) -> String {
        let response = self.responses.by_ref().map_while(Result::ok).find_map(|line| {
            // The test harness may have written the beginning of the line.
            line.find(MARK).map(|at| line[at + MARK.len()..].to_owned())
        });
        response.expect("the process has ended")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.commands = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! Programs of Motr's network layer on the node of one daemon: the addresses of their transfer machines, and what the daemon has of them.
//! Acceptance cases 10, 30 and 31 of Motr's network layer; the records that no program may send are in `liblnet/node/tests/attach_hostile.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/m0net_program.rs"]
#[allow(unreachable_pub)]
mod m0net_program;
#[path = "support/placement.rs"]
#[allow(dead_code, unreachable_pub)]
mod placement;
#[path = "support/programs.rs"]
#[allow(unreachable_pub)]
mod programs;

use placement::{Daemon, NodeOfProgram, Site};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

const ADDRESS: &str = "127.0.10.1@tcp:12345:30:";

/// The program `c-tests/m0net_addresses.c`, and a daemon.
struct Rig {
    site: Site,
    program: PathBuf,
    node: NodeOfProgram,
}

impl Rig {
    fn build_or_skip(name: &str) -> Option<Self> {
        let program =
            m0net_program::build_or_skip(name, &["-g", "-pthread"], &["c-tests/m0net_addresses.c"])?;
        let site = Site::new();
        let daemon: Daemon = site.daemon("motr", "tcp(127.0.10.1)");
        Some(Self { program, node: NodeOfProgram::Of(daemon), site })
    }

    fn start(&self) -> Program {
        let mut command = self.site.command(&self.program, &self.node);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Program { child, input, output }
    }

    /// A number that the daemon shows of its only program.
    fn number(&self, key: &str) -> u64 {
        let lnetctl = programs::programs().join("lnetctl");
        let mut command = self.site.command(&lnetctl, &self.node);
        let output = command.args(["--node", "motr", "program", "show", "-v"]).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let values = shown.lines().filter_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
        let values: Vec<u64> = values.filter_map(|value| value.parse().ok()).collect();
        assert_eq!(values.len(), 1, "{key}: {shown}");
        values[0]
    }
}

/// A running program.
struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn ask(&mut self, line: &str) -> String {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }

    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Fails if two processes get one address, if `*` is one that another process has, or if an address is not free when its machine has stopped.
#[test]
fn an_address_has_one_transfer_machine_among_all_processes() {
    let Some(rig) = Rig::build_or_skip("one_machine") else { return };
    let in_use = format!("FAILED {}", -libc::EADDRINUSE);
    let (mut one, mut other) = (rig.start(), rig.start());
    let address = |tmid: u32| format!("{ADDRESS}{tmid}");
    for (is_first, line, expected) in [
        (true, "start 0 30 7", address(7)),
        (false, "start 0 30 7", in_use),
        (false, "start 0 30 8", address(8)),
        (true, "start 1 30 *", address(4095)),
        (false, "start 1 30 *", address(4094)),
        (true, "start 2 30 *", address(4093)),
        // The gap of another process.
        (false, "stop 1", "stopped".to_owned()),
        (true, "start 3 30 *", address(4094)),
        (false, "start 1 31 *", "127.0.10.1@tcp:12345:31:4095".to_owned()),
        (true, "stop 0", "stopped".to_owned()),
        (false, "start 2 30 7", address(7)),
        (false, "start 3 0 7", format!("FAILED {}", -libc::EINVAL)),
    ] {
        let program = if is_first { &mut one } else { &mut other };
        assert_eq!(program.ask(line), expected, "{line}, first: {is_first}");
    }
    for (number, program) in [(2, one), (1, other)] {
        let mut program = program;
        assert_eq!(program.ask(&format!("stop {number}")), "stopped");
        program.kill();
    }
}

/// Fails if the addresses of a process that was killed stay in use.
#[test]
fn the_addresses_of_a_killed_process_are_free() {
    let Some(rig) = Rig::build_or_skip("killed") else { return };
    let (mut one, mut other) = (rig.start(), rig.start());
    assert_eq!(one.ask("start 0 30 7"), format!("{ADDRESS}7"));
    one.kill();
    // The daemon notices in its own time.
    while other.ask("start 0 30 7") != format!("{ADDRESS}7") {}
    assert_eq!(other.ask("stop 0"), "stopped");
    other.end();
}

/// Fails if a machine that runs can be started again, or if something is left in the daemon of machines that have stopped.
#[test]
fn a_daemon_has_nothing_of_transfer_machines_that_have_stopped() {
    let Some(rig) = Rig::build_or_skip("stopped") else { return };
    let mut program = rig.start();
    let counts = || ["claims", "mes", "mds"].map(|key| rig.number(key));
    for turn in 0..3 {
        for number in 0..3 {
            let started = program.ask(&format!("start {number} 30 *"));
            assert_eq!(started, format!("{ADDRESS}{}", 4095 - number), "{turn}");
        }
        assert_eq!(counts(), [3, 3, 3], "{turn}");
        assert_eq!(program.ask("again 1 30 *"), (-libc::EINVAL).to_string(), "{turn}");
        for number in 0..3 {
            assert_eq!(program.ask(&format!("stop {number}")), "stopped", "{turn}");
        }
        assert_eq!(counts(), [0, 0, 0], "{turn}");
    }
    program.end();
}

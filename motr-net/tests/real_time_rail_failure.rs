//! Bulk transfers over two rails in network namespaces, one of which fails in the middle of them. LNet detects the failure of a rail in
//! real time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod rail_failure {
    pub(crate) mod process;
}
#[allow(dead_code, unreachable_pub)]
mod support {
    pub mod machine;
    #[path = "../../../tests/support/machines.rs"]
    pub mod machines;
    #[path = "../../../tests/support/netns.rs"]
    pub mod netns;
}

use lnet as _;
use rail_failure::process::{MARK, ROLE};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use support::machines::{Machines, Wiring, port, run};
use support::netns::ip;
use tempfile::TempDir;

const CLIENT: usize = 0;
const SERVER: usize = 1;
const RAILS: usize = 2;
const WIRING: Wiring = Wiring::SwitchPerCard;
/// Longer than LNet takes to detect the failure of a rail.
const DETECTION_TIME: Duration = Duration::from_secs(2);

/// The program of a client or of a server, if the environment says so.
#[test]
fn a_process_of_the_testbed() {
    if let Ok(role) = std::env::var(ROLE) {
        rail_failure::process::run(&role);
    }
}

/// A process on a machine.
struct Process {
    child: Child,
    commands: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
    /// The directory of its node's control socket.
    _runtime_dir: TempDir,
}

impl Process {
    fn start(machines: &Machines, machine: usize, networks: &str, role: &str) -> Self {
        let runtime_dir = tempfile::tempdir().unwrap();
        let mut child = machines.on(machine, || {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "a_process_of_the_testbed", "--nocapture", "--test-threads=1"])
                .envs([(ROLE, role), ("RUST_BACKTRACE", "1"), ("LNET_NETWORKS", networks)])
                .env("LNET_RUNTIME_DIR", runtime_dir.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        });
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Self { commands: child.stdin.take(), answers, child, _runtime_dir: runtime_dir };
        assert_eq!(process.read_answer(), "ready");
        process
    }

    /// Sends it a command; returns the answer.
    fn command(&mut self, command: &str) -> String {
        writeln!(self.commands.as_mut().unwrap(), "{command}").unwrap();
        self.read_answer()
    }

    /// Its next answer.
    fn read_answer(&mut self) -> String {
        let answer = self.answers.by_ref().map_while(Result::ok).find_map(|line| {
            // The test harness may have written the beginning of the line.
            line.find(MARK).map(|at| line[at + MARK.len()..].to_owned())
        });
        answer.expect("the process has ended")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.commands = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Bulk data goes both ways between two machines while `happens`; asserts that none is lost.
fn no_transfer_fails(name: &str, networks: &str, rails: usize, happens: impl FnOnce(&Machines)) {
    let Some(machines) = Machines::or_skip(2, rails, WIRING, |_| None) else { return };
    let address = |machine| format!("{}:12345:31:{machine}", WIRING.nid(machine, 0));
    let _server = Process::start(&machines, SERVER, networks, &format!("server {}", address(SERVER)));
    let role = format!("client {} {}", address(CLIENT), address(SERVER));
    let mut client = Process::start(&machines, CLIENT, networks, &role);
    happens(&machines);
    let counts = client.command("end");
    println!("{name}: {counts}");
    assert!(counts.contains(" failed 0 corrupted 0 "), "{name}: {counts}");
}

#[test]
fn bulk_data_is_transferred_both_ways_over_one_rail() {
    no_transfer_fails("one rail", "tcp(eth0)", 1, |_| ());
}

#[test]
fn bulk_data_is_transferred_both_ways_over_two_rails() {
    no_transfer_fails("two rails", "tcp(eth0,eth1)", RAILS, |_| ());
}

/// Bulk data takes the other rail. Messages are sent by the NI of the transfer machine's address, which is on the first one.
#[test]
fn a_rail_that_dies_in_the_middle_of_bulk_transfers_fails_none() {
    type Break = fn(&Machines, bool);
    for (name, set) in
        [("link", set_link as Break), ("blackhole", set_forwarding as Break), ("cable", set_plugged as Break)]
    {
        no_transfer_fails(name, "tcp(eth0,eth1)", RAILS, |machines| {
            set(machines, false);
            std::thread::sleep(DETECTION_TIME);
            set(machines, true);
            std::thread::sleep(DETECTION_TIME);
        });
    }
}

fn set_link(machines: &Machines, up: bool) {
    machines.ip_on(CLIENT, &[&["link", "set", "eth1", if up { "up" } else { "down" }]]);
    if up {
        machines.ip_on(CLIENT, &[&WIRING.route(1).each_ref().map(String::as_str)]);
    }
}

fn set_forwarding(machines: &Machines, forwarding: bool) {
    let port = port(SERVER, 1);
    let state = if forwarding { "3" } else { "0" };
    machines.in_the_middle(|| run("bridge", &["link", "set", "dev", &port, "state", state]));
}

fn set_plugged(machines: &Machines, plugged: bool) {
    let (port, switch) = (port(CLIENT, 1), WIRING.switch(1));
    machines.in_the_middle(|| match plugged {
        true => ip(&["link", "set", &port, "master", &switch]),
        false => ip(&["link", "set", &port, "nomaster"]),
    });
}

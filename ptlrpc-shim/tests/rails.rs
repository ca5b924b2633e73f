//! RPCs over two real rails, which break, and with a server that is killed (ptlrpc 10, tests 5, 6, 8, 14, 15 and 17).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod rails {
    pub(crate) mod process;
}
#[allow(dead_code, unreachable_pub)]
mod support {
    #[path = "../../../tests/support/machines.rs"]
    pub mod machines;
    #[path = "../../../tests/support/netns.rs"]
    pub mod netns;
}

use lnet as _;
use rails::process::{MARK, ROLE};
use std::collections::BTreeMap;
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

/// It is one if the environment says so.
#[test]
fn a_process_of_the_stage() {
    if let Ok(role) = std::env::var(ROLE) {
        rails::process::live(&role);
    }
}

/// A process on a machine.
struct Process {
    child: Child,
    orders: Option<ChildStdin>,
    words: Lines<BufReader<ChildStdout>>,
    /// Where its node is reached.
    _place: TempDir,
}

impl Process {
    /// `discovery`: whether its node asks others for their NIDs and tells its own.
    fn start(machines: &Machines, machine: usize, role: &str, discovery: bool) -> Self {
        let place = tempfile::tempdir().unwrap();
        let mut child = machines.on(machine, || {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "a_process_of_the_stage", "--nocapture", "--test-threads=1"])
                .envs([(ROLE, role), ("LNET_NETWORKS", "tcp(eth0,eth1)"), ("RUST_BACKTRACE", "1")])
                .env("LNET_DISCOVERY", if discovery { "1" } else { "0" })
                .env("LNET_RUNTIME_DIR", place.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        });
        let words = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Self { orders: child.stdin.take(), words, child, _place: place };
        assert_eq!(process.word(), "ready");
        process
    }

    /// Tells it something; what it says to that.
    fn ask(&mut self, order: &str) -> String {
        writeln!(self.orders.as_mut().unwrap(), "{order}").unwrap();
        self.word()
    }

    /// What it says next.
    fn word(&mut self) -> String {
        let word = self.words.by_ref().map_while(Result::ok).find_map(|line| {
            // The harness writes no line's end before.
            line.find(MARK).map(|at| line[at + MARK.len()..].to_owned())
        });
        word.expect("the process has ended")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.orders = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the client says of its load.
#[derive(Debug)]
struct Books {
    well: u64,
    failed: u64,
    wrong: u64,
    twice: u64,
    lost: u64,
    #[allow(dead_code, reason = "printed")]
    longest: Duration,
    connections: u64,
}

impl Books {
    fn of(text: &str) -> Self {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |name: &str| {
            let at = words.iter().position(|word| *word == name).expect(name);
            words[at + 1].parse::<u64>().unwrap()
        };
        Self {
            well: number("well"),
            failed: number("failed"),
            wrong: number("wrong"),
            twice: number("twice"),
            lost: number("lost"),
            longest: Duration::from_millis(number("longest")),
            connections: number("connections"),
        }
    }
}

/// A client with a load, and its server.
struct Stage {
    machines: Machines,
    server: Process,
    client: Process,
}

impl Stage {
    /// `None`: it cannot be done here.
    fn or_skip(wiring: Wiring, client_discovers: bool) -> Option<Self> {
        let machines = Machines::or_skip(2, RAILS, wiring, |_| None)?;
        let server = Process::start(&machines, SERVER, "server", true);
        let nids = (0..RAILS).map(|card| wiring.nid(SERVER, card).to_string()).collect::<Vec<_>>().join(",");
        let client = Process::start(&machines, CLIENT, &format!("client {nids}"), client_discovers);
        Some(Self { machines, server, client })
    }

    /// Ends the load; what the client says of it.
    fn end(&mut self) -> Books {
        let books = Books::of(&self.client.ask("end"));
        println!("{books:?}");
        assert_eq!((books.wrong, books.twice), (0, 0), "{books:?}");
        books
    }

    /// By which ways requests came to the server: from, to, and how many.
    fn ways(&mut self) -> Vec<(String, String, u64)> {
        let said = self.server.ask("ways");
        let words: Vec<&str> = said.split(' ').collect();
        let way = |way: &[&str]| (way[0].to_owned(), way[1].to_owned(), way[2].parse().unwrap());
        words.chunks_exact(3).map(way).collect()
    }
}

/// Has something happen under load; what the client says of it. `None`: it cannot be done here.
fn under_load(happens: impl FnOnce(&mut Stage)) -> Option<Books> {
    let mut stage = Stage::or_skip(WIRING, true)?;
    happens(&mut stage);
    Some(stage.end())
}

fn set_link(machines: &Machines, card: usize, up: bool) {
    let name = format!("eth{card}");
    machines.ip_on(CLIENT, &[&["link", "set", &name, if up { "up" } else { "down" }]]);
    if up {
        machines.ip_on(CLIENT, &[&WIRING.route(card).each_ref().map(String::as_str)]);
    }
}

fn set_forwarding(machines: &Machines, card: usize, forwarding: bool) {
    let port = port(SERVER, card);
    let state = if forwarding { "3" } else { "0" };
    machines.in_the_middle(|| run("bridge", &["link", "set", "dev", &port, "state", state]));
}

fn set_plugged(machines: &Machines, card: usize, plugged: bool) {
    let (port, switch) = (port(CLIENT, card), WIRING.switch(card));
    machines.in_the_middle(|| match plugged {
        true => ip(&["link", "set", &port, "master", &switch]),
        false => ip(&["link", "set", &port, "nomaster"]),
    });
}

/// Long enough for anybody to notice.
const A_WHILE: Duration = Duration::from_secs(2);

/// LNet finds the other rail.
#[test]
fn a_rail_that_dies_costs_no_rpc() {
    type Break = fn(&Machines, usize, bool);
    for (name, set) in
        [("link", set_link as Break), ("blackhole", set_forwarding as Break), ("cable", set_plugged as Break)]
    {
        let books = under_load(|stage| {
            set(&stage.machines, 1, false);
            std::thread::sleep(A_WHILE);
            set(&stage.machines, 1, true);
            std::thread::sleep(A_WHILE);
        });
        let Some(books) = books else { return };
        assert_eq!((books.failed, books.lost), (0, 0), "{name}: {books:?}");
        assert!(books.well >= 500, "{name}: {books:?}");
    }
}

#[test]
fn a_server_that_is_killed_and_started_again_is_used_again_and_nothing_is_done_twice() {
    under_load(|stage| {
        stage.server.child.kill().unwrap();
        stage.server.child.wait().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        stage.server = Process::start(&stage.machines, SERVER, "server", true);
        std::thread::sleep(2 * A_WHILE);
    })
    .inspect(|books| assert!(books.connections > 1, "{books:?}"));
}

/// Both sides' interfaces take turns: in step, as long as nothing else is under way, so that two of the four pairs may do.
///
/// snd-075: fails if a client names the interface that its requests leave by.
#[test]
fn requests_are_spread_over_all_interfaces_of_both_sides() {
    let Some(mut stage) = Stage::or_skip(Wiring::OneSwitch, true) else { return };
    let books = stage.end();
    let ways = stage.ways();
    for side in [|way: &(String, String, u64)| way.0.clone(), |way: &(String, String, u64)| way.1.clone()] {
        let mut by_interface = BTreeMap::<String, u64>::new();
        ways.iter().for_each(|way| *by_interface.entry(side(way)).or_default() += way.2);
        assert_eq!(by_interface.len(), RAILS, "{ways:?}");
        assert!(by_interface.values().all(|count| *count > books.well / 4), "{ways:?}, of {books:?}");
    }
}

/// So that its servers, which know it by one NID, know it by the one that they see.
#[test]
fn all_requests_of_a_client_that_is_not_multi_rail_come_from_one_nid() {
    let Some(mut stage) = Stage::or_skip(Wiring::OneSwitch, false) else { return };
    stage.end();
    let ways = stage.ways();
    assert!(!ways.is_empty() && ways.iter().all(|(from, ..)| *from == ways[0].0), "{ways:?}");
}

/// LNet sends again, which costs no RPC its time.
#[test]
fn messages_that_the_peer_does_not_take_are_sent_again_beneath_the_rpcs() {
    let resent = |stage: &mut Stage| stage.server.ask("resent").parse::<u64>().unwrap();
    let mut seen = None;
    let books = under_load(|stage| {
        assert_eq!(stage.client.ask("be refused"), "done");
        std::thread::sleep(A_WHILE);
        seen = Some(resent(stage));
    });
    let Some(books) = books else { return };
    assert_eq!((books.failed, books.lost, seen), (0, 0, Some(0)), "{books:?}");
}

/// The first of its NIDs goes, by which everybody else calls it from then on.
#[test]
fn replies_match_whatever_the_peer_is_called_meanwhile() {
    let books = under_load(|stage| {
        assert_eq!(stage.server.ask("without eth0"), "done");
        std::thread::sleep(A_WHILE);
    });
    let Some(books) = books else { return };
    assert_eq!((books.failed, books.lost, books.connections), (0, 0, 1), "{books:?}");
}

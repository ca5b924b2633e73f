//! RPCs over two real rails that break, and with a server that is killed (section 10, tests 5, 6 and 14).
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
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use support::machines::{Machines, Wiring, port, run};
use support::netns::ip;

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
}

impl Process {
    fn start(machines: &Machines, machine: usize, role: &str) -> Self {
        let mut child = machines.on(machine, || {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "a_process_of_the_stage", "--nocapture", "--test-threads=1"])
                .envs([(ROLE, role), ("LNET_NETWORKS", "tcp(eth0,eth1)"), ("RUST_BACKTRACE", "1")])
                .env_remove("LNET_RUNTIME_DIR")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        });
        let words = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Self { orders: child.stdin.take(), words, child };
        assert_eq!(process.word(), "ready");
        process
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

fn nids() -> String {
    (0..RAILS).map(|card| WIRING.nid(SERVER, card).to_string()).collect::<Vec<_>>().join(",")
}

/// Has something happen under load; what the client says of it. `None`: it cannot be done here.
fn under_load(happens: impl FnOnce(&Machines, &mut Process)) -> Option<Books> {
    let machines = Machines::or_skip(2, RAILS, WIRING, |_| None)?;
    let mut server = Process::start(&machines, SERVER, "server");
    let mut client = Process::start(&machines, CLIENT, &format!("client {}", nids()));
    std::thread::sleep(Duration::from_millis(300));
    happens(&machines, &mut server);
    std::thread::sleep(Duration::from_millis(300));
    writeln!(client.orders.as_mut().unwrap(), "end").unwrap();
    let books = Books::of(&client.word());
    println!("{books:?}");
    assert_eq!((books.wrong, books.twice), (0, 0), "{books:?}");
    assert!(books.well > 100, "{books:?}");
    Some(books)
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
        let books = under_load(|machines, _| {
            set(machines, 1, false);
            std::thread::sleep(A_WHILE);
            set(machines, 1, true);
            std::thread::sleep(A_WHILE);
        });
        let Some(books) = books else { return };
        assert_eq!((books.failed, books.lost), (0, 0), "{name}: {books:?}");
    }
}

#[test]
fn a_server_that_is_killed_and_started_again_is_used_again_and_nothing_is_done_twice() {
    under_load(|machines, server| {
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        *server = Process::start(machines, SERVER, "server");
        std::thread::sleep(2 * A_WHILE);
    })
    .inspect(|books| assert!(books.connections > 1, "{books:?}"));
}

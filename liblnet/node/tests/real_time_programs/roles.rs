//! What a process of the soak does: the daemon, a program, or the other node. Each line that begins with [`MARK`] is for the soak.

use super::load::{Counts, Load, Place};
use super::network::Network;
use lnet_attach::client::{AttachedNode, ClientConfig};
use lnet_core::Errno;
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_node::{AttachConfig, AttachServer, Node, StartConfig};
use lnet_os::descriptor::connect_unix;
use lnet_wire::Pid;
use std::env;
use std::io::{BufRead, stdin};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

pub const MARK: &str = "@ ";
/// The variables of a process.
pub const ROLE: &str = "LNET_SOAK_ROLE";
pub const DIRECTORY: &str = "LNET_SOAK_DIRECTORY";
pub const PORT: &str = "LNET_SOAK_PORT";
pub const NUMBER: &str = "LNET_SOAK_NUMBER";
pub const PROGRAMS: &str = "LNET_SOAK_PROGRAMS";
/// The interval at which a program looks for a daemon.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);
/// The number of operations after which a participant says how many there were.
const SAID_EVERY: u32 = 256;

const DAEMON: &str = "127.0.8.1";
const OTHER: &str = "127.0.8.2";

pub fn run_if_asked() {
    let Ok(role) = env::var(ROLE) else { return };
    match role.as_str() {
        "daemon" => daemon(),
        "program" => program(),
        "other" => other(),
        _ => panic!("{role}"),
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap()
}

fn say(what: &str) {
    println!("{MARK}{what}");
}

fn node(address: &str) -> Arc<Node> {
    let config = StartConfig::from_lookup(|name| match name {
        "LNET_NETWORKS" => Some(format!("tcp({address})")),
        "LNET_ACCEPT" => Some("all".to_owned()),
        "LNET_ACCEPT_PORT" => Some(variable(PORT)),
        "LNET_TRANSACTION_TIMEOUT" => Some("5".to_owned()),
        _ => None,
    });
    let config = StartConfig { name: "n".parse().unwrap(), ..config.unwrap() };
    Node::start(Pid::LUSTRE, config).unwrap()
}

/// All participants but this one: the programs, and the other node.
fn others() -> Vec<Place> {
    let (own, programs): (u64, u64) = (number(), variable(PROGRAMS).parse().unwrap());
    let nid = |address: &str| format!("{address}@tcp").parse().unwrap();
    let programs = (1..=programs).map(|number| Place { number, nid: nid(DAEMON), is_steady: false });
    let other = Place { number: 0, nid: nid(OTHER), is_steady: true };
    programs.chain([other]).filter(|place| place.number != own).collect()
}

fn number() -> u64 {
    variable(NUMBER).parse().unwrap()
}

fn own_place() -> Place {
    // Its NID is for others.
    Place { number: number(), nid: lnet_wire::Nid::LOOPBACK, is_steady: false }
}

/// A node that admits programs and answers questions about them, until the end of its input.
fn daemon() {
    let node = node(DAEMON);
    let config = AttachConfig::new(RuntimeDir::at(PathBuf::from(variable(DIRECTORY)).as_path()));
    let server = AttachServer::start(config, &node).unwrap();
    say("ready");
    for _ in stdin().lines().map_while(Result::ok) {
        let messages = node.core().message_counts().msgs_alloc;
        say(&format!("{} programs, {messages} messages", server.programs().programs.len()));
    }
    server.stop();
    node.shutdown();
}

fn other() {
    let node = node(OTHER);
    let memory = Load::memory();
    let network = Arc::clone(&node) as Arc<dyn Network>;
    let load = Load::start(own_place(), network, Arc::clone(&memory), false).unwrap();
    say("ready");
    run(&load, &is_told_to_end());
    node.shutdown();
}

/// A program that attaches again whenever the daemon has gone.
fn program() {
    let (is_ending, memory) = (is_told_to_end(), Load::memory());
    say("ready");
    while !is_ending.load(Ordering::SeqCst) {
        let Some(network) = attach() else {
            thread::sleep(RETRY_INTERVAL);
            continue;
        };
        // Programs with an even number use memory in place, the others copies.
        let (in_place, its) = (number().is_multiple_of(2), Arc::clone(&network) as Arc<dyn Network>);
        match Load::start(own_place(), its, Arc::clone(&memory), in_place) {
            Ok(load) => run(&load, &is_ending),
            Err(Errno::NetworkDown) => {}
            Err(errno) => say(&format!("wrong: no memory can be offered: {errno}")),
        }
        network.shutdown();
    }
}

fn attach() -> Option<Arc<AttachedNode>> {
    let stream = connect_unix(&PathBuf::from(variable(DIRECTORY)).join("n.attach")).ok()?;
    let (pid, program) = (Pid::LUSTRE, format!("p{}", number()));
    let config = ClientConfig { pid, program, operations: 4096, reports: 4096, spin: Duration::ZERO };
    AttachedNode::attach(stream, &config).ok()
}

/// Puts load on the network until the end, or until it is down.
fn run(load: &Load, is_ending: &AtomicBool) {
    let (others, mut random) = (others(), fastrand::Rng::new());
    let mut begun = 0;
    while !is_ending.load(Ordering::SeqCst) && load.step(&others, &mut random) {
        begun += 1;
        if begun % SAID_EVERY == 0 {
            say_counts(load.take_counts());
        }
    }
    match load.finish() {
        Ok(counts) => say_counts(counts),
        Err(fault) => say(&format!("wrong: participant {}: {fault}", number())),
    }
}

fn say_counts(Counts { ended, unanswered, down }: Counts) {
    say(&format!("{ended} ended, {unanswered} unanswered, {down} down"));
}

/// Set at the end of the input.
fn is_told_to_end() -> Arc<AtomicBool> {
    let is_ending = Arc::new(AtomicBool::new(false));
    let to_set = Arc::clone(&is_ending);
    thread::spawn(move || {
        stdin().lock().lines().map_while(Result::ok).for_each(drop);
        to_set.store(true, Ordering::SeqCst);
    });
    is_ending
}

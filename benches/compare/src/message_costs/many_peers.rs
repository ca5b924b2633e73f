//! System calls and instructions of `lnet_perf` with many peers.
//!
//! The cost of a message is the difference of two runs, of which one has three times as many operations: the handshakes with all peers
//! are the same in both. strace counts the system calls of both processes, valgrind's callgrind the instructions of one at a time: that
//! is so much slower then that it never polls in vain.

use super::Cost;
use super::instructions::collected;
use super::system_calls::{Directory, RECEIVES, SENDS, failed, finished, strace, successful};
use crate::error::{Error, context};
use crate::lnet::{self, Length, Lnet, Side};
use crate::many_peers::{self, IN_FLIGHT, SIZE};
use crate::peer_process::{Peer, free_port, output_of};
use crate::scenario::Bytes;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The numbers of peers. Under strace the next message to each of a thousand would come too late for a delivery ACK.
pub(super) const PEERS: [u16; 3] = [1, 64, 256];
/// Number of operations of the shorter run.
const OPERATIONS: u32 = 5_000;
/// The same with one peer: many messages share a call there, and how many differs from run to run.
const OPERATIONS_OF_ONE: u32 = 50_000;
const WAITS: [&str; 3] = ["epoll_wait", "epoll_pwait", "epoll_pwait2"];
const COUNTED: [(&str, Count, &[&str]); 4] = [
    ("receives", successful, &RECEIVES),
    ("receives in vain", failed, &RECEIVES),
    ("sends", successful, &SENDS),
    ("waits for sockets", successful, &WAITS),
];

/// Reads a number of calls from a summary of strace.
type Count = fn(&str, &[&str]) -> u64;

/// The same with callgrind, which counts each side by itself.
pub(super) const PEERS_OF_INSTRUCTIONS: [u16; 2] = [1, 64];
const INSTRUCTIONS_OPERATIONS: u32 = 2_000;
/// Time limit for callgrind to write its count, far beyond the need.
const COUNT_TIMEOUT: Duration = Duration::from_secs(30);

/// The counts of a run, in the order of [`COUNTED`], and the number of operations.
struct Run {
    calls: [f64; COUNTED.len()],
    operations: f64,
}

pub(super) fn names(peers: u16) -> Vec<String> {
    COUNTED.map(|(calls, ..)| format!("{calls} for each message, {}", scenario(peers))).into()
}

/// The names of the instructions of both sides.
pub(super) fn names_of_instructions(peers: u16) -> [String; 2] {
    SIDES.map(|(_, name)| format!("instructions of the {name} side, {}", scenario(peers)))
}

const SIDES: [(Side, &str); 2] = [(Side::Client, "asking"), (Side::Server, "serving")];

fn scenario(peers: u16) -> String {
    let to = if peers == 1 { "1 peer".into() } else { format!("{peers} peers") };
    format!("PUT {}, {IN_FLIGHT} in flight to {to}", Bytes(SIZE))
}

pub(super) fn count(program: &Path, peers: u16) -> Result<Vec<Cost>, Error> {
    let lnet = Lnet::new(program);
    let operations = if peers == 1 { OPERATIONS_OF_ONE } else { OPERATIONS };
    let (short, long) = (run(&lnet, peers, operations)?, run(&lnet, peers, 3 * operations)?);
    // Each operation has a PUT and an ACK.
    let messages = 2.0 * (long.operations - short.operations);
    let figures = short.calls.into_iter().zip(long.calls).map(|(short, long)| (long - short) / messages);
    Ok(names(peers).into_iter().zip(figures).map(|(name, figure)| Cost { name, figure }).collect())
}

/// Counts the instructions of an operation on either side.
pub(super) fn count_instructions(program: &Path, peers: u16) -> Result<Vec<Cost>, Error> {
    let lnet = Lnet::new(program);
    let names = names_of_instructions(peers).into_iter().zip(SIDES);
    let of_side = |(name, (side, _))| {
        let (short, before) = instructions(&lnet, peers, INSTRUCTIONS_OPERATIONS, side)?;
        let (long, after) = instructions(&lnet, peers, 3 * INSTRUCTIONS_OPERATIONS, side)?;
        Ok(Cost { name, figure: (long - short) / (after - before) })
    };
    names.map(of_side).collect()
}

fn run(lnet: &Lnet, peers: u16, operations: u32) -> Result<Run, Error> {
    let directory = Directory::new()?;
    let names: Vec<&str> = COUNTED.iter().flat_map(|(.., calls)| calls.iter().copied()).collect();
    let (operations, server) =
        operations_under(|side| strace(&names, &directory.summary(side)), lnet, peers, operations)?;
    drop(server);
    let summaries =
        [finished(&directory.summary(Side::Client))?, finished(&directory.summary(Side::Server))?];
    let calls = COUNTED
        .map(|(_, count, calls)| summaries.iter().map(|summary| count(summary, calls)).sum::<u64>() as f64);
    Ok(Run { calls, operations })
}

/// Returns the number of instructions of one side in a run, and the number of operations.
fn instructions(lnet: &Lnet, peers: u16, operations: u32, counted: Side) -> Result<(f64, f64), Error> {
    let directory = Directory::new()?;
    let log = directory.summary(counted);
    let callgrind = |side| {
        if side != counted {
            return Vec::new();
        }
        let words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"].map(OsString::from);
        let mut to = OsString::from("--log-file=");
        to.push(&log);
        words.into_iter().chain([to]).collect()
    };
    let (operations, server) = operations_under(callgrind, lnet, peers, operations)?;
    // Not killed, so that it writes its count.
    let id = i32::try_from(server.id()).map_err(context("the server's process"))?;
    kill(Pid::from_raw(id), Signal::SIGTERM).map_err(context("ending the server"))?;
    let deadline = Instant::now() + COUNT_TIMEOUT;
    loop {
        let text = fs::read_to_string(&log).unwrap_or_default();
        match collected(&text) {
            Some(instructions) => return Ok((instructions, operations)),
            None if Instant::now() > deadline => {
                return Err(format!("valgrind has not written its count: {text}"));
            }
            None => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Runs `operations` operations, and as many before them. Returns the number of all, and the server, which still runs. Each process
/// is started with the words that `before` returns for it.
fn operations_under(
    before: impl Fn(Side) -> Vec<OsString>,
    lnet: &Lnet,
    peers: u16,
    operations: u32,
) -> Result<(f64, Peer), Error> {
    let started = |side, command: &Command| {
        let words = before(side);
        let mut words = words.iter().map(OsString::as_os_str).chain([command.get_program()]);
        let mut started = Command::new(words.next().unwrap_or_default());
        started.args(words).args(command.get_args());
        started.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        started
    };
    let (port, length) = (free_port()?, Length::Operations(operations));
    let mut server = started(Side::Server, many_peers::server(lnet, port, peers).arg("serve"));
    let mut server = Peer::start(&mut server, length.limit())?;
    server.first_line()?;
    let mut client = many_peers::client(lnet, port, peers);
    client.args(many_peers::arguments(peers, 1, length));
    let output = output_of(&mut started(Side::Client, &client), length.limit())?;
    Ok((lnet::value(&output, "messages")?, server))
}

//! System calls of `lnet_perf` with many peers, which strace counts in both processes.
//!
//! The cost of a message is the difference of two runs, of which one has three times as many operations: the handshakes with all peers
//! are the same in both.

use super::Cost;
use super::system_calls::{Directory, RECEIVES, SENDS, finished, strace, successful};
use crate::error::Error;
use crate::lnet::{self, Length, Lnet, Side};
use crate::many_peers::{self, IN_FLIGHT, SIZE};
use crate::peer_process::{Peer, free_port, output_of};
use crate::scenario::Bytes;
use std::path::Path;
use std::process::Command;

/// The numbers of peers. Under strace the next message to each of a thousand would come too late for a delivery ACK.
pub(super) const PEERS: [u16; 3] = [1, 64, 256];
/// Number of operations of the shorter run.
const OPERATIONS: u32 = 5_000;
const WAITS: [&str; 3] = ["epoll_wait", "epoll_pwait", "epoll_pwait2"];
const COUNTED: [(&str, &[&str]); 3] =
    [("receives", &RECEIVES), ("sends", &SENDS), ("waits for sockets", &WAITS)];

/// The counts of a run, in the order of [`COUNTED`].
struct Run {
    calls: [f64; COUNTED.len()],
    messages: f64,
}

pub(super) fn names(peers: u16) -> Vec<String> {
    let to = if peers == 1 { "1 peer".into() } else { format!("{peers} peers") };
    let name =
        |(calls, _)| format!("{calls} for each message, PUT {}, {IN_FLIGHT} in flight to {to}", Bytes(SIZE));
    COUNTED.map(name).into()
}

pub(super) fn count(program: &Path, peers: u16) -> Result<Vec<Cost>, Error> {
    let lnet = Lnet::new(program);
    let (short, long) = (run(&lnet, peers, OPERATIONS)?, run(&lnet, peers, 3 * OPERATIONS)?);
    let messages = long.messages - short.messages;
    let figures = short.calls.into_iter().zip(long.calls).map(|(short, long)| (long - short) / messages);
    Ok(names(peers).into_iter().zip(figures).map(|(name, figure)| Cost { name, figure }).collect())
}

fn run(lnet: &Lnet, peers: u16, operations: u32) -> Result<Run, Error> {
    let directory = Directory::new()?;
    let names: Vec<&str> = COUNTED.iter().flat_map(|(_, calls)| calls.iter().copied()).collect();
    let traced = |side, command: &Command| {
        let words = strace(&names, &directory.summary(side));
        let mut words = words.iter().map(|word| word.as_os_str()).chain([command.get_program()]);
        let mut traced = Command::new(words.next().unwrap_or_default());
        traced.args(words).args(command.get_args());
        traced.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        traced
    };
    let (port, length) = (free_port()?, Length::Operations(operations));
    let mut server = traced(Side::Server, many_peers::server(lnet, port, peers).arg("serve"));
    let mut server = Peer::start(&mut server, length.limit())?;
    server.first_line()?;
    let mut client = many_peers::client(lnet, port, peers);
    client.args(many_peers::arguments(peers, 1, length));
    let output = output_of(&mut traced(Side::Client, &client), length.limit())?;
    drop(server);
    let summaries =
        [finished(&directory.summary(Side::Client))?, finished(&directory.summary(Side::Server))?];
    let calls = COUNTED
        .map(|(_, calls)| summaries.iter().map(|summary| successful(summary, calls)).sum::<u64>() as f64);
    // Each has its ACK.
    Ok(Run { calls, messages: 2.0 * lnet::value(&output, "messages")? })
}

//! Message rate of LNet with many peers, and with several threads that send.
//!
//! The peers are the NIDs of one serving process, and both sides are without discovery, so each NID is a peer with its own
//! connections. As many processes on one machine would mostly measure its scheduler.

use crate::cpu;
use crate::error::Error;
use crate::lnet::{self, CLIENT, Lnet};
use crate::options::Options;
use crate::peer_process::{Peer, free_port, limit, output_of};
use crate::statistics::Summary;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Size of a message in bytes.
pub(crate) const SIZE: usize = 8;
/// Number of messages in flight to all peers together.
pub(crate) const IN_FLIGHT: usize = 64;
const PEERS: [u8; 3] = [1, 8, 64];
const QUICK_PEERS: [u8; 2] = [1, 64];
const THREADS: [usize; 2] = [1, 2];

/// The way in which a peer gets its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serving {
    /// A thread waits in `LNetEQWait`, where it polls for a while before it sleeps.
    Waits,
    /// The event queue has a handler, which a thread of the library calls.
    Handler,
}

impl Serving {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Waits => "`LNetEQWait`",
            Self::Handler => "EQ handler",
        }
    }

    const fn command(self) -> &'static str {
        match self {
            Self::Waits => "serve",
            Self::Handler => "serve-handler",
        }
    }
}

/// The parameters of a measurement, and its result: a line of the table.
pub(crate) struct Line {
    pub(crate) serving: Serving,
    pub(crate) peers: u8,
    /// Number of threads that send.
    pub(crate) threads: usize,
    pub(crate) outcome: Result<Rates, Error>,
}

pub(crate) struct Rates {
    /// Messages per second.
    pub(crate) rate: Summary,
    /// CPU seconds for a message of the sending process.
    pub(crate) cpu_here: Summary,
    /// CPU seconds for a message of the serving process, if the kernel tells.
    pub(crate) cpu_there: Option<Summary>,
}

/// The result of one line in one round.
struct Round {
    rate: f64,
    cpu_here: f64,
    cpu_there: Option<f64>,
}

pub(crate) fn measure(lnet: &Lnet, options: &Options) -> Vec<Line> {
    [Serving::Waits, Serving::Handler].into_iter().flat_map(|it| of_serving(lnet, options, it)).collect()
}

fn of_serving(lnet: &Lnet, options: &Options, serving: Serving) -> Vec<Line> {
    let peers: &[u8] = if options.quick { &QUICK_PEERS } else { &PEERS };
    let combinations: Vec<(u8, usize)> =
        peers.iter().flat_map(|peers| THREADS.map(|threads| (*peers, threads))).collect();
    let mut rounds: Vec<Result<Vec<Round>, Error>> = combinations.iter().map(|_| Ok(Vec::new())).collect();
    match Server::start(lnet, serving, peers.iter().copied().max().unwrap_or(1)) {
        Ok(server) => {
            for _ in 0..options.rounds {
                for (&(peers, threads), rounds) in combinations.iter().zip(&mut rounds) {
                    one_round(&server, lnet, peers, threads, options.duration, rounds);
                }
            }
        }
        Err(error) => rounds.iter_mut().for_each(|rounds| *rounds = Err(error.clone())),
    }
    let lines = combinations.into_iter().zip(rounds).map(|((peers, threads), rounds)| Line {
        serving,
        peers,
        threads,
        outcome: rounds.and_then(|rounds| rates(&rounds)),
    });
    lines.collect()
}

/// Measures one round of a line, unless an earlier one has failed.
fn one_round(
    server: &Server,
    lnet: &Lnet,
    peers: u8,
    threads: usize,
    duration: Duration,
    rounds: &mut Result<Vec<Round>, Error>,
) {
    let Ok(done) = rounds else { return };
    match server.ask(lnet, peers, threads, duration) {
        Ok(round) => {
            eprintln!("{peers} peers, {threads} threads that send: {:.0} messages/s", round.rate);
            done.push(round);
        }
        Err(error) => *rounds = Err(error),
    }
}

fn rates(rounds: &[Round]) -> Result<Rates, Error> {
    let summary = |value: fn(&Round) -> f64| {
        Summary::of(&rounds.iter().map(value).collect::<Vec<_>>()).ok_or_else(|| Error::from("no rounds"))
    };
    let there: Option<Vec<f64>> = rounds.iter().map(|round| round.cpu_there).collect();
    Ok(Rates {
        rate: summary(|round| round.rate)?,
        cpu_here: summary(|round| round.cpu_here)?,
        cpu_there: there.and_then(|there| Summary::of(&there)),
    })
}

struct Server {
    port: u16,
    process: Peer,
}

impl Server {
    fn start(lnet: &Lnet, serving: Serving, peers: u8) -> Result<Self, Error> {
        let port = free_port()?;
        let addresses: Vec<String> = (1..=peers).map(|peer| address(peer).to_string()).collect();
        let mut command = lnet.node(address(1), port);
        command.env("LNET_NETWORKS", format!("tcp({})", addresses.join(","))).env("LNET_DISCOVERY", "0");
        let mut process = Peer::start(command.arg(serving.command()), limit(Duration::ZERO))?;
        process.first_line()?;
        Ok(Self { port, process })
    }

    fn ask(&self, lnet: &Lnet, peers: u8, threads: usize, duration: Duration) -> Result<Round, Error> {
        let nids: Vec<String> = (1..=peers).map(|peer| lnet::nid(address(peer))).collect();
        let mut client = lnet.node(CLIENT, self.port);
        client.env("LNET_DISCOVERY", "0");
        client.args(["put-many", &nids.join(","), &SIZE.to_string(), &IN_FLIGHT.to_string()]);
        client.args([threads.to_string(), duration.as_secs_f64().to_string()]);
        let before = cpu::of_process(self.process.id());
        let output = output_of(&mut client, limit(duration))?;
        let after = cpu::of_process(self.process.id());
        let used = after.ok().zip(before.ok()).map(|(after, before)| after - before);
        let messages = lnet::value(&output, "messages")?;
        Ok(Round {
            rate: lnet::value(&output, "messages_per_second")?,
            cpu_here: lnet::value(&output, "cpu_microseconds")? / 1e6,
            cpu_there: used.map(|used| used / messages),
        })
    }
}

const fn address(peer: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 5, peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_cpu_time_is_left_out_where_a_round_lacks_it() {
        let round = |cpu_there| Round { rate: 10.0, cpu_here: 1.0, cpu_there };
        for (there, expected) in [([Some(2.0), Some(4.0)], Some(3.0)), ([Some(2.0), None], None)] {
            let rates = rates(&there.map(round)).unwrap();
            assert_eq!(rates.cpu_there.map(|it| it.median), expected);
            assert_eq!(rates.rate.median, 10.0);
        }
        assert!(rates(&[]).is_err());
    }
}

//! Message rate of LNet with many peers, and with several threads that send; and of raw TCP with as many connections.
//!
//! The peers are the NIDs of one serving process, and both sides are without discovery, so each NID is a peer with its own
//! connections. As many processes on one machine would mostly measure its scheduler.

pub(crate) mod table;

use crate::cpu;
use crate::error::Error;
use crate::lnet::{self, CLIENT, Length, Lnet, NETWORKS};
use crate::options::Options;
use crate::peer_process::{Peer, free_port, limit, output_of};
use crate::raw_tcp::exchange::Waits;
use crate::raw_tcp::many;
use crate::statistics::Summary;
use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Duration;

/// Size of a message in bytes.
pub(crate) const SIZE: usize = 8;
/// Number of messages in flight to all peers together.
pub(crate) const IN_FLIGHT: usize = 64;
const PEERS: [u16; 4] = [1, 8, 64, 1024];
const QUICK_PEERS: [u16; 2] = [1, 64];
/// LNet's default of messages in flight to a peer.
const PEER_CREDITS: u32 = 8;
const THREADS: [usize; 2] = [1, 2];

/// The kind of program that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Lnet(Serving),
    /// LNet whose messages are for the node itself.
    LnetToSelf,
    /// Raw TCP, with a connection in place of each peer.
    RawTcp(Waits),
}

/// The way in which an LNet peer gets its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serving {
    /// A thread waits in `LNetEQWait`, where it polls for a while before it sleeps.
    Waits,
    /// The event queue has a handler, which a thread of the library calls.
    Handler,
}

const PROGRAMS: [Program; 4] = [
    Program::Lnet(Serving::Waits),
    Program::Lnet(Serving::Handler),
    Program::RawTcp(Waits::Polling),
    Program::RawTcp(Waits::Asleep),
];

impl Program {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Lnet(Serving::Waits) => "LNet, served in `LNetEQWait`",
            Self::Lnet(Serving::Handler) => "LNet, served by an EQ handler",
            Self::LnetToSelf => "LNet, one process, by the loopback, one in flight for each thread",
            Self::RawTcp(Waits::Polling) => "raw TCP, many connections, polled",
            Self::RawTcp(Waits::Asleep) => "raw TCP, many connections, sleeping",
        }
    }

    /// The numbers of threads that send.
    const fn threads(self) -> &'static [usize] {
        match self {
            Self::Lnet(_) | Self::LnetToSelf => &THREADS,
            Self::RawTcp(_) => &[1],
        }
    }
}

impl Serving {
    const fn command(self) -> &'static str {
        match self {
            Self::Waits => "serve",
            Self::Handler => "serve-handler",
        }
    }
}

/// The parameters of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) program: Program,
    pub(crate) peers: u16,
    /// Number of threads that send.
    pub(crate) threads: usize,
}

/// A measurement and its result: a line of the table.
pub(crate) struct Line {
    pub(crate) setting: Setting,
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

/// Measures all lines in each round, so that a slow spell of the machine hits all of them.
pub(crate) fn measure(lnet: &Lnet, options: &Options) -> Vec<Line> {
    let settings = settings(if options.quick { &QUICK_PEERS } else { &PEERS });
    let mut servers: Vec<(Serving, u16, Result<Server, Error>)> = Vec::new();
    for setting in &settings {
        let Program::Lnet(serving) = setting.program else { continue };
        if !servers.iter().any(|(of, peers, _)| (*of, *peers) == (serving, setting.peers)) {
            servers.push((serving, setting.peers, Server::start(lnet, serving, setting.peers)));
        }
    }
    let mut rounds: Vec<Result<Vec<Round>, Error>> = settings.iter().map(|_| Ok(Vec::new())).collect();
    for _ in 0..options.rounds {
        for (setting, rounds) in settings.iter().zip(&mut rounds) {
            let round = || match setting.program {
                Program::Lnet(serving) => {
                    let mut servers = servers.iter();
                    let server = servers.find(|(of, peers, _)| (*of, *peers) == (serving, setting.peers));
                    let server = server.map(|(.., server)| server).ok_or("no server")?.as_ref();
                    server.map_err(Error::clone)?.ask(lnet, setting, options.duration)
                }
                Program::LnetToSelf => to_self(lnet, setting.threads, options.duration),
                Program::RawTcp(waits) => of_raw_tcp(setting, waits, options.duration),
            };
            one_round(setting, rounds, round);
        }
    }
    let lines = settings.into_iter().zip(rounds);
    lines
        .map(|(setting, rounds)| Line { setting, outcome: rounds.and_then(|rounds| rates(&rounds)) })
        .collect()
}

/// The lines of the table.
fn settings(peers: &[u16]) -> Vec<Setting> {
    let to_self = |threads| Setting { program: Program::LnetToSelf, peers: 0, threads };
    let mut settings: Vec<Setting> = THREADS.into_iter().map(to_self).collect();
    for peers in peers {
        for program in PROGRAMS {
            let of_threads = |threads: &usize| Setting { program, peers: *peers, threads: *threads };
            settings.extend(program.threads().iter().map(of_threads));
        }
    }
    settings
}

/// The faster raw TCP, which a line of LNet is compared with.
pub(crate) fn reference(lines: &[Line], setting: Setting) -> Option<&Rates> {
    let Program::Lnet(_) = setting.program else { return None };
    let of_raw_tcp = |line: &&Line| {
        matches!(line.setting.program, Program::RawTcp(_)) && line.setting.peers == setting.peers
    };
    let rates = lines.iter().filter(of_raw_tcp).filter_map(|line| line.outcome.as_ref().ok());
    rates.max_by(|a, b| a.rate.median.total_cmp(&b.rate.median))
}

fn to_self(lnet: &Lnet, threads: usize, duration: Duration) -> Result<Round, Error> {
    let mut process = lnet.node(CLIENT, free_port()?);
    process.arg("put-self").args([SIZE, threads].map(|number| number.to_string()));
    let output = output_of(process.arg(Length::Time(duration).to_string()), limit(duration))?;
    Round::of(&output, None)
}

fn of_raw_tcp(setting: &Setting, waits: Waits, duration: Duration) -> Result<Round, Error> {
    let many::Measured { rate, cpu_here, cpu_there } =
        many::measure(usize::from(setting.peers), IN_FLIGHT, waits, duration)?;
    Ok(Round { rate, cpu_here, cpu_there })
}

/// Measures one round of a line, unless an earlier one has failed.
fn one_round(
    setting: &Setting,
    rounds: &mut Result<Vec<Round>, Error>,
    measure: impl FnOnce() -> Result<Round, Error>,
) {
    let Ok(done) = rounds else { return };
    match measure() {
        Ok(round) => {
            let Setting { program, peers, threads } = setting;
            eprintln!(
                "{peers} peers, {}, {threads} threads that send: {:.0} messages/s",
                program.name(),
                round.rate
            );
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
    fn start(lnet: &Lnet, serving: Serving, peers: u16) -> Result<Self, Error> {
        let port = free_port()?;
        let mut process =
            Peer::start(server(lnet, port, peers).arg(serving.command()), limit(Duration::ZERO))?;
        process.first_line()?;
        Ok(Self { port, process })
    }

    fn ask(&self, lnet: &Lnet, setting: &Setting, duration: Duration) -> Result<Round, Error> {
        let mut client = client(lnet, self.port, setting.peers);
        client.args(arguments(setting.peers, setting.threads, Length::Time(duration)));
        let before = cpu::of_process(self.process.id());
        let output = output_of(&mut client, limit(duration))?;
        let after = cpu::of_process(self.process.id());
        let used = after.ok().zip(before.ok()).map(|(after, before)| after - before);
        let messages = lnet::value(&output, "messages")?;
        Round::of(&output, used.map(|used| used / messages))
    }
}

impl Round {
    /// Reads the output of `lnet_perf`.
    fn of(output: &str, cpu_there: Option<f64>) -> Result<Self, Error> {
        Ok(Self {
            rate: lnet::value(output, "messages_per_second")?,
            cpu_here: lnet::value(output, "cpu_microseconds")? / 1e6,
            cpu_there,
        })
    }
}

/// The command of the node whose NIDs are the peers, without its role.
pub(crate) fn server(lnet: &Lnet, port: u16, peers: u16) -> Command {
    let addresses: Vec<String> = (0..peers).map(|peer| address(peer).to_string()).collect();
    let mut command = lnet.node(address(0), port);
    command.env(NETWORKS, format!("tcp({})", addresses.join(",")));
    command.env("SOCKLND_CONNS_PER_ADDRESS", "0");
    configure(&mut command, peers);
    command
}

/// The command of the node that sends, without its arguments.
pub(crate) fn client(lnet: &Lnet, port: u16, peers: u16) -> Command {
    let mut command = lnet.node(CLIENT, port);
    configure(&mut command, peers);
    command
}

/// Either node has one peer in place of many nodes for which it would have credits: the credits of all those. One connection for each NID:
/// the messages are so small that they need no other.
fn configure(command: &mut Command, peers: u16) {
    let credits = PEER_CREDITS * u32::from(peers);
    command.env("SOCKLND_PEER_CREDITS", credits.to_string());
    command.env("LNET_DISCOVERY", "0").env("SOCKLND_TYPED_CONNS", "0");
}

/// The arguments of the client's `lnet_perf`.
pub(crate) fn arguments(peers: u16, threads: usize, length: Length) -> Vec<String> {
    let nids: Vec<String> = (0..peers).map(|peer| lnet::nid(address(peer))).collect();
    let numbers = [SIZE, IN_FLIGHT, threads].map(|number| number.to_string());
    let begin = ["put-many".to_owned(), nids.join(",")];
    begin.into_iter().chain(numbers).chain([length.to_string()]).collect()
}

/// The address of the peer with this number, from 0.
fn address(peer: u16) -> Ipv4Addr {
    let number = u32::from(Ipv4Addr::new(127, 0, 5, 1)) + u32::from(peer);
    Ipv4Addr::from(number)
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

    #[test]
    fn lines_of_lnet_are_compared_with_the_faster_raw_tcp_of_as_many_connections() {
        let summary = |value| Summary { samples: vec![value], median: value, least: value, most: value };
        let mut lines: Vec<Line> = settings(&PEERS)
            .into_iter()
            .map(|setting| {
                let faster = setting.program == Program::RawTcp(Waits::Polling);
                let rate = summary(f64::from(setting.peers) + f64::from(u8::from(faster)));
                let outcome = Ok(Rates { rate, cpu_here: summary(1.0), cpu_there: None });
                Line { setting, outcome }
            })
            .collect();
        assert_eq!(lines.len(), 26);
        for line in &lines {
            let expected =
                matches!(line.setting.program, Program::Lnet(_)).then(|| f64::from(line.setting.peers) + 1.0);
            assert_eq!(
                reference(&lines, line.setting).map(|it| it.rate.median),
                expected,
                "{:?}",
                line.setting
            );
        }
        lines.iter_mut().for_each(|line| line.outcome = Err("no".into()));
        assert!(reference(&lines, lines[0].setting).is_none());
    }
}

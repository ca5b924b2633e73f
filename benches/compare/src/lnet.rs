//! LNet through its C API: two processes of `lnet_perf`, each a node with its own loopback address; or three, with
//! a router between nodes on different nets.

use crate::contestant::{Contestant, Sample};
use crate::cpu;
use crate::delays::Delays;
use crate::error::{Error, context};
use crate::peer_process::{Peer, free_port, limit, output_of};
use crate::scenario::{Operation, Scenario};
use std::ffi::OsString;
use std::fmt::{self, Display};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 2);
pub(crate) const CLIENT: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 1);
/// Addresses of the router on the net of the client and on the other net, where the server is.
const ROUTER: [Ipv4Addr; 2] = [Ipv4Addr::new(127, 0, 1, 9), Ipv4Addr::new(127, 0, 2, 9)];
const FAR_SERVER: Ipv4Addr = Ipv4Addr::new(127, 0, 2, 2);

/// Number of allocations for each operation, on either side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Allocations {
    pub(crate) here: f64,
    pub(crate) there: f64,
    /// Number of all allocations of the router, if there is one.
    pub(crate) router: f64,
    /// Number of messages of all processes.
    pub(crate) messages: f64,
    /// Duration of an operation in seconds.
    pub(crate) seconds: f64,
}

/// The length of a measurement, as `lnet_perf` accepts it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    Time(Duration),
    /// This number of operations, after the same number for the warm-up.
    Operations(u32),
}

/// Time limit for a measurement by operations, far beyond the need even under a tracer on a busy machine.
const OPERATIONS_LIMIT: Duration = Duration::from_secs(300);

impl Length {
    /// Returns the time limit for the processes.
    pub(crate) fn limit(self) -> Duration {
        match self {
            Self::Time(duration) => limit(duration),
            Self::Operations(_) => OPERATIONS_LIMIT,
        }
    }
}

impl Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(duration) => write!(f, "{}", duration.as_secs_f64()),
            Self::Operations(count) => write!(f, "{count}x"),
        }
    }
}

/// The nodes of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
    Router,
}

/// The path from the client to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    Direct,
    ThroughRouter,
    /// Over a net of shared memory.
    SharedMemory,
}

impl PathKind {
    /// Returns the environment of a node.
    fn variables(self, side: Side) -> Vec<(&'static str, String)> {
        let [near, far] = ROUTER;
        let networks = match (self, side) {
            (Self::SharedMemory, _) => "shm".to_owned(),
            (_, Side::Client) => networks(CLIENT),
            (Self::Direct, Side::Server) => networks(SERVER),
            (Self::ThroughRouter, Side::Server) => format!("tcp1({FAR_SERVER})"),
            (_, Side::Router) => format!("tcp({near}),tcp1({far})"),
        };
        let other = match (self, side) {
            (Self::Direct | Self::SharedMemory, _) => None,
            (Self::ThroughRouter, Side::Client) => Some(("LNET_ROUTES", format!("tcp1 {near}@tcp"))),
            (Self::ThroughRouter, Side::Server) => Some(("LNET_ROUTES", format!("tcp {far}@tcp1"))),
            (Self::ThroughRouter, Side::Router) => Some(("LNET_FORWARDING", "enabled".into())),
        };
        [(NETWORKS, networks)].into_iter().chain(other).collect()
    }

    /// Returns the NID of the server, of which this is the first line.
    fn server(self, said: &str) -> Result<String, Error> {
        Ok(match self {
            Self::Direct => nid(SERVER),
            Self::ThroughRouter => format!("{FAR_SERVER}@tcp1"),
            Self::SharedMemory => said.split_once(' ').ok_or("the server has not said its NID")?.1.to_owned(),
        })
    }
}

/// The result of one run of `lnet_perf`.
pub(crate) struct Run {
    /// The output of the client.
    output: String,
    router: Option<RouterUse>,
}

/// The resources that the router used from its start to the end of the client.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RouterUse {
    cpu_seconds: f64,
    /// Number of allocations; 0 unless they are counted.
    allocations: f64,
}

/// LNet's name in the report, which compares all others with it.
pub(crate) const NAME: &str = "LNet";
/// Name in the report of LNet through a router.
pub(crate) const ROUTED: &str = "LNet, router";
/// The same where client and server do not look twice before they sleep.
const ROUTED_SLEEPING: &str = "LNet, router, ends that sleep";

pub(crate) const NETWORKS: &str = "LNET_NETWORKS";
/// The time for which a thread that waits looks again and again before it sleeps.
pub(crate) const WAIT_SPIN: &str = "LNET_WAIT_SPIN";

pub(crate) struct Lnet {
    /// The path of `lnet_perf`.
    program: PathBuf,
    way: PathKind,
    /// Whether client and server do not look twice before they sleep.
    sleeps: bool,
}

impl Contestant for Lnet {
    fn name(&self) -> &'static str {
        match self.way {
            PathKind::Direct => NAME,
            PathKind::ThroughRouter if self.sleeps => ROUTED_SLEEPING,
            PathKind::ThroughRouter => ROUTED,
            PathKind::SharedMemory => "LNet, shared memory (shmlnd)",
        }
    }

    fn supports(&self, _: Scenario) -> bool {
        true
    }

    fn trial(&mut self, scenario: Scenario) -> Result<Sample, Error> {
        self.measure(scenario, Duration::ZERO)
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<Sample, Error> {
        let Run { output, router } = self.run(scenario, Length::Time(duration), |_| Vec::new())?;
        Ok(Sample { between: router.map(|router| router.cpu_seconds), ..sample(scenario, &output)? })
    }
}

/// Returns the arguments of `lnet_perf` for a measurement with this server.
pub(crate) fn arguments(scenario: Scenario, server: &str, length: Length) -> Vec<String> {
    let operation = match scenario {
        Scenario::RoundTrip { .. } => "round-trip",
        Scenario::Rate { operation: Operation::Put, .. } => "put",
        Scenario::Rate { operation: Operation::Get, .. } => "get",
    };
    let in_flight = match scenario {
        Scenario::Rate { in_flight, .. } => Some(in_flight.to_string()),
        Scenario::RoundTrip { .. } => None,
    };
    let begin = [operation.to_owned(), server.to_owned(), scenario.size().to_string()];
    begin.into_iter().chain(in_flight).chain([length.to_string()]).collect()
}

/// Returns the arguments of `lnet_perf` for round trips between it and this node.
pub(crate) fn arguments_to_ask_node(scenario: Scenario, node: &str, length: Length) -> Vec<String> {
    vec!["ask-node".to_owned(), node.to_owned(), scenario.size().to_string(), length.to_string()]
}

/// Reads what `lnet_perf` has measured.
pub(crate) fn sample(scenario: Scenario, output: &str) -> Result<Sample, Error> {
    let name = match scenario {
        Scenario::RoundTrip { .. } => "microseconds",
        Scenario::Rate { .. } => "bytes_per_second",
    };
    Ok(Sample {
        value: value(output, name)?,
        messages: value(output, "messages")? as u64,
        between: None,
        delays: Delays::read(output)?.map(|delays| delays.percentiles()),
    })
}

impl Lnet {
    /// Makes a contestant that is measured by this `lnet_perf`.
    pub(crate) fn new(program: &Path) -> Self {
        Self::by(program, PathKind::Direct)
    }

    pub(crate) fn by(program: &Path, way: PathKind) -> Self {
        Self { program: program.to_owned(), way, sleeps: false }
    }

    /// The same contestant with a client and a server that do not look twice before they sleep.
    pub(crate) fn sleeping(self) -> Self {
        Self { sleeps: true, ..self }
    }

    /// Returns the number of allocations for each operation, which the preloaded library counts.
    pub(crate) fn allocations(
        &self,
        scenario: Scenario,
        length: Length,
        count_allocations: &Path,
    ) -> Result<Allocations, Error> {
        let Run { output, router } = self.run(scenario, length, |_| preloading(count_allocations))?;
        let seconds = match scenario {
            Scenario::RoundTrip { .. } => value(&output, "microseconds")? / 1e6,
            Scenario::Rate { size, .. } => size as f64 / value(&output, "bytes_per_second")?,
        };
        Ok(Allocations {
            here: value(&output, "allocations")?,
            there: value(&output, "there")?,
            router: router.map_or(0.0, |router| router.allocations),
            messages: messages(scenario, &output)?,
            seconds,
        })
    }

    /// Runs `operations` operations, after the same number for the warm-up. Returns the number of messages that the processes
    /// sent, with the responses of LNet itself. Each process is started with the words that `tracer` returns for it.
    pub(crate) fn messages_under(
        &self,
        tracer: impl Fn(Side) -> Vec<OsString>,
        scenario: Scenario,
        operations: u32,
    ) -> Result<f64, Error> {
        messages(scenario, &self.run(scenario, Length::Operations(operations), tracer)?.output)
    }

    /// Returns the command of `lnet_perf` as the node on `address`. All nodes of one measurement have the same port.
    pub(crate) fn node(&self, address: Ipv4Addr, port: u16) -> Command {
        let mut command = Command::new(&self.program);
        configure(&mut command, port).env(NETWORKS, networks(address));
        command
    }

    /// Runs `lnet_perf` on all sides. `before` returns the words before the program, if there are any.
    fn run(
        &self,
        scenario: Scenario,
        length: Length,
        before: impl Fn(Side) -> Vec<OsString>,
    ) -> Result<Run, Error> {
        let port = free_port()?;
        let node = |side: Side| {
            let mut words = before(side).into_iter().chain([self.program.clone().into_os_string()]);
            let mut command = Command::new(words.next().unwrap_or_default());
            configure(command.args(words), port).envs(self.way.variables(side));
            if self.sleeps && side != Side::Router {
                command.env(WAIT_SPIN, "0");
            }
            command
        };
        let serving = |side: Side, role: &str| {
            let mut process = Peer::start(node(side).arg(role), length.limit())?;
            let said = process.first_line()?;
            Ok::<(Peer, String), Error>((process, said))
        };
        let mut router = match self.way {
            PathKind::Direct | PathKind::SharedMemory => None,
            PathKind::ThroughRouter => Some(serving(Side::Router, "idle")?.0),
        };
        let (_server, said) = serving(Side::Server, "serve")?;
        let mut client = node(Side::Client);
        client.args(arguments(scenario, &self.way.server(&said)?, length));
        let output = output_of(&mut client, length.limit())?;
        let router = router.as_mut().map(used_by).transpose()?;
        Ok(Run { output, router })
    }
}

fn used_by(router: &mut Peer) -> Result<RouterUse, Error> {
    let cpu_seconds = cpu::of_process(router.id())?;
    Ok(RouterUse { cpu_seconds, allocations: value(&router.ask()?, "allocations")? })
}

pub(crate) fn configure(command: &mut Command, port: u16) -> &mut Command {
    command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", port.to_string())
}

pub(crate) fn networks(address: Ipv4Addr) -> String {
    format!("tcp({address})")
}

/// Returns the words that start a program with this library.
fn preloading(library: &Path) -> Vec<OsString> {
    let mut variable = OsString::from("LD_PRELOAD=");
    variable.push(library);
    vec!["env".into(), variable]
}

/// Reads the number of messages that the processes sent, with the ACKs and REPLYs.
fn messages(scenario: Scenario, output: &str) -> Result<f64, Error> {
    let requests = value(output, "messages")?;
    Ok(match scenario {
        Scenario::RoundTrip { .. } => requests,
        Scenario::Rate { .. } => 2.0 * requests,
    })
}

pub(crate) fn nid(address: Ipv4Addr) -> String {
    format!("{address}@tcp")
}

/// Reads the number after `name` in the output of `lnet_perf`.
pub(crate) fn value(output: &str, name: &str) -> Result<f64, Error> {
    let mut words = output.split_whitespace().skip_while(|word| *word != name);
    let number = words.nth(1).ok_or_else(|| format!("lnet_perf printed no {name}"))?;
    number.parse().map_err(context(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_names() {
        let output = "microseconds 17.25 messages 12\nallocations 0.5000 there 1.0000\n";
        assert_eq!(value(output, "microseconds"), Ok(17.25));
        assert_eq!(value(output, "messages"), Ok(12.0));
        assert_eq!(value(output, "there"), Ok(1.0));
        assert!(value(output, "bytes_per_second").is_err());
    }
}

//! LNet through its C API: two processes of `lnet_perf`, two nodes, each on a loopback address of its own.

use crate::contestant::{Contestant, Sample};
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

/// Allocations for each operation, on either side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Allocations {
    pub(crate) here: f64,
    pub(crate) there: f64,
    /// How long an operation took, in seconds.
    pub(crate) seconds: f64,
}

/// How long `lnet_perf` measures, as it takes it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    Time(Duration),
    /// As many again for the warm-up.
    Operations(u32),
}

/// Far beyond what any number of operations takes that is counted here, under a tracer on a busy machine.
const OPERATIONS_LIMIT: Duration = Duration::from_secs(300);

impl Length {
    /// How long the processes may take.
    fn limit(self) -> Duration {
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

/// The two nodes of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    const fn address(self) -> Ipv4Addr {
        match self {
            Self::Client => CLIENT,
            Self::Server => SERVER,
        }
    }
}

/// LNet's name in the report, which compares all others with it.
pub(crate) const NAME: &str = "LNet";

pub(crate) struct Lnet {
    /// `lnet_perf`
    program: PathBuf,
}

impl Contestant for Lnet {
    fn name(&self) -> &'static str {
        NAME
    }

    fn supports(&self, _: Scenario) -> bool {
        true
    }

    fn trial(&mut self, scenario: Scenario) -> Result<Sample, Error> {
        self.measure(scenario, Duration::ZERO)
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<Sample, Error> {
        let node = |side: Side, port| self.node(side.address(), port);
        let output = self.run(scenario, Length::Time(duration), node)?;
        let name = match scenario {
            Scenario::RoundTrip { .. } => "microseconds",
            Scenario::Rate { .. } => "bytes_per_second",
        };
        let messages = value(&output, "messages")? as u64;
        Ok(Sample { value: value(&output, name)?, messages })
    }
}

impl Lnet {
    /// Measured by this `lnet_perf`.
    pub(crate) fn new(program: &Path) -> Self {
        Self { program: program.to_owned() }
    }

    /// How many allocations an operation takes, which the library that is preloaded counts.
    pub(crate) fn allocations(
        &self,
        scenario: Scenario,
        length: Length,
        count_allocations: &Path,
    ) -> Result<Allocations, Error> {
        let node = |side: Side, port| {
            let mut command = self.node(side.address(), port);
            command.env("LD_PRELOAD", count_allocations);
            command
        };
        let output = self.run(scenario, length, node)?;
        let seconds = match scenario {
            Scenario::RoundTrip { .. } => value(&output, "microseconds")? / 1e6,
            Scenario::Rate { size, .. } => size as f64 / value(&output, "bytes_per_second")?,
        };
        Ok(Allocations { here: value(&output, "allocations")?, there: value(&output, "there")?, seconds })
    }

    /// Runs so many operations, and as many before them for the warm-up; how many messages the processes sent, without
    /// the answers of LNet itself. Each process is started by the words that `tracer` gives for it.
    pub(crate) fn messages_under(
        &self,
        tracer: impl Fn(Side) -> Vec<OsString>,
        scenario: Scenario,
        operations: u32,
    ) -> Result<f64, Error> {
        let node = |side: Side, port| {
            let mut words = tracer(side).into_iter().chain([self.program.clone().into_os_string()]);
            let mut command = Command::new(words.next().unwrap_or_default());
            configure(command.args(words), side.address(), port);
            command
        };
        value(&self.run(scenario, Length::Operations(operations), node)?, "messages")
    }

    /// `lnet_perf` as the node on `address`. All nodes of one measurement have the same port.
    pub(crate) fn node(&self, address: Ipv4Addr, port: u16) -> Command {
        let mut command = Command::new(&self.program);
        configure(&mut command, address, port);
        command
    }

    /// What `lnet_perf` prints. `node` starts the process of one side on a port.
    fn run(
        &self,
        scenario: Scenario,
        length: Length,
        node: impl Fn(Side, u16) -> Command,
    ) -> Result<String, Error> {
        let port = free_port()?;
        let mut server = Peer::start(node(Side::Server, port).arg("serve"), length.limit())?;
        server.first_line()?;
        let mut client = node(Side::Client, port);
        let operation = match scenario {
            Scenario::RoundTrip { .. } => "round-trip",
            Scenario::Rate { operation: Operation::Put, .. } => "put",
            Scenario::Rate { operation: Operation::Get, .. } => "get",
        };
        client.args([operation, &nid(SERVER), &scenario.size().to_string()]);
        if let Scenario::Rate { in_flight, .. } = scenario {
            client.arg(in_flight.to_string());
        }
        client.arg(length.to_string());
        output_of(&mut client, length.limit())
    }
}

fn configure(command: &mut Command, address: Ipv4Addr, port: u16) {
    command.env("LNET_NETWORKS", format!("tcp({address})"));
    command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", port.to_string());
}

pub(crate) fn nid(address: Ipv4Addr) -> String {
    format!("{address}@tcp")
}

/// The number after `name` among what `lnet_perf` printed.
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

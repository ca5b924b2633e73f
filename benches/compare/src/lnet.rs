//! LNet through its C API: two processes of `lnet_perf`, two nodes, each on a loopback address of its own.

use crate::contestant::{Contestant, Sample};
use crate::error::{Error, context};
use crate::peer_process::{Peer, free_port, limit, output_of};
use crate::scenario::{Operation, Scenario};
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
        let output = self.run(scenario, duration, None)?;
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
        duration: Duration,
        count_allocations: &Path,
    ) -> Result<Allocations, Error> {
        let output = self.run(scenario, duration, Some(count_allocations))?;
        Ok(Allocations { here: value(&output, "allocations")?, there: value(&output, "there")? })
    }

    /// `lnet_perf` as the node on `address`. All nodes of one measurement have the same port.
    pub(crate) fn node(&self, address: Ipv4Addr, port: u16) -> Command {
        let mut command = Command::new(&self.program);
        command.env("LNET_NETWORKS", format!("tcp({address})"));
        command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", port.to_string());
        command
    }

    fn run(&self, scenario: Scenario, duration: Duration, preload: Option<&Path>) -> Result<String, Error> {
        let port = free_port()?;
        let node = |address| {
            let mut command = self.node(address, port);
            if let Some(library) = preload {
                command.env("LD_PRELOAD", library);
            }
            command
        };
        let mut server = Peer::start(node(SERVER).arg("serve"), limit(duration))?;
        server.first_line()?;
        let mut client = node(CLIENT);
        let operation = match scenario {
            Scenario::RoundTrip { .. } => "round-trip",
            Scenario::Rate { operation: Operation::Put, .. } => "put",
            Scenario::Rate { operation: Operation::Get, .. } => "get",
        };
        client.args([operation, &nid(SERVER), &scenario.size().to_string()]);
        if let Scenario::Rate { in_flight, .. } = scenario {
            client.arg(in_flight.to_string());
        }
        client.arg(duration.as_secs_f64().to_string());
        output_of(&mut client, limit(duration))
    }
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

//! LNet through its C API: two processes of `lnet_perf`, two nodes, each on a loopback address of its own.

use crate::options::Options;
use crate::peer_process::{Peer, free_port, output_of};
use crate::scenario::{Operation, Scenario};
use crate::{Error, context};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 2);
const CLIENT: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 1);

/// Allocations for each operation, on either side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Allocations {
    pub(crate) here: f64,
    pub(crate) there: f64,
}

/// One sample, in the scenario's unit.
pub(crate) fn measure(scenario: Scenario, options: &Options) -> Result<f64, Error> {
    let output = run(scenario, options, None)?;
    let name = match scenario {
        Scenario::RoundTrip { .. } => "microseconds",
        Scenario::Rate { .. } => "bytes_per_second",
    };
    value(&output, name)
}

/// How many allocations an operation takes, which the library that is preloaded counts.
pub(crate) fn allocations(
    scenario: Scenario,
    options: &Options,
    count_allocations: &Path,
) -> Result<Allocations, Error> {
    let output = run(scenario, options, Some(count_allocations))?;
    Ok(Allocations { here: value(&output, "allocations")?, there: value(&output, "there")? })
}

/// `lnet_perf` as the node on `address`. All nodes of one measurement have the same port.
pub(crate) fn node(options: &Options, address: Ipv4Addr, port: u16) -> Result<Command, Error> {
    let program = options.lnet_perf.as_ref().ok_or("there is no --lnet-perf")?;
    let mut command = Command::new(program);
    command.env("LNET_NETWORKS", format!("tcp({address})"));
    command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", port.to_string());
    Ok(command)
}

pub(crate) fn nid(address: Ipv4Addr) -> String {
    format!("{address}@tcp")
}

fn run(scenario: Scenario, options: &Options, preload: Option<&Path>) -> Result<String, Error> {
    let port = free_port()?;
    let node = |address| {
        let mut command = node(options, address, port)?;
        if let Some(library) = preload {
            command.env("LD_PRELOAD", library);
        }
        Ok::<_, Error>(command)
    };
    let mut server = Peer::start(node(SERVER)?.arg("serve"))?;
    server.first_line()?;
    let mut client = node(CLIENT)?;
    let operation = match scenario {
        Scenario::RoundTrip { .. } => "round-trip",
        Scenario::Rate { operation: Operation::Put, .. } => "put",
        Scenario::Rate { operation: Operation::Get, .. } => "get",
    };
    client.args([operation, &nid(SERVER), &scenario.size().to_string()]);
    if let Scenario::Rate { in_flight, .. } = scenario {
        client.arg(in_flight.to_string());
    }
    client.arg(options.duration.as_secs_f64().to_string());
    output_of(&mut client)
}

/// The number after `name` among what `lnet_perf` printed.
fn value(output: &str, name: &str) -> Result<f64, Error> {
    let mut words = output.split_whitespace().skip_while(|word| *word != name);
    let number = words.nth(1).ok_or_else(|| format!("lnet_perf printed no {name}"))?;
    number.parse().map_err(context(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_names() {
        let output = "microseconds 17.25\nallocations 0.5000 there 1.0000\n";
        assert_eq!(value(output, "microseconds"), Ok(17.25));
        assert_eq!(value(output, "there"), Ok(1.0));
        assert!(value(output, "bytes_per_second").is_err());
    }
}

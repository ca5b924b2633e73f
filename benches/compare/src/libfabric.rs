//! libfabric's own ping-pong program over its providers for TCP and for shared memory.

use crate::contestant::{IterationTest, Sample};
use crate::error::{Error, context};
use crate::peer_process::{ask_idle_server, free_port, limit, tied};
use crate::scenario::{Operation, Scenario};
use std::time::Duration;

pub(crate) const PROGRAM: &str = "fi_pingpong";
pub(crate) const PACKAGE: &str = "libfabric-bin";
pub(crate) const MSG: &str = "libfabric msg";
pub(crate) const RDM: &str = "libfabric rdm";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Endpoint {
    /// Connected endpoints, like a TCP connection.
    Msg,
    /// Reliable datagrams, which need no connection: the nearest to LNet.
    Rdm,
    /// The same through shared memory.
    SharedMemory,
}

pub(crate) const ENDPOINTS: [Endpoint; 2] = [Endpoint::Msg, Endpoint::Rdm];

impl Endpoint {
    const fn argument(self) -> &'static str {
        match self {
            Self::Msg => "msg",
            Self::Rdm | Self::SharedMemory => "rdm",
        }
    }

    const fn provider(self) -> &'static str {
        match self {
            Self::Msg | Self::Rdm => "tcp",
            Self::SharedMemory => "shm",
        }
    }
}

impl IterationTest for Endpoint {
    fn name(&self) -> &'static str {
        match self {
            Self::Msg => MSG,
            Self::Rdm => RDM,
            Self::SharedMemory => "libfabric rdm, shared memory",
        }
    }

    /// Whether the scenario has messages back and forth, one at a time: the program supports no others.
    fn supports(&self, scenario: Scenario) -> bool {
        matches!(
            scenario,
            Scenario::RoundTrip { .. } | Scenario::Rate { operation: Operation::Put, in_flight: 1, .. }
        )
    }

    /// Returns 2, for one message in each direction, in every scenario.
    fn messages_of_iteration(&self, _: Scenario) -> u64 {
        2
    }

    fn measure(&self, scenario: Scenario, iterations: u64, duration: Duration) -> Result<Sample, Error> {
        let port = free_port()?.to_string();
        let common = || {
            let mut command = tied(PROGRAM);
            command.env("FI_TCP_IFACE", "lo").args(["-p", self.provider(), "-e", self.argument()]);
            command.args(["-I", &iterations.to_string(), "-S", &scenario.size().to_string()]);
            command
        };
        let mut server = common();
        server.args(["-B", &port]);
        let mut client = common();
        client.args(["-P", &port, "127.0.0.1"]);
        let output = ask_idle_server(&mut server, &mut client, limit(duration))?;
        let value = scenario.value_of_one_way(one_way_microseconds(&output)?);
        let messages = self.messages_of_iteration(scenario) * iterations;
        Ok(Sample { value, messages, between: None, delays: None })
    }
}

/// Reads the column `usec/xfer` of the printed table: the time of one message, one way.
fn one_way_microseconds(output: &str) -> Result<f64, Error> {
    let mut rows = output.lines().filter(|line| !line.trim().is_empty());
    let (titles, values) = rows.next().zip(rows.next()).ok_or("it printed no table")?;
    let column = titles.split_whitespace().position(|title| title == "usec/xfer");
    let value = column.and_then(|column| values.split_whitespace().nth(column));
    value.ok_or("it printed no usec/xfer")?.parse().map_err(context("its usec/xfer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_for_each_transfer_is_read_from_its_table() {
        let output = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n\
                      4k      5k      =5k      39m         0.29s    142.75      28.69       0.03\n";
        assert_eq!(one_way_microseconds(output), Ok(28.69));
    }

    #[test]
    fn output_without_a_table_is_an_error() {
        for output in ["", "bytes\n", "a b\n1 2\n"] {
            assert!(one_way_microseconds(output).is_err(), "{output:?}");
        }
    }
}

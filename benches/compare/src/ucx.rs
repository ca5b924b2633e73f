//! UCX's own performance test over TCP, and through shared memory.

use crate::contestant::{IterationTest, Sample};
use crate::error::{Error, context};
use crate::peer_process::{ask_idle_server, free_port, limit, tied};
use crate::scenario::{Operation, Scenario};
use std::time::Duration;

pub(crate) const PROGRAM: &str = "ucx_perftest";
pub(crate) const PACKAGE: &str = "ucx-utils";
pub(crate) const TAG: &str = "UCX tag";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Test {
    /// Tagged messages, matched at the receiver as LNet's are.
    Tag,
    /// Tagged messages between ends that sleep until something arrives, as LNet's do.
    TagSleeping,
    /// Accesses to remote memory, without matching.
    Memory,
    /// As `Tag`, through shared memory.
    SharedTag,
    /// As `Memory`, through shared memory.
    SharedMemory,
}

/// Those over TCP.
pub(crate) const TESTS: [Test; 3] = [Test::Tag, Test::TagSleeping, Test::Memory];
pub(crate) const IN_SHARED_MEMORY: [Test; 2] = [Test::SharedTag, Test::SharedMemory];

impl Test {
    const fn argument(self, scenario: Scenario) -> &'static str {
        match (self, scenario) {
            (Self::Tag | Self::TagSleeping | Self::SharedTag, Scenario::RoundTrip { .. }) => "tag_lat",
            (Self::Tag | Self::TagSleeping | Self::SharedTag, Scenario::Rate { .. }) => "tag_bw",
            (Self::Memory | Self::SharedMemory, Scenario::RoundTrip { .. }) => "ucp_put_lat",
            (Self::Memory | Self::SharedMemory, Scenario::Rate { operation: Operation::Put, .. }) => {
                "ucp_put_bw"
            }
            (Self::Memory | Self::SharedMemory, Scenario::Rate { operation: Operation::Get, .. }) => {
                "ucp_get"
            }
        }
    }

    const fn transports(self) -> &'static str {
        match self {
            Self::Tag | Self::TagSleeping | Self::Memory => "tcp",
            Self::SharedTag | Self::SharedMemory => "shm",
        }
    }
}

impl IterationTest for Test {
    fn name(&self) -> &'static str {
        match self {
            Self::Tag => TAG,
            Self::TagSleeping => "UCX tag, sleeping",
            Self::Memory => "UCX put/get",
            Self::SharedTag => "UCX tag, shared memory",
            Self::SharedMemory => "UCX put/get, shared memory",
        }
    }

    fn supports(&self, scenario: Scenario) -> bool {
        matches!(
            (self, scenario),
            (Self::Memory | Self::SharedMemory, _)
                | (
                    Self::Tag | Self::SharedTag,
                    Scenario::RoundTrip { .. } | Scenario::Rate { operation: Operation::Put, .. }
                )
                | (Self::TagSleeping, Scenario::RoundTrip { .. })
        )
    }

    fn messages_of_iteration(&self, scenario: Scenario) -> u64 {
        scenario.messages_of_operation()
    }

    fn measure(&self, scenario: Scenario, iterations: u64, duration: Duration) -> Result<Sample, Error> {
        let port = free_port()?.to_string();
        let warm_up = (iterations / 10).max(10);
        let common = || {
            let mut command = tied(PROGRAM);
            // UCX writes its warnings to standard output, between its results.
            command
                .env("UCX_TLS", self.transports())
                .env("UCX_NET_DEVICES", "lo")
                .env("UCX_LOG_LEVEL", "error");
            command.args(["-f", "-v", "-t", self.argument(scenario), "-p", &port]);
            command.args(["-s", &scenario.size().to_string()]);
            command.args(["-n", &iterations.to_string(), "-w", &warm_up.to_string()]);
            if let Scenario::Rate { in_flight, .. } = scenario {
                command.args(["-O", &in_flight.to_string()]);
            }
            if *self == Self::TagSleeping {
                command.args(["-E", "sleep"]);
            }
            command
        };
        let mut client = common();
        client.arg("127.0.0.1");
        let output = ask_idle_server(&mut common(), &mut client, limit(duration))?;
        let value = scenario.value_of_one_way(one_way_microseconds(&output)?);
        let messages = self.messages_of_iteration(scenario) * (iterations + warm_up);
        Ok(Sample { value, messages, between: None })
    }
}

/// Reads the overall time of one message, one way: the fourth value of the last line.
fn one_way_microseconds(output: &str) -> Result<f64, Error> {
    let last = output.lines().rfind(|line| !line.trim().is_empty()).ok_or("it printed nothing")?;
    let overall = last.split(',').nth(3).ok_or("it printed no overall time")?;
    overall.trim().parse().map_err(context("its overall time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overall_time_is_read_from_its_table() {
        let output = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n\
                      20000,4.771,4.952,4.953,1.54,1.54,201954,201954\n";
        assert_eq!(one_way_microseconds(output), Ok(4.953));
    }

    #[test]
    fn output_without_a_table_is_an_error() {
        for output in ["", "\n", "1,2\n", "1,2,3,x\n"] {
            assert!(one_way_microseconds(output).is_err(), "{output:?}");
        }
    }
}

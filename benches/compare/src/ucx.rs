//! UCX's own performance test over TCP, and through shared memory.

use crate::contestant::{IterationTest, Sample};
use crate::delays::{Percentiles, RANKS};
use crate::error::{Error, context};
use crate::peer_process::{ask_idle_server, free_port, limit, runs, tied};
use crate::scenario::{Operation, Scenario};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PROGRAM: &str = "ucx_perftest";
/// The program that says the version.
const INFO: &str = "ucx_info";

/// A test, and the programs that carry it out.
#[derive(Clone, Debug)]
pub(crate) struct Ucx {
    pub(crate) programs: Programs,
    pub(crate) test: Test,
}

/// Programs of UCX: those of a directory, with their libraries in `../lib`, or those of the system.
#[derive(Clone, Debug, Default)]
pub(crate) struct Programs(Option<PathBuf>);

impl Programs {
    pub(crate) fn of(directory: Option<&Path>) -> Self {
        Self(directory.map(Path::to_owned))
    }

    /// Why UCX cannot take part, if it cannot.
    pub(crate) fn absent(&self) -> Option<String> {
        let is_there = runs(&mut self.with_libraries(Command::new(self.path(PROGRAM))), "-h");
        (!is_there).then(|| format!("{PROGRAM} is not installed (make bench installs it)"))
    }

    /// The version of the library.
    pub(crate) fn version(&self) -> Option<String> {
        let output = self.with_libraries(Command::new(self.path(INFO))).arg("-v").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.split_once("ibrary version:"))?.1;
        Some(line.trim().to_owned())
    }

    fn path(&self, program: &str) -> PathBuf {
        self.0.as_deref().map_or_else(|| program.into(), |directory| directory.join(program))
    }

    fn command(&self, program: &str) -> Command {
        self.with_libraries(tied(self.path(program)))
    }

    fn with_libraries(&self, mut command: Command) -> Command {
        if let Some(directory) = &self.0 {
            command.env("LD_LIBRARY_PATH", directory.join("../lib"));
        }
        command
    }
}

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

impl Ucx {
    /// Runs a test, and returns the last line that it prints. `rank` is that of the percentile in it.
    fn run(&self, scenario: Scenario, iterations: u64, rank: f64, limit: Duration) -> Result<String, Error> {
        let port = free_port()?.to_string();
        let common = || {
            let mut command = self.programs.command(PROGRAM);
            // UCX writes its warnings to standard output, between its results.
            command
                .env("UCX_TLS", self.test.transports())
                .env("UCX_NET_DEVICES", "lo")
                .env("UCX_LOG_LEVEL", "error");
            command.args(["-f", "-v", "-t", self.test.argument(scenario), "-p", &port]);
            command.args(["-s", &scenario.size().to_string(), "-R", &rank.to_string()]);
            command.args(["-n", &iterations.to_string(), "-w", &warm_up(iterations).to_string()]);
            if let Scenario::Rate { in_flight, .. } = scenario {
                command.args(["-O", &in_flight.to_string()]);
            }
            if self.test == Test::TagSleeping {
                command.args(["-E", "sleep"]);
            }
            command
        };
        let mut client = common();
        client.arg("127.0.0.1");
        let output = ask_idle_server(&mut common(), &mut client, limit)?;
        let last = output.lines().rfind(|line| !line.trim().is_empty()).ok_or("it printed nothing")?;
        Ok(last.to_owned())
    }
}

/// The number of iterations before those that are measured.
fn warm_up(iterations: u64) -> u64 {
    (iterations / 10).max(10)
}

impl IterationTest for Ucx {
    fn name(&self) -> &'static str {
        match self.test {
            Test::Tag => TAG,
            Test::TagSleeping => "UCX tag, sleeping",
            Test::Memory => "UCX put/get",
            Test::SharedTag => "UCX tag, shared memory",
            Test::SharedMemory => "UCX put/get, shared memory",
        }
    }

    fn supports(&self, scenario: Scenario) -> bool {
        matches!(
            (self.test, scenario),
            (Test::Memory | Test::SharedMemory, _)
                | (
                    Test::Tag | Test::SharedTag,
                    Scenario::RoundTrip { .. } | Scenario::Rate { operation: Operation::Put, .. }
                )
                | (Test::TagSleeping, Scenario::RoundTrip { .. })
        )
    }

    fn messages_of_iteration(&self, scenario: Scenario) -> u64 {
        scenario.messages_of_operation()
    }

    /// A round trip is measured once for each rank, as a run says one percentile; the value is that of the first run.
    fn measure(&self, scenario: Scenario, iterations: u64, duration: Duration) -> Result<Sample, Error> {
        let ranks = if matches!(scenario, Scenario::RoundTrip { .. }) { &RANKS[..] } else { &RANKS[..1] };
        let mut values = Vec::new();
        let mut delays = Vec::new();
        for rank in ranks {
            let line = self.run(scenario, iterations, *rank, limit(duration))?;
            values.push(scenario.value_of_one_way(field(&line, Field::Overall)?));
            delays.push(scenario.value_of_one_way(field(&line, Field::Percentile)?));
        }
        let value = *values.first().ok_or("it was not run")?;
        let runs = values.len() as u64;
        let messages = runs * self.messages_of_iteration(scenario) * (iterations + warm_up(iterations));
        Ok(Sample { value, messages, between: None, delays: delays.try_into().ok().map(Percentiles) })
    }
}

/// A column of the table that UCX prints; both are times of one message, one way, in microseconds.
#[derive(Clone, Copy, Debug)]
enum Field {
    Percentile = 1,
    Overall = 3,
}

fn field(line: &str, field: Field) -> Result<f64, Error> {
    let value = line.split(',').nth(field as usize).ok_or_else(|| format!("it printed no {field:?}"))?;
    value.trim().parse().map_err(context("a time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_its_table() {
        let line = "20000,4.771,4.952,4.953,1.54,1.54,201954,201954";
        assert_eq!(field(line, Field::Overall), Ok(4.953));
        assert_eq!(field(line, Field::Percentile), Ok(4.771));
    }

    #[test]
    fn a_line_without_times_is_an_error() {
        for line in ["", "1,2", "1,2,3,x"] {
            assert!(field(line, Field::Overall).is_err(), "{line:?}");
        }
    }
}

//! Open MPI over TCP, by a program of ours: MPI has no performance test of its own.

use crate::contestant::{IterationTest, Sample};
use crate::delays::Delays;
use crate::error::Error;
use crate::lnet::value;
use crate::peer_process::{limit, output_of, tied};
use crate::scenario::{Operation, Scenario};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(crate) const NAME: &str = "Open MPI";

/// The transport, as `--mca btl` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    SharedMemory,
}

/// Two ranks of `mpi_perf`.
#[derive(Clone, Debug)]
pub(crate) struct Mpi {
    mpirun: PathBuf,
    program: PathBuf,
    transport: Transport,
}

impl Mpi {
    pub(crate) fn new(mpirun: &Path, program: &Path, transport: Transport) -> Self {
        Self { mpirun: mpirun.to_owned(), program: program.to_owned(), transport }
    }
}

/// The version of Open MPI.
pub(crate) fn version(mpirun: &Path) -> Option<String> {
    let output = Command::new(mpirun).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next()?.split_whitespace().last().map(str::to_owned)
}

impl IterationTest for Mpi {
    fn name(&self) -> &'static str {
        match self.transport {
            Transport::Tcp => NAME,
            Transport::SharedMemory => "Open MPI, shared memory",
        }
    }

    fn supports(&self, scenario: Scenario) -> bool {
        matches!(scenario, Scenario::RoundTrip { .. } | Scenario::Rate { operation: Operation::Put, .. })
    }

    fn messages_of_iteration(&self, scenario: Scenario) -> u64 {
        scenario.messages_of_operation()
    }

    fn measure(&self, scenario: Scenario, iterations: u64, duration: Duration) -> Result<Sample, Error> {
        let mut command = tied(&self.mpirun);
        // The ranks are not bound to CPUs, as those of no contestant are. `mpirun` refuses root without that word.
        command.args(["--allow-run-as-root", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl"]);
        command.arg(match self.transport {
            Transport::Tcp => "tcp,self",
            Transport::SharedMemory => "sm,self",
        });
        command.args(["--mca", "btl_tcp_if_include", "lo", "-n", "2"]).arg(&self.program);
        let size = scenario.size().to_string();
        command.args(match scenario {
            Scenario::RoundTrip { .. } => vec!["round-trip".to_owned(), size, iterations.to_string()],
            Scenario::Rate { in_flight, .. } => {
                vec!["put".to_owned(), size, iterations.to_string(), in_flight.to_string()]
            }
        });
        let output = output_of(&mut command, limit(duration))?;
        let of_iteration = value(&output, "microseconds")? / self.messages_of_iteration(scenario) as f64;
        let messages = self.messages_of_iteration(scenario) * value(&output, "messages")? as u64;
        let delays = Delays::read(&output)?.map(|delays| delays.percentiles());
        Ok(Sample { value: scenario.value_of_one_way(of_iteration), messages, between: None, delays })
    }
}

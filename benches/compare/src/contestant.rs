//! Who takes part, and in what.

use crate::options::Options;
use crate::scenario::Scenario;
use crate::{Error, libfabric, lnet, raw_tcp, ucx};
use std::collections::HashMap;
use std::process::{Command, Stdio};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Contestant {
    Lnet,
    RawTcp(raw_tcp::Way),
    Libfabric(libfabric::Endpoint),
    Ucx(ucx::Test),
}

/// How many iterations fill the time of one measurement, for the programs that must be told.
pub(crate) type Iterations = HashMap<(Contestant, Scenario), u64>;

/// The contestants that this machine has; says which are missing.
pub(crate) fn present(options: &Options) -> Vec<Contestant> {
    let mut found = Vec::new();
    if options.lnet_perf.is_some() {
        found.push(Contestant::Lnet);
    } else {
        eprintln!("compare: without LNet: there is no --lnet-perf");
    }
    found.extend(raw_tcp::WAYS.map(Contestant::RawTcp));
    if can_run(libfabric::PROGRAM, "-h") {
        found.extend(libfabric::ENDPOINTS.map(Contestant::Libfabric));
    } else {
        eprintln!(
            "compare: without libfabric: {} is not installed ({})",
            libfabric::PROGRAM,
            libfabric::PACKAGE
        );
    }
    if can_run(ucx::PROGRAM, "-h") {
        found.extend(ucx::TESTS.map(Contestant::Ucx));
    } else {
        eprintln!("compare: without UCX: {} is not installed ({})", ucx::PROGRAM, ucx::PACKAGE);
    }
    found
}

fn can_run(program: &str, argument: &str) -> bool {
    Command::new(program).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

impl Contestant {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Lnet => "LNet",
            Self::RawTcp(way) => way.name(),
            Self::Libfabric(endpoint) => endpoint.name(),
            Self::Ucx(test) => test.name(),
        }
    }

    /// Whether it can do what the scenario asks for.
    pub(crate) const fn plays(self, scenario: Scenario) -> bool {
        match self {
            Self::Lnet => true,
            Self::RawTcp(way) => way.plays(scenario),
            Self::Libfabric(_) => libfabric::plays(scenario),
            Self::Ucx(test) => test.plays(scenario),
        }
    }

    /// One sample, in the scenario's unit.
    pub(crate) fn measure(
        self,
        scenario: Scenario,
        options: &Options,
        iterations: &mut Iterations,
    ) -> Result<f64, Error> {
        match self {
            Self::Lnet => return lnet::measure(scenario, options),
            Self::RawTcp(way) => return raw_tcp::measure(way, scenario, options.duration),
            Self::Libfabric(_) | Self::Ucx(_) => {}
        }
        let enough = |value: f64| {
            let wanted = options.duration.as_secs_f64() * 1e6 / scenario.one_way_of_value(value);
            (wanted as u64).max(TRIAL_ITERATIONS)
        };
        let count = match iterations.get(&(self, scenario)) {
            Some(count) => *count,
            None => enough(self.repeat(scenario, TRIAL_ITERATIONS)?),
        };
        let value = self.repeat(scenario, count)?;
        // The next one profits from what this one found: the trial may have met a busy machine.
        iterations.insert((self, scenario), enough(value));
        Ok(value)
    }

    fn repeat(self, scenario: Scenario, iterations: u64) -> Result<f64, Error> {
        match self {
            Self::Libfabric(endpoint) => libfabric::measure(endpoint, scenario, iterations),
            Self::Ucx(test) => ucx::measure(test, scenario, iterations),
            Self::Lnet | Self::RawTcp(_) => Err("runs for a time, not a number of iterations".into()),
        }
    }
}

/// How many iterations the first run has, which tells how long one takes.
const TRIAL_ITERATIONS: u64 = 100;

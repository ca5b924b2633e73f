//! Measures LNet through its C API side by side with raw TCP, libfabric and UCX.
//!
//! Every round runs each contestant once, over loopback on this machine, so that a slow spell of the
//! machine hits all of them; the report has medians, spreads and ratios. Nothing here passes or fails by
//! a time: an error is a contestant that did not run to its end.
//!
//! ```text
//! compare [--quick] [--rounds N] [--seconds S] [--lnet-perf FILE] [--count-allocations FILE] [--write FILE]
//! ```
//!
//! `make bench` builds what it needs and runs it.
#![forbid(unsafe_code)]

mod contestant;
mod libfabric;
mod lnet;
mod machine;
mod memory;
mod options;
mod peer_process;
mod quiet;
mod raw_tcp;
mod report;
mod scenario;
mod statistics;
mod ucx;

use contestant::Contestant;
use options::{Command, Options};
use quiet::Disturbance;
use scenario::{SCENARIOS, Scenario};
use statistics::Summary;
use std::collections::HashMap;
use std::fmt::Display;
use std::process::ExitCode;

/// What went wrong, in words for whoever runs the benchmark.
type Error = String;

/// Says what was being done when an error came up.
fn context<E: Display>(doing: &str) -> impl Fn(E) -> Error + '_ {
    move |error| format!("{doing}: {error}")
}

/// What was measured.
struct Results {
    /// For each scenario, in order, the contestants that took part.
    scenarios: Vec<(Scenario, Vec<(Contestant, Summary)>)>,
    disturbance: Disturbance,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    let options = match options::parse(std::env::args().skip(1))? {
        Command::RawTcpServer => return raw_tcp::serve(),
        Command::Compare(options) => options,
    };
    let contestants = contestant::present(&options);
    let results = compare(&contestants, &options)?;
    let memory = match &options.lnet_perf {
        Some(_) => Some(memory::measure(&options)?),
        None => None,
    };
    let report = report::markdown(&results, memory.as_ref(), &options);
    println!("{report}");
    match &options.write {
        Some(path) => report::replace_section(path, &report),
        None => Ok(()),
    }
}

fn compare(contestants: &[Contestant], options: &Options) -> Result<Results, Error> {
    let mut iterations = HashMap::new();
    let mut disturbance = Disturbance::default();
    let mut samples: HashMap<(Scenario, Contestant), Vec<f64>> = HashMap::new();
    for round in 1..=options.rounds {
        for scenario in SCENARIOS {
            for contestant in contestants.iter().copied().filter(|c| c.plays(scenario)) {
                let sample = disturbance
                    .undisturbed(|| contestant.measure(scenario, options, &mut iterations))
                    .map_err(|error| format!("{}, {scenario}: {error}", contestant.name()))?;
                eprintln!("round {round}: {scenario}: {}: {}", contestant.name(), scenario.show(sample));
                samples.entry((scenario, contestant)).or_default().push(sample);
            }
        }
    }
    let summaries = |scenario| {
        let of = |contestant: &Contestant| {
            let summary = Summary::of(samples.get(&(scenario, *contestant))?)?;
            Some((*contestant, summary))
        };
        contestants.iter().filter_map(of).collect()
    };
    let scenarios = SCENARIOS.into_iter().map(|scenario| (scenario, summaries(scenario))).collect();
    Ok(Results { scenarios, disturbance })
}

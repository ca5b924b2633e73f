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
mod contestants;
mod disturbance;
mod error;
mod libfabric;
mod lnet;
mod machine;
mod memory;
mod options;
mod peer_process;
mod raw_tcp;
mod report;
mod results;
mod scenario;
mod statistics;
mod ucx;

use contestant::Contestant;
use disturbance::Disturbance;
use error::Error;
use lnet::Lnet;
use options::{Command, Options};
use results::Results;
use scenario::{SCENARIOS, Scenario};
use statistics::Summary;
use std::collections::HashMap;
use std::process::ExitCode;

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
    let contestants = contestants::present(options.lnet_perf.as_deref());
    let results = compare(contestants, &options)?;
    let memory = match &options.lnet_perf {
        Some(program) => Some(memory::measure(&Lnet::new(program), &options)?),
        None => None,
    };
    let report = report::markdown(&results, memory.as_ref(), &options);
    println!("{report}");
    match &options.write {
        Some(path) => report::replace_section(path, &report),
        None => Ok(()),
    }
}

fn compare(mut contestants: Vec<Box<dyn Contestant>>, options: &Options) -> Result<Results, Error> {
    let mut disturbance = Disturbance::default();
    let mut samples: HashMap<(Scenario, &str), Vec<f64>> = HashMap::new();
    for round in 1..=options.rounds {
        for scenario in SCENARIOS {
            for contestant in contestants.iter_mut().filter(|it| it.supports(scenario)) {
                let name = contestant.name();
                let sample = disturbance
                    .undisturbed(|| contestant.measure(scenario, options.duration))
                    .map_err(|error| format!("{name}, {scenario}: {error}"))?;
                eprintln!("round {round}: {scenario}: {name}: {}", scenario.show(sample));
                samples.entry((scenario, name)).or_default().push(sample);
            }
        }
    }
    let summaries = |scenario| {
        let names = contestants.iter().map(|contestant| contestant.name());
        names.filter_map(|name| Some((name, Summary::of(samples.get(&(scenario, name))?)?))).collect()
    };
    let scenarios = SCENARIOS.into_iter().map(|scenario| (scenario, summaries(scenario))).collect();
    Ok(Results { scenarios, disturbance })
}

//! Measures LNet through its C API side by side with raw TCP, libfabric, UCX and MPI.
//!
//! Every round runs each contestant once, over loopback on this machine, so that a slow spell of the
//! machine hits all of them; the report has medians, spreads and ratios. Nothing here passes or fails by
//! a time. A contestant that does not run to its end is named in the report, and the others continue.
//!
//! ```text
//! compare [--quick] [--many-peers] [--routing] [--sharing] [--rounds N] [--seconds S] [--repeat-limit S] [--connections N] [--congestion NAME]
//!         [--only TEXT]... [--lst FILE] [--selftest] [--lnet-perf FILE] [--lnetd FILE] [--iceoryx2-perf FILE]
//!         [--ucx DIRECTORY] [--mpirun FILE --mpi-perf FILE] [--count-allocations FILE] [--write FILE]
//! ```
//!
//! `--many-peers` measures only LNet with many peers, `--routing` only messages through a router, `--sharing` only those between
//! programs of one machine, for which `--lnetd` names the daemon and `--iceoryx2-perf` a program that uses iceoryx2, and `--selftest`
//! only the grid of LNet selftest with the console that `--lst` names; a short run leaves the last three out otherwise. Samples that
//! other programs disturbed are taken again, for `--repeat-limit` seconds in all. `--only` measures the lines with one of these texts
//! in them, as `PUT 8 B, 64 in flight: raw TCP`, prints them, and ends. `--congestion` runs the whole comparison in a new network
//! namespace whose TCP congestion control is NAME. `--write` puts the report between the marks of a document, and pictures beside it.
//!
//! `make bench` builds what it needs and runs it. `compare message-costs` counts in place of measuring: see
//! `message_costs`.
#![forbid(unsafe_code)]

mod attached;
mod congestion;
mod contestant;
mod contestants;
mod cpu;
mod delays;
mod disturbance;
mod error;
mod iceoryx2;
mod libfabric;
mod lnet;
mod machine;
mod many_peers;
mod memory;
mod message_costs;
mod mpi;
mod options;
mod peer_process;
mod picture;
mod raw_tcp;
mod report;
mod results;
mod rounds;
mod router_report;
mod routing;
mod scenario;
mod selftest;
mod sharing;
mod statistics;
mod ucx;

use error::Error;
use lnet::Lnet;
use options::{Command, Options};
use report::{Findings, Section};
use scenario::Scenario;
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
        Command::RawTcpManyServer(connections, waits) => return raw_tcp::many::serve(connections, waits),
        Command::RawTcpRelay(copying, port) => return raw_tcp::relay::run(copying, port),
        Command::MessageCosts(options) => return message_costs::run(&options),
        Command::Compare(options) => options,
    };
    match &options.congestion {
        Some(name) => Err(congestion::enter(name, std::env::args().skip(1))),
        None => compare(&options),
    }
}

fn compare(options: &Options) -> Result<(), Error> {
    if options.many_peers {
        return many_peers(options);
    }
    if options.routing {
        return routing(options);
    }
    if options.sharing {
        return sharing(options);
    }
    if options.selftest {
        return selftest(options);
    }
    let mut entrants = contestants::all(options);
    let table = if options.quick { scenario::quick_table() } else { scenario::table() };
    let results = rounds::run(&mut entrants, &table, |name, scenario| options.want(name, scenario), options);
    // The picture of a short run has the scenarios of its table.
    let missing = |scenario: &Scenario| !options.quick && !table.contains(scenario);
    let between: Vec<Scenario> = picture::scenarios().into_iter().filter(missing).collect();
    let wanted = |name: &str, scenario| picture::shows(name, scenario) && options.want(name, scenario);
    let between = rounds::run(&mut entrants, &between, wanted, options);
    if !options.only.is_empty() {
        println!("{}", report::markdown(&Findings { results: &results, memory: None }, options));
        return Ok(());
    }

    let lnet = options.lnet_perf.as_deref().map(Lnet::new);
    let memory = lnet.as_ref().map(|lnet| memory::measure(lnet, options));
    let report = report::markdown(&Findings { results: &results, memory }, options);
    println!("{report}");
    if let Some(path) = &options.write {
        report::replace_section(path, Section::Measured, &report)?;
        picture::write(&path.with_extension("svg"), &[&results, &between])?;
        picture::write_delays(&path.with_file_name("delays.svg"), &results)?;
    }
    many_peers(options)?;
    if options.quick {
        return Ok(());
    }
    routing(options)?;
    sharing(options)?;
    selftest(options)
}

/// Measures LNet with many peers, if it is there.
fn many_peers(options: &Options) -> Result<(), Error> {
    let Some(program) = &options.lnet_perf else { return Ok(()) };
    let report = many_peers::table::markdown(&many_peers::measure(&Lnet::new(program), options), options);
    println!("{report}");
    options.write.as_deref().map_or(Ok(()), |path| report::replace_section(path, Section::ManyPeers, &report))
}

/// Measures programs of one machine, if there is a daemon for them.
fn sharing(options: &Options) -> Result<(), Error> {
    if options.lnetd.is_none() {
        return Ok(());
    }
    let results = sharing::measure(options)?;
    let report = report::sharing(&results, options);
    println!("{report}");
    options.write.as_deref().map_or(Ok(()), |path| report::replace_section(path, Section::Sharing, &report))
}

/// Measures the grid of LNet selftest, if its console is there.
fn selftest(options: &Options) -> Result<(), Error> {
    options.lst.as_deref().map_or(Ok(()), |program| selftest::run(program, options))
}

/// Measures the part about routers.
fn routing(options: &Options) -> Result<(), Error> {
    let report = report::routing(&routing::measure(options)?, options);
    println!("{report}");
    match &options.write {
        Some(path) => report::replace_section(path, Section::Routing, &report),
        None => Ok(()),
    }
}

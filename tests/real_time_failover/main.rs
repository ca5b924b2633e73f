//! Rails that fail and recover, and peers that stop and crash, under two nodes with load, each a process on its own machine
//! (a network namespace): every operation ends once, messages that were reported as sent have arrived, no message
//! arrives twice, and no operation fails while one rail works.
//!
//! `make failover` runs all scenarios and prints their results beside those of the kernel. The log and the
//! reports of each process in the last run are kept in the target directory, under `tmp/failover`. `make rail-throughput` records the
//! throughput over time of some, for a picture.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod ledger;
mod load;
#[allow(dead_code, reason = "shared with others")]
#[path = "../support/machines.rs"]
mod machines;
mod memory;
#[allow(dead_code, reason = "shared with others")]
#[path = "../support/netns.rs"]
mod netns;
mod process;
mod report;
mod rpc;
mod scenario;
mod selftest;
mod site;
mod soak;
mod table;
mod testbed;
mod throughput;

use scenario::{Outcome, Scenario};
use std::thread;
use std::time::Duration;

/// Runs in each process that a scenario starts.
const PROCESS_TEST: &str = "a_process_under_load_does_as_it_is_told";

#[test]
fn a_process_under_load_does_as_it_is_told() {
    process::live_if_asked();
}

#[test]
fn no_operation_fails_while_one_rail_works() {
    run(&["link-down", "reset"]);
}

#[test]
fn no_operation_fails_while_one_router_works() {
    run(&["router-killed", "router-stopped"]);
}

#[test]
fn no_operation_fails_while_one_way_through_two_hops_or_one_rail_of_a_router_works() {
    run(&["two-hops-second", "router-rail-blackhole"]);
}

#[test]
fn no_operation_with_a_kernel_peer_fails_in_an_outage_that_tcp_survives() {
    run(&["kernel-1.5s"]);
}

#[test]
#[ignore = "takes minutes: make failover"]
fn all_scenarios() -> Result<(), UnknownScenario> {
    run(&chosen(&std::env::var("FAILOVER").unwrap_or_default())?);
    Ok(())
}

#[test]
#[ignore = "takes minutes, and writes into the sources: make rail-throughput"]
fn record_throughput() {
    let mut outcomes = Vec::new();
    table::print_head();
    for (key, lasts) in throughput::recorded() {
        let Some((scenario, outcome)) = outcome_of(key, |scenario| scenario.recorded_for(lasts)) else {
            return;
        };
        assert_eq!(outcome.faults, Vec::<String>::new(), "{key}: {:?}", outcome.errors);
        outcomes.push((scenario, outcome));
    }
    std::fs::write(throughput::path(), throughput::table(&outcomes)).unwrap();
}

#[test]
fn a_misspelled_scenario_name_prints_the_list() {
    let all = chosen("").unwrap();
    assert_eq!(chosen("reset, cable").unwrap(), ["reset", "cable"]);
    let said = format!("{:?}", chosen("reset,cabel").unwrap_err());
    assert!(said.contains("no scenario `cabel`"), "{said}");
    assert!(all.iter().all(|key| said.contains(&format!("\n  {key} "))), "{said}");
}

/// The keys of the scenarios that `text` names, separated by commas or blanks; all if it names none.
fn chosen(text: &str) -> Result<Vec<&'static str>, UnknownScenario> {
    let all = scenario::all();
    let words: Vec<&str> = text.split([',', ' ']).filter(|it| !it.is_empty()).collect();
    if words.is_empty() {
        return Ok(all.iter().map(|it| it.key).collect());
    }
    let find = |word: &&str| {
        all.iter().find(|it| it.key == *word).map(|it| it.key).ok_or_else(|| UnknownScenario((*word).into()))
    };
    words.iter().map(find).collect()
}

/// The error for a name that is no scenario. A test that fails by it prints its debug text.
struct UnknownScenario(String);

impl std::fmt::Debug for UnknownScenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no scenario `{}`; FAILOVER= takes one or some of these, separated by commas:", self.0)?;
        scenario::all().iter().try_for_each(|it| write!(f, "\n  {:<20} {}", it.key, it.name))
    }
}

#[test]
fn nothing_is_lost_or_duplicated_in_some_seconds_of_random_faults() {
    let Some(outcome) = soak_for(20, Duration::from_secs(15)) else { return };
    let sins: Vec<String> = outcome.totals.sins_in_words().collect();
    assert!(sins.is_empty(), "{sins:?}\n{}", outcome.faults.join("\n"));
}

#[test]
#[ignore = "takes as long as it is told to: make soak-rails"]
fn soak() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<f64>().ok());
    let minutes = number("SOAK_MINUTES").unwrap_or(1.0);
    let seed = number("SOAK_SEED").unwrap_or(1.0) as u64;
    let Some(outcome) = soak_for(seed, Duration::from_secs_f64(minutes * 60.0)) else { return };
    assert!(outcome.faults.is_empty(), "seed {seed}:\n{}", outcome.faults.join("\n"));
}

fn soak_for(seed: u64, time: Duration) -> Option<soak::Outcome> {
    println!("\nseed {seed}, for {time:?}");
    let outcome = isolated(move || soak::run(seed, time))?;
    table::print_soak(&outcome);
    Some(outcome)
}

/// Lets the scenarios with these keys happen and prints the table of them.
fn run(keys: &[&str]) {
    let mut faults = Vec::new();
    table::print_head();
    for key in keys {
        let Some((scenario, outcome)) = outcome_of(key, |scenario| scenario) else { return };
        let wrong = outcome.faults.iter().chain(outcome.errors.iter().filter(|_| !outcome.faults.is_empty()));
        faults.extend(wrong.map(|fault| format!("{}: {fault}", scenario.name)));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Lets the scenario with this key happen, after a change, and prints its row of the table.
fn outcome_of(key: &str, change: impl FnOnce(Scenario) -> Scenario) -> Option<(Scenario, Outcome)> {
    let scenario = change(scenario::all().into_iter().find(|it| it.key == key).expect(key));
    let (scenario, outcome) = isolated(move || scenario.run().map(|outcome| (scenario, outcome)))?;
    table::print_row(&scenario, &outcome);
    Some((scenario, outcome))
}

/// Runs a test in its own thread; the namespaces end with the thread.
fn isolated<T: Send>(run: impl FnOnce() -> Option<T> + Send) -> Option<T> {
    let name = thread::current().name().unwrap_or("main").to_owned();
    thread::scope(|scope| thread::Builder::new().name(name).spawn_scoped(scope, run).unwrap().join().unwrap())
}

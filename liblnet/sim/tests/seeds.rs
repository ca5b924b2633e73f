//! A thousand random worlds. With `LNET_SIM_SEED` in the environment only that one is made.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_sim::LoadStats;
use lnet_sim::load::run_seed;

const SEEDS: u64 = 1000;
const HALVES: u64 = 2;

/// Runs one half of the seeds, so that two processors are busy.
fn worlds(half: u64) {
    let only = std::env::var("LNET_SIM_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let mut stats = LoadStats::default();
    for seed in (half..SEEDS).step_by(HALVES as usize) {
        match run_seed(only.unwrap_or(seed)) {
            Ok(one) => stats += one,
            Err(broken) => panic!("{broken}"),
        }
        if only.is_some() {
            break;
        }
    }
    println!("{stats}");
}

#[test]
fn five_hundred_seeds_reach_quiescence_with_all_peers_discovered() {
    worlds(0);
}

#[test]
fn five_hundred_more_seeds_reach_quiescence_with_all_peers_discovered() {
    worlds(1);
}

/// Seed 17498: a node that has got another's NID confirms messages that are meant for that one. 40195: a node that has
/// come back with another's NID and a lower sequence is looked up by that NID.
#[test]
fn seeds_that_failed_before_reach_quiescence() {
    for seed in [17_498, 40_195] {
        if let Err(broken) = run_seed(seed) {
            panic!("{broken}");
        }
    }
}

//! Worlds in which rails die. With `LNET_SIM_SEED` in the environment only that one is made.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_sim::chaos::{ChaosStats, Families, run_seed};

const SEEDS: u64 = 300;
const HALVES: u64 = 2;

/// Runs one half of the seeds, so that two processors are busy.
fn worlds(half: u64, families: Families) {
    let only = std::env::var("LNET_SIM_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let mut stats = ChaosStats::default();
    for seed in (half..SEEDS).step_by(HALVES as usize) {
        match run_seed(only.unwrap_or(seed), families) {
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
fn no_operation_is_lost_duplicated_or_fails_while_a_path_works_in_150_seeds() {
    worlds(0, Families::Ipv4);
}

#[test]
fn no_operation_is_lost_duplicated_or_fails_while_a_path_works_in_150_more_seeds() {
    worlds(1, Families::Ipv4);
}

#[test]
fn nor_where_nodes_have_nids_of_both_families_in_150_seeds() {
    worlds(0, Families::Mixed);
}

#[test]
fn nor_where_nodes_have_nids_of_both_families_in_150_more_seeds() {
    worlds(1, Families::Mixed);
}

/// Seed 1001: messages that had not left were not sent again. 1013: messages without a healthy path made way for each
/// other for ever. 85: a message that had waited for too long was sent at last. 2000: a recovered peer is noticed late.
/// 86: a recovered peer responds on the only path that it knows. 884409087 and 884443781: messages that began to wait for a
/// connection while their peer was down held their credits until the time-out of the driver, after the path had recovered. 7353019997: an
/// interface that its node reported as down was chosen before one with a health of 0.
#[test]
fn seeds_that_failed_before_reach_quiescence() {
    for seed in [1001, 1013, 85, 2000, 86, 2041, 2044, 2071, 884_409_087, 884_443_781, 7_353_019_997] {
        if let Err(broken) = run_seed(seed, Families::Ipv4) {
            panic!("{broken}");
        }
    }
}

//! Some hundreds of worlds in which rails die. `LNET_SIM_SEED` in the environment has just that one made.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_sim::chaos::{Book, run_seed};

const SEEDS: u64 = 400;
const HALVES: u64 = 2;

/// Split, so that two processors are busy.
fn worlds(half: u64) {
    let only = std::env::var("LNET_SIM_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let mut book = Book::default();
    for seed in (half..SEEDS).step_by(HALVES as usize) {
        match run_seed(only.unwrap_or(seed)) {
            Ok(one) => book += one,
            Err(broken) => panic!("{broken}"),
        }
        if only.is_some() {
            break;
        }
    }
    println!("{book}");
}

#[test]
fn no_operation_is_lost_or_doubled_or_fails_while_there_is_a_way_in_two_hundred_worlds() {
    worlds(0);
}

#[test]
fn no_operation_is_lost_or_doubled_or_fails_while_there_is_a_way_in_two_hundred_others() {
    worlds(1);
}

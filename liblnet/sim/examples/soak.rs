//! Worlds made by chance, as many as fit into the time given: `--seconds N`, from the seed `--seed S` on; with
//! `--keep-going` past those that break, one line for each.
#![allow(missing_docs)]

use lnet_sim::Tally;
use lnet_sim::load::run_seed;
use std::process::ExitCode;
use std::time::{Duration, Instant};

struct Options {
    seconds: u64,
    seed: u64,
    keep_going: bool,
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("usage: soak [--seconds N] [--seed S] [--keep-going]");
        return ExitCode::from(2);
    };
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let (mut seed, mut broken, mut tally) = (options.seed, 0, Tally::default());
    while Instant::now() < until {
        match run_seed(seed) {
            Ok(one) => tally += one,
            Err(it) if options.keep_going => {
                println!("seed {seed}: {}", it.what);
                broken += 1;
            }
            Err(it) => {
                println!("{it}");
                println!("that was seed {seed}: cargo run -p lnet-sim --example soak -- --seed {seed}");
                return ExitCode::FAILURE;
            }
        }
        seed += 1;
    }
    println!("seeds {} to {}, {broken} of them broken:\n{tally}", options.seed, seed.saturating_sub(1));
    if broken > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn options() -> Option<Options> {
    let mut options = Options { seconds: 60, seed: 1_000, keep_going: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => options.seconds = words.next()?.parse().ok()?,
            "--seed" => options.seed = words.next()?.parse().ok()?,
            "--keep-going" => options.keep_going = true,
            _ => return None,
        }
    }
    Some(options)
}

//! Random worlds: as many as fit into `--seconds N`, or `--worlds N` of them, from the seed `--seed S` on; with
//! `--keep-going` also after broken ones, with one line for each. `--only discovery`, `--only chaos` or `--only families` makes only
//! worlds in which nodes discover each other, those in which rails die, or those in which NIDs are of both address families too; otherwise
//! all in turn.
#![allow(missing_docs)]

use lnet_sim::chaos::{self, ChaosStats, Families};
use lnet_sim::{LoadStats, Violation, load};
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq)]
enum WorldKind {
    Discovery,
    Chaos,
    /// Chaos with NIDs of both address families.
    Families,
}

struct Options {
    seconds: u64,
    worlds: u64,
    seed: u64,
    keep_going: bool,
    kinds: &'static [WorldKind],
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!(
            "usage: soak [--seconds N | --worlds N] [--seed S] [--keep-going] [--only discovery|chaos|families]"
        );
        return ExitCode::from(2);
    };
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let (mut seed, mut broken) = (options.seed, 0);
    let (mut load_stats, mut chaos_stats) = (LoadStats::default(), ChaosStats::default());
    while seed.wrapping_sub(options.seed) < options.worlds
        && (options.worlds < u64::MAX || Instant::now() < until)
    {
        for kind in options.kinds {
            let done = match kind {
                WorldKind::Discovery => load::run_seed(seed).map(|one| load_stats += one),
                WorldKind::Chaos | WorldKind::Families => {
                    chaos::run_seed(seed, kind.families()).map(|one| chaos_stats += one)
                }
            };
            match done {
                Ok(()) => {}
                Err(it) if options.keep_going => {
                    println!("seed {seed}, {}: {}", kind.name(), it.what);
                    broken += 1;
                }
                Err(it) => return give_up(&it, *kind, seed),
            }
        }
        seed += 1;
    }
    println!("seeds {} to {}, {broken} worlds of them broken", options.seed, seed.saturating_sub(1));
    if options.kinds.contains(&WorldKind::Discovery) {
        println!("worlds in which nodes find each other:\n{load_stats}");
    }
    if options.kinds.iter().any(|kind| *kind != WorldKind::Discovery) {
        println!("worlds in which rails fail:\n{chaos_stats}");
    }
    if broken > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn give_up(broken: &Violation, kind: WorldKind, seed: u64) -> ExitCode {
    println!("{broken}");
    let only = kind.name();
    println!("that was seed {seed}: cargo run -p lnet-sim --example soak -- --only {only} --seed {seed}");
    ExitCode::FAILURE
}

impl WorldKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Discovery => "discovery",
            Self::Chaos => "chaos",
            Self::Families => "families",
        }
    }

    const fn families(self) -> Families {
        match self {
            Self::Discovery | Self::Chaos => Families::Ipv4,
            Self::Families => Families::Mixed,
        }
    }
}

fn options() -> Option<Options> {
    let kinds = &[WorldKind::Discovery, WorldKind::Chaos, WorldKind::Families];
    let mut options = Options { seconds: 60, worlds: u64::MAX, seed: 1_000, keep_going: false, kinds };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => options.seconds = words.next()?.parse().ok()?,
            "--worlds" => options.worlds = words.next()?.parse().ok()?,
            "--seed" => options.seed = words.next()?.parse().ok()?,
            "--keep-going" => options.keep_going = true,
            "--only" => {
                options.kinds = match words.next()?.as_str() {
                    "discovery" => &[WorldKind::Discovery],
                    "chaos" => &[WorldKind::Chaos],
                    "families" => &[WorldKind::Families],
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    Some(options)
}

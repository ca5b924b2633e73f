//! Bandwidth over several rails compared with that of one: 1, 2 and 4 cards of 200 Mbit/s between two machines
//! (network namespaces), one peer, PUT and GET. Printed as a table; needs root or user namespaces.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "shared with tests")]
#[path = "../tests/support/machines.rs"]
mod machines;
#[allow(dead_code, reason = "shared with tests")]
#[path = "../tests/support/netns.rs"]
mod netns;
#[allow(dead_code, reason = "shared with tests")]
#[path = "../tests/support/rails.rs"]
mod rails;

use rails::{Rails, Transfer};
use std::thread;
use std::time::Instant;

const MEGABITS: u32 = 200;
const LEN: usize = 256 * 1024;
const ROUNDS: usize = 5;

fn main() {
    println!("rails of {MEGABITS} Mbit/s, messages of {} KiB, 8 in flight for each rail", LEN / 1024);
    for how in [Transfer::Put, Transfer::Get] {
        let mut of_one = None;
        for cards in [1, 2, 4] {
            // Each measurement has its own namespaces, which end with their threads.
            let Some(rate) = thread::spawn(move || measure(how, cards)).join().unwrap() else { return };
            let one = *of_one.get_or_insert(rate);
            let share = rate / one / cards as f64;
            println!("{how:?} over {cards}: {rate:7.1} MiB/s, {share:.2} of {cards} times one");
        }
    }
}

/// Returns the median of some rounds, in MiB/s.
fn measure(how: Transfer, cards: usize) -> Option<f64> {
    let rails = Rails::or_skip(cards, |_| Some(MEGABITS))?;
    let messages = 40 * cards;
    rails.transfer(how, messages, LEN, 8 * cards);
    let mut rates: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            rails.transfer(how, messages, LEN, 8 * cards);
            (messages * LEN) as f64 / f64::from(1 << 20) / start.elapsed().as_secs_f64()
        })
        .collect();
    rails.shutdown();
    rates.sort_by(f64::total_cmp);
    rates.get(ROUNDS / 2).copied()
}

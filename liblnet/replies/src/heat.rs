//! Heat: a measure of the recent use of NIDs (dbg-070, dbg-075; core-behaviour 10.2).
//!
//! A use counts 1 and decays: h becomes h * 2^(-t / [`TAU`]) in a time t. Nothing runs periodically: the value is
//! updated from the counters when it is read. Uses between two reads are treated as spread evenly over the time
//! between them, so reads every few seconds show the recent use, and one read after a long time the average since the
//! start. Selection does not use heat.

use lnet_core::Time;
use lnet_core::stats::{Counters, NodeCounters};
use lnet_dlc::request;
use lnet_wire::Nid;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The half-life of heat.
pub(crate) const TAU: Duration = Duration::from_secs(10);

/// The heat of all NIDs of a node that were ever read.
#[derive(Debug)]
pub struct HeatTable {
    started: Time,
    state: Mutex<HeatState>,
}

#[derive(Debug, Default)]
struct HeatState {
    own: HashMap<Nid, Heat>,
    peers: HashMap<Nid, Heat>,
    /// The time on the node's clock at which the counters were last reset, since the start.
    counting_since: Duration,
}

impl HeatTable {
    /// The table of a node whose counters start at `now`.
    pub fn new(now: Time) -> Self {
        Self { started: now, state: Mutex::default() }
    }

    /// The heat of a local NI.
    pub(super) fn of_ni(&self, now: Time, nid: Nid, counters: &Counters) -> request::Heat {
        self.look(|state| &mut state.own, now, nid, counters)
    }

    /// The heat of a peer NI.
    pub(super) fn of_peer_ni(&self, now: Time, nid: Nid, counters: &Counters) -> request::Heat {
        self.look(|state| &mut state.peers, now, nid, counters)
    }

    fn look(
        &self,
        which: fn(&mut HeatState) -> &mut HashMap<Nid, Heat>,
        now: Time,
        nid: Nid,
        counters: &Counters,
    ) -> request::Heat {
        let mut state = self.lock();
        let cold = Heat::cold(state.counting_since);
        which(&mut state).entry(nid).or_insert(cold).look(Uses::of(counters), now.since(self.started))
    }

    /// Resets all heat to 0, because the counters have been reset.
    pub fn reset(&self, now: Time) {
        let counting_since = now.since(self.started);
        *self.lock() = HeatState { counting_since, ..HeatState::default() };
    }

    /// Drops the entries of removed peer NIs, if there are too many entries.
    pub fn keep_peers<'a>(&self, there: impl Iterator<Item = &'a Nid> + Clone) {
        let mut state = self.lock();
        if state.peers.len() > there.clone().count() {
            let there: HashSet<&Nid> = there.collect();
            state.peers.retain(|nid, _| there.contains(nid));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HeatState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The counts of messages sent and received, and of their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    messages: u64,
    bytes: u64,
}

impl Uses {
    fn of(counters: &Counters) -> Self {
        let NodeCounters { sent, received, .. } = counters.read_all();
        Self {
            messages: sent.messages().saturating_add(received.messages()),
            bytes: sent.bytes.saturating_add(received.bytes),
        }
    }
}

/// The heat of one NID at the last read.
#[derive(Clone, Copy, Debug)]
struct Heat {
    at: Duration,
    uses: Uses,
    messages: f64,
    bytes: f64,
}

impl Heat {
    const fn cold(at: Duration) -> Self {
        Self { at, uses: Uses { messages: 0, bytes: 0 }, messages: 0.0, bytes: 0.0 }
    }

    fn look(&mut self, uses: Uses, now: Duration) -> request::Heat {
        let time = now.saturating_sub(self.at);
        let new = |now: u64, before: u64| if now < before { now } else { now - before };
        *self = Self {
            at: now,
            uses,
            messages: decay(self.messages, new(uses.messages, self.uses.messages), time),
            bytes: decay(self.bytes, new(uses.bytes, self.uses.bytes), time),
        };
        // A cast from a float stays within the range of the integer.
        let thousandths = |heat: f64| (heat * 1000.0).round() as u64;
        request::Heat { messages: thousandths(self.messages), bytes: thousandths(self.bytes) }
    }
}

/// The value of `heat` after `time`, with `uses` evenly spread over that time.
fn decay(heat: f64, uses: u64, time: Duration) -> f64 {
    let x = time.as_secs_f64() / TAU.as_secs_f64() * std::f64::consts::LN_2;
    // The mean of 2^(-t / TAU) over `time`.
    let left_of_uses = if x > 0.0 { -(-x).exp_m1() / x } else { 1.0 };
    heat * (-x).exp() + uses as f64 * left_of_uses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-6 * other.abs().max(1.0)
    }

    /// dbg-070, dbg-075: fails if heat is a plain count and does not lose half in each time constant.
    #[test]
    fn heat_halves_in_each_time_constant() {
        assert!(near(decay(8.0, 0, TAU), 4.0));
        assert!(near(decay(8.0, 0, 3 * TAU), 1.0));
        assert!(near(decay(8.0, 3, Duration::ZERO), 11.0));
    }

    #[test]
    fn heat_is_the_sum_over_uses_that_each_decay() {
        let (time, uses) = (Duration::from_secs(7), 100_000_u64);
        let naive: f64 = (0..uses)
            .map(|use_| {
                let age = time.as_secs_f64() * (use_ as f64 + 0.5) / uses as f64;
                (-age / TAU.as_secs_f64()).exp2()
            })
            .sum();
        assert!(near(decay(0.0, uses, time) / naive, 1.0));
    }

    #[test]
    fn the_heat_of_an_even_load_does_not_depend_on_the_sampling_interval() {
        let load = |looks: u64| {
            let each = 60_000 / looks;
            (0..looks).fold(0.0, |heat, _| decay(heat, each, Duration::from_millis(each)))
        };
        assert!(near(load(1) / load(60_000), 1.0));
    }

    #[test]
    fn counters_that_were_reset_count_from_zero_for_heat() {
        let mut heat = Heat::cold(Duration::ZERO);
        let uses = |messages| Uses { messages, bytes: 10 * messages };
        assert_eq!(heat.look(uses(8), Duration::ZERO), request::Heat { messages: 8000, bytes: 80_000 });
        assert_eq!(
            heat.look(uses(2), TAU).messages,
            (4000.0_f64 + 2000.0 * 0.5 / 2.0_f64.ln()).round() as u64
        );
    }
}

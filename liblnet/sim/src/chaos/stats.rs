//! Counts of operations, failures and faults in chaos worlds.

use crate::match_bits::OpId;
use crate::world::World;
use lnet_core::Cause;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

/// The counts of one world, or of many together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChaosStats {
    /// Number of worlds.
    pub worlds: u64,
    /// Operations that were started.
    pub begun: u64,
    /// Operations that succeeded.
    pub ended_well: u64,
    /// Operations that ended with an error, by its name.
    pub ended_in_error: BTreeMap<&'static str, u64>,
    /// Operations that failed with the discovery of their peer.
    pub never_sent: u64,
    /// Operations whose node died.
    pub orphaned: u64,
    /// Operations that never ended; there must be none.
    pub lost: u64,
    /// PUTs and GETs that were served.
    pub served: u64,
    /// Duplicate messages that receivers dropped. None may be delivered twice.
    pub deduplicated: u64,
    /// Failed attempts to send a message, in the order of [`Cause::ALL`].
    pub came_back: [u64; Cause::ALL.len()],
    /// Connections to a peer NI that were given up.
    pub pairs_given_up: u64,
    /// Rails that died.
    pub rails_killed: u64,
    /// Interfaces that died, in one direction or both.
    pub interfaces_killed: u64,
    /// Paths that were cut.
    pub pairs_cut: u64,
    /// Connections of two nodes that were reset.
    pub resets: u64,
    /// Nodes that were frozen for some seconds.
    pub freezes: u64,
    /// Nodes that died and came back.
    pub restarts: u64,
    /// Maximum number of virtual minutes until everything was as before.
    pub minutes_to_recover: u64,
}

impl ChaosStats {
    pub(super) fn add(&mut self, world: &World) {
        let ops = world.ops();
        self.begun += ops.len() as u64;
        for (id, op) in (0..).map(OpId).zip(&ops) {
            match op.outcome() {
                _ if op.orphaned => self.orphaned += 1,
                _ if !op.ended => self.lost += 1,
                Ok(()) => self.ended_well += 1,
                Err(_) if world.was_never_sent(id) => self.never_sent += 1,
                Err(errno) => *self.ended_in_error.entry(errno.name()).or_default() += 1,
            }
        }
        let counts = world.counts();
        self.served += world.served();
        self.deduplicated += counts.deduplicated;
        self.pairs_given_up += counts.pairs_ended;
        self.came_back = std::array::from_fn(|at| self.came_back[at] + counts.by_cause[at]);
    }
}

impl AddAssign for ChaosStats {
    fn add_assign(&mut self, other: Self) {
        self.worlds += other.worlds;
        self.begun += other.begun;
        self.ended_well += other.ended_well;
        for (errno, count) in other.ended_in_error {
            *self.ended_in_error.entry(errno).or_default() += count;
        }
        self.never_sent += other.never_sent;
        self.orphaned += other.orphaned;
        self.lost += other.lost;
        self.served += other.served;
        self.deduplicated += other.deduplicated;
        self.came_back = std::array::from_fn(|at| self.came_back[at] + other.came_back[at]);
        self.pairs_given_up += other.pairs_given_up;
        self.rails_killed += other.rails_killed;
        self.interfaces_killed += other.interfaces_killed;
        self.pairs_cut += other.pairs_cut;
        self.resets += other.resets;
        self.freezes += other.freezes;
        self.restarts += other.restarts;
        self.minutes_to_recover = self.minutes_to_recover.max(other.minutes_to_recover);
    }
}

impl fmt::Display for ChaosStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |count: u64, what: &str| writeln!(f, "{count:>12} {what}");
        line(self.worlds, "worlds")?;
        line(self.rails_killed, "rails died")?;
        line(self.interfaces_killed, "interfaces died")?;
        line(self.pairs_cut, "paths were cut")?;
        line(self.resets, "times two nodes' connections were reset")?;
        line(self.freezes, "times a node was frozen")?;
        line(self.restarts, "nodes died and came back")?;
        line(self.begun, "operations begun")?;
        line(self.ended_well, "succeeded")?;
        for (errno, count) in &self.ended_in_error {
            line(*count, &format!("ended with {errno}, no path being usable all the time"))?;
        }
        line(self.never_sent, "ended in error with the discovery of their peer")?;
        line(self.orphaned, "died with their node")?;
        line(self.lost, "lost")?;
        line(0, "doubled")?;
        line(self.served, "PUTs and GETs served")?;
        line(self.deduplicated, "duplicate messages dropped")?;
        for (cause, count) in Cause::ALL.iter().zip(self.came_back).filter(|(_, count)| *count > 0) {
            line(count, &format!("attempts to send failed: {}", cause.text()))?;
        }
        line(self.pairs_given_up, "times a path was given up")?;
        line(self.minutes_to_recover, "minutes at most until everything was as it was")
    }
}

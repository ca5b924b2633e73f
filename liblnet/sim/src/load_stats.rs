//! Counts of what random worlds covered.

use crate::counts::Counts;
use crate::digest::Purpose;
use crate::ledger::Op;
use std::fmt;

macro_rules! load_stats {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// The counts of one world, or of many together.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct LoadStats {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl std::ops::AddAssign for LoadStats {
            fn add_assign(&mut self, other: Self) {
                // Not a sum, but the most.
                let rounds = self.rounds.max(other.rounds);
                $(self.$field += other.$field;)*
                self.rounds = rounds;
            }
        }

        impl fmt::Display for LoadStats {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(writeln!(f, "{:>12} {}", self.$field, stringify!($field).replace('_', " "))?;)*
                Ok(())
            }
        }
    };
}

load_stats! {
    /// Worlds.
    worlds,
    /// Nodes.
    nodes,
    /// Nodes of an older version.
    down_rev_nodes,
    /// Messages of all kinds.
    messages,
    /// Pings.
    pings,
    /// Pushes.
    pushes,
    /// Messages that were lost.
    lost,
    /// Connections that broke.
    breaks,
    /// Messages that waited for a buffer.
    holds,
    /// Operations.
    operations,
    /// Those that did what they were to do.
    succeeded,
    /// Peers that were merged with another, or removed.
    peers_joined,
    /// Interfaces that came.
    nis_added,
    /// Interfaces that went.
    nis_removed,
    /// NIDs that went from one node to another.
    nids_moved,
    /// Nodes that died.
    crashes,
    /// Directions that were cut.
    cuts,
    /// Changes of the mode of discovery.
    mode_changes,
    /// Peers that an operator deleted, or tried to.
    peers_deleted,
    /// Peers that an operator made, or tried to.
    peers_configured,
    /// The most rounds of talk that it took until all knew each other.
    rounds,
}

impl LoadStats {
    pub(crate) fn add_counts(&mut self, counts: &Counts, ops: &[Op]) {
        self.messages += counts.messages();
        self.pings += counts.of(Purpose::Ping);
        self.pushes += counts.of(Purpose::Push);
        self.lost += counts.lost;
        self.breaks += counts.breaks;
        self.holds += counts.holds;
        self.operations += ops.len() as u64;
        self.succeeded += ops.iter().filter(|op| op.succeeded()).count() as u64;
    }
}

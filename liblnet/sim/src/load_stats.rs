//! Counts of the events that random worlds covered.

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
                // A maximum, not a sum.
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
    /// Number of worlds.
    worlds,
    /// Number of nodes.
    nodes,
    /// Number of nodes of an older version.
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
    /// Operations that were started.
    operations,
    /// Operations that succeeded.
    succeeded,
    /// Peers that were merged with another, or removed.
    peers_joined,
    /// Interfaces that were added.
    nis_added,
    /// Interfaces that were removed.
    nis_removed,
    /// NIDs that moved from one node to another.
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
    /// Maximum number of rounds of messages until all nodes knew each other.
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

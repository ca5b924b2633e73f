//! How well interfaces are, what is done with messages that fail, and how what is sick gets well (behaviour sheet 4).

mod cause;
mod counts;
mod state;

pub use cause::{Cause, Reached, SendFailure};
pub use counts::{CauseCounters, CauseCounts, HealthTotals};
pub use state::{NiState, PeerNiState};

use crate::core::Core;
use crate::time::Time;
use lnet_wire::Nid;

/// When a sick interface is tried again (HE-51).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Pings without an answer so far.
    pub ping_count: u32,
    /// When the next one is due; `None` for who is not in the queue.
    pub next_ping: Option<Time>,
}

/// Whose interfaces are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This node's.
    Local,
    /// Peers'.
    Peer,
}

impl Core {
    /// The NIDs that are tried again and again until they are well (`lnetctl debug recovery`).
    pub fn recovery_queue(&self, side: Side) -> Vec<Nid> {
        let _ = side;
        Vec::new()
    }

    /// What went wrong on the whole node.
    pub fn health_totals(&self) -> HealthTotals {
        HealthTotals::default()
    }

    /// Does what health has to do now: sends again what failed, ends what has waited too long, tries what is sick. One
    /// thread at a time, and not from an event handler. Returns when it wants to be called again at the latest. Event handlers of the application run inside.
    pub fn run_monitor(&self) -> Option<Time> {
        self.release_delayed(self.config.clock.now())
    }
}

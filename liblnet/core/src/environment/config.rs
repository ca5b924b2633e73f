//! What a node is given at its start.

use super::settings::{DiscoveryMode, Settings};
use super::time::{Clock, StoppedClock};
use crate::cpt::{CptTable, Placement};
use lnet_wire::Pid;
use std::sync::Arc;

/// See [`CoreConfig::max_peers`].
const MAX_PEERS: usize = 65_536;
/// See [`CoreConfig::max_pending_responses`].
const MAX_PENDING_RESPONSES: u32 = 65_536;
/// See [`CoreConfig::max_answers`].
const MAX_ANSWERS: u32 = 16_384;

/// What a node is given at its start.
#[derive(Clone, Debug)]
pub struct CoreConfig {
    /// The process id of every interface.
    pub pid: Pid,
    /// Names this life of the node: answers to messages of an earlier one are dropped. The kernel takes the
    /// wall clock in nanoseconds.
    pub interface_cookie: u64,
    /// CPU partitions.
    pub cpts: CptTable,
    /// Who knows where memory and threads are; asked only where distances differ.
    pub placement: Option<Arc<dyn Placement>>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// What is set from the start.
    pub settings: Settings,
    /// Whether peer NIs are compared by their queued bytes before their credits (snd-035); the kernel does not.
    pub compare_queued_bytes: bool,
    /// How many peer NIs there may be before others' messages make no more. Default 65536.
    pub max_peers: usize,
    /// How many answers to one peer NI may wait, and be under way; what asks for more of them is dropped. Default 16384.
    pub max_answers: u32,
    /// How many answers (ACK, REPLY) to all peer NIs together may wait, and be under way: what asks for more is dropped,
    /// but that a peer NI always gets 16. Peers are counted in sixteen groups, of which each may have a sixteenth even
    /// when others have all, so there are never twice as many. About 520 bytes each. Default 65536.
    pub max_pending_responses: u32,
}

impl CoreConfig {
    /// One partition on a machine of which nothing is known, where time stands still.
    pub fn new(pid: Pid, interface_cookie: u64) -> Self {
        Self {
            pid,
            interface_cookie,
            cpts: CptTable::default(),
            placement: None,
            clock: Arc::new(StoppedClock),
            settings: Settings::default(),
            compare_queued_bytes: false,
            max_peers: MAX_PEERS,
            max_answers: MAX_ANSWERS,
            max_pending_responses: MAX_PENDING_RESPONSES,
        }
    }

    /// The same for a node that asks nobody who it is, and sends to those whom it does not know at once.
    #[must_use]
    pub fn without_discovery(self) -> Self {
        let settings = Settings { discovery: DiscoveryMode::Off, first_ping: false, ..self.settings };
        Self { settings, ..self }
    }
}

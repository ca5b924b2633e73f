//! The start configuration of a node.

use super::time::{Clock, ManualClock};
use crate::cpt::{CptTable, Placement};
use lnet_log::History;
use lnet_settings::{DiscoveryMode, Settings};
use lnet_wire::Pid;
use std::sync::Arc;

/// The default of [`CoreConfig::max_peers`].
const MAX_PEERS: usize = 65_536;
/// The default of [`CoreConfig::max_pending_responses`].
const MAX_PENDING_RESPONSES: u32 = 65_536;
/// The default of [`CoreConfig::max_pending_responses_per_peer`].
const MAX_PENDING_RESPONSES_PER_PEER: u32 = 16_384;

/// The start configuration of a node.
#[derive(Clone, Debug)]
pub struct CoreConfig {
    /// The process id of every interface.
    pub pid: Pid,
    /// The number of this incarnation of the node: responses to messages of an earlier one are dropped. The kernel uses
    /// the wall clock in nanoseconds.
    pub interface_cookie: u64,
    /// The CPU partitions of the machine.
    pub cpts: CptTable,
    /// The placement of memory and threads; used only where distances differ.
    pub placement: Option<Arc<dyn Placement>>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The initial settings.
    pub settings: Settings,
    /// Whether the node has Multi-Rail. Without it the node behaves like one of a version before Multi-Rail: it reports that
    /// in its ping information, drops pushes, does not discover, and treats each NID as a separate peer. Default true.
    pub multi_rail: bool,
    /// The number of peer NIs above which received messages add no more. Default 65536.
    pub max_peers: usize,
    /// The maximum number of pending responses to one peer NI; requests beyond it are dropped. Default 16384.
    pub max_pending_responses_per_peer: u32,
    /// The maximum number of pending responses (ACK, REPLY) to all peer NIs; requests beyond it are dropped, except
    /// that each peer NI may always have 16. Peers are counted in sixteen groups, each of which may have a sixteenth
    /// even if the others have used up the rest, so there are never twice as many. About 520 bytes each. Default
    /// 65536.
    pub max_pending_responses: u32,
    /// Where changes of state are kept. Default `None`.
    pub history: Option<Arc<History>>,
}

impl CoreConfig {
    /// A configuration with one partition of an unknown machine, and a clock that stands still.
    pub fn new(pid: Pid, interface_cookie: u64) -> Self {
        Self {
            pid,
            interface_cookie,
            cpts: CptTable::default(),
            placement: None,
            clock: Arc::<ManualClock>::default(),
            settings: Settings::default(),
            multi_rail: true,
            max_peers: MAX_PEERS,
            max_pending_responses_per_peer: MAX_PENDING_RESPONSES_PER_PEER,
            max_pending_responses: MAX_PENDING_RESPONSES,
            history: None,
        }
    }

    /// The settings that the node starts with: without Multi-Rail it neither discovers nor pings peers before their first use.
    pub(super) fn first_settings(&self) -> Settings {
        match self.multi_rail {
            true => self.settings,
            false => Settings { discovery: DiscoveryMode::Off, first_ping: false, ..self.settings },
        }
    }

    /// The same configuration without discovery: messages to unknown peers are sent at once.
    #[must_use]
    pub fn without_discovery(self) -> Self {
        let settings = Settings { discovery: DiscoveryMode::Off, first_ping: false, ..self.settings };
        Self { settings, ..self }
    }
}

//! What is known of the discovery of one peer, and what follows from it.

use super::discovery_result::Step;
use super::peer_state::PeerState;
use crate::environment::settings::DiscoveryMode;
use lnet_wire::ping_info::{PingInfo, ping_buffer_len};
use lnet_wire::{Errno, Nid};

/// This node, as far as the discovery of a peer depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalState {
    pub(crate) mode: DiscoveryMode,
    /// Whether peers are pinged before their first use even if nothing is discovered.
    pub(crate) first_ping: bool,
    /// Counts this node's configurations.
    pub(crate) sequence: u32,
    /// Bytes of the largest answer that is believed.
    pub(crate) max_reply_len: u32,
    /// How often a message may be sent again by a path that has failed (`retry_count`).
    pub(crate) retries: u8,
}

impl LocalState {
    pub(crate) const fn discovers(&self) -> bool {
        !matches!(self.mode, DiscoveryMode::Off)
    }

    /// Requests to a peer of several NIDs that may fail one after the other before it is given up.
    pub(crate) const fn tries(&self) -> u8 {
        self.retries.saturating_add(1)
    }
}

/// How far the discovery of one peer is: what [`crate::discovery`] works on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) flags: PeerState,
    /// The latest of this node's configurations that the peer has confirmed.
    pub(crate) node_sequence: u32,
    /// By which NID it did.
    pub(crate) confirmed_by: Option<Nid>,
    /// The latest of its configurations that it has told.
    pub(crate) peer_sequence: u32,
    /// What it said and has not been followed yet ([`PeerState::DATA_PRESENT`]).
    pub(crate) data: Option<Box<PingInfo>>,
    /// Bytes that its answers need, as far as is known; 0: what is usual.
    pub(crate) reply_len: u32,
    /// This node's NID and the peer's between which the last ping went.
    pub(crate) path: Option<(Nid, Nid)>,
    /// The same of a push that it is to be asked about, until it is.
    pub(crate) push_path: Option<(Nid, Nid)>,
    /// What failed last and has not been dealt with.
    pub(crate) failed: Option<(Step, Errno)>,
    /// The number of what it said that was older than what is known: if it answers so again it has begun a new life.
    pub(crate) stale_seq: Option<u32>,
    /// Whether it has told something since the last ping left: the answer may be older than that.
    pub(crate) pushed_since_ping: bool,
    /// Requests in a row that failed: of several paths the next one is tried, also by the next discovery.
    pub(crate) failures: u8,
    /// Requests of this discovery that failed, and retries of their messages: no more than [`LocalState::tries`].
    pub(crate) tries: u8,
    /// The last request was given a part of the time only, so that another can follow.
    pub(crate) brief: bool,
    /// Answers in a row that were of no use.
    pub(crate) bad_replies: u8,
}

impl Progress {
    pub(crate) const fn has(&self, flag: PeerState) -> bool {
        self.flags.contains(flag)
    }

    pub(crate) const fn set(&mut self, flags: PeerState) {
        self.flags = self.flags.union(flags);
    }

    pub(crate) const fn clear(&mut self, flags: PeerState) {
        self.flags = self.flags.without(flags);
    }

    /// Spends one of the retries of this discovery, if there is one left.
    pub(crate) fn spend_retry(&mut self, local: &LocalState) -> bool {
        let is_left = self.tries < local.retries;
        self.tries += u8::from(is_left);
        is_left
    }

    /// Whether neither side is to learn anything from the other (DI-12).
    pub(crate) const fn is_disabled(&self, local: &LocalState) -> bool {
        !local.discovers() || !self.has(PeerState::MULTI_RAIL) || self.has(PeerState::NO_DISCOVERY)
    }

    /// Bytes that its answer is given.
    pub(crate) const fn reply_buffer_len(&self) -> u32 {
        if self.reply_len > MIN_REPLY_LEN { self.reply_len } else { MIN_REPLY_LEN }
    }

    /// Whether it has to be asked.
    pub(crate) const fn needs_ping(&self) -> bool {
        !self.has(PeerState::PING_SENT)
            && (self.has(PeerState::FORCE_PING) || !self.has(PeerState::NIDS_UPTODATE))
    }

    /// Whether it has to be told (DI-10).
    pub(crate) const fn needs_push(&self, local: &LocalState) -> bool {
        !self.has(PeerState::PUSH_SENT) && wants_push(self.flags, self.node_sequence, local)
    }

    /// Whether messages go to it without waiting (DI-11).
    pub(crate) const fn is_up_to_date(&self, local: &LocalState) -> bool {
        is_up_to_date(self.flags, self.node_sequence, local)
    }
}

/// For sixteen interfaces (`LNET_INTERFACES_MIN`).
pub(crate) const MIN_REPLY_LEN: u32 = ping_buffer_len(16) as u32;

const UNSETTLED: PeerState = PeerState::DISCOVERING
    .union(PeerState::FORCE_PING)
    .union(PeerState::FORCE_PUSH)
    .union(PeerState::REDISCOVER)
    .union(PeerState::MARK_DELETION);

/// [`Progress::is_up_to_date`] of these parts.
pub(crate) const fn is_up_to_date(flags: PeerState, node_sequence: u32, local: &LocalState) -> bool {
    !flags.has_any(UNSETTLED)
        && flags.contains(PeerState::DISCOVERED.union(PeerState::NIDS_UPTODATE))
        && !wants_push(flags, node_sequence, local)
}

const fn wants_push(flags: PeerState, node_sequence: u32, local: &LocalState) -> bool {
    flags.contains(PeerState::MULTI_RAIL)
        && !flags.contains(PeerState::MARK_DELETION)
        && (flags.contains(PeerState::FORCE_PUSH)
            // Not "is lower": the count wraps.
            || !flags.contains(PeerState::NO_DISCOVERY) && local.discovers() && node_sequence != local.sequence)
}

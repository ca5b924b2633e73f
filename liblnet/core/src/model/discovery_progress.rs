//! The progress of the discovery of a peer, and the decisions that depend on it alone.

use super::discovery_result::Step;
use super::peer_state::PeerState;
use lnet_settings::DiscoveryMode;
use lnet_wire::ping_info::{PingInfo, ping_buffer_len};
use lnet_wire::{Errno, NetId, Nid};

/// The state of this node that the discovery of a peer depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalState {
    pub(crate) mode: DiscoveryMode,
    /// Whether peers are pinged before their first use although discovery is off.
    pub(crate) first_ping: bool,
    /// The sequence number of this node's configuration.
    pub(crate) sequence: u32,
    /// The largest ping REPLY, in bytes, that is accepted.
    pub(crate) max_reply_len: u32,
    /// The number of times a message may be resent on a path that has failed (`retry_count`).
    pub(crate) retries: u8,
}

impl LocalState {
    pub(crate) const fn discovers(&self) -> bool {
        !matches!(self.mode, DiscoveryMode::Off)
    }

    /// Failed requests in a row after which the discovery of a peer with several NIDs fails.
    pub(crate) const fn tries(&self) -> u8 {
        self.retries.saturating_add(1)
    }
}

/// The progress of the discovery of one peer: the state of the step function in [`crate::discovery`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) flags: PeerState,
    /// The last sequence number of this node that the peer acknowledged.
    pub(crate) node_sequence: u32,
    /// The NID of the peer that acknowledged [`Progress::node_sequence`].
    pub(crate) confirmed_by: Option<Nid>,
    /// The last sequence number received from the peer.
    pub(crate) peer_sequence: u32,
    /// A digest of the NIDs that the peer reported with `peer_sequence`: another list with the same number comes from another
    /// incarnation of the peer.
    pub(crate) peer_list: Option<u64>,
    /// Whether the peer has been restarted and not been discovered since: its NIDs may belong to other nodes now.
    pub(crate) restarted: bool,
    /// Received ping information that has not been merged ([`PeerState::DATA_PRESENT`]).
    pub(crate) data: Option<Box<PingInfo>>,
    /// The size of the peer's ping REPLYs in bytes, as far as is known; 0: the minimum.
    pub(crate) reply_len: u32,
    /// The local and the peer NID of the last ping.
    pub(crate) path: Option<(Nid, Nid)>,
    /// The local and the peer NID of a push that is to be verified by a ping.
    pub(crate) push_path: Option<(Nid, Nid)>,
    /// The net of the peer that the next ping is for: a gateway is checked on each net in turn.
    pub(crate) check_net: Option<NetId>,
    /// The last failure, if it has not been handled.
    pub(crate) failed: Option<(Step, Errno)>,
    /// The sequence number of a stale reply: if the next reply has the same, the peer has restarted.
    pub(crate) stale_seq: Option<u32>,
    /// Whether a push has arrived since the last ping was sent: the reply may be older than the push.
    pub(crate) pushed_since_ping: bool,
    /// Failed requests in a row. If the peer has several paths, the next request, also of a later discovery, takes another one.
    pub(crate) failures: u8,
    /// Failed requests of this discovery, and retries of its messages: at most [`LocalState::tries`].
    pub(crate) tries: u8,
    /// Whether the last request got only a part of the time that the discovery has left, so that another can follow.
    pub(crate) brief: bool,
    /// Useless replies in a row.
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

    /// Spends one retry of this discovery, if any is left.
    pub(crate) fn spend_retry(&mut self, local: &LocalState) -> bool {
        let is_left = self.tries < local.retries;
        self.tries += u8::from(is_left);
        is_left
    }

    /// Whether discovery between both sides is disabled (DI-12).
    pub(crate) const fn is_disabled(&self, local: &LocalState) -> bool {
        !local.discovers() || !self.has(PeerState::MULTI_RAIL) || self.has(PeerState::NO_DISCOVERY)
    }

    /// The size in bytes of the buffer for the peer's next ping REPLY.
    pub(crate) const fn reply_buffer_len(&self) -> u32 {
        if self.reply_len > MIN_REPLY_LEN { self.reply_len } else { MIN_REPLY_LEN }
    }

    /// Whether the peer must be pinged.
    pub(crate) const fn needs_ping(&self) -> bool {
        !self.has(PeerState::PING_SENT)
            && (self.has(PeerState::FORCE_PING) || !self.has(PeerState::NIDS_UPTODATE))
    }

    /// Whether the peer must be pushed to (DI-10).
    pub(crate) const fn needs_push(&self, local: &LocalState) -> bool {
        !self.has(PeerState::PUSH_SENT) && wants_push(self.flags, self.node_sequence, local)
    }

    /// Whether messages are sent to the peer without waiting for discovery (DI-11).
    pub(crate) const fn is_up_to_date(&self, local: &LocalState) -> bool {
        is_up_to_date(self.flags, self.node_sequence, local)
    }
}

/// The size in bytes of a ping REPLY with sixteen interfaces (`LNET_INTERFACES_MIN`).
pub(crate) const MIN_REPLY_LEN: u32 = ping_buffer_len(16) as u32;

const UNSETTLED: PeerState = PeerState::DISCOVERING
    .union(PeerState::FORCE_PING)
    .union(PeerState::FORCE_PUSH)
    .union(PeerState::REDISCOVER)
    .union(PeerState::MARK_DELETION);

/// [`Progress::is_up_to_date`] for callers that have only copies of the flags and the sequence number.
pub(crate) const fn is_up_to_date(flags: PeerState, node_sequence: u32, local: &LocalState) -> bool {
    !flags.has_any(UNSETTLED)
        && flags.contains(PeerState::DISCOVERED.union(PeerState::NIDS_UPTODATE))
        && !wants_push(flags, node_sequence, local)
}

const fn wants_push(flags: PeerState, node_sequence: u32, local: &LocalState) -> bool {
    flags.contains(PeerState::MULTI_RAIL)
        && !flags.contains(PeerState::MARK_DELETION)
        && (flags.contains(PeerState::FORCE_PUSH)
            // Compared for inequality: the number wraps.
            || !flags.contains(PeerState::NO_DISCOVERY) && local.discovers() && node_sequence != local.sequence)
}

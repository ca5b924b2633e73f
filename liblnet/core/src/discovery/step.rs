//! The discovery of one peer as a step function of its state and an input.
//!
//! An [`Input`] changes the [`Progress`] of the peer. When the peer is taken from the queue ([`Input::Look`]) the
//! first row of [`TABLE`] that applies decides the action.

use super::Step;
use super::input::{Input, StepAction};
use crate::model::PeerState as Flag;
use crate::model::{LocalState, Progress};
use lnet_settings::DiscoveryMode;
use lnet_wire::ping_info::{Features, PingInfo, ReceivedPingInfo};
use lnet_wire::{Errno, Nid};

/// The number of consecutive useless REPLYs after which the peer counts as one that does not discover (DISC-18).
pub(crate) const MAX_BAD_REPLIES: u8 = 3;

/// A row of [`TABLE`].
pub(crate) struct Row {
    /// The condition in words, for the log and docs/discovery.md.
    pub(crate) when: &'static str,
    /// The action in words.
    pub(crate) then: &'static str,
    applies: fn(&Progress, &LocalState) -> bool,
    act: fn(&mut Progress) -> StepAction,
}

/// The action for a peer taken from the queue: the first row that applies (core-behaviour 5.3).
pub(crate) const TABLE: [Row; 10] = [
    Row {
        when: "MARK_DELETION",
        then: "remove the peer; the requests that wait for it start again",
        applies: |peer, _| peer.has(Flag::MARK_DELETION),
        act: |_| StepAction::Forget,
    },
    Row {
        when: "DATA_PRESENT",
        then: "merge the ping information; look again",
        applies: |peer, _| peer.has(Flag::DATA_PRESENT),
        act: |peer| {
            peer.clear(Flag::DATA_PRESENT);
            peer.data.take().map_or(StepAction::Repeat, StepAction::Merge)
        },
    },
    Row {
        when: "PING_FAILED or PUSH_FAILED, with an error",
        then: "give up; the requests that wait for it fail",
        applies: |peer, _| {
            peer.flags.has_any(Flag::PING_FAILED.union(Flag::PUSH_FAILED)) && peer.failed.is_some()
        },
        act: |peer| {
            peer.clear(Flag::PING_FAILED.union(Flag::PUSH_FAILED).union(Flag::DISCOVERING));
            peer.clear(Flag::FORCE_PING.union(Flag::FORCE_PUSH));
            peer.set(Flag::REDISCOVER);
            end_check(peer);
            peer.failed.take().map_or(StepAction::Repeat, |(step, errno)| StepAction::GiveUp(step, errno))
        },
    },
    Row {
        when: "PING_FAILED three times by useless replies",
        then: "treat the peer as not multi-rail and not discovering; look again",
        applies: |peer, _| peer.has(Flag::PING_FAILED) && peer.bad_replies >= MAX_BAD_REPLIES,
        act: |peer| {
            peer.clear(Flag::PING_FAILED.union(Flag::FORCE_PING));
            peer.set(Flag::NO_DISCOVERY.union(Flag::NIDS_UPTODATE));
            peer.bad_replies = 0;
            StepAction::Repeat
        },
    },
    Row {
        when: "PING_FAILED by a useless or truncated reply, or at one of several NIDs",
        then: "FORCE_PING; look again",
        applies: |peer, _| peer.has(Flag::PING_FAILED),
        act: |peer| {
            peer.clear(Flag::PING_FAILED);
            peer.set(Flag::FORCE_PING);
            StepAction::Repeat
        },
    },
    Row {
        when: "no PING_SENT, and FORCE_PING or no NIDS_UPTODATE",
        then: "PING_SENT; ping the peer",
        applies: |peer, _| peer.needs_ping(),
        act: |peer| {
            peer.clear(Flag::FORCE_PING);
            peer.set(Flag::PING_SENT);
            peer.pushed_since_ping = false;
            StepAction::Ping
        },
    },
    Row {
        when: "no PUSH_SENT, MULTI_RAIL, and FORCE_PUSH or an unacknowledged sequence number of this node",
        then: "PUSH_SENT; push to the peer",
        applies: Progress::may_push_now,
        act: |peer| {
            peer.clear(Flag::FORCE_PUSH);
            peer.set(Flag::PUSH_SENT);
            StepAction::Push
        },
    },
    Row {
        when: "FORCE_PUSH without MULTI_RAIL",
        then: "no FORCE_PUSH; look again",
        applies: |peer, _| peer.has(Flag::FORCE_PUSH) && !peer.has(Flag::MULTI_RAIL),
        act: |peer| {
            peer.clear(Flag::FORCE_PUSH);
            StepAction::Repeat
        },
    },
    Row {
        when: "PING_SENT or PUSH_SENT",
        then: "wait",
        applies: |peer, _| peer.flags.has_any(Flag::PING_SENT.union(Flag::PUSH_SENT)),
        act: |_| StepAction::Wait,
    },
    Row {
        when: "anything else",
        then: "DISCOVERED; the requests that wait for it are sent",
        applies: |_, _| true,
        act: |peer| {
            peer.set(Flag::DISCOVERED);
            peer.clear(Flag::DISCOVERING.union(Flag::REDISCOVER));
            peer.restarted = false;
            end_check(peer);
            StepAction::Finish
        },
    },
];

/// Applies `input` to a peer; returns the action to take now.
pub(crate) fn step(peer: &mut Progress, input: Input, local: &LocalState) -> StepAction {
    match input {
        Input::Look => look(peer, local),
        Input::Wanted => queue(peer),
        Input::Check { .. } if peer.has(Flag::DISCOVERING) => StepAction::Nothing,
        Input::Check { net } => {
            peer.check_net = net;
            peer.set(Flag::FORCE_PING.union(Flag::FORCE_PUSH).union(Flag::RTR_DISCOVERY));
            queue(peer)
        }
        Input::Examine { force } => {
            peer.clear(Flag::NIDS_UPTODATE.union(Flag::RTR_DISCOVERY));
            peer.set(if force { Flag::FORCE_PING.union(Flag::FORCE_PUSH) } else { Flag::default() });
            queue(peer)
        }
        Input::Reply { received, path } => {
            peer.path = Some(path);
            (peer.failures, peer.tries) = (0, 0);
            peer.clear(Flag::PING_SENT);
            reply(peer, *received, local);
            queue_unless_up_to_date(peer, local)
        }
        Input::BadReply => {
            peer.clear(Flag::PING_SENT);
            bad_reply(peer);
            queue(peer)
        }
        Input::PingFailed(errno) => {
            peer.clear(Flag::PING_SENT);
            peer.set(Flag::PING_FAILED);
            peer.failed = (!may_try_next_path(peer, errno, local)).then_some((Step::Ping, errno));
            queue(peer)
        }
        Input::Pushed { received, path, may_be_stale } => {
            pushed(peer, *received, path, may_be_stale, local);
            queue_unless_up_to_date(peer, local)
        }
        Input::BadPush { path } => {
            peer.push_path = Some(path);
            ping_again(peer);
            queue(peer)
        }
        Input::PushAcked(sequence, by) => {
            peer.clear(Flag::PUSH_SENT);
            (peer.failures, peer.tries) = (0, 0);
            peer.confirmed_by = Some(by);
            peer.node_sequence = sequence;
            queue_unless_up_to_date(peer, local)
        }
        Input::AckedByAnother => {
            peer.node_sequence = 0;
            push_failed(peer, Errno::HostUnreachable, local)
        }
        Input::PushFailed(errno) => push_failed(peer, errno, local),
        Input::Merged => {
            peer.bad_replies = 0;
            peer.stale_seq = None;
            peer.set(Flag::NIDS_UPTODATE);
            StepAction::Repeat
        }
        Input::StaleReply(sequence) => {
            // Limits the pings to a peer that sends another sequence number each time.
            peer.stale_seq = Some(sequence);
            // The ping goes to the NID that the REPLY came from, which may be another peer's by now.
            peer.push_path = peer.path;
            // A push, which the peer repeats until it is acknowledged, does not count as a REPLY.
            if peer.pushed_since_ping {
                ping_again(peer);
            } else {
                peer.clear(Flag::NIDS_UPTODATE);
                bad_reply(peer);
            }
            StepAction::Repeat
        }
        Input::Reverify if !peer.has(Flag::NIDS_UPTODATE) => StepAction::Nothing,
        Input::Reverify => {
            peer.clear(Flag::NIDS_UPTODATE);
            queue(peer)
        }
        Input::AnotherResponded => {
            (peer.peer_sequence, peer.peer_list) = (0, None);
            peer.clear(Flag::NIDS_UPTODATE);
            bad_reply(peer);
            StepAction::Repeat
        }
        // Without discovery the peer is not pinged for its NIDs.
        Input::Restarted if !local.discovers() => StepAction::Nothing,
        Input::Restarted => {
            peer.restarted = true;
            reset_exchange(peer);
            (peer.failures, peer.tries, peer.stale_seq) = (0, 0, None);
            ping_again(peer);
            queue(peer)
        }
        Input::Changed { force } => {
            peer.set(if force && peer.has(Flag::MULTI_RAIL) { Flag::FORCE_PUSH } else { Flag::default() });
            if peer.needs_push(local) { queue(peer) } else { StepAction::Nothing }
        }
        Input::SwitchedOn => {
            peer.clear(Flag::NO_DISCOVERY.union(Flag::NIDS_UPTODATE));
            peer.set(Flag::REDISCOVER);
            // The REPLY in flight may be older than a push from another NID of the peer, which was not merged.
            peer.set(if peer.has(Flag::PING_SENT) { Flag::FORCE_PING } else { Flag::default() });
            StepAction::Nothing
        }
    }
}

impl Progress {
    /// Whether to push now. A push waits for the REPLY to a ping in flight, which may make it unnecessary.
    fn may_push_now(&self, local: &LocalState) -> bool {
        !self.has(Flag::PING_SENT) && self.needs_push(local)
    }
}

/// Forgets the sequence numbers, paths and data exchanged with the peer: its next incarnation counts from the beginning, and has
/// not received this node's NIDs.
fn reset_exchange(peer: &mut Progress) {
    (peer.peer_sequence, peer.peer_list, peer.data) = (0, None, None);
    (peer.node_sequence, peer.confirmed_by) = (0, None);
    (peer.path, peer.push_path) = (None, None);
    peer.clear(Flag::DATA_PRESENT);
}

fn look(peer: &mut Progress, local: &LocalState) -> StepAction {
    let row = TABLE.iter().find(|row| (row.applies)(peer, local));
    row.map_or(StepAction::Wait, |row| {
        log::trace!("{}: {}", row.when, row.then);
        (row.act)(peer)
    })
}

fn queue(peer: &mut Progress) -> StepAction {
    peer.set(Flag::DISCOVERING);
    StepAction::Queue
}

/// Ends the check of a gateway, if the discovery was one (RT-31).
fn end_check(peer: &mut Progress) {
    if peer.has(Flag::RTR_DISCOVERY) {
        peer.clear(Flag::RTR_DISCOVERY);
        peer.set(Flag::RTR_DISCOVERED);
    }
    peer.check_net = None;
}

fn push_failed(peer: &mut Progress, errno: Errno, local: &LocalState) -> StepAction {
    peer.clear(Flag::PUSH_SENT);
    if may_try_next_path(peer, errno, local) {
        // Forced pushes are repeated as well.
        peer.set(Flag::FORCE_PUSH);
    } else {
        peer.set(Flag::PUSH_FAILED);
        peer.failed = Some((Step::Push, errno));
    }
    queue(peer)
}

fn queue_unless_up_to_date(peer: &mut Progress, local: &LocalState) -> StepAction {
    if peer.is_up_to_date(local) { StepAction::Nothing } else { queue(peer) }
}

/// Applies the REPLY to a ping (core-behaviour 5.5).
fn reply(peer: &mut Progress, received: ReceivedPingInfo, local: &LocalState) {
    let peer_discovers = received.info.features.contains(Features::DISCOVERY);
    learn_mode(peer, peer_discovers, peer.flags.has_any(Flag::DISCOVERED.union(Flag::MULTI_RAIL)), local);
    learn_multi_rail(peer, received.info.features.contains(Features::MULTI_RAIL), local);
    learn_routing(peer, &received);
    let asked_for = peer.reply_buffer_len();
    note_reply_len(peer, &received, local);
    if received.truncated {
        bad_reply(peer);
        // A REPLY that was truncated although the buffer had the announced size is useless. A peer whose size grows
        // each time gets the largest buffer.
        if peer.reply_len > asked_for {
            peer.reply_len = if peer.bad_replies >= 2 { local.max_reply_len } else { peer.reply_len };
            peer.bad_replies = peer.bad_replies.min(MAX_BAD_REPLIES - 1);
        }
        return;
    }
    // A push has overtaken the REPLY, which is out of date, unless the peer has restarted (DISC-9).
    if peer.pushed_since_ping && peer.knows_newer_than(&received.info) {
        ping_again(peer);
        return;
    }
    peer.note_list(&received.info);
    keep(peer, received.info);
}

/// Applies a push from the peer (core-behaviour 5.5).
fn pushed(
    peer: &mut Progress,
    received: ReceivedPingInfo,
    path: (Nid, Nid),
    may_be_stale: bool,
    local: &LocalState,
) {
    note_reply_len(peer, &received, local);
    learn_routing(peer, &received);
    if !received.info.features.contains(Features::MULTI_RAIL) {
        return;
    }
    let peer_discovers = received.info.features.contains(Features::DISCOVERY);
    let was_discovered = peer.has(Flag::DISCOVERED) && !peer.has(Flag::DISCOVERING);
    if local.discovers() || !peer_discovers {
        learn_mode(peer, peer_discovers, was_discovered, local);
    }
    learn_multi_rail(peer, true, local);
    let sequence = received.info.sequence;
    let may_be_late = may_be_stale && peer.peer_sequence == 0;
    if may_be_late {
        // Responses and pushes of the peer that are in flight may be even older.
        peer.note_list(&received.info);
        peer.pushed_since_ping = true;
    }
    // The push is late, or the peer has restarted, possibly with this NID alone: a ping to this NID decides (DISC-9).
    if received.truncated || may_be_late || peer.knows_newer_than(&received.info) {
        peer.push_path = Some(path);
        ping_again(peer);
        return;
    }
    let kept = peer.data.as_ref().map(|data| data.sequence);
    peer.pushed_since_ping = true;
    // A push does not count as the REPLY that decides on a stale one.
    peer.stale_seq = None;
    peer.push_path = None;
    peer.note_list(&received.info);
    peer.clear(Flag::NIDS_UPTODATE);
    if kept.is_none_or(|kept| is_older(kept, sequence)) {
        keep(peer, received.info);
    }
}

/// Stores whether both sides discover. A peer that has stopped discovering is removed, unless it is configured.
fn learn_mode(peer: &mut Progress, peer_discovers: bool, had_discovery: bool, local: &LocalState) {
    if local.mode == DiscoveryMode::Verify {
        return;
    }
    if peer_discovers && local.discovers() {
        peer.clear(Flag::NO_DISCOVERY);
        return;
    }
    if had_discovery && !peer.has(Flag::CONFIGURED) && !peer.has(Flag::NO_DISCOVERY) {
        peer.set(Flag::MARK_DELETION);
    }
    peer.set(Flag::NO_DISCOVERY);
}

/// Stores whether the peer is multi-rail; the setting of a configured peer is kept.
fn learn_multi_rail(peer: &mut Progress, claims: bool, local: &LocalState) {
    let is = peer.has(Flag::MULTI_RAIL);
    let may_learn = local.mode == DiscoveryMode::On && !peer.has(Flag::CONFIGURED);
    match (claims, is) {
        (true, false) if may_learn && !peer.has(Flag::NO_DISCOVERY) => peer.set(Flag::MULTI_RAIL),
        (false, true) if !peer.has(Flag::CONFIGURED) && local.mode != DiscoveryMode::Verify => {
            peer.clear(Flag::MULTI_RAIL);
        }
        _ => {}
    }
}

/// Stores whether the peer forwards messages.
fn learn_routing(peer: &mut Progress, received: &ReceivedPingInfo) {
    peer.clear(Flag::ROUTER_ENABLED);
    if !received.info.features.contains(Features::RTE_DISABLED) {
        peer.set(Flag::ROUTER_ENABLED);
    }
}

/// Whether a failed request is repeated at once, to another of the peer's NIDs: as long as the discovery has retries
/// left, and not after a timeout that has used up the time of the discovery.
fn may_try_next_path(peer: &mut Progress, errno: Errno, local: &LocalState) -> bool {
    peer.failures = peer.failures.wrapping_add(1);
    peer.tries = peer.tries.saturating_add(1);
    let may =
        peer.has(Flag::MULTI_RAIL) && (peer.brief || errno != Errno::TimedOut) && peer.tries < local.tries();
    if !may {
        // The next discovery starts with all its retries, on another path.
        peer.tries = 0;
    }
    may
}

fn note_reply_len(peer: &mut Progress, received: &ReceivedPingInfo, local: &LocalState) {
    let len = u32::try_from(received.claimed_len).unwrap_or(u32::MAX);
    peer.reply_len = peer.reply_len.max(len).min(local.max_reply_len);
}

fn bad_reply(peer: &mut Progress) {
    peer.bad_replies = peer.bad_replies.saturating_add(1);
    peer.set(Flag::PING_FAILED);
    peer.failed = None;
}

fn ping_again(peer: &mut Progress) {
    peer.clear(Flag::NIDS_UPTODATE);
    peer.set(Flag::FORCE_PING);
}

fn keep(peer: &mut Progress, info: PingInfo) {
    peer.data = Some(Box::new(info));
    peer.set(Flag::DATA_PRESENT);
}

/// Whether the sequence number `one` is older than `other`; sequence numbers wrap.
pub(crate) const fn is_older(one: u32, other: u32) -> bool {
    other.wrapping_sub(one) as i32 > 0
}

#[cfg(all(test, not(loom)))]
#[path = "step_tests.rs"]
mod tests;

#[cfg(all(test, not(loom)))]
#[path = "step_drawing.rs"]
mod drawing;

//! The discovery of one peer as a step function: from what is known and what happens to what is to be done.
//!
//! What happens is an [`Input`]; it changes the [`Progress`]. What is to be done is decided when the peer's
//! turn comes ([`Input::Look`]): by the first row of [`TABLE`] that applies.

use super::Step;
use super::input::{Input, StepAction};
use crate::environment::settings::DiscoveryMode;
use crate::model::PeerState as Flag;
use crate::model::{LocalState, Progress};
use lnet_wire::ping_info::{Features, PingInfo, ReceivedPingInfo};
use lnet_wire::{Errno, Nid};

/// Answers in a row that may be of no use before the peer is taken for one that cannot be discovered (DISC-18).
pub(crate) const MAX_BAD_REPLIES: u8 = 3;

/// One row of [`TABLE`].
pub(crate) struct Row {
    /// The condition in words, for the log and the drawing.
    pub(crate) when: &'static str,
    /// The action in words.
    pub(crate) then: &'static str,
    applies: fn(&Progress, &LocalState) -> bool,
    act: fn(&mut Progress) -> StepAction,
}

/// What is done for a peer whose turn has come: the first row that applies (core-behaviour 5.3).
pub(crate) const TABLE: [Row; 10] = [
    Row {
        when: "MARK_DELETION",
        then: "forget the peer; what waits for it begins anew",
        applies: |peer, _| peer.has(Flag::MARK_DELETION),
        act: |_| StepAction::Forget,
    },
    Row {
        when: "DATA_PRESENT",
        then: "merge what it said; look again",
        applies: |peer, _| peer.has(Flag::DATA_PRESENT),
        act: |peer| {
            peer.clear(Flag::DATA_PRESENT);
            peer.data.take().map_or(StepAction::Again, StepAction::Merge)
        },
    },
    Row {
        when: "PING_FAILED or PUSH_FAILED, with an error",
        then: "give up; what waits for it fails",
        applies: |peer, _| {
            peer.flags.has_any(Flag::PING_FAILED.and(Flag::PUSH_FAILED)) && peer.failed.is_some()
        },
        act: |peer| {
            peer.clear(Flag::PING_FAILED.and(Flag::PUSH_FAILED).and(Flag::DISCOVERING));
            peer.clear(Flag::FORCE_PING.and(Flag::FORCE_PUSH));
            peer.set(Flag::REDISCOVER);
            peer.failed.take().map_or(StepAction::Again, |(step, errno)| StepAction::GiveUp(step, errno))
        },
    },
    Row {
        when: "PING_FAILED three times by useless answers",
        then: "take it for a peer that is not multi-rail and does not discover; look again",
        applies: |peer, _| peer.has(Flag::PING_FAILED) && peer.bad_replies >= MAX_BAD_REPLIES,
        act: |peer| {
            peer.clear(Flag::PING_FAILED.and(Flag::FORCE_PING));
            peer.set(Flag::NO_DISCOVERY.and(Flag::NIDS_UPTODATE));
            peer.bad_replies = 0;
            StepAction::Again
        },
    },
    Row {
        when: "PING_FAILED by a useless answer, one that did not fit, or at one of several NIDs",
        then: "FORCE_PING; look again",
        applies: |peer, _| peer.has(Flag::PING_FAILED),
        act: |peer| {
            peer.clear(Flag::PING_FAILED);
            peer.set(Flag::FORCE_PING);
            StepAction::Again
        },
    },
    Row {
        when: "no PING_SENT, and FORCE_PING or no NIDS_UPTODATE",
        then: "PING_SENT; ping it",
        applies: |peer, _| peer.needs_ping(),
        act: |peer| {
            peer.clear(Flag::FORCE_PING);
            peer.set(Flag::PING_SENT);
            peer.pushed_since_ping = false;
            StepAction::Ping
        },
    },
    Row {
        when: "no PUSH_SENT, MULTI_RAIL, and FORCE_PUSH or a node sequence number that is not this node's",
        then: "PUSH_SENT; push to it",
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
            StepAction::Again
        },
    },
    Row {
        when: "PING_SENT or PUSH_SENT",
        then: "wait",
        applies: |peer, _| peer.flags.has_any(Flag::PING_SENT.and(Flag::PUSH_SENT)),
        act: |_| StepAction::Wait,
    },
    Row {
        when: "anything else",
        then: "DISCOVERED; what waits for it is sent",
        applies: |_, _| true,
        act: |peer| {
            peer.set(Flag::DISCOVERED);
            peer.clear(Flag::DISCOVERING.and(Flag::REDISCOVER));
            StepAction::Finish
        },
    },
];

/// What `input` makes of a peer, and what is to be done for it now.
pub(crate) fn step(peer: &mut Progress, input: Input, local: &LocalState) -> StepAction {
    match input {
        Input::Look => look(peer, local),
        Input::Wanted => queue(peer),
        Input::Examine { force } => {
            peer.clear(Flag::NIDS_UPTODATE);
            peer.set(if force { Flag::FORCE_PING.and(Flag::FORCE_PUSH) } else { Flag::default() });
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
            StepAction::Again
        }
        Input::StaleReply(sequence) => {
            // One that says something else each time is not asked for ever.
            peer.stale_seq = Some(sequence);
            // Who said it can be asked where it answered: that may be another's NID by now.
            peer.push_path = peer.path;
            // What it pushes, as often as it is not confirmed, is no answer.
            if peer.pushed_since_ping {
                ping_again(peer);
            } else {
                peer.clear(Flag::NIDS_UPTODATE);
                bad_reply(peer);
            }
            StepAction::Again
        }
        Input::Reverify if !peer.has(Flag::NIDS_UPTODATE) => StepAction::Nothing,
        Input::Reverify => {
            peer.clear(Flag::NIDS_UPTODATE);
            queue(peer)
        }
        Input::AnsweredByAnother => {
            peer.peer_sequence = 0;
            peer.clear(Flag::NIDS_UPTODATE);
            bad_reply(peer);
            StepAction::Again
        }
        Input::Changed { force } => {
            peer.set(if force && peer.has(Flag::MULTI_RAIL) { Flag::FORCE_PUSH } else { Flag::default() });
            if peer.needs_push(local) { queue(peer) } else { StepAction::Nothing }
        }
        Input::SwitchedOn => {
            peer.clear(Flag::NO_DISCOVERY.and(Flag::NIDS_UPTODATE));
            peer.set(Flag::REDISCOVER);
            // The answer to that may be older than what it has told by another NID, which was not followed.
            peer.set(if peer.has(Flag::PING_SENT) { Flag::FORCE_PING } else { Flag::default() });
            StepAction::Nothing
        }
    }
}

impl Progress {
    /// What is under way is waited for first: a push tells the peer what the ping's answer may change.
    fn may_push_now(&self, local: &LocalState) -> bool {
        !self.has(Flag::PING_SENT) && self.needs_push(local)
    }
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

fn push_failed(peer: &mut Progress, errno: Errno, local: &LocalState) -> StepAction {
    peer.clear(Flag::PUSH_SENT);
    if may_try_next_path(peer, errno, local) {
        // Also one that was sent though the peer has everything.
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

/// An answer to a ping (core-behaviour 5.5).
fn reply(peer: &mut Progress, received: ReceivedPingInfo, local: &LocalState) {
    let it_discovers = received.info.features.contains(Features::DISCOVERY);
    learn_mode(peer, it_discovers, peer.flags.has_any(Flag::DISCOVERED.and(Flag::MULTI_RAIL)), local);
    learn_multi_rail(peer, received.info.features.contains(Features::MULTI_RAIL), local);
    let asked_for = peer.reply_buffer_len();
    note_reply_len(peer, &received, local);
    if received.truncated {
        bad_reply(peer);
        // Where there was room for what it announces, it lies. One that grows and grows is asked for all that may be.
        if peer.reply_len > asked_for {
            peer.reply_len = if peer.bad_replies >= 2 { local.max_reply_len } else { peer.reply_len };
            peer.bad_replies = peer.bad_replies.min(MAX_BAD_REPLIES - 1);
        }
        return;
    }
    // A push has overtaken it: what it says is no more, unless the peer has begun a new life (DISC-9).
    if peer.pushed_since_ping && is_older(received.info.sequence, peer.peer_sequence) {
        ping_again(peer);
        return;
    }
    peer.peer_sequence = received.info.sequence;
    keep(peer, received.info);
}

/// What a peer told by itself (core-behaviour 5.5).
fn pushed(
    peer: &mut Progress,
    received: ReceivedPingInfo,
    path: (Nid, Nid),
    may_be_stale: bool,
    local: &LocalState,
) {
    note_reply_len(peer, &received, local);
    if !received.info.features.contains(Features::MULTI_RAIL) {
        return;
    }
    let it_discovers = received.info.features.contains(Features::DISCOVERY);
    let was_settled = peer.has(Flag::DISCOVERED) && !peer.has(Flag::DISCOVERING);
    if local.discovers() || !it_discovers {
        learn_mode(peer, it_discovers, was_settled, local);
    }
    learn_multi_rail(peer, true, local);
    let sequence = received.info.sequence;
    let may_be_late = may_be_stale && peer.peer_sequence == 0;
    if may_be_late {
        // What is under way from it, or of it, may be even older.
        peer.peer_sequence = sequence;
        peer.pushed_since_ping = true;
    }
    // Late, or of a new life, in which it may have nothing but this NID any more: a ping to that will tell (DISC-9).
    if received.truncated || may_be_late || is_older(sequence, peer.peer_sequence) {
        peer.push_path = Some(path);
        ping_again(peer);
        return;
    }
    let held = peer.data.as_ref().map(|data| data.sequence);
    peer.pushed_since_ping = true;
    // It is no answer to what was asked because of a stale reply.
    peer.stale_seq = None;
    peer.push_path = None;
    peer.peer_sequence = sequence;
    peer.clear(Flag::NIDS_UPTODATE);
    if held.is_none_or(|held| is_older(held, sequence)) {
        keep(peer, received.info);
    }
}

/// Whether both sides discover. A peer that did and does not any more is forgotten, unless an operator made it.
fn learn_mode(peer: &mut Progress, it_discovers: bool, was_more: bool, local: &LocalState) {
    if local.mode == DiscoveryMode::Verify {
        return;
    }
    if it_discovers && local.discovers() {
        peer.clear(Flag::NO_DISCOVERY);
        return;
    }
    if was_more && !peer.has(Flag::CONFIGURED) && !peer.has(Flag::NO_DISCOVERY) {
        peer.set(Flag::MARK_DELETION);
    }
    peer.set(Flag::NO_DISCOVERY);
}

/// Whether the peer is multi-rail: what an operator said stands.
fn learn_multi_rail(peer: &mut Progress, says: bool, local: &LocalState) {
    let is = peer.has(Flag::MULTI_RAIL);
    let may_learn = local.mode == DiscoveryMode::On && !peer.has(Flag::CONFIGURED);
    match (says, is) {
        (true, false) if may_learn && !peer.has(Flag::NO_DISCOVERY) => peer.set(Flag::MULTI_RAIL),
        (false, true) if !peer.has(Flag::CONFIGURED) && local.mode != DiscoveryMode::Verify => {
            peer.clear(Flag::MULTI_RAIL);
        }
        _ => {}
    }
}

/// Whether a request that failed is sent once more at once, to another of the peer's NIDs, as long as
/// the discovery has retries left. One that had all the time and was not answered has taken long enough.
fn may_try_next_path(peer: &mut Progress, errno: Errno, local: &LocalState) -> bool {
    peer.failures = peer.failures.wrapping_add(1);
    peer.tries = peer.tries.saturating_add(1);
    let may =
        peer.has(Flag::MULTI_RAIL) && (peer.brief || errno != Errno::TimedOut) && peer.tries < local.tries();
    if !may {
        // The next discovery has all its retries, and begins with another path.
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

/// Wraps.
pub(crate) const fn is_older(one: u32, other: u32) -> bool {
    other.wrapping_sub(one) as i32 > 0
}

#[cfg(all(test, not(loom)))]
#[path = "step_tests.rs"]
mod tests;

#[cfg(all(test, not(loom)))]
#[path = "step_drawing.rs"]
mod drawing;

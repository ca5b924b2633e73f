use super::*;
use lnet_wire::ping_info::{NiStatus, PingEntry};
use lnet_wire::{NetId, NetType, Pid};

const LOCAL: LocalState =
    LocalState { mode: DiscoveryMode::On, first_ping: true, sequence: 7, max_reply_len: 8016, retries: 2 };
const OFF: LocalState = LocalState { mode: DiscoveryMode::Off, ..LOCAL };
const VERIFY: LocalState = LocalState { mode: DiscoveryMode::Verify, ..LOCAL };
/// The features of a multi-rail node with discovery, of one without, and of one of an older version.
const FULL: Features = Features(0x1e);
const NO_DISCOVERY: Features = Features(0x0e);
const OLD: Features = Features(0x06);

const SETTLED: Flag = Flag::DISCOVERED.union(Flag::NIDS_UPTODATE);
const KNOWN: Flag = SETTLED.union(Flag::MULTI_RAIL);

fn nid(address: u32) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 0), address)
}

fn received(features: Features, sequence: u32) -> Box<ReceivedPingInfo> {
    let entries = vec![PingEntry { nid: nid(1), status: NiStatus::Up }];
    let info = PingInfo { features, pid: Pid::LUSTRE, sequence, entries };
    Box::new(ReceivedPingInfo {
        claimed_count: 2,
        claimed_len: info.encoded_len(),
        truncated: false,
        ignored: 0,
        info,
    })
}

fn cut(claimed_len: usize) -> Box<ReceivedPingInfo> {
    Box::new(ReceivedPingInfo { claimed_len, truncated: true, ..*received(FULL, 3) })
}

fn reply(features: Features) -> Input {
    Input::Reply { received: received(features, 3), path: (nid(9), nid(1)) }
}

fn peer(flags: Flag) -> Progress {
    // The peer has this node's current configuration, and the last sequence number it reported is 3.
    Progress { flags, node_sequence: LOCAL.sequence, peer_sequence: 3, ..Progress::default() }
}

/// Applies `input` to a peer with these flags; returns the new flags and the action.
fn after(flags: Flag, input: Input, local: &LocalState) -> (Flag, StepAction) {
    let mut peer = peer(flags);
    let action = step(&mut peer, input, local);
    (peer.flags, action)
}

/// The actions of a dequeued peer up to the first that sends or ends; merges succeed at once.
fn actions_of(mut peer: Progress, local: &LocalState) -> Vec<StepAction> {
    let mut actions = Vec::new();
    for _ in 0..10 {
        let action = step(&mut peer, Input::Look, local);
        let over = !matches!(action, StepAction::Repeat | StepAction::Merge(_));
        if matches!(action, StepAction::Merge(_)) {
            step(&mut peer, Input::Merged, local);
        }
        actions.push(action);
        if over {
            break;
        }
    }
    actions
}

#[test]
fn a_dequeued_peer_gets_the_action_of_the_first_matching_row() {
    let failed = |step, errno| Progress { failed: Some((step, errno)), ..Progress::default() };
    let with = |progress: Progress, flags: Flag| Progress { flags, ..progress };
    let data = Progress { data: Some(Box::new(received(FULL, 4).info)), ..peer(KNOWN) };
    let old = Progress { node_sequence: 6, ..peer(KNOWN) };
    let table: Vec<(&str, Progress, StepAction)> = vec![
        ("unknown", Progress::default(), StepAction::Ping),
        ("known", peer(KNOWN), StepAction::Finish),
        ("forced ping", peer(KNOWN.union(Flag::FORCE_PING)), StepAction::Ping),
        ("ping sent", peer(Flag::PING_SENT), StepAction::Wait),
        ("ping sent, forced", peer(Flag::PING_SENT.union(Flag::FORCE_PING)), StepAction::Wait),
        ("forced push", peer(KNOWN.union(Flag::FORCE_PUSH)), StepAction::Push),
        ("has an old sequence, ping sent", with(old.clone(), KNOWN.union(Flag::PING_SENT)), StepAction::Wait),
        ("push sent", with(old.clone(), KNOWN.union(Flag::PUSH_SENT)), StepAction::Wait),
        ("forced push, single-rail", peer(SETTLED.union(Flag::FORCE_PUSH)), StepAction::Repeat),
        ("has an old sequence", old.clone(), StepAction::Push),
        (
            "has an old sequence, discovery off",
            with(old.clone(), KNOWN.union(Flag::NO_DISCOVERY)),
            StepAction::Finish,
        ),
        ("has an old sequence, single-rail", with(old, SETTLED), StepAction::Finish),
        (
            "to be deleted",
            peer(KNOWN.union(Flag::MARK_DELETION).union(Flag::DATA_PRESENT)),
            StepAction::Forget,
        ),
        (
            "with data",
            with(data, KNOWN.union(Flag::DATA_PRESENT).union(Flag::PING_FAILED)),
            StepAction::Merge(Box::new(received(FULL, 4).info)),
        ),
        (
            "ping failed",
            with(failed(Step::Ping, Errno::TimedOut), Flag::PING_FAILED),
            StepAction::GiveUp(Step::Ping, Errno::TimedOut),
        ),
        (
            "push failed",
            with(failed(Step::Push, Errno::Io), KNOWN.union(Flag::PUSH_FAILED)),
            StepAction::GiveUp(Step::Push, Errno::Io),
        ),
        ("bad reply", peer(Flag::PING_FAILED), StepAction::Repeat),
    ];
    for (name, mut peer, expected) in table {
        assert_eq!(step(&mut peer, Input::Look, &LOCAL), expected, "{name}");
    }
}

#[test]
fn a_peer_whose_discovery_failed_is_discovered_again_on_the_next_request() {
    let mut peer = Progress::default();
    assert_eq!(step(&mut peer, Input::Wanted, &LOCAL), StepAction::Queue);
    assert_eq!(step(&mut peer, Input::Look, &LOCAL), StepAction::Ping);
    assert_eq!(step(&mut peer, Input::PingFailed(Errno::TimedOut), &LOCAL), StepAction::Queue);
    assert_eq!(step(&mut peer, Input::Look, &LOCAL), StepAction::GiveUp(Step::Ping, Errno::TimedOut));
    assert_eq!(peer.flags, Flag::REDISCOVER);
    assert!(!peer.is_up_to_date(&LOCAL));
    assert_eq!(step(&mut peer, Input::Wanted, &LOCAL), StepAction::Queue);
    assert_eq!(step(&mut peer, Input::Look, &LOCAL), StepAction::Ping);
}

#[test]
fn all_nids_of_a_multi_rail_peer_are_tried_before_its_discovery_fails() {
    let table = [
        (Flag::MULTI_RAIL, true, Errno::ConnectionRefused, 3),
        (Flag::MULTI_RAIL, true, Errno::TimedOut, 3),
        (Flag::MULTI_RAIL, false, Errno::TimedOut, 1),
        (Flag::default(), false, Errno::ConnectionRefused, 1),
    ];
    for (flags, brief, errno, most) in table {
        let mut peer = Progress { brief, ..peer(flags) };
        step(&mut peer, Input::Wanted, &LOCAL);
        let mut pings = 0;
        while actions_of(peer.clone(), &LOCAL).last() == Some(&StepAction::Ping) {
            pings += 1;
            peer.set(Flag::PING_SENT);
            step(&mut peer, Input::PingFailed(errno), &LOCAL);
        }
        assert_eq!(pings, most, "{flags:?} {errno:?}");
        assert_eq!(actions_of(peer, &LOCAL), [StepAction::GiveUp(Step::Ping, errno)]);
    }
}

/// The rows of core-behaviour 5.5 for ping replies.
#[test]
fn a_ping_reply_sets_the_state_of_the_peer() {
    let sent = Flag::PING_SENT.union(Flag::DISCOVERING);
    let data = Flag::DATA_PRESENT.union(Flag::DISCOVERING);
    let made = Flag::CONFIGURED;
    let table = [
        ("multi-rail", sent, FULL, LOCAL, data.union(Flag::MULTI_RAIL)),
        ("discovery off", sent, NO_DISCOVERY, LOCAL, data.union(Flag::NO_DISCOVERY)),
        ("older version", sent, OLD, LOCAL, data.union(Flag::NO_DISCOVERY)),
        ("discovery off on this node", sent, FULL, OFF, data.union(Flag::NO_DISCOVERY)),
        ("discovery on again", sent.union(Flag::NO_DISCOVERY), FULL, LOCAL, data.union(Flag::MULTI_RAIL)),
        (
            "discovery switched off",
            sent.union(KNOWN),
            NO_DISCOVERY,
            LOCAL,
            data.union(KNOWN).union(Flag::MARK_DELETION).union(Flag::NO_DISCOVERY),
        ),
        (
            "configured, discovery switched off",
            sent.union(KNOWN).union(made),
            NO_DISCOVERY,
            LOCAL,
            data.union(KNOWN).union(made).union(Flag::NO_DISCOVERY),
        ),
        ("configured as single-rail", sent.union(made), FULL, LOCAL, data.union(made)),
        ("was multi-rail", sent.union(Flag::MULTI_RAIL), Features(0x16), LOCAL, data),
        ("verify mode", sent, FULL, VERIFY, data),
        ("verify mode, discovery off", sent.union(KNOWN), NO_DISCOVERY, VERIFY, data.union(KNOWN)),
    ];
    for (name, flags, features, local, expected) in table {
        let (flags, action) = after(flags, reply(features), &local);
        assert_eq!((flags, action), (expected, StepAction::Queue), "{name}");
    }
}

fn push(received: Box<ReceivedPingInfo>) -> Input {
    Input::Pushed { received, path: (nid(9), nid(1)), may_be_stale: false }
}

/// The rows of core-behaviour 5.5 for pushes.
#[test]
fn a_push_is_applied_unless_it_is_stale_or_truncated() {
    let fresh = |sequence| push(received(FULL, sequence));
    let data = Flag::DATA_PRESENT.union(Flag::DISCOVERING).union(Flag::MULTI_RAIL);
    let ask = Flag::FORCE_PING.union(Flag::DISCOVERING);
    let known = Flag::MULTI_RAIL.union(Flag::DISCOVERED);
    let table = [
        ("of an unknown peer", Flag::default(), fresh(4), LOCAL, data),
        ("new", KNOWN, fresh(4), LOCAL, data.union(known)),
        ("repeated", KNOWN, fresh(3), LOCAL, data.union(known)),
        ("stale (T9)", KNOWN, fresh(2), LOCAL, ask.union(known)),
        ("truncated", KNOWN, push(cut(400)), LOCAL, ask.union(known)),
        ("invalid", KNOWN, Input::BadPush { path: (nid(9), nid(1)) }, LOCAL, ask.union(known)),
        (
            "discovery switched off (T8b)",
            KNOWN,
            push(received(NO_DISCOVERY, 4)),
            LOCAL,
            data.union(known).union(Flag::MARK_DELETION).union(Flag::NO_DISCOVERY),
        ),
        (
            "discovery switched off, configured peer",
            KNOWN.union(Flag::CONFIGURED),
            push(received(NO_DISCOVERY, 4)),
            LOCAL,
            data.union(known).union(Flag::CONFIGURED).union(Flag::NO_DISCOVERY),
        ),
        (
            "verify mode",
            SETTLED,
            fresh(4),
            VERIFY,
            Flag::DATA_PRESENT.union(Flag::DISCOVERING).union(Flag::DISCOVERED),
        ),
    ];
    for (name, flags, input, local, expected) in table {
        let (flags, action) = after(flags, input, &local);
        assert_eq!((flags, action), (expected, StepAction::Queue), "{name}");
    }
    let single_rail = after(KNOWN, push(received(OLD, 4)), &LOCAL);
    assert_eq!(single_rail, (KNOWN, StepAction::Nothing), "a push without the multi-rail feature");
}

/// DISC-14: fails if the ping goes elsewhere, as the peer may have no other path left.
#[test]
fn a_push_that_is_not_applied_causes_a_ping_on_the_path_it_came_by() {
    let table = [
        ("stale, or of a new incarnation", push(received(FULL, 2)), Some((nid(9), nid(1)))),
        ("truncated", push(cut(400)), Some((nid(9), nid(1)))),
        ("invalid", Input::BadPush { path: (nid(9), nid(1)) }, Some((nid(9), nid(1)))),
        ("new", push(received(FULL, 4)), None),
    ];
    for (name, input, expected) in table {
        let mut peer = peer(KNOWN);
        step(&mut peer, input, &LOCAL);
        assert_eq!(peer.push_path, expected, "{name}");
    }
}

/// Fails also if the sequence number of the push is not stored: it decides between this peer and others that claim its NIDs.
#[test]
fn after_a_peer_was_deleted_the_first_push_of_an_unknown_peer_causes_a_ping_and_that_of_a_known_peer_is_applied()
 {
    let merge = StepAction::Merge(received(FULL, 4).info.into());
    let table = [
        ("of an unknown peer", 0, vec![StepAction::Ping]),
        ("of a known peer", 3, vec![merge, StepAction::Finish]),
    ];
    for (name, known, expected) in table {
        let mut peer = Progress { peer_sequence: known, ..peer(KNOWN) };
        let input = Input::Pushed { received: received(FULL, 4), path: (nid(9), nid(1)), may_be_stale: true };
        assert_eq!(step(&mut peer, input, &LOCAL), StepAction::Queue);
        assert_eq!((actions_of(peer.clone(), &LOCAL), peer.peer_sequence), (expected, 4), "{name}");
    }
}

#[test]
fn a_peer_whose_nid_is_claimed_by_another_peer_is_pinged() {
    let mut peer = Progress { node_sequence: LOCAL.sequence, ..peer(SETTLED) };
    assert!(peer.is_up_to_date(&LOCAL));
    assert_eq!(step(&mut peer, Input::Reverify, &LOCAL), StepAction::Queue);
    assert_eq!(actions_of(peer, &LOCAL), [StepAction::Ping]);
    // An undiscovered peer is pinged at its first use in any case.
    assert_eq!(step(&mut Progress::default(), Input::Reverify, &LOCAL), StepAction::Nothing);
}

/// With three NIDs and three attempts for each discovery, fails if the fourth attempt uses the path of the first.
#[test]
fn a_discovery_begins_with_the_path_after_the_last_failed_one() {
    let mut peer = peer(KNOWN);
    for failures in 1..=7 {
        step(&mut peer, Input::PushFailed(Errno::HostUnreachable), &LOCAL);
        assert_eq!(peer.failures, failures);
        let fails =
            actions_of(peer.clone(), &LOCAL) == [StepAction::GiveUp(Step::Push, Errno::HostUnreachable)];
        assert_eq!(fails, failures % LOCAL.tries() == 0, "{failures}");
        step(&mut peer, Input::Look, &LOCAL);
    }
}

/// Fails if the peer stays as it is, since pushes that arrived while discovery was off have not been applied.
#[test]
fn a_peer_being_pinged_when_discovery_is_switched_on_is_pinged_once_more() {
    let mut peer = peer(KNOWN.union(Flag::DISCOVERING).union(Flag::PING_SENT));
    assert_eq!(step(&mut peer, Input::SwitchedOn, &LOCAL), StepAction::Nothing);
    assert_eq!(step(&mut peer, reply(FULL), &LOCAL), StepAction::Queue);
    assert_eq!(
        actions_of(peer, &LOCAL),
        [StepAction::Merge(received(FULL, 3).info.into()), StepAction::Ping]
    );
}

/// Fails if a push confirms a stale sequence, as a stale push may be repeated; only a reply requested since is current.
#[test]
fn a_stale_sequence_is_confirmed_by_a_ping_reply_and_not_by_another_push() {
    for (name, input, stale_seq) in
        [("a reply", reply(FULL), Some(3)), ("a push", push(received(FULL, 3)), None)]
    {
        let mut peer = peer(KNOWN.union(Flag::DISCOVERING));
        step(&mut peer, Input::StaleReply(3), &LOCAL);
        step(&mut peer, input, &LOCAL);
        assert_eq!(peer.stale_seq, stale_seq, "{name}");
    }
}

#[test]
fn of_two_pending_pushes_the_later_one_is_kept() {
    for (first, second) in [(4, 5), (5, 4)] {
        let mut peer = peer(KNOWN);
        step(&mut peer, push(received(FULL, first)), &LOCAL);
        step(&mut peer, push(received(FULL, second)), &LOCAL);
        assert_eq!(peer.data.map(|data| data.sequence), Some(5));
    }
}

#[test]
fn an_acknowledged_push_covers_the_sequence_it_carried_and_no_later_one() {
    let mut peer =
        Progress { node_sequence: 0, ..peer(KNOWN.union(Flag::PUSH_SENT).union(Flag::DISCOVERING)) };
    assert_eq!(step(&mut peer, Input::PushAcked(6, nid(1)), &LOCAL), StepAction::Queue);
    assert_eq!(actions_of(peer.clone(), &LOCAL), [StepAction::Push]);
    assert_eq!(step(&mut peer, Input::PushAcked(7, nid(1)), &LOCAL), StepAction::Queue);
    assert_eq!(actions_of(peer, &LOCAL), [StepAction::Finish]);
}

/// DISC-18: fails if a push that another peer acknowledges is repeated without limit, or counts as acknowledged.
#[test]
fn a_push_acknowledged_by_another_peer_is_repeated_a_limited_number_of_times() {
    let mut peer = peer(KNOWN.union(Flag::PUSH_SENT).union(Flag::DISCOVERING));
    for _ in 1..LOCAL.tries() {
        step(&mut peer, Input::AckedByAnother, &LOCAL);
        assert_eq!(actions_of(peer.clone(), &LOCAL), [StepAction::Push]);
        step(&mut peer, Input::Look, &LOCAL);
    }
    step(&mut peer, Input::AckedByAnother, &LOCAL);
    assert_eq!(actions_of(peer.clone(), &LOCAL), [StepAction::GiveUp(Step::Push, Errno::HostUnreachable)]);
    assert!(!peer.is_up_to_date(&LOCAL));
}

#[test]
fn a_forced_push_that_fails_at_one_of_several_nids_is_sent_to_another() {
    let mut peer = peer(KNOWN.union(Flag::PUSH_SENT).union(Flag::DISCOVERING));
    step(&mut peer, Input::PushFailed(Errno::HostUnreachable), &LOCAL);
    assert_eq!(actions_of(peer, &LOCAL), [StepAction::Push]);
}

#[test]
fn a_peer_whose_replies_contradict_its_pushes_is_pinged_again_a_limited_number_of_times() {
    let mut peer = peer(KNOWN.union(Flag::DISCOVERING));
    for sequence in 1..u32::from(MAX_BAD_REPLIES) {
        step(&mut peer, Input::StaleReply(sequence), &LOCAL);
        assert_eq!(actions_of(peer.clone(), &LOCAL), [StepAction::Repeat, StepAction::Ping]);
        peer.clear(Flag::PING_FAILED);
    }
    step(&mut peer, Input::StaleReply(9), &LOCAL);
    step(&mut peer, Input::Look, &LOCAL);
    assert!(peer.has(Flag::NO_DISCOVERY.union(Flag::NIDS_UPTODATE)) && !peer.needs_ping());
}

/// Fails if a peer that does not receive this node's ACKs, and so repeats its push, is taken for a defective one.
#[test]
fn stale_pushes_do_not_count_as_bad_replies() {
    let mut peer = peer(KNOWN.union(Flag::DISCOVERING));
    for _ in 0..=MAX_BAD_REPLIES {
        step(&mut peer, push(received(FULL, 4)), &LOCAL);
        step(&mut peer, Input::Look, &LOCAL);
        step(&mut peer, Input::StaleReply(4), &LOCAL);
        assert_eq!((actions_of(peer.clone(), &LOCAL), peer.bad_replies), (vec![StepAction::Ping], 0));
    }
}

#[test]
fn three_bad_replies_make_a_peer_single_rail() {
    let mut peer = Progress::default();
    step(&mut peer, Input::Wanted, &LOCAL);
    for _ in 0..3 {
        assert_eq!(actions_of(peer.clone(), &LOCAL).last(), Some(&StepAction::Ping));
        step(&mut peer, Input::BadReply, &LOCAL);
    }
    assert_eq!(actions_of(peer.clone(), &LOCAL), [StepAction::Repeat, StepAction::Finish]);
}

/// DISC-16: fails if the buffer does not grow to the announced size, or the peer is pinged without limit.
#[test]
fn a_truncated_reply_is_requested_with_a_larger_buffer_a_limited_number_of_times() {
    let mut peer = Progress::default();
    let long = |len| Input::Reply { received: cut(len), path: (nid(9), nid(1)) };
    for (claimed, buffer) in [(400, 400), (500, LOCAL.max_reply_len), (600, LOCAL.max_reply_len)] {
        step(&mut peer, long(claimed), &LOCAL);
        assert_eq!(peer.reply_buffer_len(), buffer, "{claimed}");
    }
    let mut pings = 0;
    while actions_of(peer.clone(), &LOCAL).last() == Some(&StepAction::Ping) {
        pings += 1;
        assert!(pings < 5);
        step(&mut peer, long(600), &LOCAL);
    }
}

#[test]
fn switching_discovery_on_pings_each_peer_at_its_next_use() {
    for flags in [KNOWN, SETTLED.union(Flag::NO_DISCOVERY)] {
        let mut peer = peer(flags);
        assert_eq!(step(&mut peer, Input::SwitchedOn, &LOCAL), StepAction::Nothing);
        assert!(!peer.is_up_to_date(&LOCAL));
        step(&mut peer, Input::Wanted, &LOCAL);
        assert_eq!(actions_of(peer, &LOCAL), [StepAction::Ping]);
    }
}

#[test]
fn a_change_is_pushed_to_peers_that_discover_and_if_forced_to_all_multi_rail_peers() {
    let table = [
        (KNOWN, 6, false, StepAction::Queue),
        (KNOWN, 7, false, StepAction::Nothing),
        (KNOWN, 7, true, StepAction::Queue),
        (KNOWN.union(Flag::NO_DISCOVERY), 6, false, StepAction::Nothing),
        (KNOWN.union(Flag::NO_DISCOVERY), 6, true, StepAction::Queue),
        (SETTLED, 6, true, StepAction::Nothing),
    ];
    for (flags, node_sequence, force, expected) in table {
        let mut peer = Progress { node_sequence, ..peer(flags) };
        assert_eq!(step(&mut peer, Input::Changed { force }, &LOCAL), expected, "{flags:?} {force}");
    }
}

#[test]
fn a_peer_forwards_as_long_as_it_says_so() {
    let forwards = Features(FULL.0 & !Features::RTE_DISABLED.0);
    let pushed = |features| Input::Pushed {
        received: received(features, 4),
        path: (nid(9), nid(1)),
        may_be_stale: false,
    };
    let knows = |flags, input| after(flags, input, &LOCAL).0.contains(Flag::ROUTER_ENABLED);
    for before in [KNOWN, KNOWN.union(Flag::ROUTER_ENABLED)] {
        assert!(knows(before, reply(forwards)) && knows(before, pushed(forwards)));
        assert!(!knows(before, reply(FULL)) && !knows(before, pushed(FULL)));
    }
}

/// Fails if a restarted peer counts as up to date, or if its former sequence number counts as newer than its present one.
#[test]
fn a_peer_that_has_restarted_is_asked_and_told_from_the_beginning() {
    let table = [
        (KNOWN, LOCAL, [StepAction::Ping, StepAction::Push]),
        (KNOWN.union(Flag::PING_SENT).union(Flag::DISCOVERING), LOCAL, [StepAction::Wait, StepAction::Ping]),
        (KNOWN, VERIFY, [StepAction::Ping, StepAction::Push]),
    ];
    for (flags, local, expected) in table {
        let mut peer = Progress { failures: 2, ..peer(flags) };
        assert_eq!(step(&mut peer, Input::Restarted, &local), StepAction::Queue, "{flags:?}");
        assert!(peer.restarted && !peer.is_up_to_date(&local), "{flags:?}");
        assert_eq!((peer.peer_sequence, peer.node_sequence, peer.failures), (0, 0, 0), "{flags:?}");
        let mut acted = Vec::new();
        for _ in 0..2 {
            let last = loop {
                match step(&mut peer, Input::Look, &local) {
                    StepAction::Repeat => {}
                    StepAction::Merge(_) => drop(step(&mut peer, Input::Merged, &local)),
                    action => break action,
                }
            };
            acted.push(last);
            let response = Input::Reply { received: received(FULL, 1), path: (nid(9), nid(1)) };
            step(&mut peer, response, &local);
        }
        assert_eq!(acted, expected, "{flags:?}");
    }
    let mut done = peer(KNOWN);
    step(&mut done, Input::Restarted, &LOCAL);
    step(&mut done, Input::Look, &LOCAL);
    step(&mut done, reply(FULL), &LOCAL);
    step(&mut done, Input::PushAcked(LOCAL.sequence, nid(1)), &LOCAL);
    assert_eq!(actions_of(done.clone(), &LOCAL).last(), Some(&StepAction::Finish));
    // Without discovery, a node is not pinged for its NIDs.
    let mut configured = peer(KNOWN);
    assert_eq!(step(&mut configured, Input::Restarted, &OFF), StepAction::Nothing);
    assert!(!configured.restarted);
}

/// Fails if a list is accepted by its number alone: the peer may have restarted, or the list may be older.
#[test]
fn another_list_of_nids_with_a_known_sequence_number_is_confirmed_by_a_ping() {
    let list = |addresses: &[u32], sequence| {
        let entries = addresses.iter().map(|it| PingEntry { nid: nid(*it), status: NiStatus::Up }).collect();
        let info = PingInfo { features: FULL, pid: Pid::LUSTRE, sequence, entries };
        let claimed_len = info.encoded_len();
        Box::new(ReceivedPingInfo { claimed_count: 2, claimed_len, truncated: false, ignored: 0, info })
    };
    let pushed = |received| Input::Pushed { received, path: (nid(9), nid(1)), may_be_stale: false };
    // The list and number of a push, and whether a ping follows that confirms it.
    let table = [
        (&[1, 2][..], 4, false),
        (&[1, 2], 4, false),
        (&[1, 3], 4, true),
        (&[1, 2, 3], 4, true),
        (&[1, 3], 5, false),
        (&[1, 2], 3, true),
    ];
    for (addresses, sequence, asks) in table {
        let mut peer = peer(KNOWN);
        step(&mut peer, pushed(list(&[1, 2], 4)), &LOCAL);
        actions_of(peer.clone(), &LOCAL);
        step(&mut peer, pushed(list(addresses, sequence)), &LOCAL);
        assert_eq!(peer.has(Flag::FORCE_PING), asks, "{addresses:?} {sequence}");
        // The next REPLY is accepted with any number.
        if asks {
            actions_of(peer.clone(), &LOCAL);
            peer.pushed_since_ping = false;
            let response = Input::Reply { received: list(addresses, sequence), path: (nid(9), nid(1)) };
            step(&mut peer, response, &LOCAL);
            assert_eq!(peer.data.as_ref().map(|data| data.sequence), Some(sequence), "{addresses:?}");
        }
    }
}

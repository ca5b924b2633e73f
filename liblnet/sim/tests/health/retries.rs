//! Number of resends of a message, and cases without any (core-behaviour 4.3).

use super::*;
use lnet_core::fault::{DropRule, Filter, Odds};
use lnet_core::{Cause, Setting};
use lnet_wire::NidPattern;
use std::num::NonZeroU32;

fn resends(world: &World) -> u64 {
    world.core(A).unwrap().admin().health_totals().resends
}

/// snd-050: fails if a failed message is not tried at another NID of the peer.
/// snd-055, HE-20: fails if a message is given up before each pair has been tried, or is tried without end.
/// The retries come on top of the pairs.
#[test]
fn a_message_that_always_fails_tries_each_path_and_then_retries_up_to_the_limit() {
    for retry_count in [0, 1, 2, 5] {
        let settings = Settings { retry_count, ..Settings::default() };
        let mut world = Pair { settings, ..Pair::default() }.meet("nobody listens");
        world.crash(B);
        let (before, since) = (resends(&world), world.now());
        let id = world.start_op(A, b(1), OpKind::Put).unwrap();
        pass(&mut world, 40.0);
        assert_eq!(op(&world, id).sent, Some(Err(Errno::ConnectionRefused)), "{retry_count}");
        let puts = sent(&world, A, Purpose::Put, since);
        assert_eq!(puts.len() as u64 - 1, resends(&world) - before);
        if retry_count == 0 {
            assert_eq!(puts.len(), 1);
            continue;
        }
        for (own, its) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            let pair = (a(own), b(its));
            let tried = puts.iter().any(|(_, put)| (put.header.src_nid, put.header.dest_nid) == pair);
            assert!(tried, "{own} and {its} in {} attempts", puts.len());
        }
        assert!(puts.len() as u32 <= 4 + retry_count, "{} attempts", puts.len());
        finish(world);
    }
}

/// The nodes recognise duplicates, so that a resend is safe.
#[test]
fn a_message_whose_connections_break_is_resent_until_its_timeout() {
    let mut world = two_rails("each connection breaks");
    world.set_breaks(1);
    let served = world.served();
    let id = world.start_op(A, b(1), OpKind::Put).unwrap();
    pass(&mut world, 40.0);
    assert!(!op(&world, id).ended);
    pass(&mut world, 15.0);
    assert!(op(&world, id).outcome().is_err() && world.served() == served);
    world.set_breaks(0);
    finish(world);
}

/// HE-2: fails if anything is resent, or any health lowered, with a health sensitivity of 0.
#[test]
fn with_health_sensitivity_0_nothing_is_resent_and_no_health_is_lowered() {
    let mut world = two_rails("no sensitivity");
    for node in [A, B] {
        world.with_core(node, |core| {
            core.admin().change_settings(|settings| settings.set(Setting::HealthSensitivity, 0))
        });
    }
    assert_eq!(world.core(A).unwrap().settings().retry_count, 0);
    let since = world.now();
    let id = world.start_op(A, b(1), OpKind::Put).unwrap();
    world.break_between(A, B);
    pass(&mut world, 30.0);
    assert_eq!(op(&world, id).sent, Some(Err(Errno::ConnectionReset)));
    assert_eq!((sent(&world, A, Purpose::Put, since).len(), resends(&world)), (1, 0));
    for number in 1..=2 {
        assert_eq!((peer_health(&world, A, b(number)), own_health(&world, A, a(number))), (1000, 1000));
    }
    finish(world);
}

/// HE-23: the owner gets the final event, and none before it.
#[test]
fn a_resent_message_gives_one_event() {
    let mut world = two_rails("one event");
    world.kill_interface(b(1));
    let ids: Vec<OpId> =
        ASKS.iter().cycle().take(12).filter_map(|ask| world.start_op(A, b(1), *ask)).collect();
    pass(&mut world, 20.0);
    assert!(resends(&world) > 0);
    // The ledger reports every event beyond the first of its kind.
    all_succeeded(&world, &ids);
    finish(world);
}

/// HE-20: the owner has withdrawn the message.
#[test]
fn a_message_whose_md_was_unlinked_is_not_resent() {
    let mut world = two_rails("unlinked meanwhile");
    let since = world.now();
    world.kill_rail(rail(1));
    world.kill_rail(rail(2));
    let id = world.start_op(A, b(1), OpKind::PutWithAck).unwrap();
    pass(&mut world, 0.1);
    let now = world.now();
    world.give_up_ops(now);
    pass(&mut world, 60.0);
    assert!(op(&world, id).ended && sent(&world, A, Purpose::Put, since).len() == 1);
    finish(world);
}

/// snd-055: fails if the unresponsive path is left out. Nothing has shown that it has recovered, and its next ping is not due
/// yet.
#[test]
fn a_message_that_fails_on_all_responsive_paths_tries_unresponsive_ones() {
    let mut world = two_rails("the unresponsive path has recovered");
    world.kill_rail(rail(2));
    load(&mut world, 30.0);
    world.heal_rail(rail(2));
    world.set_link_state(A, a(1), false);
    // As after a worse error; otherwise the failures would soon make the other NID the worse one.
    world.with_core(A, |core| core.admin().set_peer_ni_health(Some(b(2)), 0));
    let fails = Filter::between(NidPattern::Any, b(1));
    let fails = DropRule::failing(fails, Odds::OneIn(NonZeroU32::MIN), Cause::RemoteDropped);
    world.with_core(A, |core| core.admin().add_drop_rule(fails));
    let id = world.start_op(A, b(1), OpKind::PutWithAck).unwrap();
    pass(&mut world, 3.0);
    let op = op(&world, id);
    let left = op.left.map(|left| left.since(op.started));
    assert!(op.succeeded() && left < Some(Duration::from_millis(10)), "{op:?}");
    finish(world);
}

/// PS-3 keeps the caller's source, but a message that the peer may have, and would recognise, is not given up with the
/// source.
#[test]
fn a_request_with_a_given_source_that_the_peer_may_have_is_resent_from_another_source() {
    type Break = fn(&mut World, Nid);
    let faults: [(&str, Break); 3] = [
        ("the interface fails", |world, own| world.kill_interface(own)),
        ("the interface is removed", |world, own| world.remove_ni(A, own)),
        ("the rail swallows everything", |world, _| world.kill_rail(rail(1))),
    ];
    for ask in ASKS {
        for (name, kill) in faults {
            let pair = Pair { latency: Duration::from_millis(100), ..Pair::default() };
            let mut world = pair.meet(name);
            let served = world.served();
            let id = ask_by(&mut world, a(1), b(1), ask);
            // The request has arrived, and its ACK is under way.
            pass(&mut world, 0.15);
            kill(&mut world, a(1));
            pass(&mut world, 30.0);
            assert!(op(&world, id).succeeded(), "{name}, {ask:?}: {:?}", op(&world, id));
            assert!(took(&world, id) < 5.0, "{name}, {ask:?}: {} s", took(&world, id));
            assert_eq!(world.served() - served, 1, "{name}, {ask:?}");
            finish(world);
        }
    }
}

/// Counts all failing pings of a discovery: at most `retry_count` and one for each path, also if there is only one path.
#[test]
fn a_discovery_that_fails_has_tried_each_path_once_and_retry_count_times_more_at_most() {
    for retry_count in [0, 1, 2] {
        for (rails_a, rails_b) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2)] {
            let settings = Settings { retry_count, ..Settings::default() };
            let mut world = Pair { rails_a, rails_b, settings, ..Pair::default() }.meet("it is not there");
            for its in (1..=rails_b).map(b) {
                let fails = Filter::between(NidPattern::Any, its);
                let fails = DropRule::failing(fails, Odds::OneIn(NonZeroU32::MIN), Cause::RemoteDropped);
                world.with_core(A, |core| core.admin().add_drop_rule(fails));
            }
            let before = resends(&world);
            world.discover(A, b(1), false);
            // The first recovery ping, which is not one of these, comes after a second.
            pass(&mut world, 0.9);
            let lost = world
                .with_core(A, |core| core.admin().drop_rules().iter().map(|(_, stats)| stats.matched).sum());
            let pings: u64 = lost.unwrap();
            let most = u64::from(retry_count + rails_a * rails_b);
            assert!((1..=most).contains(&pings), "{rails_a} x {rails_b}, {retry_count}: {pings} pings");
            pass(&mut world, 5.0);
            let resends = resends(&world) - before;
            assert!(resends < most, "{rails_a} x {rails_b}, {retry_count}: {resends} resends");
            let standing = world.standing(A, b(1)).unwrap();
            assert!(standing.failure.is_some(), "{rails_a} x {rails_b}, {retry_count}: {standing:?}");
            world.with_core(A, |core| core.admin().delete_drop_rules(None, None));
            pass(&mut world, 60.0);
            finish(world);
        }
    }
}

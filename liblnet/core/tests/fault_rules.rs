//! Fault rules, against a driver that completes every message at once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::fault::{Causes, DelayRule, DropRule, Filter, Kinds, Loss, Odds};
use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::stats::MessageOutcome;
use lnet_core::{Cause, Errno, EventKind, MdHandle, MdOptions, Time};
use lnet_wire::{Body, Header, MessageType, NidPattern, WireHandle};
use std::num::NonZeroU32;
use std::time::Duration;
use support::{COOKIE, FakeDriver, OnSend, PORTAL, Rig, header_from, put_body, target, tcp};

const SECOND: Duration = Duration::from_secs(1);
const ALL: Odds = Odds::OneIn(NonZeroU32::MIN);

fn rig() -> Rig {
    Rig::new(FakeDriver::new(OnSend::Complete).recording())
}

fn accept_puts(rig: &Rig) {
    rig.attach(-1, MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
}

fn put(rig: &Rig, md: MdHandle, to: u32, hdr_data: u64) {
    rig.core.data_path().put(None, md, false, target(tcp(to)), hdr_data).unwrap();
}

/// The `hdr_data` of the PUTs sent since the last call.
fn sent(rig: &Rig) -> Vec<u64> {
    let data = |header: Header| match header.body {
        Body::Put { hdr_data, .. } => hdr_data,
        _ => panic!("{header:?}"),
    };
    rig.driver.recorded().into_iter().map(data).collect()
}

/// The kind and status of the events since the last call.
fn heard(rig: &Rig) -> Vec<(EventKind, Result<(), Errno>)> {
    rig.take_events().into_iter().map(|(kind, status, _)| (kind, status)).collect()
}

fn put_from(source: u32) -> Header {
    header_from(tcp(source), put_body(None), 8)
}

fn one_in(count: u32) -> Odds {
    Odds::OneIn(NonZeroU32::new(count).unwrap())
}

fn delay(filter: Filter, latency: Duration) -> DelayRule {
    DelayRule { filter, odds: ALL, latency }
}

#[test]
fn a_drop_rule_of_one_in_three_drops_on_receive_and_counts() {
    let rig = rig();
    accept_puts(&rig);
    rig.core.admin().add_drop_rule(DropRule::arriving(Filter::between(tcp(2), tcp(1)), one_in(3)));
    let actions: Vec<_> = (0..30).map(|_| rig.arrives(&put_from(2))).collect();
    let lost = actions.iter().filter(|action| matches!(action, RxAction::Discard)).count();
    assert_eq!(lost, 10);
    assert_eq!(rig.ni().counters().read(MessageOutcome::Dropped).put, 10);
    let [(_, stats)] = rig.core.admin().drop_rules()[..] else { panic!() };
    assert_eq!((stats.matched, stats.hit, stats.put, stats.get), (30, 10, 10, 0));
    rig.core.admin().reset_drop_rules();
    assert_eq!(rig.core.admin().drop_rules()[0].1, Default::default());
    assert!(matches!(rig.arrives(&put_from(3)), RxAction::Deliver(_)), "the rule is about another");
}

#[test]
fn a_dropped_message_matches_no_md() {
    let rig = rig();
    rig.core.admin().add_drop_rule(DropRule::arriving(Filter::default(), ALL));
    assert!(matches!(rig.arrives(&put_from(2)), RxAction::Discard));
    assert!(rig.core.peer_nis().is_empty());
    assert_eq!(rig.messages(), 0);
}

#[test]
fn a_drop_rule_with_an_error_fails_the_send_with_that_error() {
    let rig = rig();
    let md = rig.bind(-1);
    let only_puts =
        Filter { kinds: Kinds::from(MessageType::Put), ..Filter::between(NidPattern::Any, tcp(2)) };
    rig.core.admin().add_drop_rule(DropRule::failing(only_puts, ALL, Cause::LocalError));
    put(&rig, md, 2, 0);
    assert_eq!(heard(&rig), [(EventKind::Send, Err(Errno::Io))]);
    assert_eq!(rig.ni().failures().read().of(Cause::LocalError), 1);
    put(&rig, md, 3, 7);
    assert_eq!(heard(&rig), [(EventKind::Send, Ok(()))]);
    assert_eq!(sent(&rig), [7]);
    assert!(matches!(rig.arrives(&put_from(2)), RxAction::Discard), "nothing is attached");
    assert_eq!(rig.core.admin().drop_rules()[0].1.matched, 1, "the rule acts on leaving alone");
    assert_eq!(rig.messages(), 0);
}

#[test]
fn a_rule_for_everything_acts_both_ways() {
    let lost = Loss::Everything(None);
    let failing = Loss::Everything(Some(Causes::from(Cause::RemoteError)));
    for (loss, status) in [(lost, Ok(())), (failing, Err(Errno::ConnectionReset))] {
        let rig = rig();
        accept_puts(&rig);
        let md = rig.bind(-1);
        rig.core.admin().add_drop_rule(DropRule { filter: Filter::default(), loss });
        put(&rig, md, 2, 0);
        assert_eq!(heard(&rig), [(EventKind::Send, status)]);
        assert!(sent(&rig).is_empty());
        assert!(matches!(rig.arrives(&put_from(2)), RxAction::Discard));
        assert_eq!(rig.core.admin().drop_rules()[0].1.hit, 2);
    }
}

#[test]
fn delayed_sends_leave_in_the_order_of_their_due_time() {
    let rig = rig();
    let md = rig.bind(-1);
    rig.core.admin().add_delay_rule(delay(Filter::between(tcp(1), tcp(2)), 3 * SECOND));
    rig.core.admin().add_delay_rule(delay(Filter::between(tcp(1), tcp(3)), SECOND));
    for (to, hdr_data) in [(2, 1), (3, 2), (4, 3), (2, 4), (3, 5)] {
        put(&rig, md, to, hdr_data);
    }
    assert_eq!(sent(&rig), [3]);
    assert_eq!(rig.core.monitor().run(), Some(Time(SECOND)));
    rig.clock.advance(SECOND);
    assert_eq!(rig.core.monitor().run(), Some(Time(3 * SECOND)));
    assert_eq!(sent(&rig), [2, 5]);
    rig.clock.advance(2 * SECOND);
    assert_eq!(rig.core.monitor().run(), None);
    assert_eq!(sent(&rig), [1, 4]);
    assert_eq!(heard(&rig), [(EventKind::Send, Ok(())); 5]);
    assert_eq!(rig.messages(), 0);
}

#[test]
fn a_delayed_message_matches_the_mds_that_are_attached_when_it_is_released() {
    let rig = rig();
    rig.core.admin().add_delay_rule(delay(Filter::between(tcp(2), tcp(1)), SECOND));
    assert!(matches!(rig.arrives(&put_from(2)), RxAction::Defer));
    accept_puts(&rig);
    rig.core.monitor().run();
    assert!(rig.driver.resumed().is_empty());
    rig.clock.advance(SECOND);
    rig.core.monitor().run();
    let [RxAction::Deliver(message)] = <[RxAction; 1]>::try_from(rig.driver.resumed()).unwrap() else {
        panic!()
    };
    rig.core.data_path().received(message, Ok(()));
    assert_eq!(heard(&rig), [(EventKind::Put, Ok(()))]);
    assert_eq!(rig.messages(), 0);
}

#[test]
fn a_delayed_message_is_deferred_at_a_lazy_portal() {
    let rig = rig();
    rig.core.data_path().set_lazy_portal(PORTAL).unwrap();
    rig.core.admin().add_delay_rule(delay(Filter::default(), SECOND));
    assert!(matches!(rig.arrives(&put_from(2)), RxAction::Defer));
    rig.clock.advance(SECOND);
    rig.core.monitor().run();
    assert!(rig.driver.resumed().is_empty());
    accept_puts(&rig);
    assert!(matches!(rig.driver.resumed()[..], [RxAction::Deliver(_)]));
}

#[test]
fn a_delayed_response_for_an_unlinked_md_is_dropped() {
    let rig = rig();
    let md = rig.bind(-1);
    let ack = Body::Ack {
        handle: WireHandle { interface_cookie: COOKIE, object_cookie: md.cookie() },
        match_bits: 0,
        accepted: 8,
    };
    rig.core.admin().add_delay_rule(delay(Filter::default(), SECOND));
    assert!(matches!(rig.arrives(&header_from(tcp(2), ack, 0)), RxAction::Defer));
    rig.core.data_path().md_unlink(md).unwrap();
    rig.clock.advance(SECOND);
    rig.core.monitor().run();
    assert!(matches!(rig.driver.resumed()[..], [RxAction::Discard]));
    assert_eq!(rig.messages(), 0);
}

#[test]
fn a_delayed_send_whose_md_is_unlinked_is_cancelled() {
    let rig = rig();
    let md = rig.bind(-1);
    rig.core.admin().add_delay_rule(delay(Filter::default(), SECOND));
    put(&rig, md, 2, 0);
    rig.core.data_path().md_unlink(md).unwrap();
    rig.clock.advance(SECOND);
    rig.core.monitor().run();
    assert_eq!(heard(&rig), [(EventKind::Send, Err(Errno::Cancelled))]);
    assert!(sent(&rig).is_empty() && rig.messages() == 0);
}

#[test]
fn a_delayed_send_fails_when_its_interface_is_removed() {
    let ends: [fn(&Rig); 2] =
        [|rig| rig.core.admin().remove_ni(tcp(1)).unwrap(), |rig| rig.core.admin().shutdown()];
    for end in ends {
        let rig = rig();
        accept_puts(&rig);
        let md = rig.bind(-1);
        rig.core.admin().add_delay_rule(delay(Filter::default(), SECOND));
        put(&rig, md, 2, 0);
        assert!(matches!(rig.arrives(&put_from(2)), RxAction::Defer));
        end(&rig);
        assert_eq!(heard(&rig), [(EventKind::Send, Err(Errno::Shutdown))]);
        assert!(matches!(rig.driver.resumed()[..], [RxAction::Discard]));
        assert_eq!(rig.messages(), 0);
    }
}

#[test]
fn deleting_a_delay_rule_releases_its_messages_and_no_others() {
    let rig = rig();
    let md = rig.bind(-1);
    let (there, elsewhere) = (Filter::between(tcp(1), tcp(2)), Filter::between(tcp(1), tcp(3)));
    rig.core.admin().add_delay_rule(delay(there, SECOND));
    rig.core.admin().add_delay_rule(delay(elsewhere, SECOND));
    put(&rig, md, 2, 2);
    put(&rig, md, 3, 3);
    assert_eq!(rig.core.admin().delete_delay_rules(None, Some(tcp(9).into())), 0);
    assert_eq!(rig.core.admin().delete_delay_rules(Some(tcp(1).into()), Some(tcp(3).into())), 1);
    assert_eq!(sent(&rig), [3]);
    assert_eq!(rig.core.admin().delete_delay_rules(None, None), 1);
    assert_eq!(sent(&rig), [2]);
    assert!(rig.core.admin().delay_rules().is_empty() && rig.messages() == 0);
}

#[test]
fn rules_are_listed_newest_first_and_may_be_alike() {
    let rig = rig();
    let [first, second] = [tcp(2), tcp(3)].map(|dest| DropRule::arriving(Filter::between(tcp(1), dest), ALL));
    [first, second, second].into_iter().for_each(|rule| rig.core.admin().add_drop_rule(rule));
    let listed: Vec<_> = rig.core.admin().drop_rules().into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(listed, [second, second, first]);
    assert_eq!(rig.core.admin().delete_drop_rules(None, Some(tcp(3).into())), 2);
    assert_eq!(rig.core.admin().delete_drop_rules(Some(NidPattern::Any), None), 0, "a pattern is a pattern");
    assert_eq!(rig.core.admin().delete_drop_rules(None, None), 1);
}

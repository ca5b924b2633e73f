//! The failed messages that are resent: how often, and on which paths.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use lnet_core::FatalReporter;
use lnet_core::lnd::{RxAction, Upcalls};
use lnet_core::{Cause, Delivery, Errno, EventKind, MdHandle, MdOptions, SendFailure, Time};
use lnet_wire::Body;
use std::num::NonZeroU64;
use std::time::Duration;
use support::routes::{far, far_net, route};
use support::{FakeDriver, OnSend, Rig, header_from, not_sent, put_body, target, tcp};

/// A node with these interfaces whose driver keeps a PUT to `0.0.0.2@tcp`, and the PUT's MD, with threshold 1.
fn rig_with_kept_put(nids: &[u32]) -> (Rig, MdHandle) {
    let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids(nids.iter().copied().map(tcp)).build();
    let md = rig.bind(1);
    rig.put(md, tcp(2));
    assert_eq!(kept(&rig), 1);
    (rig, md)
}

fn kept(rig: &Rig) -> usize {
    rig.driver.nis().iter().map(|ni| ni.kept()).sum()
}

/// The driver fails the messages that it keeps.
fn fail_kept(rig: &Rig, failure: SendFailure) {
    let kept: Vec<_> = rig.driver.nis().iter().flat_map(|ni| ni.take_kept()).collect();
    kept.into_iter().for_each(|message| rig.core.data_path().finalize(message, Err(failure)));
}

/// The failure of a driver that has given up because no response came.
fn timed_out(delivery: Delivery) -> SendFailure {
    SendFailure { errno: Errno::HostUnreachable, cause: Cause::LocalTimeout, delivery }
}

/// HE-20: fails if a path on which a send has failed is used again without limit.
#[test]
fn a_failed_message_is_sent_once_over_each_path_and_then_retry_count_times_more() {
    for retry_count in [1, 2, 3] {
        let failure = not_sent(Errno::HostUnreachable, Cause::LocalTimeout);
        let driver = FakeDriver::new(OnSend::Fail(failure)).recording();
        let rig = Rig::builder(driver).nids([tcp(1), tcp(3)]).build();
        rig.core
            .admin()
            .change_settings(|settings| {
                settings.retry_count = retry_count;
                Ok(())
            })
            .unwrap();
        let md = rig.bind(1);
        rig.put(md, tcp(2));
        for second in 1..30 {
            rig.clock.advance_to(Duration::from_secs(second));
            rig.core.monitor().run();
        }
        assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::HostUnreachable), true)]);
        let sends = rig.driver.recorded().iter().filter(|header| header.dest_nid == tcp(2)).count();
        assert_eq!(sends, 2 + retry_count as usize);
        assert_eq!(resends(&rig), (1 + u64::from(retry_count), 0, 1));
    }
}

/// The resends, and the messages that were resent and sent in the end, or not.
fn resends(rig: &Rig) -> (u64, u64, u64) {
    let totals = rig.core.admin().health_totals();
    (totals.resends, totals.resends_succeeded, totals.resends_failed)
}

#[test]
fn a_resent_message_is_counted_once_by_how_it_ends() {
    let (rig, _) = rig_with_kept_put(&[1, 3]);
    fail_kept(&rig, not_sent(Errno::HostUnreachable, Cause::LocalTimeout));
    assert_eq!(resends(&rig), (1, 0, 0));
    rig.driver.finish();
    assert_eq!(resends(&rig), (1, 1, 0));
    // One that was not resent is not counted.
    rig.put(rig.bind(1), tcp(2));
    rig.driver.finish();
    assert_eq!(resends(&rig), (1, 1, 0));
    rig.core.reset_counters();
    assert_eq!(resends(&rig), (0, 0, 0));
}

/// HE-20: fails if the deadline of a message does not end its resends.
#[test]
fn a_message_that_fails_at_its_deadline_is_not_resent_on_another_path() {
    let timeout = Duration::from_secs(50);
    let just_before = timeout.checked_sub(Duration::from_nanos(1)).unwrap();
    for (failed_after, resends) in [(just_before, 1), (timeout, 0), (timeout * 2, 0)] {
        let (rig, _) = rig_with_kept_put(&[1, 3]);
        assert_eq!(rig.core.settings().transaction_timeout, 50);
        rig.clock.advance_to(failed_after);
        fail_kept(&rig, timed_out(Delivery::NotSent));
        assert_eq!(kept(&rig), resends, "failed after {failed_after:?}");
        let failed = (EventKind::Send, Err(Errno::HostUnreachable), true);
        let expected = if resends == 0 { vec![failed] } else { vec![] };
        assert_eq!(rig.take_events(), expected, "failed after {failed_after:?}");
    }
}

/// HE-20: fails if a message is resent from memory that its owner has taken back.
#[test]
fn a_message_whose_md_was_unlinked_before_it_failed_is_not_resent() {
    for unlinked in [false, true] {
        let (rig, md) = rig_with_kept_put(&[1, 3]);
        if unlinked {
            rig.core.data_path().md_unlink(md).unwrap();
        }
        fail_kept(&rig, timed_out(Delivery::NotSent));
        assert_eq!(kept(&rig), usize::from(!unlinked));
        let failed = (EventKind::Send, Err(Errno::HostUnreachable), true);
        assert_eq!(rig.take_events(), if unlinked { vec![failed] } else { vec![] });
    }
}

/// HE-20: fails if a message is sent after a deadline that passed while it waited for its resend.
#[test]
fn a_message_that_waits_for_its_resend_at_its_deadline_times_out() {
    let (rig, _) = rig_with_kept_put(&[1]);
    rig.clock.advance_to(Duration::from_millis(49_990));
    fail_kept(&rig, timed_out(Delivery::Deduplicated));
    assert_eq!(rig.core.monitor().run(), Some(Time(Duration::from_secs(50))));
    assert_eq!((kept(&rig), rig.take_events()), (0, vec![]));
    rig.clock.advance_to(Duration::from_secs(50));
    rig.core.monitor().run();
    assert_eq!(kept(&rig), 0);
    assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::TimedOut), true)]);
}

/// HE-41: fails if a missing response lowers the health of a peer NI to which the request was not sent last.
#[test]
fn a_missing_response_lowers_the_health_of_the_peer_ni_that_the_request_was_resent_to() {
    let rig = Rig::new(FakeDriver::new(OnSend::Complete).recording());
    let (first, second) = (tcp(8), tcp(9));
    rig.core.admin().make_peer(first, true, false).unwrap();
    rig.core.admin().add_peer_nid(first, second, true).unwrap();
    rig.driver.fail_next(timed_out(Delivery::NotSent));
    rig.put_with_ack(rig.bind(2), first);
    let sent: Vec<_> = rig.driver.recorded().iter().map(|header| header.dest_nid).collect();
    assert_eq!(sent.len(), 2);
    assert_ne!(sent[0], sent[1]);
    rig.core.monitor().run();
    rig.clock.advance_to(Duration::from_secs(200));
    rig.core.monitor().run();
    let (_, peer_nis) = rig.core.admin().peer(first).unwrap();
    let health = |nid| peer_nis.iter().find(|peer_ni| peer_ni.nid() == nid).unwrap().health();
    assert_eq!((health(sent[0]), health(sent[1])), (1000, 900));
}

/// PS-3: fails if a message is resent from another source to a peer that would not recognise it as the same.
#[test]
fn a_message_with_a_source_is_resent_from_another_that_works_only_to_a_multi_rail_peer() {
    // The second interface is an alternative only if it works.
    for (multi_rail, other_works, resent_from) in
        [(true, true, tcp(3)), (true, false, tcp(1)), (false, true, tcp(1))]
    {
        let rig = Rig::builder(FakeDriver::new(OnSend::Keep)).nids([tcp(1), tcp(3)]).build();
        rig.core.admin().make_peer(tcp(2), multi_rail, false).unwrap();
        rig.core.data_path().put(Some(tcp(1)), rig.bind(1), false, target(tcp(2)), 0).unwrap();
        let mut sent = rig.driver.ni(0).take_kept();
        sent[0].set_message_id(NonZeroU64::MIN);
        rig.core.admin().set_ni_fatal(tcp(1), FatalReporter::Host, Some("link down"));
        rig.core.admin().set_ni_fatal(tcp(3), FatalReporter::Host, (!other_works).then_some("link down"));
        let message = sent.pop().unwrap();
        rig.core.data_path().finalize(message, Err(timed_out(Delivery::Deduplicated)));
        rig.clock.advance_to(Duration::from_secs(1));
        rig.core.monitor().run();
        let mut sources = Vec::new();
        for ni in rig.driver.nis() {
            sources.extend(ni.map_kept(|message| *message.header()));
        }
        // Recovery pings are GETs.
        sources.retain(|header| matches!(header.body, Body::Put { .. }));
        let sources: Vec<_> = sources.iter().map(|header| header.src_nid).collect();
        assert_eq!(sources, [resent_from], "multi-rail: {multi_rail}, other works: {other_works}");
    }
}

/// HE-20: fails if a message waits for its deadline although its NIDs fit in no version of any gateway.
#[test]
fn a_message_that_fits_in_no_version_of_the_gateways_fails_after_its_retries() {
    for gateways in [&[tcp(8)][..], &[tcp(8), tcp(9)]] {
        let failure = SendFailure {
            errno: Errno::HostUnreachable,
            cause: Cause::RemoteError,
            delivery: Delivery::DoesNotFit,
        };
        let rig = Rig::new(FakeDriver::new(OnSend::Fail(failure)).recording());
        for gateway in gateways {
            rig.core.admin().add_route(route(far_net(), *gateway)).unwrap();
            // The gateway has responded before.
            rig.attach(1, MdOptions::OP_PUT.0);
            let arrives = rig.arrives(&header_from(*gateway, put_body(None), 0));
            let RxAction::Deliver(message) = arrives else { panic!("{arrives:?}") };
            rig.core.data_path().received(message, Ok(()));
        }
        rig.take_events();
        rig.put(rig.bind(1), far(5));
        for second in 1..30 {
            rig.clock.advance_to(Duration::from_secs(second));
            rig.core.monitor().run();
        }
        assert_eq!(rig.take_events(), [(EventKind::Send, Err(Errno::HostUnreachable), true)], "{gateways:?}");
    }
}

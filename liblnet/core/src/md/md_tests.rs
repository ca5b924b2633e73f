//! Tests of the operations that an MD accepts, of its exhaustion, and of its end.

use super::*;
use crate::Errno;
use crate::environment::time::Time;
use crate::event::{Event, EventHandler, EventKind, EventQueue};
use crate::memory::PortalPlace;
use crate::memory::tests::{any_md_handle, plain_spec};
use lnet_wire::{Body, Nid};
use std::sync::{Arc, Mutex};

const PUT: MdOptions = MdOptions::OP_PUT;
const TRUNCATE: u32 = MdOptions::TRUNCATE.0;
const REMOTE: u32 = MdOptions::MANAGE_REMOTE.0;
const MAX_SIZE: u32 = MdOptions::MAX_SIZE.0;

/// The tracker of a PUT whose response is due.
fn tracker() -> ResponseTracker {
    let body = Body::Put { ack: None, match_bits: 5, hdr_data: 0, portal: 9, offset: 0 };
    ResponseTracker { deadline: Time::START, asked: Nid::LOOPBACK, place: PortalPlace::of(&body).unwrap() }
}

struct Made {
    md: Md,
    heard: Arc<Mutex<Vec<(EventKind, bool)>>>,
    queue: Arc<EventQueue>,
}

fn make(spec: MdSpec, auto_unlink: bool, attached: Option<MeHandle>) -> Made {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&heard);
    let handler: EventHandler =
        Box::new(move |event| tell.lock().unwrap().push((event.kind, event.unlinked)));
    let queue = Arc::new(EventQueue::new(0, Some(handler)).unwrap());
    let memory = MdMemory::contiguous(0x1000, spec.length);
    let max_size = Md::checked_max_size(&spec, &memory).unwrap();
    let queue_of_md = Some(Arc::clone(&queue));
    let new =
        NewMd { spec, memory, max_size, auto_unlink, attached, queue: queue_of_md, keeper: Keeper::Program };
    Made { md: Md::new(any_md_handle(), new), heard, queue }
}

fn passive(length: u32, threshold: i32, options: u32, max_size: i32) -> Md {
    let spec = MdSpec { threshold, options: MdOptions(PUT.0 | options), max_size, ..plain_spec(length) };
    make(spec, true, Some(MeHandle::from_cookie(2))).md
}

fn put(length: u32, remote_offset: u32) -> Access {
    Access { needs: PUT, length, remote_offset }
}

fn event(md: &Md, kind: EventKind) -> Event {
    Event { kind, unlinked: false, ..Event::unlink(md.handle(), plain_spec(8)) }
}

/// Fails if an MD of 100 bytes, with its own offset at 0, places a PUT elsewhere, or accepts one that does not fit.
#[test]
fn one_put_matches_one_md() {
    // options, max_size, length, remote offset -> offset and length accepted
    let table = [
        (0, 0, 100, 0, Some((0, 100))),
        (0, 0, 0, 0, Some((0, 0))),
        (0, 0, 101, 0, None),
        (TRUNCATE, 0, 101, 0, Some((0, 100))),
        (0, 0, 10, 50, Some((0, 10))),
        (REMOTE, 0, 10, 50, Some((50, 10))),
        (REMOTE, 0, 51, 50, None),
        (REMOTE | TRUNCATE, 0, 51, 50, Some((50, 50))),
        (REMOTE, 0, 0, 100, Some((100, 0))),
        // MA-12a: an offset beyond the memory is refused with any options.
        (REMOTE | TRUNCATE, 0, 0, 101, None),
        (REMOTE | TRUNCATE, 0, 10, u32::MAX, None),
        (MAX_SIZE, 20, 20, 0, Some((0, 20))),
        (MAX_SIZE, 20, 21, 0, None),
        (MAX_SIZE | TRUNCATE, 20, 21, 0, Some((0, 20))),
        // A message never ends beyond the memory, even where max_size would allow it.
        (MAX_SIZE | REMOTE, 20, 15, 90, None),
        (MAX_SIZE | REMOTE | TRUNCATE, 20, 15, 90, Some((90, 10))),
    ];
    for (options, max_size, length, remote_offset, want) in table {
        let md = passive(100, -1, options, max_size);
        let got = match md.commit_put_or_get(put(length, remote_offset)) {
            Commit::Yes { offset, length, .. } => Some((offset, length)),
            Commit::TooLong => None,
            Commit::No => panic!("not refused by kind"),
        };
        assert_eq!(got, want, "{options:#x} {max_size} {length} {remote_offset}");
    }
}

#[test]
fn an_md_takes_only_the_operations_it_is_for() {
    let md = passive(100, -1, 0, 0);
    let get = Access { needs: MdOptions::OP_GET, length: 1, remote_offset: 0 };
    assert_eq!(md.commit_put_or_get(get), Commit::No);
}

#[test]
fn the_local_offset_advances_and_the_snapshot_counts_down() {
    let md = passive(100, 3, 0, 0);
    let mut seen = Vec::new();
    while let Commit::Yes { offset, threshold, last, .. } = md.commit_put_or_get(put(10, 0)) {
        seen.push((offset, threshold, last));
    }
    assert_eq!(seen, [(0, 2, false), (10, 1, false), (20, 0, true)]);
    assert_eq!(md.commit_put_or_get(put(10, 0)), Commit::No);
}

#[test]
fn max_size_unlinks_a_buffer_when_the_space_left_is_strictly_less() {
    // 100 bytes, max_size 40: after 60 bytes 40 are left, which is still enough (TRAP-23).
    let md = passive(100, -1, MAX_SIZE, 40);
    assert!(matches!(md.commit_put_or_get(put(40, 0)), Commit::Yes { last: false, .. }));
    assert!(matches!(md.commit_put_or_get(put(20, 0)), Commit::Yes { last: false, .. }));
    assert!(matches!(md.commit_put_or_get(put(1, 0)), Commit::Yes { last: true, .. }));
    assert_eq!(md.commit_put_or_get(put(1, 0)), Commit::No);
}

#[test]
fn max_size_counts_only_with_its_option() {
    let memory = MdMemory::contiguous(0, 10);
    let spec = |options, max_size| MdSpec { options: MdOptions(options), max_size, ..plain_spec(10) };
    assert_eq!(Md::checked_max_size(&spec(0, -77), &memory), Ok(None));
    assert_eq!(Md::checked_max_size(&spec(MAX_SIZE, 10), &memory), Ok(Some(10)));
    assert_eq!(Md::checked_max_size(&spec(MAX_SIZE, 11), &memory), Err(Errno::Invalid));
    assert_eq!(Md::checked_max_size(&spec(MAX_SIZE, -1), &memory), Err(Errno::Invalid));
}

#[test]
fn a_threshold_of_one_covers_the_send_and_not_the_ack() {
    let made = make(MdSpec { threshold: 1, ..plain_spec(8) }, false, None);
    assert!(made.md.commit_request(Some(ResponseKind::Reply), None).is_some());
    assert!(made.md.commit_response(ResponseKind::Reply, 0).is_none());
    assert!(made.md.commit_request(Some(ResponseKind::Reply), None).is_none());
}

#[test]
fn an_answer_longer_than_the_md_needs_truncate() {
    let plain = make(plain_spec(8), false, None).md;
    plain.commit_request(Some(ResponseKind::Reply), None).unwrap();
    assert!(plain.commit_response(ResponseKind::Reply, 9).is_none());
    assert_eq!(plain.commit_response(ResponseKind::Reply, 8).map(|it| it.length), Some(8));
    let spec = MdSpec { options: MdOptions::TRUNCATE, ..plain_spec(8) };
    let cut = make(spec, false, None).md;
    cut.commit_request(Some(ResponseKind::Reply), None).unwrap();
    assert_eq!(cut.commit_response(ResponseKind::Reply, 9).map(|it| it.length), Some(8));
}

#[test]
fn an_unsolicited_or_repeated_response_is_rejected() {
    let md = make(plain_spec(8), false, None).md;
    md.commit_request(None, None).unwrap();
    assert!(md.commit_response(ResponseKind::Ack, 0).is_none());
    md.commit_request(Some(ResponseKind::Ack), None).unwrap();
    assert!(md.commit_response(ResponseKind::Reply, 8).is_none());
    assert!(md.commit_response(ResponseKind::Ack, 0).is_some());
    assert!(md.commit_response(ResponseKind::Ack, 0).is_none());
}

/// Threshold, whether the response has come before the failure is known -> the number of four more sends that may begin,
/// whether the MD ends.
#[test]
fn a_failed_send_takes_its_responses_share_of_the_threshold_unless_the_response_has_come() {
    for (threshold, came, left, ends) in [
        (2, false, 0, true),
        (2, true, 0, true),
        (3, false, 1, false),
        (3, true, 1, false),
        (1, false, 0, true),
        (-1, false, 4, false),
    ] {
        for response in [ResponseKind::Ack, ResponseKind::Reply] {
            let case = format!("{threshold} {came} {response:?}");
            let made = make(MdSpec { threshold, ..plain_spec(8) }, true, None);
            made.md.commit_request(Some(response), None).unwrap();
            made.md.track(tracker());
            if came {
                made.md.commit_response(response, 0).unwrap();
                made.md.complete(|| event(&made.md, EventKind::Reply));
            }
            let completed =
                made.md.complete_without(Some(response), |place| *place = event(&made.md, EventKind::Send));
            assert_eq!(completed == Completion::Ended, ends, "{case}");
            assert!(made.md.commit_response(response, 0).is_none(), "{case}");
            assert!(!made.md.is_tracked(), "{case}");
            let begun = (0..4).filter(|_| made.md.commit_request(None, None).is_some());
            assert_eq!(begun.count(), left, "{case}");
        }
    }
}

#[test]
fn an_md_unlinked_by_a_response_timeout_gets_an_unlink_event_with_the_error() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let handler: EventHandler = Box::new(move |event| tell.lock().unwrap().push((event.kind, event.status)));
    let spec = MdSpec { threshold: 2, ..plain_spec(8) };
    let (memory, queue) = (MdMemory::contiguous(0x1000, 8), EventQueue::new(0, Some(handler)).unwrap());
    let queue = Some(Arc::new(queue));
    let new = NewMd {
        spec,
        memory,
        max_size: None,
        auto_unlink: true,
        attached: None,
        queue,
        keeper: Keeper::Program,
    };
    let md = Md::new(any_md_handle(), new);
    md.commit_request(Some(ResponseKind::Reply), None).unwrap();
    md.track(tracker());
    md.complete(|| event(&md, EventKind::Send));
    assert_eq!(
        md.response_state(Time::START),
        ResponseState::TooLong(MissingResponse { asked: Nid::LOOPBACK, place: tracker().place, sent: true })
    );
    md.unlink().unwrap();
    let timed_out = (EventKind::Unlink, Err(Errno::TimedOut));
    assert_eq!(*told.lock().unwrap(), [(EventKind::Send, Ok(())), timed_out]);
}

/// Fails if a request replaces the tracker of another one when it is committed, or removes it when it is not sent.
#[test]
fn a_request_is_tracked_from_its_commit_on_if_no_other_one_is() {
    let md = make(plain_spec(8), false, None).md;
    let commit = || md.commit_request(Some(ResponseKind::Reply), Some(tracker())).unwrap().tracker;
    let first = commit().unwrap();
    assert_eq!((md.is_tracked(), commit()), (true, None));
    md.untrack(first);
    assert!(!md.is_tracked());
    let second = commit().unwrap();
    md.untrack(first);
    assert!(md.is_tracked());
    md.track(tracker());
    md.untrack(second);
    assert!(md.is_tracked());
}

#[test]
fn a_discarded_md_releases_its_queue_once() {
    for unlinked_before in [false, true] {
        let made = make(plain_spec(8), false, None);
        if unlinked_before {
            made.md.unlink().unwrap();
        }
        made.md.discard();
        assert_eq!(made.md.unlink(), Err(Errno::NotFound));
        assert_eq!(made.queue.wait_unused(), Ok(()));
    }
}

#[test]
fn an_attached_md_neither_sends_nor_receives_responses() {
    let md = passive(8, -1, 0, 0);
    assert!(md.commit_request(Some(ResponseKind::Reply), None).is_none());
    assert!(md.commit_response(ResponseKind::Reply, 0).is_none());
}

#[test]
fn unlinking_an_idle_md_reports_it_before_returning_and_once() {
    let made = make(plain_spec(8), false, None);
    assert_eq!(made.md.unlink(), Ok(Completion::Ended));
    assert_eq!(*made.heard.lock().unwrap(), [(EventKind::Unlink, true)]);
    assert_eq!(made.md.unlink(), Err(Errno::NotFound));
    assert_eq!(made.queue.wait_unused(), Ok(()));
}

#[test]
fn unlinking_a_busy_md_leaves_the_last_event_to_its_last_operation() {
    let made = make(plain_spec(8), false, None);
    made.md.commit_request(Some(ResponseKind::Reply), None).unwrap();
    made.md.commit_request(Some(ResponseKind::Reply), None).unwrap();
    assert_eq!(made.md.unlink(), Ok(Completion::Active));
    assert!(made.md.commit_response(ResponseKind::Reply, 0).is_none());
    assert_eq!(made.queue.wait_unused(), Err(Errno::Busy));
    assert_eq!(made.md.complete(|| event(&made.md, EventKind::Send)), Completion::Active);
    assert_eq!(made.md.complete(|| event(&made.md, EventKind::Send)), Completion::Ended);
    assert_eq!(*made.heard.lock().unwrap(), [(EventKind::Send, false), (EventKind::Send, true)]);
    assert_eq!(made.queue.wait_unused(), Ok(()));
}

#[test]
fn the_last_event_to_complete_is_marked_unlinked() {
    // TRAP-4: the SEND event comes after the REPLY event.
    let made = make(MdSpec { threshold: 2, ..plain_spec(8) }, true, None);
    made.md.commit_request(Some(ResponseKind::Reply), None).unwrap();
    made.md.commit_response(ResponseKind::Reply, 8).unwrap();
    made.md.complete(|| event(&made.md, EventKind::Reply));
    made.md.complete(|| event(&made.md, EventKind::Send));
    assert_eq!(*made.heard.lock().unwrap(), [(EventKind::Reply, false), (EventKind::Send, true)]);
}

#[test]
fn a_failed_send_with_threshold_left_keeps_the_md() {
    // TRAP-5, as the kernel does it.
    let made = make(MdSpec { threshold: 2, ..plain_spec(8) }, true, None);
    made.md.commit_request(Some(ResponseKind::Reply), None).unwrap();
    let failed = Event { status: Err(Errno::HostUnreachable), ..event(&made.md, EventKind::Send) };
    assert_eq!(made.md.complete(|| failed), Completion::Active);
    assert_eq!(made.md.unlink(), Ok(Completion::Ended));
    assert_eq!(*made.heard.lock().unwrap(), [(EventKind::Send, false), (EventKind::Unlink, true)]);
}

#[test]
fn a_retained_md_stays_when_it_is_used_up() {
    let made = make(MdSpec { threshold: 1, ..plain_spec(8) }, false, None);
    made.md.commit_request(Some(ResponseKind::Reply), None).unwrap();
    assert_eq!(made.md.complete(|| event(&made.md, EventKind::Send)), Completion::Active);
    assert!(made.md.commit_request(Some(ResponseKind::Reply), None).is_none());
    assert_eq!(made.md.unlink(), Ok(Completion::Ended));
}

#[test]
fn handlers_of_one_md_run_one_at_a_time_and_the_last_event_comes_last() {
    let running = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (inside, log) = (Arc::clone(&running), Arc::clone(&seen));
    let handler: EventHandler = Box::new(move |event| {
        assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
        log.lock().unwrap().push(event.unlinked);
        assert_eq!(inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst), 1);
    });
    let queue = Arc::new(EventQueue::new(0, Some(handler)).unwrap());
    let spec = MdSpec { threshold: 400, ..plain_spec(8) };
    let memory = MdMemory::contiguous(0, 8);
    let queue_of_md = Some(Arc::clone(&queue));
    let new = NewMd {
        spec,
        memory,
        max_size: None,
        auto_unlink: true,
        attached: None,
        queue: queue_of_md,
        keeper: Keeper::Program,
    };
    let md = Md::new(any_md_handle(), new);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while md.commit_request(Some(ResponseKind::Reply), None).is_some() {
                    md.complete(|| event(&md, EventKind::Send));
                }
            });
        }
    });
    assert_eq!(queue.wait_unused(), Ok(()));
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 400);
    assert_eq!(seen.iter().position(|unlinked| *unlinked), Some(399));
}

//! Pings and pushes in flight on a path that dies: they are sent again on another, whether or not the peer deduplicates.

use super::*;
use lnet_core::memory::RecvBuffer;
use lnet_core::{EventKind, MdOptions, MdSpec, Target};
use lnet_wire::{Pid, ProcessId};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Seconds that suffice to find a path unresponsive, and are much shorter than the time of a request.
const SOON: f64 = 2.5;

/// Results of pings: the number of REPLYs, and of events that report a failure.
#[derive(Default)]
struct Answers {
    replies: AtomicUsize,
    failures: AtomicUsize,
}

/// Pings a NID of B from A, as a program does.
fn ping(world: &mut World, nid: Nid, responses: &Arc<Answers>) {
    let noted = Arc::clone(responses);
    world.with_core(A, |core| {
        let room = RecvBuffer::new(1024);
        let handler = move |event: &lnet_core::Event| match (event.kind, event.status) {
            (EventKind::Reply, Ok(())) => {
                noted.replies.fetch_add(1, Ordering::Relaxed);
            }
            (_, Err(_)) => {
                noted.failures.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        };
        let eq = core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
        let spec = MdSpec {
            start: room.address(),
            length: 1024,
            threshold: 2,
            max_size: 0,
            options: MdOptions::TRUNCATE,
            user_ptr: 0,
            eq: Some(eq),
        };
        let md = core.data_path().bind_owned(spec, room.memory(), true, Arc::new(room.clone())).unwrap();
        core.data_path().get(None, md, Target::of_pings(ProcessId { nid, pid: Pid::LUSTRE })).unwrap();
    });
}

fn cut(world: &mut World, local: Nid, peer: Nid) {
    world.cut_pair(local, peer);
    world.cut_pair(peer, local);
}

const DELIVERIES: [Delivery; 2] = [Delivery::Acked, Delivery::Kernel];

/// There are as many pings as paths, so one of them is on the path that dies.
#[test]
fn a_ping_in_flight_on_a_path_that_dies_is_answered_on_another() {
    for delivery in DELIVERIES {
        for (local, peer) in [(a(1), b(1)), (a(2), b(1)), (a(1), b(2)), (a(2), b(2))] {
            let mut world = Pair { delivery, ..Pair::default() }.meet("pings on a path that dies");
            cut(&mut world, local, peer);
            let responses = Arc::default();
            (0..8).for_each(|_| ping(&mut world, b(1), &responses));
            pass(&mut world, SOON);
            let count = |it: &AtomicUsize| it.load(Ordering::Relaxed);
            let came = (count(&responses.replies), count(&responses.failures));
            assert_eq!(came, (8, 0), "{delivery:?}, {local} -> {peer}");
            world.heal();
            pass(&mut world, 60.0);
            assert_eq!(count(&responses.replies), 8, "a second REPLY is not delivered");
            finish(world);
        }
    }
}

/// A push has no response that shows its path; the path of the last REPLY is taken for it.
#[test]
fn a_discovery_in_progress_when_its_path_dies_ends_soon() {
    for delivery in DELIVERIES {
        for works in [(a(1), b(1)), (a(2), b(1)), (a(1), b(2)), (a(2), b(2))] {
            let mut world = Pair { delivery, ..Pair::default() }.meet("a discovery on paths that die");
            for (local, peer) in [(a(1), b(1)), (a(2), b(1)), (a(1), b(2)), (a(2), b(2))] {
                if (local, peer) != works {
                    cut(&mut world, local, peer);
                }
            }
            // The path that is found dead first has no history yet.
            world.discover(A, b(1), true);
            pass(&mut world, 2.0 * SOON);
            let standing = world.standing(A, b(1)).unwrap();
            assert!(standing.up_to_date, "{delivery:?}, {works:?}: {standing:?}");
            world.heal();
            pass(&mut world, 60.0);
            world.check_agreement(A, B);
            finish(world);
        }
    }
}

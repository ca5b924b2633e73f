//! Peers that lie, and owners that lose patience with those that are silent.

use super::*;
use lnet_core::Errno;

#[test]
fn a_request_that_waits_for_a_silent_peer_ends_when_its_md_is_unlinked() {
    let mut world = chosen("unlink");
    add(&mut world, 1);
    add(&mut world, 1);
    world.cut(A, B);
    let [given_up, kept] = [0; 2].map(|_| world.ask(A, b(1), Ask::PutWithAck).unwrap());
    assert_eq!(world.standing(A, b(1)).unwrap().parked, 2);
    let md = world.op(given_up).unwrap().md().unwrap();
    assert_eq!(world.with_core(A, |core| core.md_unlink(md)), Some(Ok(())));
    let op = world.op(given_up).unwrap();
    assert_eq!((op.sent, op.ended, op.left), (Some(Err(Errno::Cancelled)), true, Some(op.started)));
    assert_eq!(world.standing(A, b(1)).unwrap().parked, 1);
    assert_eq!(world.op(kept).unwrap().sent, None);
    world.run_in_order();
    assert_eq!(world.op(kept).unwrap().sent, Some(Err(Errno::TimedOut)));
    world.give_up_ops(seconds(1_000_000));
    finish(world);
}

#[test]
fn who_says_that_it_is_this_node_does_not_get_what_this_node_sends_to_itself() {
    let mut world = chosen("impostor");
    add(&mut world, 1);
    add(&mut world, 2);
    assert!(talk(&mut world, A, a(1)));
    assert!(talk(&mut world, A, b(1)));
    assert_eq!(world.believed(A, a(1)), [a(1)]);
    for (source, said) in [(b(1), [a(1), b(1)]), (b(1), [b(1), a(1)]), (a(1), [a(1), b(1)])] {
        world.forge_push(source, a(1), 1000, &said);
        world.run_in_order();
        assert_eq!(world.believed(A, a(1)), [a(1)], "{source} says {said:?}");
        assert!(world.standing(A, b(1)).is_some());
    }
    assert!(talk(&mut world, A, a(1)));
    assert!(talk(&mut world, A, b(1)));
    finish(world);
}

//! Peers that send false information, and requests to unresponsive peers that their owners abandon.

use super::*;
use lnet_core::Errno;

#[test]
fn a_request_that_waits_for_an_unresponsive_peer_ends_when_its_md_is_unlinked() {
    let mut world = chosen("unlink");
    add(&mut world, 1);
    add(&mut world, 1);
    world.cut(A, B);
    let [given_up, kept] = [0; 2].map(|_| world.start_op(A, b(1), OpKind::PutWithAck).unwrap());
    assert_eq!(world.standing(A, b(1)).unwrap().parked, 2);
    let md = world.op(given_up).unwrap().md().unwrap();
    assert_eq!(world.with_core(A, |core| core.data_path().md_unlink(md)), Some(Ok(())));
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
fn a_peer_that_claims_this_nodes_nid_does_not_receive_the_nodes_messages_to_itself() {
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

#[test]
fn a_flood_of_pushes_with_different_nids_leaves_the_nids_of_the_last() {
    let mut world = chosen("flood");
    add(&mut world, 1);
    add(&mut world, 1);
    add(&mut world, 1);
    assert!(talk(&mut world, A, b(1)));
    let node = world.core(A).unwrap();
    let known = node.peer_nis().len();
    // Sequence numbers that jump, and wrap.
    let mut sequence = 5_u32;
    for flood in 0..300 {
        sequence = sequence.wrapping_add(0x7000_0000);
        let claimed = (0..190).map(|number| nid(0, 0x0b00_0000 + flood * 256 + number));
        let said: Vec<Nid> = [b(1)].into_iter().chain(claimed).collect();
        world.forge_push(b(1), a(1), sequence, &said);
        if flood % 10 == 0 {
            world.run_in_order();
        }
    }
    world.run_in_order();
    assert!(node.peer_nis().len() <= known + 190, "{} peer NIs", node.peer_nis().len());
    assert!(talk(&mut world, A, c(1)));
    // The node's own push, and its response to a ping about that, replace the false information.
    world.add_ni(B, b(2));
    world.run_in_order();
    assert_eq!(world.believed(A, b(1)), [b(1), b(2)]);
    assert_eq!(node.peer_nis().len(), known + 2);
    assert!(talk(&mut world, A, b(1)));
    finish(world);
}

#[test]
fn an_md_unlinked_at_any_step_of_a_discovery_ends_once() {
    in_all_orders(
        "unlink at any moment",
        400,
        |world| {
            add(world, 1);
            add(world, 2);
            let give_up = |world: &mut World| world.give_up_ops(seconds(1_000_000));
            vec![
                Actor::on(A).then(ask(A, b(1))).then(give_up).then(ask(A, b(2))),
                Actor::on(B).then(ask(B, a(1))),
            ]
        },
        |world| {
            world.give_up_ops(seconds(1_000_000));
            let reached = talk(world, A, b(1)) && talk(world, B, a(1));
            world.expect(reached, || "they do not reach each other".to_owned());
            world.check_agreement(A, B);
        },
    );
}

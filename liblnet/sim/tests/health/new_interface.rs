//! A new interface of a node that exchanges messages.

use super::*;

/// Makes two nodes with these interfaces that know each other. Returns the path of A's next push when A gets `new`.
fn announced(name: &str, own: &[Nid], its: &[Nid], new: Nid) -> (Nid, Nid) {
    let config = WorldConfig { trace: 100_000, ..WorldConfig::default() };
    let mut world = World::new(name, config);
    world.add_node(NodeSpec::new(own));
    world.add_node(NodeSpec::new(its));
    let mut ops = Vec::new();
    for _ in 0..25 {
        ops.extend(world.start_op(A, its[0], OpKind::PutWithAck));
        ops.extend(world.start_op(B, own[0], OpKind::Get));
        pass(&mut world, 1.0);
    }
    all_succeeded(&world, &ops);
    let since = world.now();
    world.add_ni(A, new);
    pass(&mut world, 60.0);
    world.check_agreement(A, B);
    let pushes = sent(&world, A, Purpose::Push, since);
    assert_eq!(pushes.len(), 1, "{name}: {pushes:?}");
    let header = pushes[0].1.header;
    finish(world);
    (header.src_nid, header.dest_nid)
}

/// PS-31: the interface has not been used yet, so it is next in the round-robin, as in the kernel.
#[test]
fn the_push_that_announces_a_new_interface_is_sent_through_it() {
    let on = |net: u16, node: u32, rail: u32| nid(net, node << 8 | rail);
    let table: [(&str, Vec<Nid>, Vec<Nid>, Nid); 5] = [
        ("the second on its net", vec![on(0, 1, 1)], vec![on(0, 2, 1)], on(0, 1, 2)),
        ("the same, of a peer with two", vec![on(0, 1, 1)], vec![on(0, 2, 1), on(0, 2, 2)], on(0, 1, 2)),
        ("the third", vec![on(0, 1, 1), on(0, 1, 2)], vec![on(0, 2, 1)], on(0, 1, 3)),
        ("alone on its net", vec![on(0, 1, 1)], vec![on(0, 2, 1), on(1, 2, 1)], on(1, 1, 1)),
        (
            "alone on its net beside another net",
            vec![on(0, 1, 1), on(2, 1, 1)],
            vec![on(0, 2, 1), on(2, 2, 1), on(1, 2, 1)],
            on(1, 1, 1),
        ),
    ];
    for (name, own, its, new) in table {
        assert_eq!(announced(name, &own, &its, new).0, new, "{name}");
    }
}

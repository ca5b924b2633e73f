//! Reachability of a peer: its state, and the log lines about it.

use super::*;
use crate::logged::{Line, listen, take};
use lnet_core::FatalReporter;
use lnet_core::health::Reachability;
use log::Level;

/// Returns the logged changes of state of the peer with this primary NID since the last call.
fn changes(peer: Nid) -> Vec<(Level, String)> {
    let start = format!("peer {peer}: ");
    let is_change = |line: &Line| line.target.starts_with("lnet::peer_") && line.text.starts_with(&start);
    let of_it = take().into_iter().filter(is_change);
    of_it.map(|line| (line.level, line.text[start.len()..].to_owned())).collect()
}

fn reachability(world: &World, node: NodeId, peer: Nid) -> Reachability {
    world.core(node).unwrap().admin().reachability(peer).unwrap().state
}

/// Fails if a total outage is not reported, or is reported again and again.
#[test]
fn a_peer_whose_rails_all_die_is_unreachable_and_each_change_is_logged_once() {
    listen();
    let mut world = two_rails("a total outage");
    assert_eq!(reachability(&world, A, b(1)), Reachability::Reachable);
    take();
    world.kill_rail(rail(1));
    world.kill_rail(rail(2));
    let cut = world.now();
    // Fewer than hold all credits, for which the pings that try the paths would wait.
    for _ in 0..3 {
        world.start_op(A, b(1), OpKind::PutWithAck);
        pass(&mut world, 0.5);
    }
    pass(&mut world, 20.0);
    let found = world.core(A).unwrap().admin().reachability(b(2)).unwrap();
    assert_eq!((found.state, found.usable), (Reachability::Unreachable, 0));
    assert!(found.since > cut && found.since.since(cut) < Duration::from_secs(6), "{found:?}");
    let said = changes(b(1));
    let unreachable: Vec<_> = said.iter().filter(|(_, line)| line.contains("-> unreachable")).collect();
    assert!(unreachable.len() == 1 && unreachable[0].0 == Level::Error, "{said:?}");
    assert!(unreachable[0].1.contains("-> unreachable (no path responds"), "{said:?}");
    assert_eq!(said.last(), Some(unreachable[0]), "{said:?}");

    world.heal_rail(rail(1));
    pass(&mut world, 20.0);
    assert_eq!(reachability(&world, A, b(1)), Reachability::Degraded);
    let said = changes(b(1));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].0 == Level::Warn && said[0].1.starts_with("unreachable -> degraded after "), "{said:?}");

    world.heal_rail(rail(2));
    pass(&mut world, 20.0);
    assert_eq!(reachability(&world, A, b(1)), Reachability::Reachable);
    let said = changes(b(1));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].0 == Level::Warn && said[0].1.starts_with("degraded -> reachable ("), "{said:?}");
    pass(&mut world, 100.0);
    assert_eq!(changes(b(1)), []);
    finish(world);
}

#[test]
fn an_interface_that_is_down_degrades_the_peers_that_it_leads_to() {
    listen();
    let mut world = two_rails("an interface down");
    take();
    world.with_core(A, |core| core.admin().set_ni_fatal(a(2), FatalReporter::Host, Some("its link is down")));
    pass(&mut world, 4.0);
    let found = world.core(A).unwrap().admin().reachability(b(1)).unwrap();
    assert!(found.state == Reachability::Degraded && found.usable < found.paths, "{found:?}");
    let said = changes(b(1));
    // The line about the interface says it to the operator.
    assert!(said.iter().all(|(level, _)| *level == Level::Debug), "{said:?}");
    assert!(
        said[0].1.starts_with("reachable -> degraded (") && said[0].1.contains(" with an interface down)")
    );
    world.with_core(A, |core| core.admin().set_ni_fatal(a(2), FatalReporter::Host, None));
    pass(&mut world, 20.0);
    assert_eq!(reachability(&world, A, b(1)), Reachability::Reachable);
    finish(world);
}

/// Fails if a NID without a node counts as reachable, or if a peer is judged before anything has been tried.
#[test]
fn a_peer_that_never_answered_is_unknown_until_every_path_to_it_has_failed() {
    listen();
    let mut world = Pair { rails_b: 1, ..Pair::default() }.meet("nobody there");
    let nobody = nid(0, 9 << 8 | 1);
    assert_eq!(world.core(A).unwrap().admin().reachability(nobody), None);
    world.with_core(A, |core| core.admin().make_peer(nobody, true, false)).unwrap().unwrap();
    assert_eq!(reachability(&world, A, nobody), Reachability::Unknown);
    take();
    let id = world.start_op(A, nobody, OpKind::PutWithAck).unwrap();
    pass(&mut world, 60.0);
    assert!(!op(&world, id).succeeded());
    assert_eq!(reachability(&world, A, nobody), Reachability::Unreachable);
    let said = changes(nobody);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].1.starts_with("unknown -> unreachable (no path responds"), "{said:?}");
}

/// Fails if a peer that comes and goes fills the log, or the last line is wrong.
#[test]
fn a_flapping_peer_is_logged_when_its_state_has_lasted_with_the_number_of_changes() {
    listen();
    let mut world = Pair { rails_a: 1, rails_b: 1, ..Pair::default() }.meet("flapping");
    take();
    let flap = |world: &mut World, times: usize, ends_down: bool| {
        for turn in 0..times {
            let down = (times - turn).is_multiple_of(2) != ends_down;
            world.with_core(A, |core| {
                core.admin().set_ni_fatal(a(1), FatalReporter::Host, down.then_some("its link is down"))
            });
            pass(world, 0.05);
        }
    };
    flap(&mut world, 40, false);
    pass(&mut world, 5.0);
    assert_eq!((reachability(&world, A, b(1)), changes(b(1))), (Reachability::Reachable, vec![]));
    flap(&mut world, 41, true);
    pass(&mut world, 5.0);
    let said = changes(b(1));
    assert!(said.len() == 1 && said[0].1.starts_with("reachable -> unreachable ("), "{said:?}");
    assert!(said[0].1.contains("; changed ") && said[0].1.contains(" times in "), "{said:?}");
    finish(world);
}

//! Tests of the path that nothing has to be compared for.

use super::tests::{nets, nid, path_request, peer};
use super::*;
use crate::model::{FatalReporter, PeerState, Routes};
use crate::topology::PeerTable;
use proptest::prelude::*;

/// A node with some interfaces, and its peers.
struct World {
    nets: Nets,
    peers: Vec<(PeerTable, Vec<Arc<PeerNi>>)>,
}

impl World {
    fn new(own: &[&str], peers: &[&[&str]]) -> Self {
        let peers = peers.iter().map(|nids| peer(nids, PeerState::MULTI_RAIL)).collect();
        Self { nets: nets(own), peers }
    }

    fn select(&self, to: &Arc<PeerNi>) -> Option<Nid> {
        let paths = Paths { nets: &self.nets, routes: &Routes::default() };
        let request = PathRequest { forwarded: true, ..path_request(None, &to.nid().to_string()) };
        let chosen = select_path(paths, Some(to), request).ok()?;
        chosen.commit();
        Some(chosen.ni.nid())
    }

    /// The last uses of all interfaces.
    fn uses(&self) -> Vec<u64> {
        let its = self.peers.iter().flat_map(|(_, nis)| nis.iter().map(|peer_ni| peer_ni.last_use().get()));
        self.nets.nis().map(|ni| ni.last_use().get()).chain(its).collect()
    }
}

proptest! {
    /// PS-31: fails if a message from another node that takes its only path leaves by another interface than a selected one would, or
    /// changes the turns of those that follow.
    #[test]
    fn the_only_path_is_the_one_that_would_be_selected_and_is_used_like_it(
        own in prop::sample::select(vec![
            &["10.0.0.1@tcp"][..],
            &["10.0.0.1@tcp", "10.0.1.1@tcp1"],
            &["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.1.1@tcp1"],
        ]),
        is_fatal in any::<bool>(),
        steps in prop::collection::vec((0_usize..4, 0_usize..2), 1..20),
    ) {
        let peers: [&[&str]; 4] = [
            &["10.0.0.9@tcp"],
            &["10.0.1.9@tcp1"],
            &["10.0.0.8@tcp", "10.0.1.8@tcp1"],
            &["10.0.0.7@tcp", "10.0.0.6@tcp"],
        ];
        let worlds = [World::new(own, &peers), World::new(own, &peers)];
        if is_fatal {
            worlds.iter().for_each(|world| {
                world.nets.ni(nid(own[0])).unwrap().set_fatal(FatalReporter::Driver, true);
            });
        }
        let [world, naive] = &worlds;
        for (number, at) in steps {
            let to = |world: &World| {
                let nis = &world.peers[number].1;
                Arc::clone(&nis[at % nis.len()])
            };
            let taken = take_only_path(&world.nets, &to(world)).map(|ni| ni.nid());
            let taken = taken.or_else(|| world.select(&to(world)));
            prop_assert_eq!(taken, naive.select(&to(naive)));
            prop_assert_eq!(world.uses(), naive.uses());
        }
    }
}

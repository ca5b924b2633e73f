//! Tests of the path that is taken in turn, against the selection among all candidates.

use super::families::are_mixed;
use super::tests::{nets, path_request, peer};
use super::*;
use crate::environment::time::Time;
use crate::model::{FatalReporter, Partner, PeerState, ReadyPeer, Routes};
use crate::topology::PeerTable;
use proptest::prelude::*;

/// The inequality of an interface of either end.
#[derive(Clone, Copy, Debug)]
enum Flaw {
    Nothing,
    Health(u32),
    Priority(u32),
    Down,
    Unresponsive,
    Preferred,
    Busy,
}

/// A node with some interfaces, and a peer.
struct World {
    nets: Nets,
    _table: PeerTable,
    peer_nis: Vec<Arc<PeerNi>>,
    /// The state that requests to a ready peer depend on, if all interfaces are on one net and of one family.
    ready: Option<ReadyPeer>,
}

impl World {
    fn new(own: &[String], its: &[String], state: PeerState, flaws: &[(usize, Flaw)]) -> Self {
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let its: Vec<&str> = its.iter().map(String::as_str).collect();
        let nets = nets(&own);
        let (table, peer_nis) = peer(&its, state);
        for (number, ni) in nets.nis().enumerate() {
            ni.set_number(number as u32);
        }
        let peer = peer_nis[0].peer();
        let ready = match &peer.nets[..] {
            [only] if peer.is_multi_rail() => {
                nets.net(only.id).filter(|net| !are_mixed(net, only)).map(|net| net.with_ready(&peer))
            }
            _ => None,
        };
        let world = Self { nets, _table: table, peer_nis, ready };
        flaws.iter().for_each(|(at, flaw)| world.add(*at, *flaw));
        world.renew();
        world
    }

    /// Stores what follows from the rules.
    fn renew(&self) {
        let world = self;
        for net in world.nets.iter() {
            net.usage().set_nis_differ(do_rules_distinguish_local(net));
        }
        for net in &world.peer_nis[0].peer().nets {
            let nis: Vec<Arc<PeerNi>> = net.nis().collect();
            net.usage.set_nis_differ(do_rules_distinguish(&nis));
            net.usage.set_has_partners(nis.iter().any(|its| its.criteria().has_partners()));
        }
    }

    /// Gives an interface a flaw: `at` counts those of this node, then those of the peer.
    fn add(&self, at: usize, flaw: Flaw) {
        let own: Vec<_> = self.nets.nis().collect();
        let at = at % (own.len() + self.peer_nis.len());
        let first = own[0].nid();
        let mark = |peer_ni: &PeerNi, local| {
            peer_ni.unresponsive().add(local, Time::START);
        };
        match (own.get(at), flaw) {
            (_, Flaw::Nothing) => {}
            (Some(ni), Flaw::Health(health)) => ni.set_health(health),
            (Some(ni), Flaw::Priority(priority)) => ni.set_priority(priority),
            (Some(ni), Flaw::Down) => ni.set_fatal(FatalReporter::Driver, true),
            (Some(ni), Flaw::Unresponsive) => mark(&self.peer_nis[0], ni.nid()),
            (Some(ni), Flaw::Preferred) => self.prefer(&self.peer_nis[0], ni.nid()),
            (Some(ni), Flaw::Busy) => drop(ni.tx(&self.peer_nis[0].nid()).try_take()),
            (None, flaw) => {
                let peer_ni = &self.peer_nis[at - own.len()];
                match flaw {
                    Flaw::Nothing => {}
                    Flaw::Health(health) => peer_ni.set_health(health),
                    Flaw::Priority(priority) => peer_ni.set_priority(priority),
                    Flaw::Down => peer_ni.set_reported_down(true),
                    Flaw::Unresponsive => mark(peer_ni, first),
                    Flaw::Preferred => self.prefer(peer_ni, first),
                    Flaw::Busy => drop(peer_ni.tx().try_take(1)),
                }
            }
        }
    }

    fn prefer(&self, peer_ni: &PeerNi, local: Nid) {
        peer_ni.set_preferred_nids(vec![Partner::new(local, 1, None)]);
    }

    fn take(&self, named: usize, request: &PathRequest<'static>) -> Option<(Nid, Nid)> {
        let named = &self.peer_nis[named % self.peer_nis.len()];
        let taken = take_path_in_turn(&self.nets, named, &named.peer_now(), request)?;
        Some((taken.ni.nid(), taken.peer_ni.as_ref().unwrap_or(named).nid()))
    }

    /// [`World::take`], for a peer that was ready before anything changed.
    fn take_ready(&self, named: usize, request: &PathRequest<'static>) -> Option<(Nid, Nid)> {
        let named = &self.peer_nis[named % self.peer_nis.len()];
        let taken = take_path_to_ready(self.ready.as_ref()?, named, request)?;
        Some((taken.ni.nid(), taken.peer_ni.as_ref().unwrap_or(named).nid()))
    }

    fn select(&self, named: usize, request: &PathRequest<'static>) -> Option<(Nid, Nid)> {
        let named = &self.peer_nis[named % self.peer_nis.len()];
        let paths = Paths { nets: &self.nets, routes: &Routes::default() };
        let chosen = select_path(paths, Some(named), *request).ok()?;
        chosen.commit();
        Some((chosen.ni.nid(), chosen.destination()))
    }

    /// The local NIDs to which the peer NIs are bound.
    fn bound(&self) -> Vec<Option<Nid>> {
        self.peer_nis.iter().map(|peer_ni| peer_ni.sticky()).collect()
    }

    /// The last uses of all interfaces.
    fn uses(&self) -> Vec<u64> {
        let its = self.peer_nis.iter().map(|peer_ni| peer_ni.last_use().get());
        self.nets.nis().map(|ni| ni.last_use().get()).chain(its).collect()
    }
}

fn nids(subnet: &str, count: usize, net: &str) -> Vec<String> {
    (1..=count).map(|last| format!("{subnet}{last}@{net}")).collect()
}

fn any_flaw() -> impl Strategy<Value = Flaw> {
    prop_oneof![
        Just(Flaw::Nothing),
        prop_oneof![Just(0_u32), 0_u32..1000].prop_map(Flaw::Health),
        (0_u32..3).prop_map(Flaw::Priority),
        Just(Flaw::Down),
        Just(Flaw::Unresponsive),
        Just(Flaw::Preferred),
        Just(Flaw::Busy),
    ]
}

proptest! {
    /// PS-31: fails if a path that is taken in turn is another than a selected one would be, or changes the turns of those that follow.
    #[test]
    fn the_path_in_turn_is_the_one_that_would_be_selected_and_is_used_like_it(
        (own, own_elsewhere, own_long) in (1_usize..5, 0_usize..2, 0_usize..2),
        (its, its_elsewhere, its_long) in (prop_oneof![1_usize..5, 17_usize..30], 0_usize..2, 0_usize..2),
        flaws in prop::collection::vec((any::<usize>(), any_flaw()), 0..3),
        (any_suspect, compare_queued_bytes, reserved) in (any::<bool>(), any::<bool>(), any::<bool>()),
        state in prop_oneof![Just(PeerState::MULTI_RAIL), Just(PeerState::default())],
        steps in prop::collection::vec((any::<usize>(), 0..5, prop::option::weighted(0.05, (any::<usize>(), any_flaw()))), 1..60),
    ) {
        let own = [nids("10.0.0.", own, "tcp"), nids("10.0.1.", own_elsewhere, "tcp1"), nids("fd99::", own_long, "tcp")].concat();
        let its = [nids("10.1.0.", its, "tcp"), nids("10.1.1.", its_elsewhere, "tcp1"), nids("fd98::", its_long, "tcp")].concat();
        let [world, naive] = [(); 2].map(|()| World::new(&own, &its, state, &flaws));
        let request = PathRequest { any_suspect, compare_queued_bytes, reserved, ..path_request(None, &its[0]) };
        for (named, way, change) in steps {
            for world in change.iter().flat_map(|_| [&world, &naive]) {
                change.into_iter().for_each(|(at, flaw)| world.add(at, flaw));
                world.renew();
            }
            let taken = match way {
                0 => None,
                1 | 2 => world.take(named, &request),
                _ => world.take_ready(named, &request),
            };
            prop_assert_eq!(taken.or_else(|| world.select(named, &request)), naive.select(named, &request));
            prop_assert_eq!(world.uses(), naive.uses());
            prop_assert_eq!(world.bound(), naive.bound());
        }
    }
}

/// Fails if equal candidates are compared, or candidates that are not equal, or of which one is to be named, are taken in turn.
#[test]
fn a_path_is_taken_in_turn_where_nothing_is_unequal() {
    let (one, three, many) =
        (nids("10.0.0.", 1, "tcp"), nids("10.0.0.", 3, "tcp"), nids("10.1.0.", 40, "tcp"));
    let its = nids("10.1.0.", 3, "tcp");
    let on_two_nets = [nids("10.1.0.", 1, "tcp"), nids("10.1.1.", 1, "tcp1")].concat();
    let elsewhere = nids("10.1.1.", 1, "tcp1");
    let table = [
        ("one and one", &one, &its[..1], Flaw::Nothing, true),
        ("three and three", &three, &its[..], Flaw::Nothing, true),
        ("three and many", &three, &many[..], Flaw::Nothing, true),
        ("one that is down and one", &one, &its[..1], Flaw::Down, true),
        ("one that is down among three", &three, &its[..], Flaw::Down, false),
        ("one with a priority among three", &three, &its[..], Flaw::Priority(1), false),
        ("one that is preferred among three", &three, &its[..], Flaw::Preferred, false),
        ("two nets", &one, &on_two_nets[..], Flaw::Nothing, false),
        ("a net that this node is not on", &one, &elsewhere[..], Flaw::Nothing, false),
    ];
    for (case, own, its, flaw, is_taken) in table {
        let world = World::new(own, its, PeerState::MULTI_RAIL, &[(0, flaw)]);
        let request = path_request(None, &its[0]);
        assert_eq!(world.take(0, &request).is_some(), is_taken, "{case}");
    }
    let world = World::new(&three, &its, PeerState::MULTI_RAIL, &[]);
    for (case, request) in [
        ("suspect paths", PathRequest { any_suspect: true, ..path_request(None, &its[0]) }),
        ("queued bytes", PathRequest { compare_queued_bytes: true, ..path_request(None, &its[0]) }),
    ] {
        assert_eq!(world.take(0, &request), None, "{case}");
    }
    let state = &world.peer_nis[0].peer().discovery;
    state.with(|inner| inner.progress.restarted = true);
    assert_eq!(world.take(0, &path_request(None, &its[0])), None, "a peer that has restarted");
}

/// PS-30: fails if a peer that is not multi-rail is sent to from the only interface before it is bound to that.
#[test]
fn a_path_to_a_peer_that_is_not_multi_rail_is_taken_in_turn_once_the_peer_is_bound() {
    let (one, three, its) = (nids("10.0.0.", 1, "tcp"), nids("10.0.0.", 3, "tcp"), nids("10.1.0.", 1, "tcp"));
    let request = path_request(None, &its[0]);
    for (own, is_taken) in [(&one, true), (&three, false)] {
        let world = World::new(own, &its, PeerState::default(), &[]);
        assert_eq!(world.take(0, &request), None);
        let selected = world.select(0, &request);
        assert_eq!(world.take(0, &request), selected.filter(|_| is_taken));
    }
}

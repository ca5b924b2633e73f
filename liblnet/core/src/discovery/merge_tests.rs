use super::*;
use crate::environment::ConfigLock;
use lnet_wire::ping_info::{NiStatus, PingEntry};
use lnet_wire::{NetId, NetType, Pid};

fn nid(address: u8) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 0), address.into())
}

fn nids(addresses: &[u8]) -> Vec<Nid> {
    addresses.iter().copied().map(nid).collect()
}

/// The owners of NIDs: 50 is configured for another peer, 60 locked with others, 70 locked alone, 80 this node's.
fn owner(of: Nid) -> Owner {
    match of {
        of if of == nid(50) => Owner::Configured,
        of if of == nid(60) => Owner::Locked,
        of if of == nid(70) => Owner::LockedAlone,
        of if of == nid(80) => Owner::ThisNode,
        _ => Owner::Free,
    }
}

#[test]
fn a_merge_applies_what_the_peer_reports_within_the_limits_of_its_configuration() {
    type Row<'a> = (&'a str, &'a [u8], bool, &'a [u8], &'a [u8], &'a [u8], bool);
    let table: [Row<'_>; 10] = [
        ("it grows", &[1], false, &[1, 2], &[1, 2], &[], false),
        ("it shrinks", &[1, 2, 3], false, &[1, 3], &[1, 3], &[], false),
        ("it is renamed", &[1, 2], false, &[3, 1, 2], &[3, 1, 2], &[], false),
        ("its primary NID goes", &[1, 2], false, &[2], &[2], &[], false),
        ("a locked primary NID stays first", &[1], true, &[2, 1], &[1, 2], &[], false),
        ("a locked primary NID stays though it is not said", &[1], true, &[2], &[1, 2], &[], false),
        ("others keep what they may keep", &[1], false, &[1, 50, 60, 80], &[1], &[50, 60, 80], false),
        ("a locked peer of one NID is taken in with its lock", &[1], false, &[1, 70], &[70, 1], &[], true),
        ("a locked peer takes it in and stays locked to its own", &[1], true, &[1, 70], &[1, 70], &[], false),
        ("without any NID that it may have it stays", &[1, 2], false, &[50, 80], &[1, 2], &[50, 80], false),
    ];
    for (name, is, locked, says, becomes, rejected, inherits) in table {
        let plan = plan_nids(&nids(is), locked, &nids(says), owner);
        assert_eq!(plan.nids, nids(becomes), "{name}");
        assert_eq!(plan.primary, nid(becomes[0]), "{name}");
        assert_eq!(plan.rejected.iter().map(|(nid, _)| *nid).collect::<Vec<_>>(), nids(rejected), "{name}");
        assert_eq!(plan.inherits_lock, inherits, "{name}");
    }
}

#[test]
fn a_nid_reported_twice_is_added_once() {
    assert_eq!(plan_nids(&nids(&[1]), false, &nids(&[1, 2, 2, 1]), owner).nids, nids(&[1, 2]));
}

#[test]
fn differences_from_the_reported_configuration_are_listed_by_kind() {
    let progress = Progress { flags: Flag::MULTI_RAIL, ..Progress::default() };
    let found = differences(&nids(&[1, 2]), &progress, false, &nids(&[3, 1, 50]), |its| its == nid(50));
    let expected = [
        Difference::MultiRail(false),
        Difference::Primary(nid(3)),
        Difference::Extra(nid(3)),
        Difference::Claimed(nid(50)),
        Difference::Missing(nid(2)),
    ];
    assert_eq!(found, expected);
    let same = differences(&nids(&[1, 2]), &progress, true, &nids(&[1, 2]), |_| false);
    assert_eq!(same, []);
}

/// Adds a peer with this NID alone.
fn peer(topology: &Topology, address: u8, flags: Flag) -> Arc<Peer> {
    topology.peers().make(&ConfigLock::default().lock(), nid(address), flags, 8);
    topology.peer(nid(address)).unwrap()
}

/// The plan for the NIDs `claimed` reported by `peer`.
fn plan(
    topology: &Topology,
    peer: &Arc<Peer>,
    mode: DiscoveryMode,
    sequence: u32,
    claimed: &[u8],
) -> MergePlan {
    let local = LocalState { mode, first_ping: true, sequence: 1, max_reply_len: 8016, retries: 2 };
    let limits = MergeLimits { max_interfaces: 16, max_peers: 16 };
    let entries = nids(claimed).into_iter().map(|nid| PingEntry { nid, status: NiStatus::Up }).collect();
    let info = PingInfo { features: Features::MULTI_RAIL, pid: Pid::LUSTRE, sequence, entries };
    plan_merge(topology, limits, &local, peer, &info)
}

/// dyn-060: fails if discovery changes a peer that an operator has configured, or takes a NID from it.
#[test]
fn a_configured_peer_keeps_its_nids_and_differences_from_its_report_are_found() {
    let topology = Topology::new();
    let configured = peer(&topology, 1, Flag::MULTI_RAIL.union(Flag::CONFIGURED));
    let discovered = peer(&topology, 2, Flag::MULTI_RAIL);
    match plan(&topology, &configured, DiscoveryMode::On, 1, &[1, 3]) {
        MergePlan::Compare(found) => assert_eq!(found, [Difference::Extra(nid(3))]),
        other => panic!("{other:?}"),
    }
    match plan(&topology, &discovered, DiscoveryMode::On, 1, &[2, 1, 3]) {
        MergePlan::Update(NidUpdate { merge_target: None, nids: update }) => {
            assert_eq!(update.nids, nids(&[2, 3]));
            assert_eq!(update.rejected, [(nid(1), Owner::Configured)]);
        }
        other => panic!("{other:?}"),
    }
    match plan(&topology, &discovered, DiscoveryMode::Verify, 1, &[2, 3]) {
        MergePlan::Compare(found) => assert_eq!(found, [Difference::Extra(nid(3))]),
        other => panic!("{other:?}"),
    }
}

/// DISC-9: fails if an old reply takes a NID from the peer that has got it since.
#[test]
fn a_report_older_than_what_another_peer_with_a_claimed_nid_has_reported_is_stale() {
    let topology = Topology::new();
    let (reporting, other) = (peer(&topology, 1, Flag::MULTI_RAIL), peer(&topology, 2, Flag::MULTI_RAIL));
    other.discovery.with(|inner| inner.progress.peer_sequence = 6);
    let is_stale =
        |sequence, claimed: &[u8]| match plan(&topology, &reporting, DiscoveryMode::On, sequence, claimed) {
            MergePlan::Stale => true,
            MergePlan::Update(_) => false,
            other => panic!("{other:?}"),
        };
    assert!(is_stale(5, &[1, 2]));
    assert!(!is_stale(5, &[1, 3]), "no NID of another peer is claimed");
    assert!(!is_stale(7, &[1, 2]), "the report is newer");
    reporting.discovery.with(|inner| inner.progress.stale_seq = Some(5));
    assert!(!is_stale(5, &[1, 2]), "a second reply has confirmed it");
}

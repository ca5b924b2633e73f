use super::*;
use crate::ops::fake::Fake;
use crate::peer_state;
use crate::request::RequestError;
use crate::request::{
    AppliedUdsp, CommCount, Difference, DiscoveryFailure, DiscoveryStep, ElementStats, Heat, MessageStats,
    Peer, PeerDiscovery, PeerHealth, PeerNi, PeerNiState, PeerReachability, Reply, SetHealth,
};
use crate::request::{GivenByUdsp, UdspPartner};
use lnet_wire::Reachability;
use std::cell::Cell;

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

const ADD: Modify = Modify::Add { multi_rail: true, lock_primary: false };
const DEL: Modify = Modify::Del { force: false };
const PRIMARY: &str = "10.99.0.50@tcp";

fn add(text: Option<&str>) -> Request {
    let (primary, nid) = (nid(PRIMARY), text.map(nid));
    Request::AddPeerNi(AddPeerNi { primary, nid, multi_rail: true, lock_primary: false })
}

fn del(text: Option<&str>) -> Request {
    Request::DelPeerNi(DelPeerNi { primary: nid(PRIMARY), nid: text.map(nid), force: false })
}

#[test]
fn nid_ranges_are_expanded() {
    let table: [(&str, Result<&[&str], ()>); 15] = [
        ("10.0.0.1@tcp", Ok(&["10.0.0.1@tcp"])),
        (" 10.0.0.[1,3]@tcp, 10.0.1.1@tcp1 ", Ok(&["10.0.0.1@tcp", "10.0.0.3@tcp", "10.0.1.1@tcp1"])),
        ("10.0.0.1@tcp 10.0.0.2@tcp", Ok(&["10.0.0.1@tcp", "10.0.0.2@tcp"])),
        ("10.0.[0-1].[1-3/2]@tcp", Ok(&["10.0.0.1@tcp", "10.0.0.3@tcp", "10.0.1.1@tcp", "10.0.1.3@tcp"])),
        ("10.0.0.1@tcp,10.0.0.1@o2ib,10.0.0.2@tcp", Ok(&["10.0.0.1@tcp", "10.0.0.2@tcp", "10.0.0.1@o2ib"])),
        ("", Err(())),
        ("bogus", Err(())),
        ("*@tcp", Err(())),
        ("10.0.0.[3-1]@tcp", Err(())),
        ("10.0.0.[1-129]@tcp", Err(())),
        ("10.0.0.*@tcp", Err(())),
        ("10.0.0.1@tcp,", Err(())),
        ("10.0.0.300@tcp", Err(())),
        ("10.0.0@tcp", Err(())),
        ("10.0.0.[1-2@tcp", Err(())),
    ];
    for (text, expected) in table {
        let expected = expected.map(|nids| nids.iter().copied().map(nid).collect::<Vec<_>>());
        assert_eq!(parse_nids(text, MAX_NIDS).map_err(drop), expected, "{text}");
    }
    assert_eq!(parse_nids("10.0.0.[1-128]@tcp", MAX_NIDS).unwrap().len(), 128);
}

#[test]
fn adding_makes_the_peer_first_and_ends_at_the_first_error() {
    let fake = Fake::new([
        (add(None), Ok(Reply::Done)),
        (add(Some("10.99.1.50@tcp")), Ok(Reply::Done)),
        (add(Some("10.99.1.51@tcp")), Err(Errno::Exists)),
    ]);
    let mut report = Report::new();
    let nids = Some("10.99.0.50@tcp,10.99.1.[50-52]@tcp");
    assert_eq!(modify(&fake, Some(PRIMARY), nids, ADD, SeqNo::NONE, &mut report), ReturnCode(-17));
    let expected = "\
add:
    - peer_ni:
          errno: -17
          descr: \"cannot add 10.99.1.51@tcp: File exists; another peer has this NID, see 'lnetctl peer show'\"
peer:
    - add:
          errno: -17
          descr: \"the operation ended at 10.99.1.51@tcp\"
";
    assert_eq!(report.errors_to_yaml(), expected);
}

#[test]
fn deleting_without_nids_or_with_the_primary_nid_deletes_the_peer() {
    let secondary = "10.99.1.50@tcp";
    let table: [(Option<&str>, &[Option<&str>]); 4] = [
        (None, &[None]),
        (Some(PRIMARY), &[None]),
        (Some("10.99.1.50@tcp,10.99.0.50@tcp"), &[None]),
        (Some("10.99.1.50@tcp,10.99.1.51@tcp"), &[Some(secondary), Some("10.99.1.51@tcp")]),
    ];
    for (nids, asked) in table {
        let fake = Fake::new(asked.iter().map(|nid| (del(*nid), Ok(Reply::Done))));
        let mut report = Report::new();
        assert_eq!(modify(&fake, Some(PRIMARY), nids, DEL, SeqNo::NONE, &mut report), ReturnCode::OK);
        assert!(report.errors_to_yaml().starts_with("del:\n    - peer_ni:\n          errno: 0\n"));
    }
    let fake = Fake::new([(del(Some(secondary)), Err(Errno::NotFound))]);
    let mut report = Report::new();
    assert_eq!(modify(&fake, Some(PRIMARY), Some(secondary), DEL, SeqNo::NONE, &mut report), ReturnCode(-2));
    assert!(report.errors_to_yaml().contains("peer:\n    - del:\n          errno: -2\n"));
}

#[test]
fn arguments_that_cannot_be_read_are_reported_under_peer() {
    let bogus = Some("bogus");
    for (what, word) in [(ADD, "add"), (DEL, "del")] {
        for (primary, nids) in [(None, Some(PRIMARY)), (None, None), (bogus, None), (Some(PRIMARY), bogus)] {
            let mut report = Report::new();
            let rc = modify(&Fake::unasked(), primary, nids, what, SeqNo::NONE, &mut report);
            assert_eq!(rc, ReturnCode::BAD_PARAM);
            let head = format!("peer:\n    - {word}:\n          errno: -1\n");
            assert!(report.errors_to_yaml().starts_with(&head));
        }
    }
}

#[test]
fn states_and_health_values_are_set_where_there_is_a_nid() {
    let mut report = Report::new();
    let state = Request::SetPeer(SetPeerState { nid: nid(PRIMARY), state: 5 });
    let fake = Fake::new([(state.clone(), Ok(Reply::Done)), (state, Err(Errno::NotFound))]);
    assert_eq!(set_state(&fake, 5, Some(PRIMARY), SeqNo::NONE, &mut report), ReturnCode::OK);
    assert_eq!(set_state(&fake, 5, Some(PRIMARY), SeqNo::NONE, &mut report), ReturnCode(-2));
    assert_eq!(set_state(&fake, 5, Some("1.2.3"), SeqNo::NONE, &mut report), ReturnCode(-2));
    let health = |nid, value| Request::SetHealth(SetHealth { kind: SetHealthKind::PeerNi, nid, value });
    let fake = Fake::new([
        (health(Some(nid(PRIMARY)), 900), Err(Errno::NotFound)),
        (health(None, 1000), Ok(Reply::Done)),
    ]);
    assert_eq!(set_health(&fake, 900, Some(PRIMARY), SeqNo::NONE, &mut report), ReturnCode(-2));
    assert_eq!(set_health(&fake, -1, None, SeqNo::NONE, &mut report), ReturnCode::OK);
    assert_eq!(set_health(&fake, 900, Some("1.2.3"), SeqNo::NONE, &mut report), ReturnCode::BAD_PARAM);
}

fn peer_ni(text: &str) -> PeerNi {
    PeerNi {
        min_tx_credits: 7,
        stats: ElementStats { sent: 10, received: 10, dropped: 0 },
        messages: MessageStats {
            sent: CommCount { put: 2, get: 8, ..CommCount::default() },
            received: CommCount { reply: 8, ack: 2, ..CommCount::default() },
            dropped: CommCount::default(),
        },
        bytes: ElementStats { sent: 8192, received: 1024, dropped: 0 },
        heat: Heat { messages: 20, bytes: 0 },
        ..PeerNi::unused(nid(text))
    }
}

fn peer() -> Peer {
    let nis = vec![peer_ni("10.99.0.12@tcp"), peer_ni("10.99.1.12@tcp")];
    Peer {
        primary: nid("10.99.0.12@tcp"),
        multi_rail: true,
        state: 273,
        nis,
        discovery: None,
        reachability: None,
    }
}

fn shown(detail: u32, backup: bool) -> String {
    let state = peer().state | if backup { peer_state::CONFIGURED } else { 0 };
    let mut script = vec![
        (Request::GetPeerList, Ok(Reply::Nids(vec![nid("10.99.0.12@tcp")]))),
        (Request::GetPeerNi(nid("10.99.0.12@tcp")), Ok(Reply::Peer(Box::new(Peer { state, ..peer() })))),
    ];
    if detail >= 4 && !backup {
        for ni in peer().nis {
            let given = |rule| GivenByUdsp { priority: 0, messages: None, rule };
            let partner = |text, rule| UdspPartner { nid: nid(text), given: given(rule) };
            let none = AppliedUdsp {
                nid: None,
                net: Some(given(4)),
                preferred_nids: vec![partner("10.99.0.11@tcp", 7), partner("10.99.1.11@tcp", 2)],
                preferred_routers: vec![partner("10.99.0.1@tcp", 5)],
            };
            script.push((Request::GetAppliedUdsp(ni.nid, false), Ok(Reply::AppliedUdsp(none))));
        }
    }
    let mut report = Report::new();
    assert_eq!(show(&Fake::new(script), None, detail, SeqNo::NONE, &mut report, backup), ReturnCode::OK);
    report.shown.to_yaml()
}

/// The expected output at a level, which consists of the lines of each level up to it.
fn expected(detail: u32) -> String {
    const NI: &[(u32, &str)] = &[
        (4, "          udsp info:\n              net priority: 0\n              nid priority: -1\n"),
        (4, "              net rule: 4\n"),
        (4, "              Preferred gateway NIDs:\n                  NID-0: 10.99.0.1@tcp\n"),
        (4, "              Preferred gateway rules: \"5\"\n"),
        (4, "              Preferred source NIDs:\n                  NID-0: 10.99.0.11@tcp\n"),
        (4, "                  NID-1: 10.99.1.11@tcp\n              Preferred source rules: \"2,7\"\n"),
        (0, "          state: NA\n"),
        (5, "          reported status: up\n"),
        (
            1,
            "          max_ni_tx_credits: 8\n          available_tx_credits: 8\n          min_tx_credits: 7\n",
        ),
        (
            1,
            "          tx_q_num_of_buf: 0\n          available_rtr_credits: 8\n          min_rtr_credits: 8\n",
        ),
        (1, "          refcount: 1\n          statistics:\n              send_count: 10\n"),
        (1, "              recv_count: 10\n              drop_count: 0\n"),
        (2, "          sent_stats:\n              put: 2\n              get: 8\n"),
        (2, "              reply: 0\n              ack: 0\n              hello: 0\n"),
        (2, "          received_stats:\n              put: 0\n              get: 0\n"),
        (2, "              reply: 8\n              ack: 2\n              hello: 0\n"),
        (2, "          dropped_stats:\n              put: 0\n              get: 0\n"),
        (2, "              reply: 0\n              ack: 0\n              hello: 0\n"),
        (2, "          health stats:\n              health value: 1000\n              dropped: 0\n"),
        (2, "              timeout: 0\n              error: 0\n              network timeout: 0\n"),
        (2, "              ping_count: 0\n              next_ping: 0\n"),
        (5, "          lengths:\n              send_length: 8192\n              recv_length: 1024\n"),
        (5, "              drop_length: 0\n          heat:\n              messages: 0.020000\n"),
        (5, "              bytes: 0.000000\n"),
    ];
    let lines: String = NI.iter().filter(|(level, _)| *level <= detail).map(|(_, text)| *text).collect();
    let state = if detail >= 3 { "      peer state: 273\n" } else { "" };
    let sums = "      peer statistics:\n          send_count: 20\n          recv_count: 20\n          \
                drop_count: 0\n          send_length: 16384\n          recv_length: 2048\n          \
                drop_length: 0\n";
    format!(
        "peer:\n    - primary nid: 10.99.0.12@tcp\n      Multi-Rail: True\n{state}      peer ni:\n        \
         - nid: 10.99.0.12@tcp\n{lines}        - nid: 10.99.1.12@tcp\n{lines}{}",
        if detail >= 5 { sums } else { "" }
    )
}

/// dbg-005, dbg-060: fails if the credits, the queue or the counters of a peer's NID are not shown at the
/// level that has them.
/// dbg-090: fails if the sums are not those of the peer's NIDs.
#[test]
fn each_level_of_verbosity_adds_its_lines() {
    for detail in 0..=5 {
        assert_eq!(shown(detail, false), expected(detail), "level {detail}");
    }
    let backup = "\
peer:
    - primary nid: 10.99.0.12@tcp
      Multi-Rail: True
      peer ni:
        - nid: 10.99.0.12@tcp
        - nid: 10.99.1.12@tcp
";
    assert_eq!(shown(5, true), backup);
}

#[test]
fn a_backup_leaves_out_peers_that_are_not_configured() {
    let shown = |state: u32, one: Option<&str>, backup| {
        let list = (Request::GetPeerList, Ok(Reply::Nids(vec![nid("10.99.0.12@tcp")])));
        let its =
            (Request::GetPeerNi(nid("10.99.0.12@tcp")), Ok(Reply::Peer(Box::new(Peer { state, ..peer() }))));
        let script = if one.is_some() { vec![its] } else { vec![list, its] };
        let mut report = Report::new();
        assert_eq!(show(&Fake::new(script), one, 0, SeqNo::NONE, &mut report, backup), ReturnCode::OK);
        !report.shown.is_empty()
    };
    let discovered = 273;
    for (state, one, backup, expected) in [
        (discovered, None, true, false),
        (discovered | peer_state::CONFIGURED, None, true, true),
        (discovered, None, false, true),
        (discovered, Some("10.99.0.12@tcp"), true, true),
    ] {
        assert_eq!(shown(state, one, backup), expected, "{state} {one:?} {backup}");
    }
}

#[test]
fn every_cause_has_its_name_and_an_unhealthy_peer_ni_its_state_and_its_unresponsive_paths() {
    let health = PeerHealth {
        value: 700,
        dropped: 1,
        timeout: 2,
        error: 3,
        network_timeout: 4,
        ping_count: 5,
        next_ping: 60,
        next_ping_in: Some(7),
        state: Some(PeerNiState::Failed),
        unresponsive_from: vec![nid("10.99.0.11@tcp"), nid("10.99.1.11@tcp")],
    };
    let peer = Peer { nis: vec![PeerNi { health, ..peer_ni(PRIMARY) }], primary: nid(PRIMARY), ..peer() };
    let shown = |detail| {
        let mut script = vec![(Request::GetPeerNi(peer.primary), Ok(Reply::Peer(Box::new(peer.clone()))))];
        if detail >= 4 {
            let none = AppliedUdsp::default();
            script.push((Request::GetAppliedUdsp(peer.primary, false), Ok(Reply::AppliedUdsp(none))));
        }
        let mut report = Report::new();
        assert_eq!(
            show(&Fake::new(script), Some(PRIMARY), detail, SeqNo::NONE, &mut report, false),
            ReturnCode::OK
        );
        report.shown.to_yaml()
    };
    let stats = "          health stats:
              health value: 700
              dropped: 1
              timeout: 2
              error: 3
              network timeout: 4
              ping_count: 5
              next_ping: 60
";
    let words = "          ni state: FAILED
          next ping in: 7
          unresponsive from:
            - 10.99.0.11@tcp
            - 10.99.1.11@tcp
";
    for detail in 0..=5 {
        let shown = shown(detail);
        assert_eq!(shown.contains(stats), detail >= 2, "{detail}: {shown}");
        assert_eq!(shown.contains(words), detail >= 5, "{detail}: {shown}");
    }
}

/// dyn-060: fails if what differs is kept, and not shown with the peer.
#[test]
fn above_the_kernels_detail_levels_the_state_is_named_and_the_discovery_status_shown() {
    let discovery = PeerDiscovery {
        up_to_date: false,
        node_sequence: 3,
        peer_sequence: 7,
        parked: 2,
        failure: Some(DiscoveryFailure {
            step: DiscoveryStep::Ping,
            nid: nid("10.99.1.12@tcp"),
            errno: Errno::HostUnreachable,
            limit: None,
        }),
        differences: vec![Difference::Extra(nid("10.99.2.12@tcp"))],
    };
    let peer = Peer { state: 8224, nis: Vec::new(), discovery: Some(discovery), ..peer() };
    let shown = |detail| {
        let fake = Fake::new([(Request::GetPeerNi(peer.primary), Ok(Reply::Peer(Box::new(peer.clone()))))]);
        let mut report = Report::new();
        let primary = peer.primary.to_string();
        assert_eq!(show(&fake, Some(&primary), detail, SeqNo::NONE, &mut report, false), ReturnCode::OK);
        report.shown.to_yaml()
    };
    let expected = "\
      peer state: 8224
      discovery:
          flags:
              - rediscover
              - force-ping
          up to date: False
          node sequence: 3
          peer sequence: 7
          parked messages: 2
          last failure: \"the ping to 10.99.1.12@tcp failed: No route to host\"
          differences:
              - \"it has 10.99.2.12@tcp, by which it is not known\"
";
    assert!(shown(5).contains(expected), "{}", shown(5));
    assert!(!shown(4).contains("discovery"), "{}", shown(4));
}

/// Fails if nobody is told that a peer cannot be reached, or if what the kernel's tool shows without -v is changed.
#[test]
fn every_detail_level_shows_the_peers_reachability() {
    let reachability =
        Some(PeerReachability { state: Reachability::Degraded, seconds: 7, paths: 4, usable_paths: 1 });
    let shown = |reachability, detail, backup| {
        let peer = Peer { nis: Vec::new(), reachability, ..peer() };
        let fake = Fake::new([(Request::GetPeerNi(peer.primary), Ok(Reply::Peer(Box::new(peer.clone()))))]);
        let mut report = Report::new();
        let primary = peer.primary.to_string();
        assert_eq!(show(&fake, Some(&primary), detail, SeqNo::NONE, &mut report, backup), ReturnCode::OK);
        report.shown.to_yaml()
    };
    let (state, paths) =
        ("      reachability: degraded\n      reachability seconds: 7\n", "      usable paths: 1\n");
    for detail in 0..=5 {
        let text = shown(reachability, detail, false);
        assert_eq!(
            (text.contains(state), text.contains(paths)),
            (detail >= 1, detail >= 5),
            "{detail}: {text}"
        );
        assert!(!shown(reachability, detail, true).contains("reachab"));
    }
    let unknown = reachability.map(|its| PeerReachability { state: Reachability::Unknown, ..its });
    let text = shown(unknown, 1, false);
    assert!(text.contains("reachability: unknown\n") && !text.contains("seconds"), "{text}");
}

/// dbg-065: fails if a peer can be asked for by its primary NID only, or an unknown one is no error.
#[test]
fn one_peer_is_found_by_any_nid_and_an_unknown_one_is_an_error() {
    let fake = Fake::new([
        (Request::GetPeerNi(nid("10.99.1.12@tcp")), Ok(Reply::Peer(Box::new(peer())))),
        (Request::GetPeerNi(nid("10.99.0.99@tcp")), Err(Errno::NotFound)),
    ]);
    let mut report = Report::new();
    assert_eq!(show(&fake, Some("10.99.1.12@tcp"), 0, SeqNo::NONE, &mut report, false), ReturnCode::OK);
    assert_eq!(report.shown.to_yaml(), expected(0));
    assert_eq!(show(&fake, Some("10.99.0.99@tcp"), 0, SeqNo::NONE, &mut report, false), ReturnCode(-2));
    assert_eq!(show(&fake, Some("bogus"), 0, SeqNo::NONE, &mut report, false), ReturnCode(-2));
}

#[test]
fn without_peers_nothing_is_shown_and_a_deleted_one_is_skipped() {
    let gone = nid("10.99.0.99@tcp");
    let fake = Fake::new([
        (Request::GetPeerList, Ok(Reply::Nids(Vec::new()))),
        (Request::GetPeerList, Ok(Reply::Nids(Vec::new()))),
        (Request::GetPeerList, Ok(Reply::Nids(vec![gone]))),
        (Request::GetPeerNi(gone), Err(Errno::NotFound)),
        (Request::GetPeerList, Err(Errno::NetworkDown)),
    ]);
    let mut report = Report::new();
    assert_eq!(show(&fake, None, 0, SeqNo::NONE, &mut report, false), ReturnCode::OK);
    assert_eq!(list(&fake, SeqNo::NONE, &mut report), ReturnCode::OK);
    assert_eq!(show(&fake, None, 0, SeqNo::NONE, &mut report, false), ReturnCode::OK);
    assert_eq!(list(&fake, SeqNo::NONE, &mut report), ReturnCode(-100));
    assert!(report.shown.is_empty());
}

#[test]
fn primary_nids_are_listed() {
    let nids = vec![nid("10.99.0.12@tcp"), nid("10.99.0.77@tcp")];
    let mut report = Report::new();
    let fake = Fake::new([(Request::GetPeerList, Ok(Reply::Nids(nids)))]);
    assert_eq!(list(&fake, SeqNo::NONE, &mut report), ReturnCode::OK);
    let expected = "peer list:\n    - nid: 10.99.0.12@tcp\n    - nid: 10.99.0.77@tcp\n";
    assert_eq!(report.shown.to_yaml(), expected);
}

/// dbg-065: fails if peers cannot be asked for one after the other.
/// dbg-100: fails if the number of peers that are asked for has no bound.
#[test]
fn a_thousand_peers_take_a_thousand_and_one_requests_and_pages_take_their_part() {
    let count = Cell::new(0);
    let backend = |request| -> Result<Reply, RequestError> {
        count.set(count.get() + 1);
        match request {
            Request::GetPeerList => {
                let net = nid(PRIMARY).net();
                Ok(Reply::Nids((1..=1000).map(|address| Nid::new(net, address)).collect()))
            }
            Request::GetPeerNi(primary) => Ok(Reply::Peer(Box::new(Peer { primary, ..peer() }))),
            _ => Err(Errno::Invalid.into()),
        }
    };
    let mut report = Report::new();
    assert_eq!(show(&backend, None, 2, SeqNo::NONE, &mut report, false), ReturnCode::OK);
    assert_eq!(count.get(), 1001);
    assert_eq!(report.shown.to_yaml().matches("primary nid").count(), 1000);
    count.set(0);
    assert_eq!(page(&backend, 990, 100, 0, false).unwrap().len(), 10);
    assert_eq!(page(&backend, 0, 3, 0, false).unwrap().len(), 3);
    assert_eq!(count.get(), 15);
}

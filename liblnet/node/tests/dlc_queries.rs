//! The output of the DLC operations about a running node, as YAML that another parser reads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod live;

use live::{Talker, free_port, nids, node, node_with};
use lnet_core::{Cause, DiscoveryMode, Errno};
use lnet_dlc::ops::policy::{RuleAction, RuleEffect, RuleText};
use lnet_dlc::ops::{global, net, peer, policy, stats};
use lnet_dlc::request::{AddPeerNi, FaultEffect, FaultOdds, FaultRule, SetHealth, SetHealthKind, Setting};
use lnet_dlc::{Backend, Report, Request, ReturnCode, SeqNo};
use lnet_node::Node;
use lnet_wire::Nid;
use serde_yaml::Value;
use std::num::NonZeroU32;

/// The output of an operation, read by another parser.
fn shown(operation: impl FnOnce(&mut Report) -> ReturnCode) -> Value {
    let mut report = Report::new();
    assert_eq!(operation(&mut report), ReturnCode::OK, "{}", report.errors.to_yaml());
    serde_yaml::from_str(&report.shown.to_yaml()).expect("YAML")
}

/// The interfaces of a net, at the most detailed level.
fn interfaces(node: &Node, name: &str) -> Vec<Value> {
    let nets = shown(|report| net::show(node, None, 5, SeqNo::NONE, report, false));
    let nets = nets["net"].as_sequence().unwrap();
    let net = nets.iter().find(|net| net["net type"].as_str() == Some(name)).expect("the net");
    net["local NI(s)"].as_sequence().unwrap().clone()
}

fn texts(items: &[Value], key: &str) -> Vec<String> {
    items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

/// cfg-010: fails if any part of the configuration (nets, interfaces, peers, rules, settings) is missing in the output of its
/// operation, or if that is not YAML.
#[test]
fn whatever_was_configured_is_shown_as_yaml() {
    let (near, addresses) = (free_port(), ["127.0.81.1", "127.0.81.2"]);
    let node = node(near, &addresses, DiscoveryMode::Off);
    let backend: &dyn Backend = &*node;
    let mut report = Report::new();
    let (primary, nids_of_peer) = ("127.0.82.1@tcp", "127.0.82.1@tcp 127.0.82.2@tcp");
    let add = peer::Modify::Add { multi_rail: true, lock_primary: false };
    let done = [
        peer::modify(backend, Some(primary), Some(nids_of_peer), add, SeqNo::NONE, &mut report),
        policy::add(
            backend,
            RuleText { src: Some("tcp"), ..RuleText::default() },
            RuleEffect::of(RuleAction::Priority(3)),
            SeqNo::NONE,
            &mut report,
        ),
        global::config(backend, Setting::NumaRange, 7, SeqNo::NONE, &mut report),
    ];
    assert_eq!(done, [ReturnCode::OK; 3], "{}", report.errors.to_yaml());

    let its = interfaces(&node, "tcp");
    assert_eq!(texts(&its, "nid"), ["127.0.81.1@tcp", "127.0.81.2@tcp"]);
    assert_eq!(its[1]["interfaces"][0].as_str(), Some("127.0.81.2"));
    let peers = shown(|report| peer::show(backend, None, 0, SeqNo::NONE, report, false));
    assert_eq!(peers["peer"][0]["primary nid"].as_str(), Some(primary));
    assert_eq!(
        texts(peers["peer"][0]["peer ni"].as_sequence().unwrap(), "nid"),
        ["127.0.82.1@tcp", "127.0.82.2@tcp"]
    );
    let rules = shown(|report| policy::show(backend, -1, SeqNo::NONE, report));
    assert_eq!(
        (rules["udsp"][0]["src"].as_str(), rules["udsp"][0]["action"]["priority"].as_u64()),
        (Some("tcp"), Some(3))
    );
    let settings = shown(|report| global::show_all(backend, report));
    assert_eq!(settings["global"]["numa_range"].as_u64(), Some(7));
    assert!(shown(|report| stats::show(backend, SeqNo::NONE, report))["statistics"].is_mapping());
    node.shutdown();
}

/// dbg-035: fails if the credits, the counters, the timeouts, the state or the partitions reported of an
/// interface are not the actual ones: the two interfaces differ in each of them.
/// dbg-095: fails if one of the interfaces is not reported.
#[test]
fn every_interface_is_shown_with_its_credits_counters_and_state_as_they_are() {
    let (port, a, b) = (free_port(), ["127.0.83.1", "127.0.83.2"], ["127.0.84.1"]);
    let partitions = [("LNET_CPU_NPARTITIONS", "2")];
    let networks = "tcp(127.0.83.1[0],127.0.83.2[1])";
    let near = Talker::new(node_with(port, networks, DiscoveryMode::Off, &partitions));
    let far = Talker::new(node(port, &b, DiscoveryMode::Off));
    (0..3).for_each(|_| near.put(nids(&b)[0]));
    near.await_acks(3);
    // Messages to a single-rail peer leave by one interface only.
    let used = |shown: &Value| shown["sent_stats"]["put"].as_i64() == Some(3);
    let carrier = interfaces(&near.node, "tcp").iter().position(used).expect("one has sent all");
    let backend: &dyn Backend = &*near.node;
    let fails = FaultRule {
        source: "*".parse().unwrap(),
        dest: "*".parse().unwrap(),
        local: nids(&a)[carrier].to_string().parse().unwrap(),
        messages: 2,
        portals: 0,
        odds: FaultOdds::OneIn(NonZeroU32::MIN),
        effect: FaultEffect::Drop { errors: 1 << (Cause::LocalTimeout as u32), all: false },
    };
    backend.tell(Request::AddFault(fails)).unwrap();
    // The failure is one only: no resend, and no recovery ping that raises the health again before it is reported.
    for setting in [Setting::RetryCount, Setting::HealthSensitivity] {
        backend.tell(Request::SetTunable(setting, 0)).unwrap();
    }
    near.put(nids(&b)[0]);
    assert_eq!(near.await_failure(), Errno::TimedOut);
    let set = SetHealth { kind: SetHealthKind::LocalNi, nid: Some(nids(&a)[carrier]), value: 500 };
    backend.tell(Request::SetHealth(set)).unwrap();

    let its = interfaces(&near.node, "tcp");
    assert_eq!(its.len(), a.len());
    for (at, (shown, nid)) in its.iter().zip(nids(&a)).enumerate() {
        let nets = near.node.core().nets();
        let ni = nets.ni(nid).unwrap();
        let number = |value: &Value| value.as_i64().unwrap_or_else(|| panic!("{shown:?}"));
        let counted = |outcome| ni.counters().read(outcome);
        use lnet_core::stats::MessageOutcome::{Received, Sent};
        assert_eq!(number(&shown["statistics"]["send_count"]) as u64, counted(Sent).messages(), "{nid}");
        assert_eq!(number(&shown["statistics"]["recv_count"]) as u64, counted(Received).messages(), "{nid}");
        assert_eq!(number(&shown["sent_stats"]["put"]) as u64, counted(Sent).put, "{nid}");
        let (credits, lowest) = (ni.credits().0, ni.min_credits().0);
        assert_eq!(number(&shown["available_tx_credits"]), i64::from(credits), "{nid}");
        assert_eq!(number(&shown["min_tx_credits"]), i64::from(lowest), "{nid}");
        assert_eq!(number(&shown["tunables"]["credits"]), 256, "{nid}");
        assert_eq!(number(&shown["health stats"]["timeouts"]), i64::from(at == carrier), "{nid}");
        assert_eq!(shown["CPT"].as_str(), Some(format!("[{at}]").as_str()), "{nid}");
    }
    let puts: Vec<_> = its.iter().map(|ni| ni["sent_stats"]["put"].as_i64()).collect();
    assert_eq!([puts[carrier], puts[1 - carrier]], [Some(3), Some(0)], "{its:?}");
    assert!(its.iter().all(|ni| ni["min_tx_credits"].as_i64() < Some(256)), "{its:?}");
    let states = texts(&its, "ni state");
    assert_eq!([&*states[carrier], &*states[1 - carrier]], ["DEGRADED", "ACTIVE"]);
    near.node.shutdown();
    far.node.shutdown();
}

/// dbg-070: fails if a peer's NID that is used has no more heat than an unused one, or less than one that is used half
/// as often, or if its heat cannot be queried.
#[test]
fn the_nids_of_peers_are_shown_as_hot_as_they_are_used() {
    let (port, a) = (free_port(), ["127.0.83.11"]);
    let peers = ["127.0.84.11", "127.0.84.12", "127.0.84.13"];
    let near = Talker::new(node(port, &a, DiscoveryMode::Off));
    let far = Talker::new(node(port, &peers, DiscoveryMode::Off));
    let backend: &dyn Backend = &*near.node;
    for (nid, puts) in nids(&peers).into_iter().zip([0, 10, 20]) {
        let add = AddPeerNi { primary: nid, nid: None, multi_rail: false, lock_primary: false };
        backend.tell(Request::AddPeerNi(add)).unwrap();
        (0..puts).for_each(|_| near.put(nid));
        near.await_acks(puts);
    }
    let shown = shown(|report| peer::show(backend, None, 5, SeqNo::NONE, report, false));
    let heat = |nid: Nid| {
        let its = shown["peer"].as_sequence().unwrap().iter();
        let its = its.flat_map(|peer| peer["peer ni"].as_sequence().unwrap());
        let its = its.clone().find(|ni| ni["nid"].as_str() == Some(&nid.to_string())).expect("the NID");
        ["messages", "bytes"].map(|what| its["heat"][what].as_f64().expect("a number"))
    };
    let [unused, used, twice] = [0, 1, 2].map(|at: usize| heat(nids(&peers)[at]));
    assert_eq!(unused, [0.0, 0.0]);
    for what in [0, 1] {
        assert!(0.0 < used[what] && used[what] < twice[what], "{used:?} {twice:?}");
    }
    [near, far].iter().for_each(|talker| talker.node.shutdown());
}

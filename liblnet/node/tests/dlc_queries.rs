//! What the operations of the DLC API show of a node that runs, as YAML that another parser reads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod live;

use live::{Talker, free_port, nids, node};
use lnet_core::DiscoveryMode;
use lnet_dlc::ops::policy::{RuleAction, RuleEffect, RuleText};
use lnet_dlc::ops::{global, net, peer, policy, stats};
use lnet_dlc::request::{SetHealth, SetHealthKind};
use lnet_dlc::{Backend, Report, Request, ReturnCode, SeqNo};
use lnet_node::Node;
use serde_yaml::Value;

/// What an operation shows, as another parser reads it.
fn shown(operation: impl FnOnce(&mut Report) -> ReturnCode) -> Value {
    let mut report = Report::new();
    assert_eq!(operation(&mut report), ReturnCode::OK, "{}", report.errors.to_yaml());
    serde_yaml::from_str(&report.shown.to_yaml()).expect("YAML")
}

/// The interfaces of a net, at the level that shows most.
fn interfaces(node: &Node, name: &str) -> Vec<Value> {
    let nets = shown(|report| net::show(node, None, 5, SeqNo::NONE, report, false));
    let nets = nets["net"].as_sequence().unwrap();
    let net = nets.iter().find(|net| net["net type"].as_str() == Some(name)).expect("the net");
    net["local NI(s)"].as_sequence().unwrap().clone()
}

fn texts(items: &[Value], key: &str) -> Vec<String> {
    items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

/// cfg-010: fails if anything that was configured (nets, interfaces, peers, rules, settings) is not shown by its
/// operation, or not as YAML.
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
        global::config(backend, global::Setting::NumaRange, 7, SeqNo::NONE, &mut report),
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

/// dbg-035: fails if the credits, the counters, the time-outs, the state or the partitions that are shown of an
/// interface are not what they are.
/// dbg-095: fails if one of the interfaces is not shown.
#[test]
fn every_interface_is_shown_with_its_credits_counters_and_state_as_they_are() {
    let (port, a, b) = (free_port(), ["127.0.83.1", "127.0.83.2"], ["127.0.84.1"]);
    let [near, far] = [&a[..], &b].map(|addresses| Talker::new(node(port, addresses, DiscoveryMode::Off)));
    (0..3).for_each(|_| near.put(nids(&b)[0]));
    near.await_acks(3);
    let backend: &dyn Backend = &*near.node;
    let set = SetHealth { kind: SetHealthKind::LocalNi, nid: Some(nids(&a)[1]), value: 500 };
    backend.tell(Request::SetHealth(set)).unwrap();

    let its = interfaces(&near.node, "tcp");
    assert_eq!(its.len(), a.len());
    for (shown, nid) in its.iter().zip(nids(&a)) {
        let nets = near.node.core().nets();
        let ni = nets.ni(nid).unwrap();
        let number = |value: &Value| value.as_i64().unwrap_or_else(|| panic!("{shown:?}"));
        let counted = |outcome| ni.counters().read(outcome);
        use lnet_core::stats::Outcome::{Received, Sent};
        assert_eq!(number(&shown["statistics"]["send_count"]) as u64, counted(Sent).messages(), "{nid}");
        assert_eq!(number(&shown["statistics"]["recv_count"]) as u64, counted(Received).messages(), "{nid}");
        assert_eq!(number(&shown["sent_stats"]["put"]) as u64, counted(Sent).put, "{nid}");
        let (credits, lowest) = (ni.credits().0, ni.min_credits().0);
        assert_eq!(number(&shown["available_tx_credits"]), i64::from(credits), "{nid}");
        assert_eq!(number(&shown["min_tx_credits"]), i64::from(lowest), "{nid}");
        assert_eq!(number(&shown["tunables"]["credits"]), 256, "{nid}");
        assert_eq!(number(&shown["health stats"]["timeouts"]), 0, "{nid}");
        assert!(shown["CPT"].as_str().is_some_and(|cpts| cpts.starts_with("[0")), "{shown:?}");
    }
    // A peer of one rail keeps to one interface: what the two show differs.
    let mut puts: Vec<_> = its.iter().map(|ni| ni["sent_stats"]["put"].as_i64()).collect();
    puts.sort_unstable();
    assert_eq!(puts, [Some(0), Some(3)], "{its:?}");
    assert!(its.iter().all(|ni| ni["min_tx_credits"].as_i64() < Some(256)), "{its:?}");
    assert_eq!(texts(&its, "ni state"), ["ACTIVE", "DEGRADED"]);
    near.node.shutdown();
    far.node.shutdown();
}

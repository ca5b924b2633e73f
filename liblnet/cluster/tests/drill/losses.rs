//! Drills that lose interfaces, routers, nets, switches and nodes: the operations that fail, and those that do not.

use super::*;
use lnet_cluster::drill::report::{InterfaceReport, Phase};
use lnet_core::Settings;

fn interface<'a>(report: &'a DrillReport, name: &str) -> &'a InterfaceReport {
    let is_it = |its: &&InterfaceReport| format!("{}:{}", its.node, its.interface) == name;
    report.interfaces.iter().find(is_it).unwrap()
}

#[test]
fn without_a_loss_everything_succeeds_in_time_and_there_is_only_the_time_before() {
    let report = drill(&one_net(2), &[], 5);
    let its = &report.operations;
    assert!(its.begun > 500 && its.done == its.begun && its.delayed == 0, "{its:?}");
    assert_eq!(report.phases.iter().filter(|phase| phase.until_ms > phase.from_ms).count(), 1);
    assert!(report.left_out.is_empty(), "{:?}", report.left_out);
}

#[test]
fn losing_one_of_two_rails_loses_no_operation_and_moves_traffic_to_the_other() {
    let cluster = one_net(2);
    // One operation of each node: the rails are not busy all the time.
    let load = Load { in_flight: 1, ..plan(&cluster, &[], 15).load };
    let plan = DrillPlan { load, ..plan(&cluster, &["server-0:eth1@2s"], 15) };
    let report = run(&cluster, &plan, &mut |_| ()).unwrap();
    let its = &report.operations;
    assert!(its.all_succeeded() && its.to_lost_node == 0 && its.done == its.begun, "{its:?}");
    let (before, after) = (Phase::Before as usize, Phase::After as usize);
    let [dead, alive] = ["server-0:eth1", "server-0:eth0"].map(|name| interface(&report, name));
    assert!(dead.lost && dead.phases[before].bytes_received > 0, "{dead:?}");
    assert_eq!(dead.phases[after].messages_received, 0, "{dead:?}");
    let rate = |its: &InterfaceReport, phase: Phase| {
        let time = report.phase(phase).map(|phase| phase.until_ms - phase.from_ms).unwrap();
        its.phases[phase as usize].bytes_received / time
    };
    assert!(rate(alive, Phase::After) * 10 > rate(alive, Phase::Before) * 11, "{report:#?}");
    let path = report.paths.iter().find(|path| path.to == "server-0").unwrap();
    let after = path.after.as_ref().unwrap();
    assert_eq!(after.remote, alive.nid, "{path:?}");
    assert!(after.passed_over.iter().any(|passed| passed.starts_with(&dead.nid)), "{path:?}");
}

#[test]
fn the_stall_after_the_loss_of_a_rail_is_bounded_by_the_timeout_of_the_driver() {
    let report = drill(&one_net(2), &["server-0:eth1@2s"], 15);
    let its = &report.operations;
    let timeout = u64::from(Settings::default().lnd_timeout()) * 1000;
    assert!(its.longest_done_ms <= timeout && its.longest_without_success_ms <= timeout, "{its:?}");
    assert!(its.delayed > 0 && its.longest_done_ms > 1000, "nothing was on the lost rail: {its:?}");
}

#[test]
fn losing_the_only_rail_of_a_server_fails_all_operations_to_it_and_no_others() {
    let report = drill(&one_net(1), &["server-0:eth0@2s"], 10);
    assert!(report.operations.failed > 0, "{:?}", report.operations);
    let timeout = u64::from(Settings::default().transaction_timeout) * 1000;
    assert!(report.operations.longest_failed_ms <= timeout + timeout / 2, "{:?}", report.operations);
    assert_eq!(report.operations.lost, 0);
    let alive = interface(&report, "server-1:eth0").phases[Phase::During as usize];
    assert!(alive.bytes_received > 0, "{alive:?}");
}

#[test]
fn losing_the_only_router_fails_everything_from_then_on() {
    let report = drill(&routed(1), &["router-0@2s"], 10);
    let its = &report.operations;
    assert!(its.failed > 0 && its.to_lost_node == 0, "{its:?}");
    let before = report.phase(Phase::Before).unwrap().done;
    assert!(before > 0 && its.done - before <= 20, "{its:?}");
    let path = report.paths.iter().find(|path| path.from.starts_with("client")).unwrap();
    assert_eq!(path.before.as_ref().unwrap().gateway.as_deref(), Some("10.0.0.201@tcp"));
}

#[test]
fn a_time_without_success_that_the_end_cuts_off_is_said_to_last_until_the_end() {
    let report = drill(&routed(1), &["router-0@2s"], 8);
    let its = &report.operations;
    assert!(its.without_success_until_end && its.longest_without_success_ms > 5000, "{its:?}");
    let shown = lnet_cluster::drill::text::drill(&report);
    assert!(
        shown.lines().any(|line| line.starts_with("stall") && line.ends_with(" s, until the end")),
        "{shown}"
    );
    // With a second rail the node goes on.
    let recovered = drill(&one_net(2), &["server-0:eth1@2s"], 8);
    assert!(!recovered.operations.without_success_until_end, "{:?}", recovered.operations);
}

#[test]
fn a_pair_without_success_has_no_longest_success() {
    let mut report = drill(&one_net(2), &["server-0:eth1@2s"], 4);
    report.pairs[0].operations = lnet_cluster::drill::report::Operations { failed: 4, ..Default::default() };
    let shown = lnet_cluster::drill::text::drill(&report);
    let (head, pair) = shown.split_once("longest success\n").unwrap();
    assert!(head.ends_with("delayed  "), "{shown}");
    assert!(pair.lines().next().unwrap().ends_with(" -"), "{shown}");
}

#[test]
fn losing_one_of_two_routers_loses_no_operation() {
    let report = drill(&routed(2), &["router-0@2s"], 20);
    let its = &report.operations;
    assert!(its.all_succeeded() && its.done == its.begun, "{its:?}");
    for path in &report.paths {
        let gateway = path.after.as_ref().and_then(|path| path.gateway.clone()).unwrap();
        assert!(gateway.starts_with("10.0.0.202@"), "{path:?}");
    }
    let spread = |name: &str, phase: Phase| interface(&report, name).phases[phase as usize].bytes_received;
    assert!(spread("router-0:eth0", Phase::Before) > 0 && spread("router-0:eth0", Phase::After) == 0);
    assert!(spread("router-1:eth0", Phase::After) > 0);
}

/// No node tells others that nothing gets through to a NID, so each router finds it out by a message of its own.
#[test]
fn a_lost_interface_behind_more_routers_delays_operations_for_longer_and_each_as_long() {
    let during = |routers: u32| {
        let cluster = routed_with_two_rails(routers);
        let load = Load { in_flight: 1, ..plan(&cluster, &[], 20).load };
        let plan = DrillPlan { load, ..plan(&cluster, &["server-0:eth1@2s"], 20) };
        let report = run(&cluster, &plan, &mut |_| ()).unwrap();
        let its = &report.operations;
        assert!(its.all_succeeded() && its.longest_done_ms < 2000, "{its:?}");
        report.phase(Phase::During).map(|phase| phase.until_ms - phase.from_ms).unwrap()
    };
    let (few, many) = (during(2), during(12));
    assert!(many > few * 2, "{few} {many}");
}

#[test]
fn the_operations_of_a_node_that_is_lost_and_those_to_it_are_counted_apart() {
    let report = drill(&one_net(2), &["server-0@2s"], 10);
    let its = &report.operations;
    assert!(its.all_succeeded() && its.to_lost_node > 0 && its.of_lost_node > 0, "{its:?}");
    assert_eq!(its.begun, its.done + its.to_lost_node + its.of_lost_node, "{its:?}");
    assert!(its.longest_without_success_ms < 5000, "{its:?}");
}

#[test]
fn a_lost_net_or_switch_takes_all_its_interfaces() {
    for (element, expected) in [("tcp1", SERVERS as usize + 2), ("switch:leaf-1", 2)] {
        let mut cluster = routed(2);
        cluster.nodes.iter_mut().for_each(|node| node.spec.settings.transaction_timeout = 10);
        // The servers are on `tcp1`; only routers have a second interface.
        let report = drill(&cluster, &[&format!("{element}@2s")], 5);
        let gone = report.interfaces.iter().filter(|its| its.lost).count();
        assert_eq!(gone, expected, "{element}");
        assert!(report.operations.failed > 0 && report.operations.lost == 0, "{:?}", report.operations);
    }
}

#[test]
fn kernel_nodes_lose_what_may_have_left_on_the_lost_rail_and_go_on_over_the_other() {
    let cluster = one_net(2);
    let kernel = DrillPlan {
        delivery: lnet_cluster::drill::Delivery::Kernel,
        ..plan(&cluster, &["server-0:eth1@2s"], 15)
    };
    let report = run(&cluster, &kernel, &mut |_| ()).unwrap();
    let its = &report.operations;
    // At most those that were in flight: 4 of each of 5 nodes.
    assert!(its.failed > 0 && its.failed <= 20 && its.lost == 0, "{its:?}");
    assert!(report.phase(Phase::After).is_none_or(|after| after.failed == 0), "{:?}", report.phases);
    assert!(report.repeat.ends_with("--kernel-nodes"), "{}", report.repeat);
}

#[test]
fn pairs_without_a_path_are_left_out_and_named() {
    let mut cluster = routed(1);
    cluster.nodes[0].spec.routes.clear();
    let report = drill(&cluster, &[], 3);
    assert!(report.operations.all_succeeded(), "{:?}", report.operations);
    assert!(report.left_out[0].starts_with("2 of 6 pairs from client to server"), "{:?}", report.left_out);
}

#[test]
fn elements_have_names_and_unknown_ones_are_refused_with_those_that_exist() {
    let cluster = routed(2);
    for name in ["client-0", "client-0:eth0", "router-1:eth1", "tcp", "tcp1", "switch:leaf-0"] {
        let loss = Loss::parse(&cluster, name).unwrap();
        assert_eq!(loss.text(&cluster), name);
        let timed = Loss::parse(&cluster, &format!("{name}@1500ms")).unwrap();
        assert_eq!((timed.target, timed.at), (loss.target, Duration::from_millis(1500)), "{name}");
    }
    let by_nid = Loss::parse(&cluster, "10.0.0.202@tcp1@1s").unwrap();
    assert_eq!(by_nid.text(&cluster), "router-1:eth1@1s");
    for (name, hint) in [
        ("client-9", "is client-0"),
        ("client-0:eth9", "the interfaces of client-0 are eth0"),
        ("switch:leaf-9", "no node"),
        ("10.9.9.9@tcp", "no node"),
    ] {
        let error = refused(&cluster, name).to_string();
        assert!(error.contains(hint), "{name}: {error}");
    }
}

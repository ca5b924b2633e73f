//! Reports: reproducible, complete, and drawn.

use super::*;
use lnet_cluster::drill::chart::drill_chart_svg;
use lnet_cluster::drill::{DrillError, LossKind, LossTarget, Progress, survey, text};

#[test]
fn the_same_seed_gives_the_same_report_and_another_seed_another() {
    let cluster = one_net(2);
    let report = |seed: u64| {
        let plan = DrillPlan { seed, ..plan(&cluster, &["server-0:eth1@1s"], 4) };
        let report = run(&cluster, &plan, &mut |_| ()).unwrap();
        (report.to_json(), text::drill(&report), drill_chart_svg(&report))
    };
    let (first, again, other) = (report(7), report(7), report(8));
    assert!(first == again);
    assert_ne!(first.0.replace("\"seed\": 7", ""), other.0.replace("\"seed\": 8", ""));
}

#[test]
fn the_chart_has_one_point_for_each_slice_and_a_line_for_each_loss() {
    for (seconds, losses) in [(4, vec!["server-0:eth1@1s"]), (70, vec![])] {
        let report = drill(&one_net(2), &losses, seconds);
        assert_eq!(report.series.len() as u64, report.duration_ms.div_ceil(report.slice_ms));
        assert!(report.series.len() <= 240, "{}", report.series.len());
        let svg = drill_chart_svg(&report);
        let points = svg.split("points=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert_eq!(points.split(' ').count(), report.series.len());
        assert_eq!(svg.matches("class=\"loss\"").count(), losses.len());
    }
}

#[test]
fn the_report_has_the_options_that_repeat_it_and_the_text_shows_all_parts() {
    let cluster = one_net(2);
    let report = drill(&cluster, &["server-0:eth1@1s"], 4);
    assert_eq!(report.repeat, "--lose server-0:eth1@1s --load put:64k,x4 --for 4s --seed 1");
    let shown = text::drill(&report);
    for part in [
        "drill: server-0:eth1 lost at 1 s; put:64k,x4 for 4 s",
        "simulated: client 3 of 3, server 2 of 2",
        " 0 failed, 0 lost",
        "before",
        "server-0:eth1 (lost)",
        "client-0 to server-0",
        "repeat: --lose",
    ] {
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
    }
}

#[test]
fn a_survey_loses_each_element_in_turn_and_reports_the_worst() {
    let mut cluster = routed(2);
    // One client knows one router only.
    cluster.nodes[0].spec.routes.truncate(1);
    cluster.nodes.iter_mut().for_each(|node| node.spec.settings.transaction_timeout = 10);
    let plan = DrillPlan { load: "put:4k,x2".parse().unwrap(), ..plan(&cluster, &[], 9) };
    let mut seen: Vec<Progress> = Vec::new();
    let survey = survey(&cluster, &plan, LossKind::Router, &mut |its| seen.push(its)).unwrap();
    let elements: Vec<&str> = survey.elements.iter().map(|its| its.element.as_str()).collect();
    assert_eq!(elements, ["router-0", "router-1"]);
    assert!(survey.elements[0].operations.failed > 0 && survey.elements[1].operations.all_succeeded());
    assert_eq!(survey.worst.losses[0].element, "router-0");
    assert!(seen.iter().all(|its| its.drills == 2) && seen.iter().any(|its| its.drill == 1));
    assert!(text::survey(&survey).contains("2 of them; 1 cost no operation"), "{}", text::survey(&survey));
}

#[test]
fn each_kind_of_element_is_found_once_for_nodes_that_are_alike() {
    let cluster = routed(2);
    for (kind, count) in [
        (LossKind::Rail, 2),
        (LossKind::Net, 2),
        (LossKind::Router, 2),
        (LossKind::Switch, 2),
        (LossKind::Node, 2),
    ] {
        assert_eq!(LossTarget::all(&cluster, kind).unwrap().len(), count, "{kind:?}");
        assert_eq!(kind.word().parse::<LossKind>(), Ok(kind));
    }
    let none = LossTarget::all(&one_net(1), LossKind::Router).unwrap_err();
    assert_eq!(none.to_string(), "the cluster has no router that could be lost: none forwards");
}

#[test]
fn an_interface_on_two_nets_is_one_rail_that_is_lost_with_both() {
    let mut cluster = one_net(2);
    for node in &mut cluster.nodes {
        let third = node.spec.nids[0].address().on(net(1));
        node.spec.nids.push(third);
        node.interfaces.push(node.interfaces[0].clone());
    }
    let rails = LossTarget::all(&cluster, LossKind::Rail).unwrap();
    let names: Vec<String> = rails.iter().map(|rail| rail.name(&cluster)).collect();
    assert_eq!(names, ["client-0:eth0", "client-0:eth1", "server-0:eth0", "server-0:eth1"]);
    for rail in &rails {
        assert_eq!(LossTarget::find(&cluster, &rail.name(&cluster)), Ok(rail.clone()));
    }
    let report = drill(&cluster, &["client-0:eth0@1s"], 4);
    let lost: Vec<&str> =
        report.interfaces.iter().filter(|its| its.lost).map(|its| its.nid.as_str()).collect();
    assert_eq!(lost, [nid(0, 1).to_string(), nid(1, 1).to_string()]);
}

#[test]
fn loads_are_read_and_written_and_what_is_none_is_refused() {
    for (text, written) in [
        ("put:1M,x8", "put:1M,x8"),
        ("get:4k,x64", "get:4k,x64"),
        ("get", "get:1M,x8"),
        ("put:100", "put:100,x8"),
        ("put:x2", "put:1M,x2"),
    ] {
        assert_eq!(text.parse::<Load>().unwrap().to_string(), written, "{text}");
    }
    for text in ["", "post:1M", "put:0", "put:2M", "put:1M,x0", "put:1M,x2000", "put:1G", "put:,,y"] {
        let error = text.parse::<Load>().unwrap_err().to_string();
        assert!(error.contains("put:1M,x8"), "{text}: {error}");
    }
}

#[test]
fn gets_and_puts_are_both_loads() {
    let cluster = one_net(2);
    for load in ["put:4k,x2", "get:64k,x2", "put:1M,x1"] {
        let load: Load = load.parse().unwrap();
        let rate = std::num::NonZeroU64::new(u64::from(load.size) * 20);
        let plan = DrillPlan { load, rate, ..plan(&cluster, &["server-0:eth1@1s"], 6) };
        let report = run(&cluster, &plan, &mut |_| ()).unwrap();
        assert!(
            report.operations.all_succeeded() && report.operations.done > 50,
            "{load}: {:?}",
            report.operations
        );
    }
}

#[test]
fn a_loss_behind_the_end_and_a_cluster_of_one_node_are_refused() {
    let cluster = one_net(2);
    let late = run(&cluster, &plan(&cluster, &["server-0@9s"], 4), &mut |_| ()).unwrap_err();
    assert_eq!(late.to_string(), "server-0: the loss at 9s is not before the end of the drill, 4s");
    let alone = DrillCluster::of_all(cluster.nodes.into_iter().take(1).collect());
    let error = run(&alone, &plan(&alone, &[], 4), &mut |_| ()).unwrap_err();
    assert_eq!(error, DrillError::TooFewNodes { nodes: 1 });
}

#[test]
fn names_from_files_can_neither_steer_the_terminal_nor_forge_lines() {
    let mut cluster = one_net(2);
    cluster.nodes.iter_mut().filter(|node| node.class == "client").for_each(|node| {
        node.class = "evil\x1b[31m\nFAKE".to_owned();
        node.name = node.name.replace("client", "evil\x1b[31m\nFAKE");
    });
    cluster.left_out.push("evil\u{9b}\r".to_owned());
    let cluster = DrillCluster { left_out: cluster.left_out, ..DrillCluster::of_all(cluster.nodes) };
    let report = drill(&cluster, &["evil\x1b[31m\nFAKE-0:eth1@1s"], 4);
    let shown = text::drill(&report);
    assert!(!shown.contains(|it: char| it.is_control() && it != '\n'), "{shown:?}");
    assert!(!shown.lines().any(|line| line.starts_with("FAKE")), "{shown}");
    assert!(shown.contains("evil\\u{1b}[31m\\nFAKE-0:eth1 (lost)"), "{shown}");
    for loss in ["nobody", "evil\x1b[31m\nFAKE-0:eth9"] {
        let error = refused(&cluster, loss).to_string();
        assert!(error.contains("evil\\u{1b}[31m\\nFAKE") && !error.contains(char::is_control), "{error:?}");
    }
}

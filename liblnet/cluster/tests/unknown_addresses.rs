//! Findings in files of `lnetctl export --backup`, which have interfaces without their addresses: those that do not depend on NIDs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet_cluster::checks::check;
use lnet_cluster::input;
use std::fs;

/// The configuration of a node on these nets, each with an interface of its own.
fn node(nets: &[&str], more: &str) -> String {
    let net = |(index, net): (usize, &&str)| {
        format!("  - {{net type: {net}, local NI(s): [{{interfaces: {{0: eth{index}}}}}]}}\n")
    };
    let nets: String = nets.iter().enumerate().map(net).collect();
    format!("net:\n{nets}{more}")
}

fn routes(routes: &[(&str, &str)]) -> String {
    let route = |(net, gateway): &(&str, &str)| format!("  - {{net: {net}, gateway: {gateway}}}\n");
    format!("route:\n{}", routes.iter().map(route).collect::<String>())
}

/// The kinds of findings, without those about addresses and single points of failure.
fn found(files: &[String]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    for (index, text) in files.iter().enumerate() {
        fs::write(directory.path().join(format!("node{index}.yaml")), text).unwrap();
    }
    let findings = check(&input::read(&[directory.path()]).unwrap());
    let kinds: Vec<_> = findings.iter().map(|finding| finding.kind.row().id).collect();
    assert!(kinds.contains(&"address-unknown"), "{kinds:?}");
    let is_other = |kind: &&str| *kind != "address-unknown" && !kind.starts_with("single-");
    kinds.into_iter().filter(is_other).map(str::to_owned).collect()
}

#[test]
fn all_that_does_not_depend_on_nids_is_found_without_addresses() {
    let both = || node(&["tcp", "tcp1"], "");
    let here = || node(&["tcp"], &routes(&[("tcp1", "10.0.0.9@tcp")]));
    let there = || node(&["tcp1"], &routes(&[("tcp", "10.1.0.9@tcp1")]));
    let router = || node(&["tcp", "tcp1"], "routing: {enable: 1}\n");
    let table: &[(&str, &[String], &[&str])] = &[
        ("two nodes alike", &[both(), both()], &[]),
        ("a routed cluster", &[here(), there(), router()], &[]),
        (
            "a setting",
            &[both(), both(), node(&["tcp", "tcp1"], "global: {retry_count: 5}\n")],
            &["setting-differs"],
        ),
        ("a net of its own", &[both(), both(), node(&["tcp2"], "")], &["isolated"]),
        (
            "a route to the own net",
            &[both(), node(&["tcp", "tcp1"], &routes(&[("tcp", "10.1.0.9@tcp1")]))],
            &["route-to-own-net"],
        ),
        (
            "a gateway on a foreign net",
            &[there(), router(), node(&["tcp"], &routes(&[("tcp1", "10.2.0.9@tcp2")]))],
            &["gateway-not-on-own-net"],
        ),
        ("no route back", &[here(), node(&["tcp1"], ""), router()], &["no-path"]),
        ("nobody forwards", &[here(), there(), both()], &["gateway-nobody", "gateway-nobody"]),
        (
            "the router is not on the net",
            &[here(), there(), node(&["tcp", "tcp2"], "routing: {enable: 1}\n")],
            &["no-path", "gateway-nobody", "gateway-nobody"],
        ),
        (
            "two routers in a row",
            &[
                node(&["tcp"], &routes(&[("tcp2", "10.0.0.9@tcp")])),
                node(&["tcp2"], &routes(&[("tcp", "10.2.0.9@tcp2")])),
                node(&["tcp", "tcp1"], &(routes(&[("tcp2", "10.1.0.8@tcp1")]) + "routing: {enable: 1}\n")),
                node(&["tcp1", "tcp2"], &(routes(&[("tcp", "10.1.0.9@tcp1")]) + "routing: {enable: 1}\n")),
            ],
            &[],
        ),
        (
            "a peer on a net of nobody",
            &[
                both(),
                node(
                    &["tcp", "tcp1"],
                    "peer:\n  - {primary nid: 10.0.0.7@o2ib, Multi-Rail: False, peer ni: [{nid: 10.0.0.7@o2ib}]}\n",
                ),
            ],
            &["peer-nobody"],
        ),
        (
            "a rule for a net of nobody",
            &[both(), node(&["tcp", "tcp1"], "udsp:\n  - {src: o2ib, action: {priority: 0}}\n")],
            &["rule-matches-nothing"],
        ),
        ("discovery", &[both(), node(&["tcp", "tcp1"], "global: {discovery: 0}\n")], &["discovery-off"]),
    ];
    let mut wrong = Vec::new();
    for (what, files, expected) in table {
        let found = found(files);
        if found != *expected {
            wrong.push(format!("{what}: {found:?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! Texts of reports and of problems.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet_cluster::checks::check;
use lnet_cluster::{input, report};
use std::fs;
use tempfile::TempDir;

/// Makes a directory with files.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

/// A name with a line end or with codes for terminals makes no line of the report, and no colour.
#[test]
fn control_characters_of_names_are_escaped_in_texts() {
    let class = "\"evil\\e[31mRED\\nFAKE\"";
    let node = "net:\n  - {net type: tcp, local NI(s): [{interfaces: {0: eth0}}]}\n";
    let topology = format!("classes:\n  {class}: {{class: node.yaml}}\n");
    let topology = directory(&[("node.yaml", node), ("topology.yaml", &topology)]);
    let cluster = input::read(&[topology.path()]).unwrap();
    let text = report::to_text(&cluster, &check(&cluster));
    assert!(text.contains("evil\\u{1b}[31mRED\\nFAKE: no address is known"), "{text}");

    let wrong = format!("classes:\n  {class}: {{count: 0, class: node.yaml}}\n  {class}: {{}}\n");
    let directory = directory(&[("node.yaml", node), ("topology.yaml", &wrong)]);
    let problems = input::read(&[directory.path()]).unwrap_err();
    for text in problems.iter().map(ToString::to_string) {
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }
    assert!(problems.iter().any(|problem| problem.text.contains('\u{1b}')), "{problems:?}");
}

/// The number of interfaces that are used is that of each node, not that of all.
#[test]
fn without_discovery_one_interface_of_each_node_is_used() {
    let node = |number, more: &str| {
        let ni = |net, side| {
            format!(
                "  - {{net type: {net}, local NI(s): [{{nid: 10.{side}.0.{number}@{net}, interfaces: {{0: eth{side}}}}}]}}\n"
            )
        };
        format!("net:\n{}{}{more}", ni("tcp", 0), ni("tcp1", 1))
    };
    let directory = directory(&[("a.yaml", &node(1, "")), ("b.yaml", &node(2, "global: {discovery: 0}\n"))]);
    let findings = check(&input::read(&[directory.path()]).unwrap());
    let texts: Vec<&str> = findings.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(texts, ["discovery is off on b; of each of a, b only one interface is used"]);
}

//! Reports and topology files beside their JSON Schemas.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lnet_cluster::drill::{self, DrillCluster, DrillNode, DrillPlan, LossKind, run, survey};
use lnet_cluster::{checks, compare, input, report};
use lnet_dlc::yaml::tree::{Node, NodeKind, documents};
use lnet_sim::{NodeSpec, nid};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The mistakes of a value, of the keywords that the schemas have.
fn mistakes(root: &Value, schema: &Value, value: &Value, at: &str, all: &mut Vec<String>) {
    if let Some(path) = schema["$ref"].as_str() {
        return mistakes(root, &root["$defs"][path.trim_start_matches("#/$defs/")], value, at, all);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = |choice: &Value| {
            let mut none = Vec::new();
            mistakes(root, choice, value, at, &mut none);
            none.is_empty()
        };
        if !choices.iter().any(fits) {
            all.push(format!("{at}: none of the choices"));
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let is_of_type = |name: &&str| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the schema has the type {other}"),
    };
    if !types.is_empty() && !types.iter().any(is_of_type) {
        all.push(format!("{at}: {value} is no {}", schema["type"]));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        all.push(format!("{at}: {value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        all.push(format!("{at}: {value} is none of the words"));
    }
    if let Some(number) = value.as_i64() {
        let (least, most) = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
        if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
            all.push(format!("{at}: {number} is out of range"));
        }
    }
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(key).is_none() {
            all.push(format!("{at}: no {key}"));
        }
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        let at = format!("{at}/{key}");
        match (&schema["properties"][key], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => all.push(format!("{at}: not in the schema")),
            (Value::Null, other) => mistakes(root, other, value, &at, all),
            (property, _) => mistakes(root, property, value, &at, all),
        }
    }
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    if schema["minItems"].as_u64().is_some_and(|least| (items.len() as u64) < least) {
        all.push(format!("{at}: too few items"));
    }
    if schema["maxItems"].as_u64().is_some_and(|most| items.len() as u64 > most) {
        all.push(format!("{at}: too many items"));
    }
    for (index, item) in items.iter().enumerate() {
        mistakes(root, &schema["items"], item, &format!("{at}/{index}"), all);
    }
}

fn all_mistakes(schema: &str, value: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let mut all = Vec::new();
    mistakes(&schema, &schema, value, "", &mut all);
    all
}

/// The files of all clusters of the library, by the cluster.
fn clusters() -> Vec<Vec<(String, String)>> {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = ["broken", "healthy"].map(|directory| fs::read_dir(tests.join(directory)).unwrap());
    let texts = files.into_iter().flatten().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let split = |text: String| {
        let files = text.split("\n=== ").skip(1).map(|file| file.split_once('\n').unwrap());
        files.map(|(name, text)| (name.to_owned(), format!("{text}\n"))).collect()
    };
    texts.map(split).collect()
}

#[test]
fn every_report_is_as_its_schema_says() {
    let mut findings = 0;
    for files in clusters() {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in &files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        let cluster = input::read(&[directory.path()]).unwrap();
        let found = checks::check(&cluster);
        findings += found.len();
        let report = report::to_value(&cluster, &found).to_json();
        assert_eq!(all_mistakes(report::SCHEMA, &report), [] as [String; 0], "{report:#}");
    }
    assert!(findings > 100, "{findings}");
    let mistakes =
        all_mistakes(report::SCHEMA, &json!({ "nodes": -1, "findings": [{ "severity": "bad" }], "more": 1 }));
    assert!(mistakes.len() > 10, "the schema refuses what is no report: {mistakes:?}");
}

fn to_json(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Empty | NodeKind::Null(_) => Value::Null,
        NodeKind::Scalar(text) => {
            text.parse::<u64>().map_or_else(|_| Value::from(text.as_str()), Value::from)
        }
        NodeKind::Seq(items) => items.iter().map(to_json).collect(),
        NodeKind::Map(entries) => Value::Object(
            entries.iter().map(|entry| (entry.key.clone(), to_json(&entry.value))).collect::<Map<_, _>>(),
        ),
    }
}

#[test]
fn every_topology_file_that_is_read_is_as_its_schema_says() {
    let is_topology = |(name, _): &(String, String)| name == "topology.yaml";
    let topologies: Vec<_> = clusters().into_iter().flatten().filter(is_topology).collect();
    assert!(topologies.len() > 5);
    for (_, text) in &topologies {
        let value = to_json(&documents(text, 16).unwrap()[0]);
        assert_eq!(all_mistakes(input::TOPOLOGY_SCHEMA, &value), [] as [String; 0], "{text}");
    }
}

#[test]
fn a_topology_file_that_its_schema_refuses_is_refused() {
    let node = "net:\n  - {net type: tcp, local NI(s): [{interfaces: {0: eth0}}]}\n";
    let table = [
        "classes: {a: {class: node.yaml, addresses: {tcp: 10.0.0.1}, more: 1}}\n",
        "classes: {a: {count: 2, addresses: {tcp: 10.0.0.1}}}\n",
        "classes: {a: {class: node.yaml, count: 0, addresses: {tcp: 10.0.0.1}}}\n",
        "classes: {a: {class: node.yaml, count: 4294967297, addresses: {tcp: 'fd00::1'}}}\n",
        "classes: {a: {class: node.yaml, count: 18446744073709551616, addresses: {tcp: 'fd00::1'}}}\n",
        "classes: {a: {class: node.yaml, count: many, addresses: {tcp: 10.0.0.1}}}\n",
        "classes: {a: {class: node.yaml, accept_port: 70000, addresses: {tcp: 10.0.0.1}}}\n",
        "classes: {a: {class: node.yaml, mtu: {eth0: 1}, addresses: {tcp: 10.0.0.1}}}\n",
        "classes: {a: {class: node.yaml, addresses: {tcp: 10.0.0.1}}}\napart: [[a]]\n",
        "classes: {a: {class: node.yaml, addresses: {tcp: 10.0.0.1}}}\nmore: 1\n",
    ];
    for text in table {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("node.yaml"), node).unwrap();
        let file = directory.path().join("topology.yaml");
        fs::write(&file, text).unwrap();
        let problems = input::read(&[&file]).expect_err(text);
        assert!(
            problems.iter().all(|problem| problem.at.is_some_and(|at| at.line > 0)),
            "{text} {problems:?}"
        );
        let value = to_json(&documents(text, 16).unwrap()[0]);
        assert_ne!(all_mistakes(input::TOPOLOGY_SCHEMA, &value), [] as [String; 0], "{text}");
    }
}

fn fits(schema: &str, text: &str) {
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(all_mistakes(schema, &value), [] as [String; 0], "{text}");
}

#[test]
fn drills_and_surveys_have_the_form_of_their_schema() {
    let node = |name: &str, class: &str, address: u32| {
        DrillNode::new(name, class, NodeSpec::new(&[nid(0, address), nid(1, address)]))
    };
    let cluster = DrillCluster::of_all(vec![node("a", "clients", 1), node("b", "servers", 2)]);
    let plan = DrillPlan {
        load: "put:1k,x1".parse().unwrap(),
        duration: Duration::from_secs(6),
        rate: std::num::NonZeroU64::new(20_000),
        ..DrillPlan::default()
    };
    fits(drill::SCHEMA, &run(&cluster, &plan, &mut |_| ()).unwrap().to_json());
    fits(drill::SCHEMA, &survey(&cluster, &plan, LossKind::Node, &mut |_| ()).unwrap().to_json());
}

#[test]
fn comparisons_have_the_form_of_their_schema() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, net: &str, settings: &str| {
        let text = format!(
            "net:\n  - net type: {net}\n    local NI(s):\n      - {{nid: 10.0.0.1@{net}, interfaces: {{0: eth0}}}}\n{settings}"
        );
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(
            path,
            text.replace("10.0.0.1", if name.ends_with("a.yaml") { "10.0.0.1" } else { "10.0.0.2" }),
        )
        .unwrap();
    };
    write("old/a.yaml", "tcp", "");
    write("old/b.yaml", "tcp", "");
    write("old/d.yaml", "tcp3", "");
    write("new/a.yaml", "tcp", "global:\n    retry_count: 3\n");
    write("new/b.yaml", "tcp1", "");
    write("new/c.yaml", "tcp1", "");
    let read = |name: &str| input::read(&[directory.path().join(name)]).unwrap();
    let comparison = compare::compare(&read("old"), &read("new"));
    assert!(comparison.is_worse() && !comparison.added.is_empty() && !comparison.gone.is_empty());
    fits(compare::SCHEMA, &comparison.to_json());
}

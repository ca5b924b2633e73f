//! Tests of the schema: its keys beside those of the reader of files.

use super::rows::{ROWS, SECTIONS};
use super::{EVERY_MAPPING, document, keys_in, section_of};
use crate::model::Place;
use crate::ops::global::Setting;
use crate::yaml::tree::{MapEntry, Node, NodeKind, entries};
use crate::yaml::{Purpose, read};
use proptest::prelude::*;
use serde_json::Value;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Value> = LazyLock::new(document);

/// Fails if the reader has a new kind of mapping, or a new key, that the schema says nothing of; or if the schema tells of one that the
/// reader does not have.
#[test]
fn every_key_of_the_reader_has_its_row() {
    let found = keys_in(EVERY_MAPPING);
    for keys in &found {
        let section = section_of(keys).unwrap_or_else(|| panic!("no section for {keys:?}"));
        for key in &keys.read {
            let numbers =
                section.numbers.iter().flat_map(|numbers| numbers()).any(|(range, _)| range.name == *key);
            let rows =
                ROWS.iter().filter(|row| row.key == *key && row.sections.contains(&section.name)).count();
            assert_eq!(rows + usize::from(numbers), 1, "'{key}' of {}", section.name);
        }
    }
    let read = |section: &str, key: &str| {
        found.iter().any(|keys| section_of(keys).unwrap().name == section && keys.read.contains(key))
    };
    for row in ROWS {
        for section in row.sections {
            assert!(read(section, row.key), "{section} has no '{}'", row.key);
        }
    }
    for section in SECTIONS {
        assert!(found.iter().any(|keys| section_of(keys).unwrap().name == section.name), "{}", section.name);
    }
    let global = &document()["$defs"]["global"]["properties"];
    for setting in Setting::all_global() {
        assert_ne!(global[setting.name()]["description"], "Accepted, without effect.", "{setting:?}");
    }
}

/// The keys of a file that the schema does not allow.
fn refused(schema: &Value, node: &Node, all: &mut Vec<String>) {
    let target = match schema["$ref"].as_str() {
        Some(path) => &SCHEMA["$defs"][path.trim_start_matches("#/$defs/")],
        None => schema,
    };
    if !std::ptr::eq(target, schema) {
        refused(target, node, all);
    }
    if !schema["if"].is_null() {
        let branch = if holds(&schema["if"], node) { &schema["then"] } else { &schema["else"] };
        refused(branch, node, all);
    }
    for (key, dependent) in schema["dependentSchemas"].as_object().into_iter().flatten() {
        if has(node, key) {
            refused(dependent, node, all);
        }
    }
    match &node.kind {
        NodeKind::Seq(items) => items.iter().for_each(|item| refused(&schema["items"], item, all)),
        NodeKind::Map(entries) => {
            for MapEntry { key, value, .. } in entries {
                let property = &schema["properties"][key];
                let pattern = schema["patternProperties"].as_object().and_then(|all| {
                    all.iter().find(|(pattern, _)| matches(pattern, key)).map(|(_, schema)| schema)
                });
                match (property, pattern, &schema["additionalProperties"]) {
                    (Value::Null, None, Value::Bool(false)) => all.push(key.clone()),
                    (Value::Null, None, other) => refused(other, value, all),
                    (Value::Null, Some(pattern), _) => refused(pattern, value, all),
                    (Value::Bool(false), ..) => all.push(key.clone()),
                    (property, ..) => refused(property, value, all),
                }
                let not = &schema["propertyNames"]["not"]["pattern"];
                if not.as_str().is_some_and(|pattern| matches(pattern, key)) {
                    all.push(key.clone());
                }
            }
        }
        NodeKind::Empty | NodeKind::Null(_) | NodeKind::Scalar(_) => {}
    }
}

fn has(node: &Node, key: &str) -> bool {
    matches!(&node.kind, NodeKind::Map(entries) if entries.iter().any(|entry| entry.key == key))
}

fn matches(pattern: &str, key: &str) -> bool {
    match pattern {
        "^cpt\\[" => key.starts_with("cpt["),
        "^[0-9]+$" => !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()),
        other => panic!("{other}"),
    }
}

/// Whether the condition of an `if` holds.
fn holds(condition: &Value, node: &Node) -> bool {
    let is_of_type = match condition["type"].as_str() {
        None => true,
        Some("array") => matches!(node.kind, NodeKind::Seq(_)),
        Some("object") => matches!(node.kind, NodeKind::Map(_)),
        Some("string") => matches!(node.kind, NodeKind::Scalar(_)),
        other => panic!("{other:?}"),
    };
    let is_mapping = matches!(node.kind, NodeKind::Map(_));
    let required = condition["required"]
        .as_array()
        .is_none_or(|keys| keys.iter().all(|key| !is_mapping || has(node, key.as_str().unwrap())));
    is_of_type && required && (condition["not"].is_null() || !holds(&condition["not"], node))
}

fn refused_by_schema(entries: Vec<MapEntry>) -> Vec<String> {
    let mut all = Vec::new();
    let at = Place { line: 1, column: 1 };
    refused(&SCHEMA, &Node { at, kind: NodeKind::Map(entries) }, &mut all);
    all
}

/// The keys of which the reader says that there is none of that name.
fn refused_by_reader(text: &str) -> Vec<String> {
    let problems = read(text, Purpose::Add).err().unwrap_or_default();
    let key = |text: &str| {
        let (_, rest) =
            text.split_once(" has no key '").or_else(|| text.split_once("there is no block '"))?;
        rest.split_once('\'').map(|(key, _)| key.to_owned())
    };
    problems.iter().filter_map(|problem| key(&problem.text)).collect()
}

/// The text of a file, in one line.
fn text(node: &Node) -> String {
    match &node.kind {
        NodeKind::Empty | NodeKind::Null(_) => "null".to_owned(),
        NodeKind::Scalar(text) => format!("'{}'", text.replace('\'', "''")),
        NodeKind::Seq(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", ")),
        NodeKind::Map(entries) => {
            let entry = |entry: &MapEntry| format!("'{}': {}", entry.key, text(&entry.value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Adds a key to the mapping with this number, counted from outside and from the front.
fn insert(node: &mut Node, number: &mut usize, key: &str, value: &str) {
    match &mut node.kind {
        NodeKind::Map(entries) => {
            if *number == 0 && entries.iter().all(|entry| entry.key != key) {
                let at = node.at;
                let value = Node { at, kind: NodeKind::Scalar(value.to_owned()) };
                entries.push(MapEntry { key: key.to_owned(), at, value });
            }
            *number = number.wrapping_sub(1);
            entries.iter_mut().for_each(|entry| insert(&mut entry.value, number, key, value));
        }
        NodeKind::Seq(items) => items.iter_mut().for_each(|item| insert(item, number, key, value)),
        NodeKind::Empty | NodeKind::Null(_) | NodeKind::Scalar(_) => {}
    }
}

/// Files without an unknown key.
fn files() -> Vec<String> {
    let sample: String = include_str!("../../../../packaging/lnet.conf")
        .lines()
        .filter(|line| !line.starts_with("##"))
        .map(|line| format!("{}\n", line.strip_prefix('#').unwrap_or(line)))
        .collect();
    vec![
        EVERY_MAPPING.to_owned(),
        sample,
        include_str!("../../testdata/export-2.15.8.yaml").to_owned(),
        include_str!("../../testdata/export-backup-2.15.8.yaml").to_owned(),
    ]
}

#[test]
fn files_of_all_versions_have_no_key_that_the_schema_refuses() {
    for file in files() {
        assert_eq!(refused_by_schema(entries(&file).unwrap()), Vec::<String>::new(), "{file}");
        assert_eq!(refused_by_reader(&file), Vec::<String>::new(), "{file}");
    }
}

proptest! {
    /// Fails if an editor marks a key that an import accepts, or the other way round: in any mapping of any file.
    #[test]
    fn the_schema_refuses_a_key_where_an_import_does(
        file in 0..4_usize,
        mapping in 0..400_usize,
        key in prop::sample::select(
            ROWS.iter()
                .map(|row| row.key)
                .chain(["bogus", "0", "17", "cpt[0]", "range", "net", "nets", "non_mr", "credits", "state", "retry_count", "tcp bonding"])
                .collect::<Vec<_>>(),
        ),
        value in prop::sample::select(vec!["1", "eth0", "192.0.2.1@tcp"]),
    ) {
        let entries = entries(&files()[file]).unwrap();
        let mut node = Node { at: Place { line: 1, column: 1 }, kind: NodeKind::Map(entries) };
        let mut number = mapping;
        insert(&mut node, &mut number, key, value);
        let text = text(&node);
        let NodeKind::Map(entries) = node.kind else { unreachable!() };
        prop_assert_eq!(refused_by_schema(entries), refused_by_reader(&text), "{}", text);
    }
}

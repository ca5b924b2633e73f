//! The JSON Schema (2020-12) of files of configuration, for editors.
//!
//! The keys of each mapping are those that the reader of files accepts: it reads a file with every kind of mapping ([`EVERY_MAPPING`]), and
//! notes them. [`rows`] says which values the keys take.

mod rows;
#[cfg(test)]
mod tests;

use crate::ops::global::Setting;
use crate::ranges::Range;
use crate::yaml::{SectionKeys, block_names, keys_in};
use rows::{Kind, ROWS, SECTIONS, Section};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A file with every kind of mapping of every block.
const EVERY_MAPPING: &str = "
net:
    - net type: tcp
      tunables: {credits: 8, SMP: {CPT: 0}, lnd tunables: {nqps: 1}}
      local NI(s):
        - interfaces: {0: eth0}
        - interfaces: [{intf: eth1}]
ip2nets:
    - net-spec: tcp
      ip-range: {0: 192.0.2.1}
    - net: tcp1
      tunables: {credits: 8, SMP: {CPT: 0}, lnd tunables: {nqps: 1}}
route: [{net: tcp1, gateway: 192.0.2.1@tcp}]
routing: [{enable: 1}]
buffers: [{tiny: 1}]
peer: [{primary nid: 192.0.2.1@tcp, peer ni: [{nid: 192.0.2.1@tcp}]}]
global: [{retry_count: 1}]
numa: [{range: 1}]
udsp: [{src: tcp, action: {priority: 0}}]
selection: [{type: net, net: tcp, action: {priority: 0}}]
ping: [{primary nid: 192.0.2.1@tcp}]
discover: [{primary nid: 192.0.2.1@tcp}]
";

/// The address by which files name the schema; nothing is there to be fetched.
const ID: &str = "urn:liblnet:schema:lnet.conf";

/// The schema of files that are imported or applied. It knows keys, kinds of values, ranges of numbers and words; whether the
/// values fit together only an import says.
pub fn document() -> Value {
    let mut blocks = Map::new();
    let mut definitions = Map::new();
    for (name, others) in block_names() {
        let section = SECTIONS.iter().find(|section| section.block == name && section.is_item);
        let mut schema = Map::new();
        if let Some(section) = section {
            schema.insert("$ref".to_owned(), json!(format!("#/$defs/{}", block_definition(section))));
            definitions.insert(block_definition(section), items(section));
        }
        for key in std::iter::once(&name).chain(others) {
            let mut schema = schema.clone();
            let about = rows::BLOCKS.iter().find(|(block, _)| *block == name).map_or("", |(_, about)| *about);
            let about =
                if *key == name { about.to_owned() } else { format!("Another name of `{name}`. {about}") };
            schema.insert("description".to_owned(), json!(about.trim_end()));
            blocks.insert((*key).to_owned(), Value::Object(schema));
        }
    }
    for keys in keys_in(EVERY_MAPPING) {
        if let Some(section) = section_of(&keys) {
            definitions.entry(section.name).or_insert_with(|| mapping(section, &keys));
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "Configuration of LNet",
        "description": "Files that `lnetctl import` and `lnetctl apply` read, such as /etc/lnet/lnet.conf.",
        "type": ["object", "null"],
        "properties": blocks,
        "additionalProperties": false,
        "$defs": definitions,
    })
}

/// The schema as the text of a file.
pub fn text() -> String {
    format!("{:#}\n", document())
}

fn section_of(keys: &SectionKeys) -> Option<&'static Section> {
    SECTIONS.iter().find(|it| it.section == keys.section && (it.block.is_empty() || it.block == keys.block))
}

fn block_definition(section: &Section) -> String {
    format!("{}-items", section.name)
}

/// One item or a sequence of items, or none.
fn items(section: &Section) -> Value {
    let item = json!({ "$ref": format!("#/$defs/{}", section.name) });
    json!({ "if": { "type": "array" }, "then": { "items": item }, "else": item })
}

/// A kind of mapping.
fn mapping(section: &Section, keys: &SectionKeys) -> Value {
    let mut properties = BTreeMap::new();
    for key in keys.ignored.iter().chain(&keys.read) {
        properties.insert(*key, json!({ "description": "Accepted, without effect." }));
    }
    for key in &keys.read {
        let row = ROWS.iter().find(|row| row.key == *key && row.sections.contains(&section.name));
        let range =
            section.numbers.iter().flat_map(|numbers| numbers()).find(|(range, _)| range.name == *key);
        let (kind, about) = match (row, range) {
            (Some(row), _) => (value(row.kind), row.about.to_owned()),
            (None, Some((range, about))) => (number(range), about),
            (None, None) => continue,
        };
        properties.insert(*key, described(kind, &about));
    }
    if section.section == "global" {
        properties.extend(settings(section, &keys.ignored));
    }
    let mut schema = json!({
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": false,
    });
    if let Some(object) = schema.as_object_mut() {
        if !section.required.is_empty() {
            object.insert("required".to_owned(), json!(section.required));
            object.insert("type".to_owned(), json!("object"));
        }
        if let Some((pattern, about)) = section.pattern {
            object.insert("patternProperties".to_owned(), json!({ pattern: { "description": about } }));
        }
        if let Some((key, excluded)) = section.excludes {
            object
                .insert("dependentSchemas".to_owned(), json!({ key: { "properties": { excluded: false } } }));
        }
        if let Some(needed) = section.pattern_needs {
            let is_absent = json!({ "not": { "required": [needed] } });
            object.insert("if".to_owned(), is_absent);
            let pattern = section.pattern.map_or("", |(pattern, _)| pattern);
            object.insert("then".to_owned(), json!({ "propertyNames": { "not": { "pattern": pattern } } }));
        }
    }
    schema
}

fn described(mut schema: Value, about: &str) -> Value {
    if let (Some(object), false) = (schema.as_object_mut(), about.is_empty()) {
        object.insert("description".to_owned(), json!(format!("{about}.")));
    }
    schema
}

/// The settings among the keys of `global` and of `numa`, with their old keys.
fn settings(section: &Section, keys: &BTreeSet<&'static str>) -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    for setting in Setting::all_global() {
        let spec = setting.spec();
        let schema = match spec.values.words() {
            [] => number(spec.range()),
            words => one_of_words(spec.range(), words),
        };
        let schema = described(schema, spec.sentence);
        let old = spec.global.map_or(&[][..], |key| key.old_keys);
        let of_numa = (section.block == "numa" && setting == Setting::NumaRange).then_some("range");
        let names = std::iter::once(setting.name()).chain(old.iter().copied()).chain(of_numa);
        all.extend(names.filter(|name| keys.contains(name)).map(|name| (name, schema.clone())));
    }
    all
}

/// A number of a range, or one of the words for numbers from 0 on.
fn one_of_words(range: Range, words: &[&str]) -> Value {
    let mut accepted: Vec<Value> = words.iter().map(|word| json!(word)).collect();
    if let ["off", "on", ..] = words {
        accepted.extend(truth_words());
    }
    json!({ "anyOf": [number(range), { "enum": accepted }] })
}

/// The forms in which the reader accepts true and false. YAML makes a boolean of most of them.
fn truth_words() -> Vec<Value> {
    let words = ["true", "True", "TRUE", "false", "False", "FALSE"];
    [json!(true), json!(false)].into_iter().chain(words.map(|word| json!(word))).collect()
}

/// A whole number. In quotes it is accepted, too.
fn number(range: Range) -> Value {
    json!({ "type": ["integer", "string"], "pattern": "^\\s*-?[0-9]+\\s*$", "minimum": range.least, "maximum": range.most })
}

fn value(kind: Kind) -> Value {
    let text = json!({ "type": "string" });
    match kind {
        Kind::Any => json!({}),
        Kind::Text => text,
        Kind::Number(range) => number(range),
        Kind::Flag => {
            let mut accepted = truth_words();
            accepted.extend([json!(0), json!(1), json!("0"), json!("1")]);
            json!({ "enum": accepted })
        }
        Kind::Truth => {
            json!({ "anyOf": [{ "type": "boolean" }, { "type": "string", "pattern": "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$" }] })
        }
        Kind::Cpts => {
            let cpt = json!({ "type": ["integer", "string"] });
            json!({ "anyOf": [cpt, { "type": "array", "items": cpt, "minItems": 1 }] })
        }
        Kind::Selector => json!({ "type": ["string", "null"] }),
        Kind::Words(words) => json!({ "enum": words }),
        Kind::Mapping(section) => json!({ "$ref": format!("#/$defs/{section}") }),
        Kind::Items(section) => {
            let item = json!({ "$ref": format!("#/$defs/{section}") });
            json!({ "if": { "type": "array" }, "then": { "items": item }, "else": item })
        }
        Kind::TextsOrItems(section) => {
            let item =
                json!({ "if": { "type": "string" }, "else": { "$ref": format!("#/$defs/{section}") } });
            json!({ "if": { "type": "array" }, "then": { "items": item }, "else": item })
        }
        Kind::Texts => {
            let texts = json!({ "type": "string" });
            json!({
                "type": ["string", "array", "object"],
                "items": texts,
                "additionalProperties": texts,
            })
        }
        Kind::Interfaces => {
            let named = json!({
                "properties": { "lnd tunables": { "$ref": "#/$defs/lnd-tunables" } },
                "additionalProperties": { "type": "string" },
            });
            let mapping = json!({ "if": { "required": ["intf"] }, "then": { "$ref": "#/$defs/interface" }, "else": named });
            let one = json!({ "if": { "type": "object" }, "then": mapping, "else": { "type": "string" } });
            json!({ "if": { "type": "array" }, "then": { "items": one }, "else": one })
        }
        Kind::Action => {
            let one = json!({
                "if": { "type": "string" },
                "then": { "enum": ["NA", "preferred_list", "pref"] },
                "else": { "$ref": "#/$defs/action" },
            });
            json!({ "if": { "type": "array" }, "then": { "items": one }, "else": one })
        }
    }
}

//! The blocks `global`, `numa` and `statistics`.

use super::super::Purpose;
use super::super::fields::{Fields, Reader, no_value};
use super::super::scalars::{number, seq_no, yes_or_no};
use super::super::tree::{MapEntry, Node, NodeKind};
use crate::SeqNo;
use crate::model::{Block, Item};
use crate::ops::global::{Setting, refusal};

/// Keys that are accepted and have no effect.
const IGNORED: &[&str] = &["use_tcp_bonding", "tcp bonding", "tcp_bonding"];

/// The block `global`.
pub(super) fn global(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    settings(entry, reader, |key| Setting::all_global().find(|setting| keys(*setting).any(|its| its == key)))
}

/// The block `numa` of 2.10.
pub(super) fn numa(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    settings(entry, reader, |key| (key == "range").then_some(Setting::NumaRange))
}

/// The block `statistics`, which can only be shown.
pub(super) fn statistics(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    let number = match entry.value.items().first() {
        Some(node @ Node { kind: super::NodeKind::Map(_), .. }) => Fields::of(node, "statistics", reader)
            .map_or(SeqNo::NONE, |mut fields| seq_no(&mut fields, reader)),
        _ => SeqNo::NONE,
    };
    vec![Block::Statistics(Item { it: (), at: entry.at, seq_no: number })]
}

/// The keys of a setting, the old ones last.
fn keys(setting: Setting) -> impl Iterator<Item = &'static str> {
    let old = setting.spec().global.map_or(&[][..], |key| key.old_keys);
    std::iter::once(setting.name()).chain(old.iter().copied())
}

fn settings(entry: &MapEntry, reader: &mut Reader, named: fn(&str) -> Option<Setting>) -> Vec<Block> {
    let block = reader.block;
    let mut settings: Vec<(Setting, i64)> = Vec::new();
    let mut item_number = SeqNo::NONE;
    for node in entry.value.items() {
        let Some(mut fields) = Fields::of(node, "global", reader) else { continue };
        item_number = seq_no(&mut fields, reader);
        fields.ignore(IGNORED);
        for (key, at, value) in fields.others() {
            let Some(setting) = named(key) else { continue };
            reader.block = Some(setting.name());
            let value = match reader.purpose {
                // Only which settings are named matters.
                Purpose::Show | Purpose::Del | Purpose::Exec => Some(0),
                Purpose::Add if value.is_empty() => {
                    reader.wrong(at, no_value(key));
                    None
                }
                Purpose::Add => mode(setting, value)
                    .or_else(|| number(value, setting.spec().range(), refusal(setting), reader)),
            };
            if settings.iter().any(|(other, _)| *other == setting) {
                reader.wrong(at, format!("{} is said twice; keep one", setting.name()));
            }
            settings.extend(value.map(|value| (setting, value)));
        }
        reader.block = block;
        let all = Setting::all_global().flat_map(keys).chain(["range"]);
        fields.ignore(&all.filter(|key| named(key).is_some()).collect::<Vec<_>>());
        fields.finish(reader);
    }
    match settings.is_empty() {
        true => Vec::new(),
        false => vec![Block::Global(Item { it: settings, at: entry.at, seq_no: item_number })],
    }
}

/// The number of a word that a setting accepts in place of a number.
fn mode(setting: Setting, node: &Node) -> Option<i64> {
    let values = setting.spec().values;
    let word = match &node.kind {
        NodeKind::Scalar(word) => values.number_of(word.trim()),
        _ => None,
    };
    match values.words() {
        ["off", "on", ..] => word.or_else(|| yes_or_no(node).map(i64::from)),
        _ => word,
    }
}

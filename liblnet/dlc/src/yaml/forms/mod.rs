//! The blocks of a file, in every form that there has been (dlc 2, and 3 for older and draft forms).
//!
//! The reader of a block knows all its forms, because files mix them: each item is read
//! from wherever one of the forms has it.

mod actions;
mod global;
mod net;
mod peer;
mod route;
mod tunables;
mod udsp;

use super::fields::{Reader, SectionKeys};
use super::tree::{MapEntry, Node, NodeKind};
use super::{Problem, Purpose};
use crate::SeqNo;
use crate::host_names::Names;
use crate::model::{Block, Document, EmptyBlock, Item};
use crate::nearest;

/// Reads one block.
type Form = fn(&MapEntry, &mut Reader) -> Vec<Block>;

/// The top-level keys: each canonical one with its other spellings. lnetctl 2.15 accepts any word
/// that begins with a canonical one.
const BLOCKS: &[(&str, &[&str], Form)] = &[
    ("net", &["nets", "networks"], net::net),
    (ONLY_EXPORTED, &[], net::waiting),
    ("ip2nets", &[], net::ip2nets),
    ("route", &["routes"], route::route),
    ("routing", &[], route::routing),
    ("buffers", &[], route::buffers),
    ("peer", &["peers"], peer::peer),
    ("global", &[], global::global),
    ("numa", &[], global::numa),
    ("udsp", &["udsps", "policy"], udsp::udsp),
    ("selection", &[], udsp::selection),
    ("statistics", &[], global::statistics),
    ("ping", &[], actions::ping),
    ("discover", &[], actions::discover),
];

/// The block that an export has and nobody writes, so no error text names it.
const ONLY_EXPORTED: &str = "waiting interfaces";

/// The document that `entries` describe, and the problems of the file.
pub(super) fn document(entries: &[MapEntry], purpose: Purpose, names: Names) -> (Document, Vec<Problem>) {
    let mut reader = Reader::new(purpose, names);
    let mut document = Document::default();
    for entry in entries {
        (reader.block, reader.seq_no) = (None, SeqNo::NONE);
        let known =
            BLOCKS.iter().find(|(name, others, _)| *name == entry.key || others.contains(&&*entry.key));
        let Some((name, _, form)) = known else {
            let names = || BLOCKS.iter().map(|(name, ..)| *name).filter(|name| *name != ONLY_EXPORTED);
            let remedy = match nearest(&entry.key, names()) {
                none if none.is_empty() => format!("; there are {}", names().collect::<Vec<_>>().join(", ")),
                nearest => nearest,
            };
            reader.wrong(entry.at, format!("there is no block '{}'{remedy}", entry.key));
            continue;
        };
        if purpose == Purpose::Exec && !matches!(*name, "ping" | "discover") {
            continue;
        }
        reader.block = Some(match *name {
            "selection" => "udsp",
            "numa" => "global",
            ONLY_EXPORTED => "net",
            name => name,
        });
        let blocks = form(entry, &mut reader);
        if let (true, Some(name)) = (blocks.is_empty(), reader.block) {
            let has_value = !matches!(entry.value.kind, NodeKind::Empty | NodeKind::Null(_));
            document.empty.push(EmptyBlock { name, at: entry.at, has_value });
        }
        document.blocks.extend(blocks);
    }
    (document, reader.problems)
}

/// The top-level keys: the canonical ones with their other spellings.
pub(crate) fn block_names() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    BLOCKS.iter().map(|(name, others, _)| (*name, *others))
}

/// The keys of every mapping that the reader meets in this file, which is to have every kind of mapping. Each kind of mapping of a
/// block comes once.
pub(crate) fn keys_in(text: &str) -> Vec<SectionKeys> {
    let mut reader = Reader::new(Purpose::Add, Names::new());
    let mut all: Vec<SectionKeys> = Vec::new();
    for entry in super::tree::entries(text).unwrap_or_default() {
        let Some((block, _, form)) = BLOCKS.iter().find(|(name, ..)| *name == entry.key) else { continue };
        reader.keys = Some(Vec::new());
        form(&entry, &mut reader);
        for found in reader.keys.take().unwrap_or_default() {
            match all.iter_mut().find(|it| it.block == *block && it.section == found.section) {
                Some(known) => {
                    known.read.extend(found.read);
                    known.ignored.extend(found.ignored);
                }
                None => all.push(SectionKeys { block, ..found }),
            }
        }
    }
    all
}

/// Reads every item of a block: the items of a sequence, or one mapping. Each value that `item` returns becomes an item of
/// the block.
fn items<T>(
    block: &MapEntry,
    reader: &mut Reader,
    mut item: impl FnMut(&Node, &mut Reader) -> Vec<(T, SeqNo)>,
) -> Vec<Item<T>> {
    let mut all = Vec::new();
    for node in block.value.items() {
        reader.seq_no = SeqNo::NONE;
        all.extend(item(node, reader).into_iter().map(|(it, seq_no)| Item { it, at: node.at, seq_no }));
    }
    all
}

/// The block with these items; none without items.
fn some<T>(items: Vec<Item<T>>, block: fn(Vec<Item<T>>) -> Block) -> Vec<Block> {
    if items.is_empty() { Vec::new() } else { vec![block(items)] }
}

/// The values of a mapping regardless of its keys, the items of a sequence, or the single value.
fn values(node: &Node) -> Vec<&Node> {
    match &node.kind {
        NodeKind::Map(entries) => entries.iter().map(|entry| &entry.value).collect(),
        NodeKind::Empty | NodeKind::Null(_) | NodeKind::Scalar(_) | NodeKind::Seq(_) => {
            node.items().iter().collect()
        }
    }
}

#[cfg(test)]
mod tests;

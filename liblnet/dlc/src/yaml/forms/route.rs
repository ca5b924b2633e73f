//! `route`, `routing` and `buffers`.

use super::super::Purpose;
use super::super::fields::{Fields, Reader};
use super::super::scalars::{count, flag, net, nids, number, seq_no};
use super::super::tree::{Entry, Kind, Node};
use super::{items, some};
use crate::model::{Block, Item, RouteItem};
use crate::{ReturnCode, SeqNo};

/// The block `route`.
pub(super) fn route(entry: &Entry, reader: &mut Reader) -> Vec<Block> {
    some(items(entry, reader, route_item), Block::Route)
}

fn route_item(node: &Node, reader: &mut Reader) -> Vec<(RouteItem, SeqNo)> {
    let Some(mut fields) = Fields::of(node, "a route", reader) else { return Vec::new() };
    let number = seq_no(&mut fields, reader);
    let (net_at, gateway_at) = (fields.get("net"), fields.get("gateway"));
    if matches!(reader.purpose, Purpose::Add | Purpose::Del) {
        if net_at.is_none() {
            reader.missing(fields.at, "a route without its remote net; add 'net: NAME'");
        }
        if gateway_at.is_none() {
            reader.missing(fields.at, "a route without its gateway; add 'gateway: NID'");
        }
    }
    let net = net_at.and_then(|node| net(node, "net", reader));
    let gateway = gateway_at.and_then(|node| match (nids(node, "gateway", reader), &node.kind) {
        (Some(_), Kind::Scalar(text)) => Some(text.trim().to_owned()),
        _ => None,
    });
    let hops = bounded(&mut fields, "hop", 1, 255, reader);
    let priority = bounded(&mut fields, "priority", 0, i32::MAX.into(), reader);
    let sensitivity = bounded(&mut fields, "health_sensitivity", 1, i32::MAX.into(), reader);
    let detail = count(&mut fields, "detail", i32::MAX.into(), reader);
    fields.ignore(&["state", "type", "preferred by rules"]);
    fields.finish(reader);
    vec![(RouteItem { net, gateway, hops, priority, sensitivity, detail }, number)]
}

/// A number with bounds; -1 is "not said".
fn bounded(
    fields: &mut Fields<'_>,
    key: &'static str,
    min: i64,
    max: i64,
    reader: &mut Reader,
) -> Option<u32> {
    let node = fields.get(key)?;
    match number(node, key, -1..=max, ReturnCode::OUT_OF_RANGE, reader)? {
        -1 => None,
        value if value >= min => u32::try_from(value).ok(),
        value => {
            let said = format!("{key} {value} is not within {min} to {max}");
            reader.wrong_with(node.at, ReturnCode::OUT_OF_RANGE, said);
            None
        }
    }
}

/// The block `routing`: `enable`, in whichever item. The buffers of each CPT are only put out.
pub(super) fn routing(entry: &Entry, reader: &mut Reader) -> Vec<Block> {
    let mut enable = None;
    let mut number = SeqNo::NONE;
    for node in entry.value.items() {
        let Some(mut fields) = Fields::of(node, "routing", reader) else { continue };
        let own = seq_no(&mut fields, reader);
        if own != SeqNo::NONE {
            number = own;
        }
        enable = fields.get("enable").and_then(|node| flag(node, "enable", reader)).or(enable);
        for size in ["tiny", "small", "large"] {
            if let Some(entry) = fields.entry(size) {
                reader.wrong(entry.at, format!("'{size}' belongs to the block 'buffers'"));
            }
        }
        fields.finish_but(|key| key.starts_with("cpt["), reader);
    }
    vec![Block::Routing(Item { it: enable, at: entry.at, seq_no: number })]
}

/// The block `buffers`.
pub(super) fn buffers(entry: &Entry, reader: &mut Reader) -> Vec<Block> {
    let mut counts = [None; 3];
    let mut number = SeqNo::NONE;
    for node in entry.value.items() {
        let Some(mut fields) = Fields::of(node, "buffers", reader) else { continue };
        let own = seq_no(&mut fields, reader);
        if own != SeqNo::NONE {
            number = own;
        }
        for (size, key) in counts.iter_mut().zip(["tiny", "small", "large"]) {
            *size = count(&mut fields, key, i32::MAX.into(), reader).or(*size);
        }
        fields.finish(reader);
    }
    vec![Block::Buffers(Item { it: counts, at: entry.at, seq_no: number })]
}

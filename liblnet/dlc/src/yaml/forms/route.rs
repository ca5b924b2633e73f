//! The blocks `route`, `routing` and `buffers`.

use super::super::Purpose;
use super::super::fields::{Fields, Reader};
use super::super::scalars::{count, flag, net, nids, number, seq_no};
use super::super::tree::{MapEntry, Node, NodeKind};
use super::{items, some};
use crate::model::{BUFFER_NAMES, Block, Item, RouteItem};
use crate::ops::peer::{MAX_NIDS, parse_nids};
use crate::ranges::{DETAIL, HOPS, ROUTE_PRIORITY, ROUTE_SENSITIVITY, ROUTER_BUFFERS, Range};
use crate::{ReturnCode, SeqNo};
use lnet_wire::Nid;

/// The block `route`.
pub(super) fn route(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    some(items(entry, reader, route_item), Block::Route)
}

fn route_item(node: &Node, reader: &mut Reader) -> Vec<(RouteItem, SeqNo)> {
    let Some(mut fields) = Fields::of(node, "a route", reader) else { return Vec::new() };
    let number = seq_no(&mut fields, reader);
    let (net_at, gateway_at) = (fields.get("net", reader), fields.get("gateway", reader));
    if matches!(reader.purpose, Purpose::Add | Purpose::Del) {
        if !fields.has("net") {
            reader.missing(fields.at, "a route without its remote net; add 'net: NAME'");
        }
        if !fields.has("gateway") {
            reader.missing(fields.at, "a route without its gateway; add 'gateway: NID'");
        }
    }
    let net = net_at.and_then(|node| net(node, "net", reader));
    let gateway = gateway_at.and_then(|node| match (nids(node, "gateway", reader), &node.kind) {
        // Host names are replaced by their addresses, so that they are looked up once.
        (Some(nids), NodeKind::Scalar(text)) => Some(match parse_nids(text, MAX_NIDS) {
            Ok(_) => text.trim().to_owned(),
            Err(_) => nids.iter().map(Nid::to_string).collect::<Vec<_>>().join(" "),
        }),
        _ => None,
    });
    let hops = hops(&mut fields, reader);
    let priority = bounded(&mut fields, ROUTE_PRIORITY, reader);
    let sensitivity = bounded(&mut fields, ROUTE_SENSITIVITY, reader);
    let detail = count(&mut fields, DETAIL, reader);
    fields.ignore(&["state", "type", "preferred by rules"]);
    fields.finish(reader);
    vec![(RouteItem { net, gateway, hops, priority, sensitivity, detail }, number)]
}

/// Reads the number of hops; -1 stands for a route without one.
fn hops(fields: &mut Fields<'_>, reader: &mut Reader) -> Option<u32> {
    let node = fields.get(HOPS.name, reader)?;
    match &node.kind {
        NodeKind::Scalar(text) if text.trim() == "-1" => None,
        _ => bounded(fields, HOPS, reader),
    }
}

fn bounded(fields: &mut Fields<'_>, range: Range, reader: &mut Reader) -> Option<u32> {
    let node = fields.get(range.name, reader)?;
    u32::try_from(number(node, range, ReturnCode::OUT_OF_RANGE, reader)?).ok()
}

/// Reads the numbers of buffers, under the names of their sizes.
fn sizes(fields: &mut Fields<'_>, reader: &mut Reader) -> [Option<u32>; 3] {
    BUFFER_NAMES.map(|name| count(fields, Range { name, ..ROUTER_BUFFERS }, reader))
}

/// Merges the numbers of several items of one block.
fn merge(counts: &mut [Option<u32>; 3], said: [Option<u32>; 3]) {
    for (count, said) in counts.iter_mut().zip(said) {
        *count = said.or(*count);
    }
}

/// Reads the block `routing`: `enable`, in any item. The buffers of each CPT appear in output only. Numbers of buffers beside
/// `enable`, as in the Lustre manual, are those of the block `buffers`; they are set after forwarding is switched on.
pub(super) fn routing(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    let mut enable = None;
    let mut counts = [None; 3];
    let mut number = SeqNo::NONE;
    for node in entry.value.items() {
        let Some(mut fields) = Fields::of(node, "routing", reader) else { continue };
        let own = seq_no(&mut fields, reader);
        if own != SeqNo::NONE {
            number = own;
        }
        enable = fields.get("enable", reader).and_then(|node| flag(node, "enable", reader)).or(enable);
        let said = sizes(&mut fields, reader);
        merge(&mut counts, said);
        fields.finish_but(|key| key.starts_with("cpt["), reader);
    }
    let buffers = Block::Buffers(Item { it: counts, at: entry.at, seq_no: number });
    let routing = Block::Routing(Item { it: enable, at: entry.at, seq_no: number });
    if counts == [None; 3] { vec![routing] } else { vec![routing, buffers] }
}

/// The block `buffers`.
pub(super) fn buffers(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    let mut counts = [None; 3];
    let mut number = SeqNo::NONE;
    for node in entry.value.items() {
        let Some(mut fields) = Fields::of(node, "buffers", reader) else { continue };
        let own = seq_no(&mut fields, reader);
        if own != SeqNo::NONE {
            number = own;
        }
        let said = sizes(&mut fields, reader);
        merge(&mut counts, said);
        fields.finish(reader);
    }
    vec![Block::Buffers(Item { it: counts, at: entry.at, seq_no: number })]
}

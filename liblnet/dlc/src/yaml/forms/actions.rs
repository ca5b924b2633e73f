//! The blocks `ping` and `discover`, which are carried out and not configured.

use super::super::Purpose;
use super::super::fields::{Fields, Reader};
use super::super::scalars::{count, flag, nid, seq_no, text};
use super::super::tree::{MapEntry, Node};
use super::{items, some};
use crate::SeqNo;
use crate::model::{Block, DiscoverItem, PingItem};
use crate::ranges::PING_TIMEOUT_MS;
use lnet_wire::ProcessId;

/// The block `ping`.
pub(super) fn ping(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    let item = |node: &Node, reader: &mut Reader| {
        let Some(mut fields) = Fields::of(node, "a ping", reader) else { return Vec::new() };
        let number = seq_no(&mut fields, reader);
        let targets = targets(&mut fields, reader);
        let timeout_ms = count(&mut fields, PING_TIMEOUT_MS, reader);
        let source = fields.get("source_nid", reader).and_then(|node| nid(node, "source_nid", reader));
        finish(fields, reader);
        let one = |target| (PingItem { target, timeout_ms, source }, number);
        targets.into_iter().map(one).collect::<Vec<(PingItem, SeqNo)>>()
    };
    some(items(entry, reader, item), Block::Ping)
}

/// The block `discover`.
pub(super) fn discover(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    let item = |node: &Node, reader: &mut Reader| {
        let Some(mut fields) = Fields::of(node, "a discovery", reader) else { return Vec::new() };
        let number = seq_no(&mut fields, reader);
        let targets = targets(&mut fields, reader);
        let force = fields.get("force", reader).and_then(|node| flag(node, "force", reader)).unwrap_or(false);
        finish(fields, reader);
        let one = |target| (DiscoverItem { target, force }, number);
        targets.into_iter().map(one).collect::<Vec<(DiscoverItem, SeqNo)>>()
    };
    some(items(entry, reader, item), Block::Discover)
}

/// Reads the targets: `[PID-]NID`, or several with commas between.
fn targets(fields: &mut Fields<'_>, reader: &mut Reader) -> Vec<ProcessId> {
    let Some(node) = fields.get("primary nid", reader) else {
        if matches!(reader.purpose, Purpose::Add | Purpose::Exec) && !fields.has("primary nid") {
            reader.missing(fields.at, "whom? add 'primary nid: NID'");
        }
        return Vec::new();
    };
    let mut targets = Vec::new();
    for word in text(node, "primary nid", reader).unwrap_or_default().split(',').map(str::trim) {
        match reader.names.process(word) {
            Ok(target) => targets.push(target),
            Err(error) => reader.wrong(node.at, format!("primary nid '{word}': {error}")),
        }
    }
    targets
}

/// Accepts the keys that the output of a ping has besides these.
fn finish(mut fields: Fields<'_>, reader: &mut Reader) {
    fields.ignore(&["Multi-Rail", "peer ni", "errno", "descr"]);
    fields.finish(reader);
}

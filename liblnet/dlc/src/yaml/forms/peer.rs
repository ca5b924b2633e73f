//! The blocks `peer` and `peers`: canonical, FORM-1's flat list, FORM-2's `non_mr`, FORM-3's `ip2nets`, FORM-6's `nids`.

use super::super::Purpose;
use super::super::fields::{Fields, Reader, is_label};
use super::super::scalars::{count, nid, nids, seq_no, truth};
use super::super::tree::{MapEntry, Node, NodeKind};
use super::{items, some, values};
use crate::SeqNo;
use crate::model::{Block, PeerItem};
use crate::ops::peer::MAX_NIDS_OF_PEER;
use crate::ranges::DETAIL;
use lnet_wire::Nid;

/// Keys of a peer NI that are exported but ignored on import.
const NI_OUTPUT: &[&str] = &[
    "state",
    "reported status",
    "max_ni_tx_credits",
    "available_tx_credits",
    "min_tx_credits",
    "tx_q_num_of_buf",
    "available_rtr_credits",
    "min_rtr_credits",
    "refcount",
    "statistics",
    "sent_stats",
    "received_stats",
    "dropped_stats",
    "health stats",
    "lengths",
    "heat",
    "udsp info",
    "send_count",
    "recv_count",
    "drop_count",
    "ping_count",
    "next_ping",
    "peer statistics",
    "ni state",
    "unresponsive from",
    "next ping in",
];

/// The block `peer`.
pub(super) fn peer(entry: &MapEntry, reader: &mut Reader) -> Vec<Block> {
    some(items(entry, reader, peer_item), Block::Peer)
}

fn peer_item(node: &Node, reader: &mut Reader) -> Vec<(PeerItem, SeqNo)> {
    let Some(mut fields) = Fields::of(node, "a peer", reader) else { return Vec::new() };
    let number = seq_no(&mut fields, reader);
    let problems = reader.problems.len();
    let primary_at = fields.get("primary nid", reader);
    let primary = primary_at.and_then(|node| nid(node, "primary nid", reader));
    let multi_rail = fields.get("Multi-Rail", reader).and_then(|node| truth(node, "Multi-Rail", reader));
    // 2.10 has this key in place of the other; its presence alone has the meaning.
    let multi_rail = !fields.has("non_mr") && multi_rail.unwrap_or(true);
    let listed = fields.get("peer ni", reader).map(|node| peer_nis(node, reader));
    let ranges = fields.get("ip2nets", reader).map(|node| peer_nis(node, reader));
    let complete = complete_list(&mut fields, reader);
    let filter = fields.get("nid", reader);
    let detail = count(&mut fields, DETAIL, reader);
    fields.ignore(&["peer state", "discovery"]);
    fields.ignore(&["reachability", "reachability seconds", "paths", "usable paths"]);
    fields.ignore(NI_OUTPUT);
    let at = fields.at;
    match complete {
        Some(_) => fields.finish_but(is_label, reader),
        None => fields.finish(reader),
    }

    if let (Some(node), Some(_), _) | (Some(node), _, Some(_)) = (primary_at, &ranges, &complete) {
        reader.wrong(node.at, "'primary nid' does not go with 'ip2nets' or 'nids'; keep one");
    }
    if reader.purpose == Purpose::Show {
        // 2.15 reads `nid` alone: a file of peers shows everything.
        let one = filter.and_then(|node| nid(node, "nid", reader));
        let primary = one.or_else(|| complete.and_then(|nids| nids.first().copied()));
        return vec![(PeerItem { primary, nids: None, multi_rail, replace: false, detail }, number)];
    }
    let replace = complete.is_some();
    let all = complete.or(ranges).or(listed);
    if let Some(nids) = all.as_ref().filter(|nids| nids.len() > MAX_NIDS_OF_PEER) {
        reader.wrong(at, format!("a peer has at most {MAX_NIDS_OF_PEER} NIDs; here are {}", nids.len()));
    }
    // 2.9 only exported peers, one flat item each.
    let flat = filter.is_some() && primary_at.is_none() && all.is_none();
    if flat {
        return Vec::new();
    }
    let primary = match primary_at {
        Some(_) => primary,
        None if replace || fields_name_ranges(&all, node) => {
            all.as_ref().and_then(|nids| nids.first().copied())
        }
        None => None,
    };
    if primary.is_none() && reader.problems.len() == problems {
        reader.missing(at, "a peer without its primary NID; add 'primary nid: NID'");
    }
    vec![(PeerItem { primary, nids: all, multi_rail, replace, detail }, number)]
}

/// Whether the NIDs came as `ip2nets`, whose first NID is the primary one.
fn fields_name_ranges(nids: &Option<Vec<Nid>>, node: &Node) -> bool {
    let NodeKind::Map(entries) = &node.kind else { return false };
    nids.is_some() && entries.iter().any(|entry| entry.key == "ip2nets")
}

/// Reads `peer ni` or `ip2nets`: mappings with `nid`, or NIDs.
fn peer_nis(node: &Node, reader: &mut Reader) -> Vec<Nid> {
    let mut all = Vec::new();
    for item in node.items() {
        if let NodeKind::Scalar(_) = item.kind {
            all.extend(nids(item, "nid", reader).unwrap_or_default());
            continue;
        }
        let Some(mut fields) = Fields::of(item, "a peer NI", reader) else { continue };
        match fields.get("nid", reader) {
            Some(node) => all.extend(nids(node, "nid", reader).unwrap_or_default()),
            None if fields.has("nid") => {}
            None => reader.missing(fields.at, "a peer NI without its NID; add 'nid: NID'"),
        }
        fields.ignore(NI_OUTPUT);
        fields.finish(reader);
    }
    without_repeats(all)
}

/// Reads FORM-6: `nids` with labels below it or, as the design document prints it, with labels beside it.
fn complete_list(fields: &mut Fields<'_>, reader: &mut Reader) -> Option<Vec<Nid>> {
    let entry = fields.entry("nids")?;
    let below = values(&entry.value);
    let all: Vec<_> = if below.is_empty() { fields.numbered().collect() } else { below };
    Some(without_repeats(all.into_iter().filter_map(|node| nids(node, "a NID", reader)).flatten().collect()))
}

fn without_repeats(mut nids: Vec<Nid>) -> Vec<Nid> {
    let mut seen = std::collections::HashSet::with_capacity(nids.len());
    nids.retain(|nid| seen.insert(*nid));
    nids
}

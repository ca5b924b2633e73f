//! Detects statements of one file that contradict each other.

use super::{MAX_PROBLEMS, Problem};
use crate::model::{Block, Document, Place};
use crate::{ReturnCode, SeqNo};
use lnet_wire::{NetId, Nid};
use std::collections::HashMap;

/// A problem for each interface that is twice on one net, and each NID that has two peers.
pub(super) fn conflicts(document: &Document) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut interfaces: HashMap<(NetId, &str), Place> = HashMap::new();
    let mut nids: HashMap<Nid, (Nid, Place)> = HashMap::new();
    let mut wrong = |block, at, seq_no: SeqNo, text| {
        if problems.len() > MAX_PROBLEMS {
            return;
        }
        problems.push(Problem { at, block: Some(block), seq_no, rc: ReturnCode::BAD_PARAM, text });
    };
    for block in &document.blocks {
        match block {
            Block::Net(items) => {
                for item in items {
                    let Some(net) = item.it.net else { continue };
                    for spec in item.it.nis.iter().filter_map(|ni| ni.interface.as_ref()) {
                        if let Some(first) = interfaces.insert((net, &spec.name), item.at) {
                            let said = format!(
                                "interface {} is twice on net {net}, first in the item at {first}; keep one",
                                spec.name
                            );
                            wrong("net", item.at, item.seq_no, said);
                        }
                    }
                }
            }
            Block::Peer(items) => {
                for item in items {
                    let Some(primary) = item.it.primary else { continue };
                    for nid in std::iter::once(primary).chain(item.it.nids.iter().flatten().copied()) {
                        let (owner, first) = *nids.entry(nid).or_insert((primary, item.at));
                        if owner != primary {
                            let said = format!(
                                "NID {nid} is of peer {primary} here and of peer {owner} in the item at {first}; \
                                 a NID has one peer"
                            );
                            wrong("peer", item.at, item.seq_no, said);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    problems
}

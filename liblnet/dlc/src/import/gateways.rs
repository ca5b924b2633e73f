//! Order of gateways with several NIDs: a route creates its gateway as a peer, which cannot get more NIDs. Exported files
//! have the routes first.

use crate::model::{Block, Item, PeerItem};
use crate::ops::peer::{MAX_NIDS, parse_nids};
use lnet_wire::Nid;
use std::collections::HashSet;

/// Moves the multi-rail peers that are gateways before the first routes of the file.
pub(super) fn before_routes(mut blocks: Vec<Block>) -> Vec<Block> {
    let Some(first) = blocks.iter().position(|block| matches!(block, Block::Route(_))) else { return blocks };
    let gateways = gateways(&blocks);
    let is_gateway = |item: &mut Item<PeerItem>| {
        let peer = &item.it;
        let mut nids = peer.primary.iter().chain(peer.nids.iter().flatten());
        peer.multi_rail && nids.any(|nid| gateways.contains(nid))
    };
    let mut moved = Vec::new();
    for block in blocks.iter_mut().skip(first) {
        if let Block::Peer(items) = block {
            moved.extend(items.extract_if(.., is_gateway));
        }
    }
    if !moved.is_empty() {
        blocks.insert(first, Block::Peer(moved));
    }
    blocks
}

fn gateways(blocks: &[Block]) -> HashSet<Nid> {
    let routes = blocks.iter().filter_map(|block| match block {
        Block::Route(items) => Some(items),
        _ => None,
    });
    let lists = routes.flatten().filter_map(|item| item.it.gateway.as_deref());
    lists.flat_map(|list| parse_nids(list, MAX_NIDS).unwrap_or_default()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::yaml::{Purpose, read};

    /// cfg-170: fails if the routes of an export are made before their gateways have all their NIDs.
    #[test]
    fn gateways_with_several_nids_come_before_their_routes() {
        let text = "route:\n  - net: tcp9\n    gateway: 192.0.2.[1-2]@tcp\npeer:\n\
                    \x20 - primary nid: 192.0.2.1@tcp\n    Multi-Rail: True\n    peer ni:\n      - nid: 192.0.2.11@tcp\n\
                    \x20 - primary nid: 192.0.2.2@tcp\n    Multi-Rail: False\n\
                    \x20 - primary nid: 192.0.2.3@tcp\n    Multi-Rail: True\n";
        let blocks = before_routes(read(text, Purpose::Add).unwrap().blocks);
        let [Block::Peer(before), Block::Route(_), Block::Peer(after)] = &blocks[..] else {
            unreachable!("{blocks:?}")
        };
        let primaries = |items: &[Item<PeerItem>]| -> Vec<_> {
            items.iter().map(|item| item.it.primary.unwrap().to_string()).collect()
        };
        assert_eq!(primaries(before), ["192.0.2.1@tcp"]);
        assert_eq!(primaries(after), ["192.0.2.2@tcp", "192.0.2.3@tcp"]);
    }
}

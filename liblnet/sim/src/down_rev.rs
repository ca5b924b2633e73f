//! A node of a version without multi-rail (2.9 and before), simulated on the wire: it reports fewer features, and
//! understands fewer messages. Its core does not know.

use lnet_wire::byte_order::put_u32;
use lnet_wire::ping_info::{Features, PING_MAGIC};
use lnet_wire::{Body, Header, RESERVED_PORTAL};

/// Removes the features that the node does not support from a ping reply that it sends.
pub(crate) fn send(header: &Header, payload: &mut [u8], hidden: Features) {
    if !matches!(header.body, Body::Reply { .. }) {
        return;
    }
    let (Some(magic), Some(features)) = (word(payload, 0), word(payload, 4)) else { return };
    if magic == PING_MAGIC {
        put_u32(payload, 4, Features(features).with(hidden, false).0);
    }
}

/// Whether the node accepts a message that arrives: a node without multi-rail drops pushes.
pub(crate) const fn understands(header: &Header, hidden: Features) -> bool {
    !hidden.contains(Features::MULTI_RAIL)
        || !matches!(header.body, Body::Put { portal: RESERVED_PORTAL, .. })
}

fn word(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..offset + 4)?.try_into().ok().map(u32::from_le_bytes)
}

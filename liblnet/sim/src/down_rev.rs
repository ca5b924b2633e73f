//! A node of a version without multi-rail (2.9 and before), simulated on the wire: it reports fewer features, and
//! understands fewer messages. Its core does not know.

use lnet_wire::byte_order::put_u32;
use lnet_wire::ping_info::{Features, PING_MAGIC, ping_buffer_len};
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

/// Removes the entries with IPv6 NIDs from ping information for a node that does not know them: it counts the others, and reads no
/// further.
pub(crate) fn receive(header: &Header, payload: &mut [u8], hidden: Features) {
    let may_be_ping_info =
        matches!(header.body, Body::Reply { .. } | Body::Put { portal: RESERVED_PORTAL, .. });
    let is_whole = payload.len() >= ping_buffer_len(1) && word(payload, 0) == Some(PING_MAGIC);
    if may_be_ping_info && is_whole && hidden.contains(Features::LARGE_ADDR) {
        let features = word(payload, 4).unwrap_or_default();
        put_u32(payload, 4, Features(features).with(hidden, false).0);
        // The length of all entries, which only those know that read the others.
        put_u32(payload, ping_buffer_len(1) - 4, 0);
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

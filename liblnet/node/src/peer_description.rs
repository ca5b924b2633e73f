//! What a node knows of a peer, in words.

use lnet_core::Core;
use lnet_dlc::peer_state;
use lnet_wire::Nid;

/// Lines about the peer with this NID: its state, and the path to it.
pub fn describe_peer(core: &Core, nid: Nid) -> String {
    let known = match core.admin().peer(nid).zip(core.admin().discovery_of(nid)) {
        Some(((peer, _), its)) => {
            let state = peer_state::words(its.state.0).join(" ");
            let failure = its.failure.map(|failure| format!("; {failure}")).unwrap_or_default();
            let (primary, parked) = (peer.primary, its.parked);
            format!("peer {nid}: primary NID {primary}; {state}; {parked} messages wait{failure}")
        }
        None => format!("peer {nid}: not known"),
    };
    let path = match core.dist(nid) {
        Ok(way) => format!("peer {nid}: {} hops away, path from {}", way.hops, way.source),
        Err(errno) => format!("peer {nid}: not reachable ({errno})"),
    };
    format!("{known}\n{path}")
}

//! What the passive side answers to a connection request (wire-o2ib 6.2).

use crate::proto::{
    Body, ConnParams, MAX_FRAGMENTS, MESSAGE_SIZE, Message, Reject, RejectDetails, RejectReason, Version,
};
use lnet_wire::Nid;

/// The number of requests in a row that lose a race before one is let in.
const MAX_RACES: u32 = 20;

/// The interface that was asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalNi {
    pub(crate) nid: Nid,
    pub(crate) stamp: u64,
    /// The largest queue depth.
    pub(crate) depth: u16,
}

/// What is known of the peer NI that asks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownPeer {
    /// The incarnation and version of its connections.
    pub(crate) connected: Option<(u64, Version)>,
    /// Whether this node is connecting to it.
    pub(crate) is_connecting: bool,
    /// The requests of it in a row that lost a race.
    pub(crate) races: u32,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The connection is accepted, with these limits.
    Accept { peer: Nid, stamp: u64, version: Version, params: ConnParams },
    /// The connection is refused.
    Reject(Reject),
    /// The peer NI has another incarnation than its connections, which end. The connection is refused; the peer asks again.
    EndOthers { peer: Nid, reject: Reject },
    /// The connection is refused, as this node connects to the peer NI.
    Race { peer: Nid, reject: Reject },
}

/// Answers a connection request with this private data. `known` says what is known of a peer NI.
pub(crate) fn admit(private_data: &[u8], local: LocalNi, known: impl FnOnce(Nid) -> KnownPeer) -> Admission {
    let nameless = ConnParams { queue_depth: 0, max_fragments: 0, max_message_size: MESSAGE_SIZE as u32 };
    let unknown = reject(RejectReason::Fatal, 0, nameless);
    let Ok(message) = Message::decode(private_data) else { return Admission::Reject(unknown) };
    if message.dst_nid != local.nid {
        return Admission::Reject(unknown);
    }
    let own = ConnParams {
        queue_depth: local.depth,
        max_fragments: MAX_FRAGMENTS as u16,
        max_message_size: MESSAGE_SIZE as u32,
    };
    let because = |reason| reject(reason, local.stamp, own);
    let Body::ConnReq(asked) = message.body else { return Admission::Reject(because(RejectReason::Fatal)) };
    let (peer, stamp, version) = (message.src_nid, message.src_stamp, message.version);
    if peer.net() != local.nid.net() || asked.queue_depth == 0 || asked.max_fragments == 0 {
        return Admission::Reject(because(RejectReason::Fatal));
    }
    if message.dst_stamp != 0 && message.dst_stamp != local.stamp {
        return Admission::Reject(because(RejectReason::Stale));
    }
    if asked.queue_depth > own.queue_depth {
        return Admission::Reject(because(RejectReason::QueueTooDeep));
    }
    if asked.max_fragments > own.max_fragments {
        return Admission::Reject(because(RejectReason::TooManyFragments));
    }
    if asked.max_message_size > own.max_message_size {
        return Admission::Reject(because(RejectReason::Fatal));
    }
    let known = known(peer);
    if known.connected.is_some_and(|connected| connected != (stamp, version)) {
        return Admission::EndOthers { peer, reject: because(RejectReason::Stale) };
    }
    if known.is_connecting && local.nid.to_u64() > peer.to_u64() && known.races < MAX_RACES {
        return Admission::Race { peer, reject: because(RejectReason::Race) };
    }
    Admission::Accept {
        peer,
        stamp,
        version,
        params: ConnParams { max_message_size: MESSAGE_SIZE as u32, ..asked },
    }
}

const fn reject(reason: RejectReason, incarnation: u64, params: ConnParams) -> Reject {
    Reject { version: Version::V2.number(), reason, details: Some(RejectDetails { incarnation, params }) }
}

#[cfg(test)]
#[path = "admit_tests.rs"]
mod tests;

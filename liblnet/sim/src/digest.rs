//! What a message is about, in a few words: for traces, and for counting what discovery costs.

use lnet_wire::ping_info::{Features, PingInfo};
use lnet_wire::{Body, Header, RESERVED_PORTAL};
use std::fmt;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Asks a node for its NIDs.
    Ping,
    /// Answers that.
    PingReply,
    /// Tells a node of one's own NIDs.
    Push,
    /// An application's PUT.
    Put,
    /// An application's GET.
    Get,
    /// The confirmation of a PUT or a push.
    Ack,
    /// An application's data.
    Reply,
}

/// A message without its payload.
#[derive(Clone, Copy, Debug)]
pub struct Digest {
    /// Its header.
    pub header: Header,
    /// What it is for.
    pub purpose: Purpose,
    /// The ping information of its sender, if it carries any.
    pub block: Option<Block>,
}

/// The head of a ping block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Counts the sender's configurations.
    pub sequence: u32,
    /// What it can do.
    pub features: Features,
    /// How many NIDs it has, without the loopback.
    pub nids: usize,
}

impl Digest {
    /// Of a message on the wire.
    pub fn of(header: &Header, payload: Option<&[u8]>) -> Self {
        let block = match header.body {
            Body::Put { portal: RESERVED_PORTAL, .. } | Body::Reply { .. } => payload.and_then(block_in),
            _ => None,
        };
        let purpose = match header.body {
            Body::Get { portal: RESERVED_PORTAL, .. } => Purpose::Ping,
            Body::Put { portal: RESERVED_PORTAL, .. } => Purpose::Push,
            Body::Get { .. } => Purpose::Get,
            Body::Put { .. } => Purpose::Put,
            Body::Ack { .. } => Purpose::Ack,
            Body::Reply { .. } if block.is_some() => Purpose::PingReply,
            Body::Reply { .. } => Purpose::Reply,
        };
        Self { header: *header, purpose, block }
    }
}

fn block_in(payload: &[u8]) -> Option<Block> {
    let info = PingInfo::decode(payload, u16::MAX.into()).ok()?.info;
    Some(Block { sequence: info.sequence, features: info.features, nids: info.entries.len() })
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { src_nid, dest_nid, payload_length, .. } = self.header;
        let name = match self.purpose {
            Purpose::Ping => "ping",
            Purpose::PingReply => "reply to a ping",
            Purpose::Push => "push",
            Purpose::Put => "PUT",
            Purpose::Get => "GET",
            Purpose::Ack => "ACK",
            Purpose::Reply => "REPLY",
        };
        write!(f, "{src_nid} -> {dest_nid} {name}")?;
        match self.block {
            Some(Block { sequence, features, nids }) => {
                write!(f, ": number {sequence}, {nids} NIDs, features {:#x}", features.0)
            }
            None if payload_length > 0 => write!(f, ", {payload_length} bytes"),
            None => Ok(()),
        }
    }
}

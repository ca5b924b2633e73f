//! Summary of a message: for traces, and for counts of discovery messages.

use lnet_wire::ping_info::{Features, PingInfo};
use lnet_wire::{Body, Header, RESERVED_PORTAL};
use std::fmt;

/// The purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A GET that asks a node for its NIDs.
    Ping,
    /// Responds to a ping.
    PingReply,
    /// Sends the sender's own NIDs to a node.
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
    /// The header.
    pub header: Header,
    /// The purpose.
    pub purpose: Purpose,
    /// The ping information of the sender, if the message carries any.
    pub block: Option<Block>,
}

/// The head of a ping block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number of the sender's configuration.
    pub sequence: u32,
    /// The capabilities of the sender.
    pub features: Features,
    /// Number of the sender's NIDs, without the loopback.
    pub nids: usize,
}

impl Digest {
    /// Makes the digest of a message on the wire.
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

//! The seeds of the fuzz targets for the InfiniBand driver: captured messages and private data.

use crate::support::roce::{Content, sent};
use o2iblnd::proto::{Message, Reject};

/// Captures with messages of every type, and with requests that are refused.
const CAPTURES: [&str; 4] = ["host-variants", "lst-4k-read", "lst-4k-write", "x-cksum"];

/// Gives `add` the first message of each type, and the first private data of each meaning.
pub fn seeds(mut add: impl FnMut(&str, String, Vec<u8>)) {
    for capture in CAPTURES {
        for sent in sent(&format!("o2ib/k2158-o2ib-{capture}.pcap")) {
            let (target, bytes) = match sent.content {
                Content::Message(bytes) => ("o2iblnd_message", bytes),
                Content::Request(bytes) | Content::Acceptance(bytes) | Content::Reject(_, bytes) => {
                    ("o2iblnd_private_data", bytes)
                }
                Content::OtherManagement(_) => continue,
            };
            let name = match (Message::decode(&bytes), Reject::decode(&bytes)) {
                (Ok(message), _) => {
                    let order = if bytes[0] == 0x0b { "big" } else { "little" };
                    format!("{}-{order}-{:?}", message.body.kind(), message.version)
                }
                (_, Ok(reject)) if bytes.len() == 148 => format!("reject-{}", reject.reason.number()),
                _ => format!("{capture}-{}", sent.packet),
            };
            add(target, name.to_lowercase(), bytes);
        }
    }
}

//! The seeds of the fuzz targets for the TCP driver: the first bytes of captured streams.

use crate::support::conversation::{Content, Item, said};
use crate::support::pcap;
use crate::support::streams::{self, Side};
use lnet_wire::byte_order::ByteOrder;
use socklnd::proto::hello::Version;

/// Captures with connections of every version, and with nonsense.
const CAPTURES: [&str; 10] = [
    "k2158-host-hello-variants.pcap",
    "k2158-k-checksum-on.pcap",
    "k2158-k-untyped-conns.pcap",
    "k2158-h-routed-ping.pcap",
    "k2158-d-lst-ping.pcap",
    "k2158-c-lst-write-full-4k.pcap",
    "k2170-i-large-nid-ping.pcap",
    "k2170-v46-both-families-v6first.pcap",
    "k2170-v4only-peer.pcap",
    "k2170-v6-hello-variants.pcap",
];

/// Maximum length of a stream, and of a message with its payload, in bytes. Fuzzers work best on short inputs.
const MAX_STREAM: usize = 600;
const MAX_FRAME: usize = 160;

/// Gives `add` the first stream, and the first message of each kind, for each of the targets.
pub fn seeds(mut add: impl FnMut(&str, String, Vec<u8>)) {
    for capture in CAPTURES {
        let short_name = capture.trim_end_matches(".pcap");
        for connection in streams::connections(&pcap::segments(capture)) {
            for side in [Side::Opener, Side::Acceptor] {
                let stream = connection.stream(side);
                let beginning = stream.read(0..stream.next_hole(0).min(MAX_STREAM)).bytes;
                if beginning.is_empty() {
                    continue;
                }
                let from_opener = side == Side::Opener;
                // The stream is delivered in pieces of 24 bytes.
                let with_choice = [vec![24 << 1 | u8::from(from_opener)], beginning.clone()].concat();
                add("socklnd_stream", format!("{short_name}-{side:?}").to_lowercase(), with_choice);
                if from_opener {
                    let len = beginning.len().min(28);
                    let name: String = beginning.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                    add("socklnd_acceptor", name, beginning[..len].to_vec());
                }
                let mut order = ByteOrder::Little;
                for item in said(&connection, side) {
                    let longest = item.range.start + MAX_FRAME;
                    let excerpt = stream.read(item.range.start..item.range.end.min(longest));
                    if !excerpt.is_captured() {
                        continue;
                    }
                    if let Content::Hello { hello, order: its } = &item.content {
                        order = *its;
                        let kind =
                            hello.connection_type.map_or_else(|| "none".to_owned(), |it| format!("{it:?}"));
                        let name = format!("{:?}-{order:?}-{kind}", hello.version).to_lowercase();
                        add("socklnd_hello", name, excerpt.bytes);
                    } else if let Some((name, version)) = kind_of_frame(&item) {
                        let choice = (version as u8 - 1) | if order == ByteOrder::Big { 4 } else { 0 };
                        add("socklnd_frame", name, [vec![choice], excerpt.bytes].concat());
                    }
                }
            }
        }
    }
}

fn kind_of_frame(item: &Item) -> Option<(String, Version)> {
    match &item.content {
        Content::Message { version, header, .. } => {
            let kind = header.body.kind();
            Some((format!("{version:?}-{kind:?}").to_lowercase(), *version))
        }
        Content::Noop { .. } => Some(("noop".to_owned(), Version::V3)),
        _ => None,
    }
}

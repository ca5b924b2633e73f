//! Captured streams of kernel nodes, truncated and with flipped bits.

use crate::hostile::{close, send_until_closed};
use crate::support::conversation::{Content, said};
use crate::support::netns::namespace_or_skip;
use crate::support::pcap;
use crate::support::scene::{Random, Scene};
use crate::support::streams::{self, Side};
use lnet_wire::Nid;

#[test]
fn captured_streams_with_flipped_bits_disturb_no_other_peer() {
    const STREAMS: usize = 300;
    // A reply goes to the NID that the flipped bits make: from the namespace nothing leaves.
    let Some(_namespace) = namespace_or_skip() else { return };
    let mut scene = Scene::new(|_| {});
    let streams = captured_streams(&scene);
    assert!(streams.len() >= 10, "{}", streams.len());
    let mut random = Random(3);
    for part in 0..3 {
        scene.privileged = part == 1;
        scene.with_other_traffic(|| {
            for _ in 0..STREAMS / 3 {
                let mut bytes = streams[random.below(streams.len())].clone();
                bytes.truncate(1 + random.below(bytes.len()));
                for _ in 0..1 + random.below(8) {
                    // Most changes are in the headers.
                    let within = if random.below(2) == 0 { bytes.len().min(200) } else { bytes.len() };
                    bytes[random.below(within)] ^= 1 << random.below(8);
                }
                let mut raw = scene.connect();
                send_until_closed(&mut raw, &bytes);
                close(raw, random.below(2) == 0);
            }
            scene.serves_a_new_node();
        });
    }
}

/// The bytes that the connecting sides of captured connections sent, up to the first hole, with the NIDs of the node and of the
/// hostile peer in place of the captured ones.
fn captured_streams(scene: &Scene) -> Vec<Vec<u8>> {
    const MAX_STREAM: usize = 20_000;
    let files = [
        "k2158-k-checksum-on.pcap",
        "k2158-d-lst-ping.pcap",
        "k2158-h-routed-ping.pcap",
        "k2158-c-lst-write-full-4k.pcap",
        "k2158-c-lst-read-full-4k.pcap",
        "k2158-host-hello-variants.pcap",
    ];
    let connections = files.iter().flat_map(|file| streams::connections(&pcap::segments(file)));
    let with_our_nids = |connection: &streams::Connection| {
        let stream = connection.stream(Side::Opener);
        let bytes = stream.read(0..stream.next_hole(0).min(MAX_STREAM)).bytes;
        let hello = said(connection, Side::Opener).into_iter().find_map(|item| match item.content {
            Content::Hello { hello, .. } => hello.dest_nid.map(|dest| (hello.src_nid, dest)),
            _ => None,
        });
        let Some((src, dest)) = hello else { return bytes };
        let eight = |nid: Nid| nid.to_u64().unwrap_or_default().to_le_bytes();
        let bytes = replaced(&bytes, eight(dest), eight(scene.node.nid));
        replaced(&bytes, eight(src), eight(scene.hostile_nid()))
    };
    connections.map(|connection| with_our_nids(&connection)).filter(|bytes| !bytes.is_empty()).collect()
}

fn replaced(bytes: &[u8], from: [u8; 8], to: [u8; 8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut start = 0;
    while let Some(found) = bytes[start..].windows(8).position(|window| window == from) {
        bytes[start + found..start + found + 8].copy_from_slice(&to);
        start += found + 8;
    }
    bytes
}

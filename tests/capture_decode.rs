//! Every message of every captured kernel conversation is understood, and writing it again gives the same
//! bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_wire::byte_order::ByteOrder;
use lnet_wire::ping_info::{PING_MAGIC, PingInfo};
use lnet_wire::{Body, MessageType, PING_MATCH_BITS, RESERVED_PORTAL};
use socklnd::proto::Version;
use socklnd::proto::acceptor::{self, REQUEST_LEN};
use socklnd::proto::frame::Head;
use std::collections::HashMap;
use std::sync::LazyLock;
use support::conversation::{self, Content, Item};
use support::pcap::{self, Segment};
use support::streams::{self, Connection, Side};

/// The counts of everything that a capture holds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    connections: usize,
    requests: usize,
    refused_requests: usize,
    /// HELLOs of all kinds; `nones` of them say that there is to be no connection.
    hellos: usize,
    nones: usize,
    noops: usize,
    acks: usize,
    puts: usize,
    gets: usize,
    replies: usize,
    /// Ping information blocks in PUTs and REPLYs.
    ping_infos: usize,
    /// Streams that end in bytes which no codec takes.
    undecoded: usize,
    /// Stretches of a thinned capture between two messages.
    skipped: usize,
    /// Messages that are incomplete because their connection ended.
    cut_short: usize,
}

/// The columns of [`CAPTURES`].
type Row = (&'static str, [usize; 14]);

/// The captures with their expected counts. For complete captures each number is also that of the captures' own decoder. That
/// decoder stops at the first hole of a stream, so the thinned `m-*` are counted here alone, except their HELLOs: the decoder
/// misses as many of them as there are packets behind a hole that start with a HELLO. Of the odd requests it reads some that no node sends.
#[rustfmt::skip]
const CAPTURES: [Row; 35] = [
    // connections, requests, refused; HELLOs, of these none; NOOPs, ACKs, PUTs, GETs, REPLYs; ping infos; undecoded, skipped, cut short
    ("k2158-a-ping-1ni-nodisc.pcap",        [3, 3, 0, 6, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0]),
    ("k2158-b-discover-2rail-mr.pcap",      [6, 6, 0, 12, 0, 0, 2, 2, 1, 1, 3, 0, 0, 0]),
    ("k2158-c-lst-read-4k.pcap",            [3, 3, 0, 6, 0, 0, 0, 21, 2, 2, 2, 0, 0, 0]),
    ("k2158-c-lst-read-full-4k.pcap",       [3, 3, 0, 6, 0, 0, 0, 23, 2, 2, 2, 0, 0, 0]),
    ("k2158-c-lst-write-1m.pcap",           [3, 3, 0, 6, 0, 2, 0, 10, 4, 4, 2, 0, 0, 0]),
    ("k2158-c-lst-write-4k.pcap",           [3, 3, 0, 6, 0, 0, 0, 18, 7, 7, 2, 0, 0, 0]),
    ("k2158-c-lst-write-full-4k.pcap",      [3, 3, 0, 6, 0, 0, 0, 18, 7, 7, 2, 0, 0, 0]),
    ("k2158-c2-lst-read-1m-run.pcap",       [3, 3, 0, 6, 0, 62, 0, 194, 2, 2, 2, 0, 0, 0]),
    ("k2158-d-lst-ping.pcap",               [3, 3, 0, 6, 0, 0, 0, 46, 2, 2, 2, 0, 0, 0]),
    ("k2158-g-ping-disc-off-to-on.pcap",    [6, 6, 0, 12, 0, 0, 0, 0, 2, 2, 2, 0, 0, 0]),
    ("k2158-h-routed-ping.pcap",            [6, 6, 0, 12, 0, 0, 15, 15, 6, 6, 21, 0, 0, 0]),
    ("k2158-host-hello-variants.pcap",      [25, 21, 1, 27, 3, 0, 0, 0, 0, 0, 0, 9, 0, 0]),
    ("k2158-j-conns-per-peer-4.pcap",       [9, 9, 0, 18, 0, 16, 0, 40, 19, 19, 3, 0, 0, 0]),
    ("k2158-k-accept-all-nonpriv.pcap",     [5, 3, 0, 6, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0]),
    ("k2158-k-checksum-on.pcap",            [3, 3, 0, 6, 0, 2, 0, 12, 5, 5, 3, 0, 0, 0]),
    ("k2158-k-ping-wrong-net.pcap",         [1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ("k2158-k-simultaneous-connect.pcap",   [4, 4, 0, 8, 1, 0, 0, 0, 2, 2, 2, 0, 0, 0]),
    ("k2158-k-untyped-conns.pcap",          [1, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ("k2158-m-failover-a.pcap",             [24, 19, 0, 48, 2, 404, 2, 1049, 458, 472, 0, 0, 906, 3]),
    ("k2158-m-failover-b.pcap",             [29, 21, 0, 54, 2, 659, 2, 1872, 747, 756, 0, 0, 930, 1]),
    ("k2158-m-failover-b2.pcap",            [21, 12, 0, 42, 0, 475, 2, 1118, 500, 515, 0, 0, 1035, 2]),
    ("k2170-accept-port-bulk-both.pcap",    [3, 3, 0, 6, 0, 0, 2, 2, 3, 3, 5, 0, 0, 0]),
    ("k2170-accept-port-bulk-g1only.pcap",  [2, 1, 0, 2, 0, 0, 2, 2, 3, 3, 5, 0, 0, 0]),
    ("k2170-accept-port-bulk-g2only.pcap",  [3, 3, 0, 6, 0, 0, 2, 2, 3, 3, 5, 0, 0, 0]),
    ("k2170-d-lst-ping.pcap",               [3, 3, 0, 6, 0, 0, 0, 48, 2, 2, 2, 0, 0, 0]),
    ("k2170-i-large-nid-ping.pcap",         [3, 3, 0, 6, 0, 0, 2, 2, 2, 2, 4, 0, 0, 0]),
    ("k2170-v4-router-v6.pcap",             [6, 6, 0, 12, 0, 4, 6, 6, 4, 4, 10, 0, 0, 0]),
    ("k2170-v46-both-families-v6first.pcap", [9, 9, 0, 18, 0, 0, 2, 2, 6, 6, 8, 0, 0, 0]),
    ("k2170-v46-both-families.pcap",        [14, 14, 0, 28, 3, 3, 2, 2, 6, 6, 8, 0, 0, 0]),
    ("k2170-v4only-peer-rev.pcap",          [15, 15, 0, 30, 4, 12, 2, 3, 5, 5, 8, 0, 0, 0]),
    ("k2170-v4only-peer.pcap",              [19, 19, 0, 38, 4, 9, 2, 3, 6, 6, 9, 0, 0, 0]),
    ("k2170-v6-2rail-discover.pcap",        [12, 12, 0, 24, 0, 0, 4, 4, 2, 2, 6, 0, 0, 0]),
    ("k2170-v6-dlc.pcap",                   [17, 15, 0, 30, 0, 0, 5, 5, 14, 14, 19, 0, 0, 0]),
    ("k2170-v6-hello-variants.pcap",        [54, 48, 1, 65, 3, 0, 0, 0, 8, 4, 4, 17, 0, 0]),
    ("k2170-v64-v6-added-first.pcap",       [11, 11, 0, 22, 3, 0, 2, 2, 2, 2, 4, 0, 0, 0]),
];

#[test]
fn the_totals_of_every_capture_are_those_of_the_captures_own_decoder() {
    for ((file, columns), (_, conversations)) in CAPTURES.iter().zip(SAID.iter()) {
        let mut totals = Totals { connections: conversations.len(), ..Totals::default() };
        for (connection, items) in conversations {
            items.iter().for_each(|item| totals.count(connection, item));
        }
        assert_eq!(totals, Totals::from(*columns), "{file}");
    }
}

#[test]
fn no_capture_is_left_out() {
    let mut files: Vec<String> = std::fs::read_dir(pcap::capture_path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".pcap"))
        .map(|name| name.trim_end_matches(".gz").to_owned())
        .collect();
    files.sort();
    assert_eq!(files, CAPTURES.map(|(file, _)| file));
}

#[test]
fn only_deliberately_invalid_messages_cannot_be_decoded() {
    let mut found = Vec::new();
    for_every_item(|file, connection, item| {
        if let Content::Undecoded { why } = &item.content {
            found.push((file.to_owned(), connection.opener.port(), why.clone()));
        }
    });
    let found: Vec<_> = found.iter().map(|(file, port, why)| (file.as_str(), *port, why.as_str())).collect();
    assert_eq!(found, RUBBISH);
}

/// Items that no codec accepts: the capture, the sender's port, and the error.
const RUBBISH: [(&str, u16, &str); 27] = [
    // HELLO version 4, but as short as one of version 3.
    (VARIANTS, 1021, "HELLO: Ok(Need(80))"),
    (VARIANTS, 1020, "HELLO: Err(UnknownVersion(99))"),
    (VARIANTS, 1019, "HELLO: Err(BadMagic(3735928559))"),
    // Request version 2 with an eight-byte NID.
    (VARIANTS, 1016, "request: Close(NotMine(None))"),
    // Request version 99.
    (VARIANTS, 1015, "request: Refuse"),
    (VARIANTS, 1014, "request: Close(BadMagic(305419896))"),
    (VARIANTS, 1011, "HELLO: Err(UnknownType(7))"),
    (VARIANTS, 1008, "HELLO: Err(SourceNotConcrete)"),
    (VARIANTS, 1002, "HELLO: Err(BadIpList(68))"),
    // Text from an unprivileged port.
    ("k2158-k-accept-all-nonpriv.pcap", 55722, "request: Close(BadMagic(1969712994))"),
    // NIDs of a size that no NID has, the wildcard, and a short NID with bytes behind it.
    (VARIANTS_2_17, 1002, "request: Close(NotMine(None))"),
    (VARIANTS_2_17, 1001, "request: Close(NotMine(None))"),
    (VARIANTS_2_17, 998, "request: Close(NotMine(None))"),
    (VARIANTS_2_17, 996, "request: Close(NotMine(None))"),
    (VARIANTS_2_17, 994, "HELLO: Err(SourceNotConcrete)"),
    (VARIANTS_2_17, 993, "HELLO: Err(SourceNotConcrete)"),
    (VARIANTS_2_17, 991, "HELLO: Err(SourceNotConcrete)"),
    // A request and a HELLO of which the rest does not come.
    (VARIANTS_2_17, 990, "request: Need(28)"),
    (VARIANTS_2_17, 989, "HELLO: Ok(Need(80))"),
    (VARIANTS_2_17, 984, "HELLO: Err(UnknownType(4))"),
    (VARIANTS_2_17, 983, "HELLO: Err(UnknownType(7))"),
    // Addresses behind a HELLO of version 4, which has none.
    (VARIANTS_2_17, 981, "frame: Ok(Need(24))"),
    (VARIANTS_2_17, 980, "frame: Err(UnknownKind(67305985))"),
    (VARIANTS_2_17, 979, "HELLO: Err(UnknownVersion(5))"),
    (VARIANTS_2_17, 978, "HELLO: Err(UnknownVersion(99))"),
    (VARIANTS_2_17, 977, "request: Refuse"),
    // Twelve bytes too many behind a request of version 1.
    (VARIANTS_2_17, 976, "HELLO: Err(BadMagic(0))"),
];

const VARIANTS: &str = "k2158-host-hello-variants.pcap";
const VARIANTS_2_17: &str = "k2170-v6-hello-variants.pcap";

#[test]
fn every_message_is_encoded_as_the_kernel_encoded_it() {
    for_every_item(|file, connection, item| {
        let Some(again) = written_again(item) else { return };
        let range = item.range.start..item.range.start + again.len();
        let original = connection.stream(item.from).read(range);
        if file == VARIANTS_2_17 && has_odd_field(item, &original.bytes) {
            return;
        }
        assert!(original.agrees_with(&again), "{file}: {item:?}\n{:x?}\n{again:x?}", original.bytes);
    });
}

/// Whether this is one of four HELLOs of version 4 with a field that no node writes, and that is not kept: two from a script with a number of
/// addresses, and two of the kernel with an impossible NID that it was asked from.
fn has_odd_field(item: &Item, original: &[u8]) -> bool {
    let Content::Hello { hello, .. } = &item.content else { return false };
    let says_addresses = hello.version == Version::V4 && original[76..80] != [0; 4];
    says_addresses || (item.from == Side::Acceptor && hello.dest_nid.is_none())
}

#[test]
fn every_ping_info_is_encoded_as_the_kernel_encoded_it() {
    for_every_item(|file, connection, item| {
        let Some(original) = ping_info_bytes(connection, item) else { return };
        let received = PingInfo::decode(&original, MAX_INTERFACES).unwrap();
        // The last of the odd requests asks for less than there is.
        assert!(!received.truncated || file == VARIANTS_2_17, "{file}: {received:?}");
        if !received.truncated {
            assert_eq!(received.info.encode(), original, "{file}: {received:?}");
        }
    });
}

/// The kernel's `lnet_interfaces_max`.
const MAX_INTERFACES: u32 = 200;

#[test]
fn pings_and_pushes_are_to_the_reserved_portal_and_match_bits() {
    for_every_item(|file, _, item| {
        let Content::Message { header, .. } = &item.content else { return };
        if let Body::Get { portal: RESERVED_PORTAL, match_bits, .. }
        | Body::Put { portal: RESERVED_PORTAL, match_bits, .. } = header.body
        {
            assert_eq!(match_bits, PING_MATCH_BITS, "{file}: {item:?}");
        }
    });
}

/// Fails if the picture of rails that fail shows other stalls of the kernel than its captures.
#[test]
fn the_kernels_recorded_stalls_are_those_of_its_captures() {
    const RECORDED: &str = include_str!("../docs/pictures/rail-stalls-kernel.csv");
    // The scenario, its capture, and the clock of the capture when the rail failed, in microseconds.
    let table = [
        ("link-down", "k2158-m-failover-a.pcap", 1_795_223_124_070_000),
        ("cable", "k2158-m-failover-b.pcap", 1_795_222_573_590_000),
    ];
    for (key, file, fault) in table {
        let row = |line: &str| Some(line.strip_prefix(key)?.strip_prefix(",no data,")?.to_owned());
        let recorded: Vec<String> = RECORDED.lines().filter_map(row).collect();
        let seconds = |time: u64| (time.cast_signed() - fault) as f64 / 1e6;
        let times: Vec<f64> = times_of_bulk_data(file).into_iter().map(seconds).collect();
        let stalls = times.windows(2).filter(|pair| pair[1] - pair[0] > SHORTEST_STALL);
        let stalls: Vec<String> = stalls.map(|pair| format!("{:.2},{:.2}", pair[0], pair[1])).collect();
        assert_eq!(recorded, stalls, "{key}");
    }
}

/// Seconds: the load pauses for less.
const SHORTEST_STALL: f64 = 2.0;
/// Bytes: only bulk data comes in segments of this length.
const BULK: usize = 1000;

/// The times of all segments with bulk data that is not sent again.
fn times_of_bulk_data(file: &str) -> Vec<u64> {
    let mut ends = HashMap::new();
    let mut is_new = |segment: &Segment| {
        let end = segment.sequence.wrapping_add(segment.length as u32);
        let before = ends.entry((segment.from, segment.to)).or_insert(segment.sequence);
        let is_new = end.wrapping_sub(*before).cast_signed() > 0;
        *before = if is_new { end } else { *before };
        is_new
    };
    let segments = pcap::segments(file).into_iter().filter(|segment| segment.length >= BULK);
    let mut times: Vec<u64> =
        segments.filter(|segment| is_new(segment)).map(|segment| segment.time).collect();
    times.sort_unstable();
    times
}

/// A capture: its name, and the items of each of its connections.
type Capture = (&'static str, Vec<(Connection, Vec<Item>)>);

static SAID: LazyLock<Vec<Capture>> = LazyLock::new(|| {
    let with_items = |connection: Connection| {
        let items = conversation::items(&connection);
        (connection, items)
    };
    let said = |file| streams::connections(&pcap::segments(file)).into_iter().map(with_items).collect();
    CAPTURES.iter().map(|(file, _)| (*file, said(file))).collect()
});

fn for_every_item(mut check: impl FnMut(&str, &Connection, &Item)) {
    for (file, conversations) in SAID.iter() {
        for (connection, items) in conversations {
            items.iter().for_each(|item| check(file, connection, item));
        }
    }
}

impl Totals {
    fn count(&mut self, connection: &Connection, item: &Item) {
        let one_more = match &item.content {
            Content::Request { .. } => &mut self.requests,
            Content::RequestRefused => &mut self.refused_requests,
            Content::Hello { hello, .. } => {
                self.nones += usize::from(hello.connection_type.is_none());
                &mut self.hellos
            }
            Content::Noop { .. } => &mut self.noops,
            Content::Message { header, .. } => {
                self.cut_short += usize::from(item.range.end > connection.stream(item.from).end());
                self.ping_infos += usize::from(ping_info_bytes(connection, item).is_some());
                match header.body.kind() {
                    MessageType::Ack => &mut self.acks,
                    MessageType::Put => &mut self.puts,
                    MessageType::Get => &mut self.gets,
                    _ => &mut self.replies,
                }
            }
            Content::Undecoded { .. } => &mut self.undecoded,
            Content::Skipped => &mut self.skipped,
        };
        *one_more += 1;
    }
}

impl From<[usize; 14]> for Totals {
    fn from(columns: [usize; 14]) -> Self {
        let [connections, requests, refused_requests, hellos, nones, noops, acks, puts, gets, replies, ..] =
            columns;
        let [.., ping_infos, undecoded, skipped, cut_short] = columns;
        Self {
            connections,
            requests,
            refused_requests,
            hellos,
            nones,
            noops,
            acks,
            puts,
            gets,
            replies,
            ping_infos,
            undecoded,
            skipped,
            cut_short,
        }
    }
}

/// Encodes `item` again with our codecs, without its payload; `None` where there is nothing to encode: undecoded bytes, and
/// requests and HELLOs in big-endian, which no node writes.
fn written_again(item: &Item) -> Option<Vec<u8>> {
    match &item.content {
        // A script has asked for short NIDs in the form of long ones, which no node does.
        Content::Request { target, .. } if target.to_u64().is_some() && item.range.len() != REQUEST_LEN => {
            None
        }
        Content::Request { target, order: ByteOrder::Little } => Some(acceptor::encode_request(*target)),
        Content::RequestRefused => Some(acceptor::REFUSAL.to_vec()),
        Content::Hello { hello, order: ByteOrder::Little } => Some(hello.encode().unwrap()),
        Content::Noop { cookies } => Some(Head::noop(*cookies).bytes().to_vec()),
        Content::Message { version, cookies, header, .. } => {
            Some(Head::message(*version, header, *cookies).unwrap().bytes().to_vec())
        }
        Content::Request { order: ByteOrder::Big, .. } | Content::Hello { order: ByteOrder::Big, .. } => None,
        Content::Undecoded { .. } | Content::Skipped => None,
    }
}

/// Returns the payload of a ping's REPLY or of a push, if all of it was captured.
fn ping_info_bytes(connection: &Connection, item: &Item) -> Option<Vec<u8>> {
    let Content::Message { payload, .. } = &item.content else { return None };
    let stream = connection.stream(item.from);
    if payload.len() < 4 || stream.read(payload.start..payload.start + 4).bytes != PING_MAGIC.to_le_bytes() {
        return None;
    }
    let block = stream.read(payload.clone());
    block.is_captured().then_some(block.bytes)
}

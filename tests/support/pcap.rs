//! Reads capture files: classic pcap, Ethernet; and in it IPv4 and IPv6, TCP.

use flate2::read::GzDecoder;
use std::fs;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Returns the path of a capture.
pub fn capture_path(file: &str) -> PathBuf {
    // The tests of crates replay captures, too.
    let of = |root: &Path| root.join("tests/data/captures");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = root.ancestors().map(of).find(|directory| directory.is_dir());
    found.unwrap_or_else(|| of(root)).join(file)
}

/// A TCP segment, as far as it was captured.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Counts the packets of the file.
    pub packet: usize,
    /// Microseconds of the capturing clock since 1970.
    pub time: u64,
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub sequence: u32,
    pub syn: bool,
    pub ack: bool,
    pub fin: bool,
    pub rst: bool,
    /// Payload bytes on the wire; `data` has fewer when the capture cut the packet short.
    pub length: usize,
    pub data: Vec<u8>,
}

/// The contents of a capture file of `tests/data/captures`, decompressed if the file is kept as `.gz`.
pub fn read_capture(file: &str) -> Vec<u8> {
    let plain = capture_path(file);
    if plain.exists() {
        return fs::read(plain).expect("a readable capture");
    }
    let packed = fs::File::open(capture_path(&format!("{file}.gz"))).expect("a capture, plain or .gz");
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes).expect("a sound .gz");
    bytes
}

/// All TCP segments of a capture file, in file order. Packets that are not TCP (ARP) are left out.
pub fn segments(file: &str) -> Vec<Segment> {
    let bytes = read_capture(file);
    packets(&bytes).iter().enumerate().filter_map(|(number, packet)| segment(number, packet)).collect()
}

/// A packet, as far as it was captured.
pub struct Packet<'a> {
    /// Microseconds of the capturing clock since 1970.
    pub time: u64,
    /// Number of bytes on the wire.
    pub length: usize,
    /// The packet from its Ethernet header on.
    pub captured: &'a [u8],
}

const MICROSECONDS_LITTLE_ENDIAN: u32 = 0xa1b2_c3d4;
const ETHERNET: u32 = 1;
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

/// All packets of a capture file with these contents.
pub fn packets(file: &[u8]) -> Vec<Packet<'_>> {
    assert_eq!(le32(file, 0), MICROSECONDS_LITTLE_ENDIAN, "classic pcap, microseconds, little-endian");
    assert_eq!(le32(file, 20), ETHERNET, "link type EN10MB");
    let mut packets = Vec::new();
    let mut at = FILE_HEADER;
    while at < file.len() {
        let captured = le32(file, at + 8) as usize;
        let body = at + PACKET_HEADER;
        packets.push(Packet {
            time: u64::from(le32(file, at)) * 1_000_000 + u64::from(le32(file, at + 4)),
            length: le32(file, at + 12) as usize,
            captured: &file[body..body + captured],
        });
        at = body + captured;
    }
    packets
}

const ETHERNET_HEADER: usize = 14;
const TCP: u8 = 6;

fn segment(number: usize, packet: &Packet<'_>) -> Option<Segment> {
    let frame = packet.captured;
    let ip = &frame[ETHERNET_HEADER..];
    let (from, to, header, total) = match be16(frame, 12) {
        0x0800 if ip[9] == TCP => {
            let address = |at| IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(&ip[at..at + 4]).unwrap()));
            (address(12), address(16), usize::from(ip[0] & 15) * 4, usize::from(be16(ip, 2)))
        }
        0x86dd if ip[6] == TCP => {
            let address = |at| IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(&ip[at..at + 16]).unwrap()));
            (address(8), address(24), 40, usize::from(be16(ip, 4)) + 40)
        }
        _ => return None,
    };
    // A segment too large for the length field (segmentation offload) says 0 or 40 there.
    let total = if total <= 40 && packet.length > 1514 { packet.length - ETHERNET_HEADER } else { total };
    let tcp = &ip[header..];
    let data_at = usize::from(tcp[12] >> 4) * 4;
    let length = total - header - data_at;
    let flags = tcp[13];
    let captured = tcp.get(data_at..).unwrap_or_default();
    Some(Segment {
        packet: number,
        time: packet.time,
        from: SocketAddr::new(from, be16(tcp, 0)),
        to: SocketAddr::new(to, be16(tcp, 2)),
        sequence: u32::from_be_bytes(tcp[4..8].try_into().unwrap()),
        fin: flags & 1 != 0,
        syn: flags & 2 != 0,
        rst: flags & 4 != 0,
        ack: flags & 16 != 0,
        length,
        // Short Ethernet frames are padded behind the IP packet.
        data: captured[..captured.len().min(length)].to_vec(),
    })
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap())
}

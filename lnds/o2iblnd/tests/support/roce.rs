//! Reads captured RoCEv2 traffic: what nodes sent by SEND, and the private data of their connection managers.
//!
//! A packet is Ethernet, IPv4, UDP to port 4791, then the base transport header of 12 bytes, and at its end the invariant CRC. Data of
//! RDMA WRITEs and acknowledgements are left out.

use super::pcap;
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// What a packet, or the last packet of a longer message, contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A message of an established connection.
    Message(Vec<u8>),
    /// The private data of a connection request, behind the 36 bytes that give IP addresses.
    Request(Vec<u8>),
    /// The private data of the acceptance of a connection request.
    Acceptance(Vec<u8>),
    /// The reason number of the connection manager, and the private data behind it.
    Reject(u16, Vec<u8>),
    /// Any other message of the connection manager, with its attribute number.
    OtherManagement(u16),
}

/// One thing that a node sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Counts the packets of the file, from 1 as in other tools. Of a message of several packets it is the last one.
    pub packet: usize,
    /// Microseconds of the capturing clock since 1970.
    pub time: u64,
    pub from: Ipv4Addr,
    pub to: Ipv4Addr,
    pub content: Content,
}

const ETHERNET: usize = 14;
const UDP: usize = 8;
const PORT: u16 = 4791;
const BASE_HEADER: usize = 12;
const INVARIANT_CRC: usize = 4;
/// The extended header of a datagram, which those to the connection manager have.
const DATAGRAM_HEADER: usize = 8;
/// The common header of management datagrams.
const MANAGEMENT_HEADER: usize = 24;
/// IP addresses and ports in the private data of a connection request.
const IP_ADDRESSES: usize = 36;

const SEND_FIRST: u8 = 0;
const SEND_MIDDLE: u8 = 1;
const SEND_LAST: u8 = 2;
const SEND_ONLY: u8 = 4;
const DATAGRAM_SEND_ONLY: u8 = 0x64;

/// Everything in a capture file of `tests/data/captures`, in file order.
pub fn sent(file: &str) -> Vec<Sent> {
    let bytes = pcap::read_capture(file);
    // The beginnings of messages, by sender and queue pair of the receiver.
    let mut begun: HashMap<(Ipv4Addr, u32), Vec<u8>> = HashMap::new();
    let mut sent = Vec::new();
    for (at, packet) in pcap::packets(&bytes).iter().enumerate() {
        let ip = &packet.captured[ETHERNET..];
        let (from, to) = (address(ip, 12), address(ip, 16));
        let udp = &ip[usize::from(ip[0] & 15) * 4..usize::from(be16(ip, 2))];
        assert_eq!(be16(udp, 2), PORT, "packet {}", at + 1);
        let base = &udp[UDP..];
        let padding = usize::from(base[1] >> 4 & 3);
        let payload = &base[BASE_HEADER..base.len() - INVARIANT_CRC - padding];
        let key = (from, u32::from_be_bytes([0, base[5], base[6], base[7]]));
        let content = match base[0] {
            DATAGRAM_SEND_ONLY => management(&payload[DATAGRAM_HEADER..]),
            SEND_FIRST => {
                begun.insert(key, payload.to_vec());
                continue;
            }
            SEND_MIDDLE => {
                begun.get_mut(&key).expect("a first packet").extend_from_slice(payload);
                continue;
            }
            SEND_LAST => Content::Message([&begun.remove(&key).expect("a first packet"), payload].concat()),
            SEND_ONLY => Content::Message(payload.to_vec()),
            _ => continue,
        };
        sent.push(Sent { packet: at + 1, time: packet.time, from, to, content });
    }
    assert!(begun.is_empty(), "{file} ends within a message");
    sent
}

/// A message of the connection manager; private data are at the end of each kind.
fn management(datagram: &[u8]) -> Content {
    let attribute = be16(datagram, 16);
    let message = &datagram[MANAGEMENT_HEADER..];
    match attribute {
        0x10 => Content::Request(message[140 + IP_ADDRESSES..].to_vec()),
        0x12 => Content::Reject(be16(message, 10), message[84..].to_vec()),
        0x13 => Content::Acceptance(message[36..].to_vec()),
        other => Content::OtherManagement(other),
    }
}

fn address(ip: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::from(<[u8; 4]>::try_from(&ip[at..at + 4]).unwrap())
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap())
}

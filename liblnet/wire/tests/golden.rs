//! Bytes of the worked example of wire-tcp 10, and bytes that real kernels exchanged.
#![allow(clippy::unwrap_used)]

use lnet_wire::ping_info::{Features, NiStatus, PingEntry, PingInfo};
use lnet_wire::{Body, Header, Nid, PING_MATCH_BITS, Pid, RESERVED_PORTAL, WireHandle};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn nid(text: &str) -> Nid {
    text.parse().unwrap()
}

/// A header between the two nodes of an example, and the ping block behind it.
struct Example {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    body: Body,
    info: Option<PingInfo>,
    bytes: &'static str,
}

fn ping_get(reply: WireHandle, sink_length: u32) -> Body {
    Body::Get { reply, match_bits: PING_MATCH_BITS, portal: RESERVED_PORTAL, offset: 0, sink_length }
}

fn push_put(ack: WireHandle) -> Body {
    Body::Put { ack: Some(ack), match_bits: PING_MATCH_BITS, hdr_data: 0, portal: RESERVED_PORTAL, offset: 0 }
}

fn push_ack(handle: WireHandle, accepted: u32) -> Body {
    Body::Ack { handle, match_bits: PING_MATCH_BITS, accepted }
}

fn info(features: u32, sequence: u32, primary: &str) -> Option<PingInfo> {
    let entries = vec![PingEntry { nid: nid(primary), status: NiStatus::Up }];
    Some(PingInfo { features: Features(features), pid: Pid::LUSTRE, sequence, entries })
}

fn header_of(example: &Example) -> Header {
    Header {
        dest_nid: nid(example.to),
        src_nid: nid(example.from),
        dest_pid: Pid::LUSTRE,
        src_pid: Pid::LUSTRE,
        payload_length: example.info.as_ref().map_or(0, |info| info.encoded_len() as u32),
        body: example.body,
    }
}

fn check_payload(example: &Example, payload: &[u8]) {
    match &example.info {
        None => assert!(payload.is_empty(), "{}", example.name),
        Some(info) => {
            assert_eq!(info.encode(), payload, "{}", example.name);
            let got = PingInfo::decode(payload, 200).unwrap();
            assert_eq!((&got.info, got.truncated), (info, false), "{}", example.name);
        }
    }
}

#[test]
fn the_worked_example_of_a_discovery_is_read_and_written() {
    let (a, b) = ("10.0.0.1@tcp", "10.0.0.2@tcp");
    let handle = |object_cookie| WireHandle { interface_cookie: 0x17aa_aaaa_aaaa_aaaa, object_cookie };
    let examples = [
        Example {
            name: "S4, GET",
            from: a,
            to: b,
            body: ping_get(handle(0x1d), 272),
            info: None,
            bytes: "02 00 00 0a 00 00 02 00 01 00 00 0a 00 00 02 00 39 30 00 00 39 30 00 00
                    02 00 00 00 00 00 00 00 aa aa aa aa aa aa aa 17 1d 00 00 00 00 00 00 00
                    00 00 00 00 00 00 00 80 00 00 00 00 00 00 00 00 10 01 00 00 00 00 00 00",
        },
        Example {
            name: "S5, REPLY",
            from: b,
            to: a,
            body: Body::Reply { handle: handle(0x1d) },
            info: info(0x1e, 1, b),
            bytes: "01 00 00 0a 00 00 02 00 02 00 00 0a 00 00 02 00 39 30 00 00 39 30 00 00
                    03 00 00 00 30 00 00 00 aa aa aa aa aa aa aa 17 1d 00 00 00 00 00 00 00
                    00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
                    67 6e 69 70 1e 00 00 00 39 30 00 00 02 00 00 00
                    00 00 00 00 00 00 09 00 01 00 00 00 00 00 00 00
                    02 00 00 0a 00 00 02 00 de c0 aa 15 00 00 00 00",
        },
        Example {
            name: "S6, PUT",
            from: a,
            to: b,
            body: push_put(handle(0x21)),
            info: info(0x1e, 1, a),
            bytes: "02 00 00 0a 00 00 02 00 01 00 00 0a 00 00 02 00 39 30 00 00 39 30 00 00
                    01 00 00 00 30 00 00 00 aa aa aa aa aa aa aa 17 21 00 00 00 00 00 00 00
                    00 00 00 00 00 00 00 80 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
                    67 6e 69 70 1e 00 00 00 39 30 00 00 02 00 00 00
                    00 00 00 00 00 00 09 00 01 00 00 00 00 00 00 00
                    01 00 00 0a 00 00 02 00 de c0 aa 15 00 00 00 00",
        },
        Example {
            name: "S7, ACK",
            from: b,
            to: a,
            body: push_ack(handle(0x21), 48),
            info: None,
            bytes: "01 00 00 0a 00 00 02 00 02 00 00 0a 00 00 02 00 39 30 00 00 39 30 00 00
                    00 00 00 00 00 00 00 00 aa aa aa aa aa aa aa 17 21 00 00 00 00 00 00 00
                    00 00 00 00 00 00 00 80 30 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
        },
    ];
    for example in &examples {
        let bytes = bytes(example.bytes);
        let (header, payload) = bytes.split_first_chunk().unwrap();
        assert_eq!(Header::decode(header), Ok(header_of(example)), "{}", example.name);
        assert_eq!(header_of(example).encode(), Some(*header), "{}", example.name);
        check_payload(example, payload);
    }
}

/// Captured between two 2.17.0 kernels with IPv6 addresses.
#[test]
fn a_captured_discovery_over_ipv6_is_read_and_written() {
    let (a, b) = ("fd99::11@tcp", "fd99::12@tcp");
    let handle = |object_cookie| WireHandle { interface_cookie: 0x18e9_e81c_e16f_8bd8, object_cookie };
    let examples = [
        Example {
            name: "GET of lnetctl ping",
            from: a,
            to: b,
            body: ping_get(handle(0xd), 3960),
            info: None,
            bytes: "0c020000 fd990000 00000000 00000000 00000012 0c020000 fd990000 00000000 00000000
                    00000011 39300000 39300000 02000000 00000000 d88b6fe1 1ce8e918 0d000000 00000000
                    00000000 00000080 00000000 00000000 780f0000 00000000",
        },
        Example {
            name: "REPLY",
            from: b,
            to: a,
            body: Body::Reply { handle: handle(0xd) },
            info: info(0x7e, 2, b),
            bytes: "0c020000 fd990000 00000000 00000000 00000011 0c020000 fd990000 00000000 00000000
                    00000012 39300000 39300000 03000000 38000000 d88b6fe1 1ce8e918 0d000000 00000000
                    00000000 00000000 00000000 00000000 00000000 00000000 676e6970 7e000000 39300000
                    01000000 00000000 00000900 02000000 38000000 dec0aa15 0c020000 fd990000 00000000
                    00000000 00000012",
        },
        Example {
            name: "PUT",
            from: a,
            to: b,
            body: push_put(handle(0x15)),
            info: info(0x7e, 2, a),
            bytes: "0c020000 fd990000 00000000 00000000 00000012 0c020000 fd990000 00000000 00000000
                    00000011 39300000 39300000 01000000 38000000 d88b6fe1 1ce8e918 15000000 00000000
                    00000000 00000080 00000000 00000000 00000000 00000000 676e6970 7e000000 39300000
                    01000000 00000000 00000900 02000000 38000000 dec0aa15 0c020000 fd990000 00000000
                    00000000 00000011",
        },
        Example {
            name: "ACK",
            from: b,
            to: a,
            body: push_ack(handle(0x15), 56),
            info: None,
            bytes: "0c020000 fd990000 00000000 00000000 00000011 0c020000 fd990000 00000000 00000000
                    00000012 39300000 39300000 00000000 00000000 d88b6fe1 1ce8e918 15000000 00000000
                    00000000 00000080 38000000 00000000 00000000 00000000",
        },
    ];
    for example in &examples {
        let bytes = bytes(example.bytes);
        let (header, payload) = bytes.split_first_chunk().unwrap();
        assert_eq!(Header::decode_long(header), Ok(header_of(example)), "{}", example.name);
        assert_eq!(header_of(example).encode_long(), *header, "{}", example.name);
        check_payload(example, payload);
    }
}

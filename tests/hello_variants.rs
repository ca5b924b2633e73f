//! Sends unusual connection requests to a node, and compares its answers with those of the kernel.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_node::StartConfig;
use lnet_wire::ping_info::PingInfo;
use lnet_wire::{Body, Header, Nid, PING_MATCH_BITS, Pid, RESERVED_PORTAL, WireHandle};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use socklnd::SocklndConfig;
use socklnd::proto::frame::{Cookies, Head, head_len};
use socklnd::proto::hello::{ConnectionType, Decoded, Hello};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;
use support::live_node::LiveNode;
use support::netns::namespace_or_skip;
use support::pcap;
use support::player::TIMEOUT;
use support::streams::{self, Connection};

const CAPTURE: &str = "k2158-host-hello-variants.pcap";
const ANSWERS: &str = "k2158-host-hello-variants.txt";
const OURS: &str = "10.99.0.11@tcp";

/// Rows with intended differences: the response of this node, and the reason.
const DIFFERENT: [(&str, Instead, &str); 3] = [
    (
        "v4 with nid4-size hello",
        Instead::WaitForMore,
        "2.15.8 offers version 3; we speak version 4 as 2.17 does, and like it wait for the missing 24 bytes",
    ),
    ("HELLO big-endian v3", Instead::NameTheCaller, "the kernel forgets to swap the caller's NID"),
    ("acceptor big-endian + BE hello", Instead::NameTheCaller, "the kernel forgets to swap the caller's NID"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Instead {
    /// The node gives no response, and closes when the acceptor times out.
    WaitForMore,
    /// The kernel's HELLO, but to the NID that the caller stated.
    NameTheCaller,
}

/// A request, and the kernel's answer to it.
struct Row {
    name: String,
    response: Vec<u8>,
    stays_open: bool,
}

#[test]
fn unusual_requests_are_answered_as_the_kernel_answers_them() {
    let Some(_namespace) = namespace_or_skip() else { return };
    // The short timeout is for the rows in which the connecting side stops sending.
    let socklnd = SocklndConfig { accept_timeout: Duration::from_secs(1), ..SocklndConfig::default() };
    let config =
        StartConfig { drivers: lnet_node::DriverConfigs::default().with(socklnd), ..StartConfig::default() };
    let node = LiveNode::start(&[OURS.parse().unwrap()], config);
    let connections = streams::connections(&pcap::segments(CAPTURE));
    let rows = rows();
    assert_eq!(rows.len(), connections.len());
    for (row, captured) in rows.iter().zip(&connections) {
        println!("{}", row.name);
        ask(row, captured);
    }
    node.finish();
}

/// The lines of the script's output: name, `-> N bytes HEX`, and in brackets how it ended.
fn rows() -> Vec<Row> {
    let text = fs::read_to_string(pcap::capture_path(ANSWERS)).unwrap();
    let row = |line: &str| {
        let (name, rest) = line.split_once("->").unwrap();
        let (bytes, end) = rest.split_once('[').unwrap();
        let (_, hex) = bytes.split_once(" bytes ").unwrap();
        Row {
            name: name.trim().to_owned(),
            response: from_hex(hex.trim()),
            stays_open: end.contains("open after"),
        }
    };
    text.lines().map(row).collect()
}

fn ask(row: &Row, captured: &Connection) {
    let asked = captured.from_opener.read(0..captured.from_opener.end()).bytes;
    let instead = DIFFERENT.iter().find(|(name, ..)| *name == row.name).map(|(_, instead, _)| *instead);
    let (mut response, mut stays_open) = (row.response.clone(), row.stays_open);
    match instead {
        Some(Instead::WaitForMore) => (response, stays_open) = (Vec::new(), false),
        Some(Instead::NameTheCaller) => {
            let caller = hello_in(&asked).unwrap().src_nid.to_u64().unwrap();
            response[16..24].copy_from_slice(&caller.to_le_bytes());
        }
        None => {}
    }
    let mut socket = call(captured);
    socket.write_all(&asked).unwrap();
    if stays_open {
        let mut heard = vec![0; response.len()];
        socket.read_exact(&mut heard).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        assert_same(row, &heard, &response);
        expect_open(row, &mut socket, &asked);
        socket.shutdown(Shutdown::Write).unwrap();
        assert_same(row, &rest_of(row, &mut socket), &[]);
    } else {
        assert_same(row, &rest_of(row, &mut socket), &response);
    }
}

fn call(captured: &Connection) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&SockAddr::from(captured.opener)).unwrap();
    socket.connect(&SockAddr::from(captured.acceptor)).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket.into()
}

/// Reads everything up to the node's end of the connection, which may be a reset.
fn rest_of(row: &Row, socket: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    if let Err(error) = socket.read_to_end(&mut rest) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{}: {error}", row.name);
    }
    rest
}

/// Fails if the responses differ; the incarnation in a HELLO is excepted.
fn assert_same(row: &Row, heard: &[u8], response: &[u8]) {
    let mut heard = heard.to_vec();
    if heard.len() == 56 && response.len() == 56 {
        heard[32..40].copy_from_slice(&response[32..40]);
    }
    assert_eq!(heard, response, "{}: {heard:02x?} in place of the kernel's {response:02x?}", row.name);
}

/// A control connection answers a ping. Of others can only be seen that they are not closed.
fn expect_open(row: &Row, socket: &mut TcpStream, asked: &[u8]) {
    let hello = hello_in(asked).unwrap();
    let ours: Nid = OURS.parse().unwrap();
    let little_endian = asked.starts_with(&[0x00, 0x71]) && asked[16..].starts_with(&[0x63, 0x69]);
    let can_respond =
        hello.connection_type == Some(ConnectionType::Control) && hello.src_nid.net() == ours.net();
    if !(can_respond && little_endian) {
        socket.set_nonblocking(true).unwrap();
        let nothing = socket.read(&mut [0; 1]).map_err(|error| error.kind());
        assert_eq!(nothing, Err(ErrorKind::WouldBlock), "{}", row.name);
        socket.set_nonblocking(false).unwrap();
        return;
    }
    let reply = WireHandle { interface_cookie: 1, object_cookie: 2 };
    let ping = Header {
        dest_nid: ours,
        src_nid: hello.src_nid,
        dest_pid: Pid::LUSTRE,
        src_pid: hello.src_pid,
        payload_length: 0,
        body: Body::Get {
            reply,
            match_bits: PING_MATCH_BITS,
            portal: RESERVED_PORTAL,
            offset: 0,
            sink_length: 272,
        },
    };
    socket.write_all(Head::message(hello.version, &ping, Cookies::default()).unwrap().bytes()).unwrap();
    let mut response = vec![0; head_len(hello.version) + 48];
    socket
        .read_exact(&mut response)
        .unwrap_or_else(|error| panic!("{}: no answer to a ping: {error}", row.name));
    let info = PingInfo::decode(&response[head_len(hello.version)..], 16).unwrap().info;
    assert_eq!(info.entries[0].nid, ours);
}

/// The HELLO behind the request.
fn hello_in(asked: &[u8]) -> Option<Hello> {
    match Hello::decode(asked.get(16..)?) {
        Ok(Decoded::Done { hello, .. }) => Some(hello),
        _ => None,
    }
}

fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

//! Sends unusual connection requests to a node, and compares its answers with those of the kernel.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_node::StartConfig;
use lnet_wire::ping_info::PingInfo;
use lnet_wire::{Body, Header, Nid, PING_MATCH_BITS, Pid, RESERVED_PORTAL, WireHandle};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use socklnd::SocklndConfig;
use socklnd::proto::acceptor::{self, Decision};
use socklnd::proto::frame::{Cookies, Head, head_len};
use socklnd::proto::hello::{ConnectionType, Decoded, Hello, Version};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;
use support::live_node::LiveNode;
use support::netns::namespace_or_skip;
use support::pcap;
use support::player::TIMEOUT;
use support::streams::{self, Connection};

/// Requests of a script to a kernel node.
struct Variants {
    /// The capture, with the addresses and ports.
    capture: &'static str,
    /// The script's output.
    output: &'static str,
    read: fn(&str, &[Connection]) -> Vec<Row>,
    /// The kernel node's NIDs, in the order of its configuration.
    nids: &'static [&'static str],
    /// Rows with intended differences: the first words of the name, the node's response, and the reason.
    different: &'static [(&'static str, Instead, &'static str)],
}

const OF_2_15: Variants = Variants {
    capture: "k2158-host-hello-variants.pcap",
    output: "k2158-host-hello-variants.txt",
    read: rows_of_2_15,
    nids: &["10.99.0.11@tcp"],
    different: &[
        (
            "v4 with nid4-size hello",
            Instead::Nothing,
            "2.15.8 offers version 3; we speak version 4 as 2.17 does, and like it wait for the missing 24 bytes",
        ),
        ("HELLO big-endian v3", Instead::NameTheCaller, "the kernel forgets to swap the caller's NID"),
        (
            "acceptor big-endian + BE hello",
            Instead::NameTheCaller,
            "the kernel forgets to swap the caller's NID",
        ),
    ],
};

const OF_2_17: Variants = Variants {
    capture: "k2170-v6-hello-variants.pcap",
    output: "k2170-v6-hello-variants.txt",
    read: rows_of_2_17,
    nids: &["10.99.1.11@tcp", "fd99::11@tcp"],
    different: &[
        (
            "06 ",
            Instead::OfferVersion4,
            "the kernel accepts, and answers with a NID that no node has: version 3 has eight bytes for its IPv6 NID, which has more",
        ),
        (
            "26 ",
            Instead::Nothing,
            "the kernel accepts a source NID of a size that no NID has, and can answer no message from it",
        ),
        (
            "45 ",
            Instead::AnswerByTheSameConnection,
            "the kernel answers by a connection to the NID that the header gives as its source, which is nobody's; ours answers by the path \
             on which the request came, so that nobody can make it connect to others",
        ),
        (
            "29 ",
            Instead::Nothing,
            "the kernel accepts an IPv4 NID with bytes behind its four as a NID of its own; for the NID that is asked for it refuses that",
        ),
    ],
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Instead {
    /// The node gives no response, and closes, at the latest when the acceptor times out.
    Nothing,
    /// The REPLY to the GET that was sent last, which the kernel sends elsewhere.
    AnswerByTheSameConnection,
    /// The kernel's HELLO, but to the NID that the caller stated.
    NameTheCaller,
    /// A HELLO of version 4 and type none, after which the node closes.
    OfferVersion4,
}

/// A request, and the kernel's answer to it.
struct Row {
    name: String,
    /// What is sent, one after the other, each with the answer to it.
    parts: Vec<Part>,
    stays_open: bool,
    /// Whether the last message is answered, which the kernel does elsewhere.
    answers_anyway: bool,
}

struct Part {
    sent: Vec<u8>,
    answer: Vec<u8>,
}

#[test]
fn unusual_requests_are_answered_as_the_kernel_answers_them() {
    ask_all(&OF_2_15);
}

#[test]
fn unusual_requests_over_both_families_are_answered_as_the_kernel_answers_them_or_more_strictly() {
    ask_all(&OF_2_17);
}

fn ask_all(variants: &Variants) {
    let Some(_namespace) = namespace_or_skip() else { return };
    // The short timeout is for the rows in which the connecting side stops sending.
    let socklnd = SocklndConfig { accept_timeout: Duration::from_secs(1), ..SocklndConfig::default() };
    let config =
        StartConfig { drivers: lnet_node::DriverConfigs::default().with(socklnd), ..StartConfig::default() };
    let nids: Vec<Nid> = variants.nids.iter().map(|nid| nid.parse().unwrap()).collect();
    let node = LiveNode::start(&nids, config);
    let connections = streams::connections(&pcap::segments(variants.capture));
    let text = fs::read_to_string(pcap::capture_path(variants.output)).unwrap();
    let rows = (variants.read)(&text, &connections);
    assert_eq!(rows.len(), connections.len());
    for (name, _, why) in variants.different {
        assert!(rows.iter().any(|row| row.name.starts_with(name)), "{name}: {why}");
    }
    for (row, captured) in rows.into_iter().zip(&connections) {
        println!("{}", row.name);
        let instead = variants.different.iter().find(|(name, ..)| row.name.starts_with(name));
        let row = match instead {
            Some((_, instead, _)) => row.with(*instead),
            None => row,
        };
        ask(&row, captured);
    }
    node.finish();
}

/// The lines of the script's output: name, `-> N bytes HEX`, and in brackets how it ended. The requests are in the capture.
fn rows_of_2_15(text: &str, captured: &[Connection]) -> Vec<Row> {
    let row = |(line, captured): (&str, &Connection)| {
        let (name, rest) = line.split_once("->").unwrap();
        let (bytes, end) = rest.split_once('[').unwrap();
        let (_, hex) = bytes.split_once(" bytes ").unwrap();
        let sent = captured.from_opener.read(0..captured.from_opener.end()).bytes;
        Row {
            name: name.trim().to_owned(),
            parts: vec![Part { sent, answer: from_hex(hex.trim()) }],
            stays_open: end.contains("open after"),
            answers_anyway: false,
        }
    };
    text.lines().zip(captured).map(row).collect()
}

/// The script's output: `== NAME`, then `sent N bytes HEX` and `answer N bytes HEX [END]`.
fn rows_of_2_17(text: &str, _: &[Connection]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), rows.last_mut()) {
            (["==", ..], _) => {
                let name = line.trim_start_matches("== ").to_owned();
                rows.push(Row { name, parts: Vec::new(), stays_open: true, answers_anyway: false });
            }
            (["sent", _, "bytes", hex], Some(row)) => {
                row.parts.push(Part { sent: from_hex(hex), answer: Vec::new() });
            }
            (["answer", count, "bytes", rest @ ..], Some(row)) => {
                let hex = if *count == "0" { "" } else { rest[0] };
                row.parts.last_mut().unwrap().answer = from_hex(hex);
                row.stays_open = line.ends_with("[open]");
            }
            _ => panic!("{line}"),
        }
    }
    rows
}

impl Row {
    /// The row with the node's answer in place of the kernel's.
    fn with(mut self, instead: Instead) -> Self {
        let request = Request::of(&self);
        let answer = &mut self.parts.last_mut().unwrap().answer;
        match instead {
            Instead::Nothing => (*answer, self.stays_open) = (Vec::new(), false),
            // `expect_open` sees it before the answer to its own ping.
            Instead::AnswerByTheSameConnection => self.answers_anyway = true,
            Instead::NameTheCaller => {
                let caller = request.hello.unwrap().src_nid.to_u64().unwrap();
                answer[16..24].copy_from_slice(&caller.to_le_bytes());
            }
            Instead::OfferVersion4 => {
                let hello = request.hello.unwrap();
                let offer = Hello {
                    version: Version::V4,
                    src_nid: request.target.unwrap(),
                    dest_nid: Some(hello.src_nid),
                    connection_type: None,
                    ..hello
                };
                (*answer, self.stays_open) = (offer.encode().unwrap(), false);
            }
        }
        self
    }
}

fn ask(row: &Row, captured: &Connection) {
    let mut socket = call(captured);
    for (number, Part { sent, answer }) in row.parts.iter().enumerate() {
        let sent = socket.write_all(sent);
        if number + 1 == row.parts.len() && !row.stays_open {
            return assert_same(row, &rest_of(row, &mut socket), answer);
        }
        sent.unwrap_or_else(|error| panic!("{}: {error}", row.name));
        let mut heard = vec![0; answer.len()];
        socket.read_exact(&mut heard).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        assert_same(row, &heard, answer);
    }
    expect_open(row, &mut socket);
    socket.shutdown(Shutdown::Write).unwrap();
    assert_same(row, &rest_of(row, &mut socket), &[]);
}

fn call(captured: &Connection) -> TcpStream {
    let socket =
        Socket::new(Domain::for_address(captured.opener), Type::STREAM, Some(Protocol::TCP)).unwrap();
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
    if let Some(incarnation) = match (heard.len(), response.len()) {
        (56, 56) => Some(32..40),
        (80, 80) => Some(56..64),
        _ => None,
    } {
        heard[incarnation.clone()].copy_from_slice(&response[incarnation]);
    }
    assert_eq!(heard, response, "{}: {heard:02x?} in place of the kernel's {response:02x?}", row.name);
}

/// A control connection answers a ping, and nothing that was sent before. Of others can only be seen that they are not closed.
fn expect_open(row: &Row, socket: &mut TcpStream) {
    let request = Request::of(row);
    let (hello, target) = (request.hello.unwrap(), request.target.unwrap());
    let can_respond = hello.connection_type == Some(ConnectionType::Control)
        && hello.src_nid.net() == target.net()
        && request.is_little_endian
        && request.rest.is_empty();
    if !can_respond {
        socket.set_nonblocking(true).unwrap();
        let nothing = socket.read(&mut [0; 1]).map_err(|error| error.kind());
        assert_eq!(nothing, Err(ErrorKind::WouldBlock), "{}", row.name);
        socket.set_nonblocking(false).unwrap();
        return;
    }
    let reply = WireHandle { interface_cookie: 1, object_cookie: 2 };
    let ping = Header {
        dest_nid: target,
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
    if row.answers_anyway {
        let first = row.parts.last().unwrap().sent.last_chunk::<40>().unwrap();
        expect_ping_reply(row, socket, hello.version, &first[..8], target);
    }
    expect_ping_reply(row, socket, hello.version, &reply.interface_cookie.to_le_bytes(), target);
}

/// Reads the REPLY to a ping whose handle starts with `handle`; the node has the NID `target`.
fn expect_ping_reply(row: &Row, socket: &mut TcpStream, version: Version, handle: &[u8], target: Nid) {
    let mut response = vec![0; head_len(version)];
    socket
        .read_exact(&mut response)
        .unwrap_or_else(|error| panic!("{}: no answer to a ping: {error}", row.name));
    let header = response.last_chunk::<56>().unwrap();
    assert_eq!(&header[16..24], handle, "{}: another answer", row.name);
    let mut info = vec![0; u32::from_le_bytes(header[12..16].try_into().unwrap()) as usize];
    socket.read_exact(&mut info).unwrap();
    let info = PingInfo::decode(&info, 16).unwrap().info;
    assert!(info.entries.iter().any(|entry| entry.nid == target), "{}: {info:?}", row.name);
}

/// The request of a row, as far as it can be read.
struct Request {
    target: Option<Nid>,
    hello: Option<Hello>,
    is_little_endian: bool,
    /// What stands behind the HELLO and is no message.
    rest: Vec<u8>,
}

impl Request {
    fn of(row: &Row) -> Self {
        let mut sent: Vec<u8> = row.parts.iter().flat_map(|part| part.sent.clone()).collect();
        let mut request = Self {
            target: None,
            hello: None,
            is_little_endian: sent.starts_with(&[0x00, 0x71]),
            rest: vec![],
        };
        if let Decision::Accept { target, len } = acceptor::decide(&sent, |_| true) {
            request.target = Some(target);
            sent.drain(..len);
            request.is_little_endian &= sent.starts_with(&[0x63, 0x69]);
        }
        if let Ok(Decoded::Done { hello, len, .. }) = Hello::decode(&sent) {
            sent.drain(..len);
            // A message is in a part of its own.
            request.rest = if row.parts.len() > 2 { Vec::new() } else { sent };
            request.hello = Some(hello);
        }
        request
    }
}

fn from_hex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

//! Log lines about connecting peers that are refused, and about connects that fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use lnet_core::EventKind;
use log::LevelFilter;
use socklnd::AcceptFrom;
use socklnd::proto::{ConnectionType, Hello, acceptor};
use std::io::Write;
use std::net::Ipv4Addr;
use support::*;
use test_support::log_recorder;

/// Whether a line contains names of Rust's types, fields or values. Causes have names in capitals.
fn is_debug_text(line: &str) -> bool {
    let lower = |c: Option<&char>| c.is_some_and(|c| c.is_lowercase());
    line.split(' ').any(|word| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let letters: Vec<char> = bare.chars().collect();
        let joined = |at: usize| match letters[at] {
            '_' | '(' => lower(letters.get(at - 1)),
            c => c.is_uppercase() && lower(letters.get(at - 1)),
        };
        word.contains(['{', '}']) || word.contains("::") || bare == "None" || (1..letters.len()).any(joined)
    })
}

/// Returns the causes, in parentheses, of the lines about `about` that were logged while `happens` ran.
fn said_of(about: Ipv4Addr, happens: impl FnOnce()) -> Vec<String> {
    log_recorder::take();
    happens();
    let about = about.to_string();
    let said: Vec<String> = log_recorder::lines().into_iter().map(|line| line.text).collect();
    assert!(!said.iter().any(|line| is_debug_text(line)), "{said:?}");
    let reason = |line: &String| {
        let (_, after) = line.split_once(&about)?;
        Some(after[after.find('(')? + 1..after.rfind(')')?].to_owned())
    };
    said.iter().filter_map(reason).collect()
}

#[test]
fn the_log_gives_plain_reasons_for_rejected_connections_and_failed_connects() {
    log_recorder::listen(LevelFilter::Debug);

    let (_node, low, high, port) = node(|config| config.accept = AcceptFrom::Secure);
    let mut source = 0;
    let said = said_of(low, || {
        let mut raw = Raw::connect(low.into(), 0, high.into(), port);
        source = raw.stream.local_addr().unwrap().port();
        raw.read_to_end();
    });
    assert_eq!(said, [format!("its port {source} is not privileged and accept is \"secure\"")]);

    // A peer closes its connection: with nothing to send, and with a message that it has not acknowledged.
    for (messages, expected) in [(0, &[][..]), (1, &["messages to it under way: 1"])] {
        let (node, low, high, port) = node_of_same_implementation(|_| {});
        let mut raw = Raw::open_as_same_implementation(low, high, port, 2, ConnectionType::Control);
        wait_for("the connection", || node.counters().accepted == 1);
        let said = said_of(low, || {
            for _ in 0..messages {
                node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
                raw.read_lnet();
            }
            drop(raw);
            wait_for("the end", || node.counters().closed_by_peer == 1);
            if messages > 0 {
                node.expect(EventKind::Send);
            }
            // The line is written by the thread that ends the connection, after the event.
            drop(node);
        });
        let about_end: Vec<_> = said.iter().filter(|line| line.contains("under way")).collect();
        assert_eq!(about_end, expected, "{said:?}");
    }

    // Requests and HELLOs that are not understood: the wrong bytes from the beginning on.
    let not_mine = u32::from(Ipv4Addr::new(10, 1, 2, 3)).to_le_bytes();
    for (offset, bytes, expected) in [
        (0, &[1][..], "it sent 0xacce7101 where a connection request starts"),
        (8, &not_mine, "it asked for 10.1.2.3@tcp, which is no interface of this node"),
        (
            8,
            &[0xff; 8],
            "it asked for a NID that names no single interface, which is no interface of this node",
        ),
        (16, &[0; 4], "it sent 0x00000000 where a HELLO starts"),
        (16 + 8, &[0xff; 8], "the source NID of the HELLO does not name one interface"),
        (16 + 48, &[7], "unknown connection type 7"),
        (16 + 52, &[17], "an IP list of 68 bytes"),
    ] {
        let (_node, low, high, port) = node(|_| {});
        let said = said_of(low, || {
            let hello = hello(low, high, Some(ConnectionType::Control)).encode().unwrap();
            let mut opening = [acceptor::encode_request(tcp(high)), hello].concat();
            opening[offset..offset + bytes.len()].copy_from_slice(bytes);
            let mut raw = Raw::connect(low.into(), 0, high.into(), port);
            raw.send(&opening);
            raw.read_to_end();
        });
        assert_eq!(said, [expected]);
    }

    // Connecting peers that are understood, and get the response type none.
    let same = |_: &mut Hello| {};
    let restarted = |hello: &mut Hello| hello.src_incarnation += 1;
    for (change, expected) in [
        (&same as &dyn Fn(&mut Hello), "it has all its connections of this type already"),
        (
            &restarted,
            "it was restarted, or speaks another version, and its old connections are not closed yet",
        ),
    ] {
        let (_node, low, high, port) = node(|_| {});
        let _raw = Raw::open(low, high, port, ConnectionType::Control);
        let said = said_of(low, || {
            let mut second = hello(low, high, Some(ConnectionType::Control));
            change(&mut second);
            let (_, response) = Raw::send_hello(low, high, port, &second);
            assert_eq!(response.connection_type, None);
        });
        assert!(said.iter().any(|line| line == expected), "{said:?}");
    }

    // Connects with a wrong response.
    type Response = fn(&mut Hello);
    let somebody_else: Response = |hello| hello.src_nid = "10.1.2.3@tcp".parse().unwrap();
    let wrong_type: Response = |hello| hello.connection_type = Some(ConnectionType::BulkIn);
    for (change, expected) in [
        (somebody_else, "it answered as 12345-10.1.2.3@tcp"),
        (wrong_type, "it answered with connection type bulk in to control"),
    ] {
        let (node, low, high, port) = node(|_| {});
        let listener = Listening::on(low, port);
        let said = said_of(low, || {
            node.put(node.bind_bytes(pattern(8, 1)), tcp(low), false);
            let mut response = hello(low, high, Some(ConnectionType::Control));
            change(&mut response);
            let (mut raw, _) = listener.accept_handshake();
            raw.send(&response.encode().unwrap());
            raw.read_to_end();
            assert!(node.expect(EventKind::Send).status.is_err());
        });
        assert!(said.iter().any(|line| line.starts_with(expected)), "{said:?}");
    }

    // A connection that was accepted, and requests the interface only after it was removed.
    let (node, low, high, port) = node(|_| {});
    let said = said_of(low, || {
        let mut early = Raw::connect(low.into(), 0, high.into(), port);
        // Accepted after the first connection.
        let _later = Raw::open(low, high, port, ConnectionType::Control);
        node.core.admin().remove_ni(tcp(high)).unwrap();
        let _ = early.stream.write_all(&acceptor::encode_request(tcp(high)));
        early.read_to_end();
    });
    assert!(!said.iter().any(|line| line.contains("no interface of this node")), "{said:?}");
}

//! All bytes that one side sends on a connection: request, HELLO, messages and NOOPs, arriving in pieces. The
//! result does not depend on the pieces, and no more than one head is ever kept.
//!
//! The lowest bit of the first byte decides whether there is a request, as from the connecting side; the others are
//! the size of the pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_wire::byte_order::ByteOrder;
use lnet_wire::{Body, MAX_PAYLOAD, Nid};
use socklnd::proto::Version;
use socklnd::proto::acceptor::{self, Decision};
use socklnd::proto::frame::{self, Incoming, MAX_HEAD_LEN};
use socklnd::proto::hello::{self, Decoded, Hello};

#[derive(Debug, PartialEq)]
enum ParsedPart {
    Request(Nid),
    Hello(Hello, ByteOrder),
    Frame(Incoming),
    Payload,
    /// The bytes violate the protocol, for this reason: nothing more is read.
    Nonsense(String),
}

#[derive(Clone, Copy)]
enum StreamState {
    Request,
    Hello,
    Head(Version, ByteOrder),
    Payload(usize, Version, ByteOrder),
    Over,
}

/// The receiving side of a connection, as a driver implements it.
struct Listener {
    state: StreamState,
    kept: Vec<u8>,
    heard: Vec<ParsedPart>,
}

impl Listener {
    fn hear(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        while self.step() {}
        let most = MAX_HEAD_LEN.max(hello::MAX_LEN).max(acceptor::LONG_REQUEST_LEN);
        assert!(matches!(self.state, StreamState::Over) || self.kept.len() < most);
    }

    /// Reads one unit; returns whether one was complete.
    fn step(&mut self) -> bool {
        let (len, said, next) = match self.state {
            StreamState::Over => return false,
            StreamState::Request => match acceptor::decide(&self.kept, |_| true) {
                Decision::Need(_) => return false,
                Decision::Accept { target, len } => (len, ParsedPart::Request(target), StreamState::Hello),
                other => return self.stop(format!("{other:?}")),
            },
            StreamState::Hello => match Hello::decode(&self.kept) {
                Ok(Decoded::Need(_)) => return false,
                Ok(Decoded::Done { hello, order, len }) => {
                    let version = hello.version;
                    (len, ParsedPart::Hello(hello, order), StreamState::Head(version, order))
                }
                Err(error) => return self.stop(error.to_string()),
            },
            StreamState::Head(version, order) => match frame::decode(version, order, &self.kept) {
                Ok(Incoming::Need(_)) => return false,
                Ok(noop @ (Incoming::Noop { .. } | Incoming::Confirmation { .. })) => {
                    (frame::FRAME_LEN, ParsedPart::Frame(noop), StreamState::Head(version, order))
                }
                Ok(message @ Incoming::Message { header, len, .. }) => {
                    let payload = header.payload_length;
                    let none_allowed = matches!(header.body, Body::Ack { .. } | Body::Get { .. });
                    if payload > if none_allowed { 0 } else { MAX_PAYLOAD } {
                        return self.stop(format!("a payload of {payload} bytes"));
                    }
                    (len, ParsedPart::Frame(message), StreamState::Payload(payload as usize, version, order))
                }
                Err(error) => return self.stop(error.to_string()),
            },
            StreamState::Payload(0, version, order) => (0, ParsedPart::Payload, StreamState::Head(version, order)),
            StreamState::Payload(missing, version, order) => {
                let len = missing.min(self.kept.len());
                self.kept.drain(..len);
                self.state = StreamState::Payload(missing - len, version, order);
                return len > 0;
            }
        };
        self.kept.drain(..len);
        self.heard.push(said);
        self.state = next;
        true
    }

    fn stop(&mut self, why: String) -> bool {
        self.heard.push(ParsedPart::Nonsense(why));
        self.state = StreamState::Over;
        false
    }
}

fn listen<'a>(calls: bool, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<ParsedPart> {
    let state = if calls { StreamState::Request } else { StreamState::Hello };
    let mut listener = Listener { state, kept: Vec::new(), heard: Vec::new() };
    pieces.for_each(|piece| listener.hear(piece));
    listener.heard
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, stream)) = bytes.split_first() else { return };
    let calls = choice & 1 == 1;
    let in_pieces = listen(calls, stream.chunks(usize::from(choice >> 1).max(1)));
    assert_eq!(in_pieces, listen(calls, std::iter::once(stream)));
});

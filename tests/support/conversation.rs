//! The messages that the two nodes of a connection sent, decoded with liblnet's own codecs.

use super::streams::{Connection, Knowledge, Side, Stream};
use lnet_wire::Header;
use lnet_wire::Nid;
use lnet_wire::byte_order::{ByteOrder, array};
use socklnd::proto::acceptor::{self, Decision};
use socklnd::proto::frame::{self, Cookies, Incoming};
use socklnd::proto::hello::{Decoded, Hello, Version};
use std::ops::Range;

/// A message or another part of the stream, as one side sent it.
#[derive(Clone, Debug)]
pub struct Item {
    pub from: Side,
    /// The packet that completed the line.
    pub packet: usize,
    /// The item's place in the side's stream. A message that the connection's end cut short reaches beyond the stream.
    pub range: Range<usize>,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub enum Content {
    /// The calling side's first bytes.
    Request {
        target: Nid,
        order: ByteOrder,
    },
    /// The acceptor's response to a request that it cannot read.
    RequestRefused,
    Hello {
        hello: Hello,
        order: ByteOrder,
    },
    Noop {
        cookies: Cookies,
    },
    Message {
        version: Version,
        cookies: Cookies,
        header: Header,
        payload: Range<usize>,
    },
    /// Bytes that no codec takes, to the end of the stream.
    Undecoded {
        why: String,
    },
    /// Bytes around a hole in the capture, in which no message could be found.
    Skipped,
}

impl Item {
    /// The NID that a message names as its source.
    pub fn source(&self) -> Option<Nid> {
        match &self.content {
            Content::Message { header, .. } => Some(header.src_nid),
            _ => None,
        }
    }
}

/// Decodes both directions of `connection`, in the order of the packets that completed the items.
pub fn items(connection: &Connection) -> Vec<Item> {
    let mut items: Vec<Item> =
        [Side::Opener, Side::Acceptor].into_iter().flat_map(|from| said(connection, from)).collect();
    items.sort_by_key(|item| item.packet);
    items
}

/// Decodes the bytes that `from` sent, in order.
pub fn said(connection: &Connection, from: Side) -> Vec<Item> {
    let mut reader = Reader { from, stream: connection.stream(from), at: 0, items: Vec::new() };
    reader.read_all();
    reader.items
}

struct Reader<'a> {
    from: Side,
    stream: &'a Stream,
    at: usize,
    items: Vec<Item>,
}

/// The longest of request, HELLO, and head of a message.
const MAX_HEAD: usize = 136;

/// Packets cut after 160 bytes have 94 of TCP payload: all of a message's head but the upper half of a
/// PUT's offset.
const MIN_USEFUL_HEAD: usize = 94;

impl Reader<'_> {
    fn read_all(&mut self) {
        if self.stream.next_hole(0) == 0 && self.stream.end() > 0 {
            self.skip_to(self.first_piece());
        } else if !self.read_preamble() {
            return;
        }
        let Some((version, order)) = self.read_hello() else { return };
        while self.at < self.stream.end() {
            if !self.read_message(version, order) {
                return;
            }
        }
    }

    /// The request, or a refusal of it. Whether a HELLO may follow.
    fn read_preamble(&mut self) -> bool {
        let bytes = self.peek();
        match self.from {
            Side::Opener => match acceptor::decide(&bytes, |_| true) {
                Decision::Accept { target, len } => {
                    let order = ByteOrder::detect(array(&bytes, 0), acceptor::MAGIC).unwrap();
                    self.push(len, Content::Request { target, order });
                }
                Decision::Need(_) if bytes.is_empty() => return false,
                other => return self.give_up(format!("request: {other:?}")),
            },
            Side::Acceptor => {
                if ByteOrder::detect(array(&bytes, 0), acceptor::MAGIC).is_some() {
                    self.push(acceptor::REFUSAL.len(), Content::RequestRefused);
                    return false;
                }
            }
        }
        true
    }

    fn read_hello(&mut self) -> Option<(Version, ByteOrder)> {
        let bytes = self.peek();
        if bytes.is_empty() {
            return None;
        }
        match Hello::decode(&bytes) {
            Ok(Decoded::Done { hello, order, len }) => {
                let version = hello.version;
                self.push(len, Content::Hello { hello, order });
                Some((version, order))
            }
            other => {
                self.give_up(format!("HELLO: {other:?}"));
                None
            }
        }
    }

    /// Whether to read on.
    fn read_message(&mut self, version: Version, order: ByteOrder) -> bool {
        if self.is_hole(self.at) {
            let next = self.next_message_behind_a_hole(version, order);
            self.skip_to(next);
            return true;
        }
        match frame::decode(version, order, &self.peek()) {
            Ok(Incoming::Noop { cookies, checksum: 0 }) => {
                self.push(frame::FRAME_LEN, Content::Noop { cookies });
            }
            Ok(Incoming::Message { cookies, checksum: 0, carried: None, header, len }) => {
                let start = self.at + len;
                let payload = start..start + header.payload_length as usize;
                self.push(len + payload.len(), Content::Message { version, cookies, header, payload });
            }
            other => return self.give_up(format!("frame: {other:?}")),
        }
        true
    }

    /// The next bytes, zero where the capture cut a packet short, up to the next hole.
    fn peek(&self) -> Vec<u8> {
        self.peek_at(self.at)
    }

    fn peek_at(&self, at: usize) -> Vec<u8> {
        let end = self.stream.next_hole(at).min(at + MAX_HEAD);
        self.stream.read(at..end).bytes
    }

    /// Whether the capture lacks the bytes that identify the message there: its packet, or enough of it.
    fn is_hole(&self, at: usize) -> bool {
        let noop = self.stream.read(at..at + frame::FRAME_LEN);
        let message = self.stream.read(at..at + MIN_USEFUL_HEAD);
        let is_noop = noop.bytes[0] == 0xc0;
        let known = if is_noop { noop.known } else { message.known };
        let end = self.stream.end().saturating_sub(at).min(known.len());
        known[..end].iter().any(|k| *k != Knowledge::Captured)
    }

    fn first_piece(&self) -> usize {
        self.stream.pieces().next().map_or(0, |piece| piece.range.start)
    }

    /// The start of the next packet that begins as a message does.
    fn next_message_behind_a_hole(&self, version: Version, order: ByteOrder) -> usize {
        let starts_a_message = |start: &usize| {
            let decoded = frame::decode(version, order, &self.peek_at(*start));
            let checksum_is_0 = matches!(
                decoded,
                Ok(Incoming::Noop { checksum: 0, .. } | Incoming::Message { checksum: 0, .. })
            );
            checksum_is_0 && !self.is_hole(*start)
        };
        let mut starts = self.stream.pieces_behind(self.at).map(|piece| piece.range.start);
        starts.find(starts_a_message).unwrap_or_else(|| self.stream.end())
    }

    fn push(&mut self, len: usize, content: Content) {
        let range = self.at..self.at + len;
        let packet = self.stream.packet_of(range.clone()).unwrap_or_default();
        self.items.push(Item { from: self.from, packet, range, content });
        self.at += len;
    }

    fn skip_to(&mut self, next: usize) {
        self.push(next - self.at, Content::Skipped);
    }

    fn give_up(&mut self, why: String) -> bool {
        self.push(self.stream.end() - self.at, Content::Undecoded { why });
        false
    }
}

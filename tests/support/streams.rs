//! Assembles the segments of a capture to TCP connections: the bytes of each direction in order, and
//! the missing ranges.

use super::pcap::Segment;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::ops::Range;

/// A TCP connection, from its SYN on.
#[derive(Debug)]
pub struct Connection {
    pub opener: SocketAddr,
    pub acceptor: SocketAddr,
    pub from_opener: Stream,
    pub from_acceptor: Stream,
    /// Openings and closings in order of time, retransmitted ones too.
    pub events: Vec<Event>,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    Opener,
    Acceptor,
}

#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The packet's number in the capture.
    pub packet: usize,
    pub by: Side,
    pub kind: EventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Syn,
    Fin,
    Rst,
}

/// The bytes of one direction, which may have holes: thinned captures leave out most of a long stream.
#[derive(Debug, Default)]
pub struct Stream {
    first: Option<u32>,
    /// The pieces, by the offset of their first byte; they do not overlap.
    pieces: BTreeMap<usize, Piece>,
}

/// Bytes that a packet was the first to bring.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The packet's number in the capture.
    pub packet: usize,
    pub range: Range<usize>,
    /// Shorter than `range` when the capture cut the packet short.
    data: Vec<u8>,
}

/// The state of one byte of a stream in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// No packet of the capture has the bytes.
    Missing,
    /// A packet had the bytes, but the capture kept only the packet's beginning.
    CutOff,
    Captured,
}

/// Part of a stream.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// Zero where not captured.
    pub bytes: Vec<u8>,
    pub known: Vec<Knowledge>,
}

impl Excerpt {
    pub fn is_captured(&self) -> bool {
        self.known.iter().all(|k| *k == Knowledge::Captured)
    }

    /// Whether a packet of the capture had every byte.
    pub fn is_seen(&self) -> bool {
        !self.known.contains(&Knowledge::Missing)
    }

    /// Whether `bytes` is the same as far as captured.
    pub fn agrees_with(&self, bytes: &[u8]) -> bool {
        let same = |(at, k): (usize, &Knowledge)| *k != Knowledge::Captured || self.bytes[at] == bytes[at];
        self.bytes.len() == bytes.len() && self.known.iter().enumerate().all(same)
    }
}

/// All connections of a capture in the order of their SYNs. Segments of connections that began before the
/// capture are not expected.
pub fn connections(segments: &[Segment]) -> Vec<Connection> {
    let mut connections: Vec<Connection> = Vec::new();
    let mut by_ends: HashMap<(SocketAddr, SocketAddr), (usize, Side)> = HashMap::new();
    for segment in segments {
        let ends = (segment.from, segment.to);
        if segment.syn && !segment.ack {
            let known = by_ends.get(&ends).filter(|(_, side)| *side == Side::Opener);
            if known.is_none_or(|(index, _)| !connections[*index].from_opener.starts_at(segment)) {
                let index = connections.len();
                connections.push(Connection::new(segment));
                by_ends.insert(ends, (index, Side::Opener));
                by_ends.insert((segment.to, segment.from), (index, Side::Acceptor));
            }
        }
        let (index, side) = by_ends[&ends];
        connections[index].take(side, segment);
    }
    connections
}

impl Side {
    pub const fn other(self) -> Self {
        match self {
            Self::Opener => Self::Acceptor,
            Self::Acceptor => Self::Opener,
        }
    }
}

impl Connection {
    pub const fn stream(&self, from: Side) -> &Stream {
        match from {
            Side::Opener => &self.from_opener,
            Side::Acceptor => &self.from_acceptor,
        }
    }

    /// Whether the capture has a SYN of both ends.
    pub fn is_established(&self) -> bool {
        self.events.iter().any(|e| e.kind == EventKind::Syn && e.by == Side::Acceptor)
    }

    /// The first FIN or RST.
    pub fn first_close(&self) -> Option<Event> {
        self.events.iter().find(|e| e.kind != EventKind::Syn).copied()
    }

    fn new(syn: &Segment) -> Self {
        Self {
            opener: syn.from,
            acceptor: syn.to,
            from_opener: Stream::default(),
            from_acceptor: Stream::default(),
            events: Vec::new(),
        }
    }

    fn take(&mut self, by: Side, segment: &Segment) {
        let kinds =
            [(segment.syn, EventKind::Syn), (segment.fin, EventKind::Fin), (segment.rst, EventKind::Rst)];
        let packet = segment.packet;
        self.events.extend(kinds.iter().filter(|k| k.0).map(|&(_, kind)| Event { packet, by, kind }));
        match by {
            Side::Opener => self.from_opener.take(segment),
            Side::Acceptor => self.from_acceptor.take(segment),
        }
    }
}

impl Connection {
    /// Whether nobody listened: the acceptor's side never opened.
    pub fn is_refused(&self) -> bool {
        self.from_acceptor.first.is_none()
    }
}

impl Stream {
    /// The offset behind the last byte seen.
    pub fn end(&self) -> usize {
        self.pieces.last_key_value().map_or(0, |(_, piece)| piece.range.end)
    }

    /// The pieces, in the order of the stream.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.values()
    }

    /// The pieces that start behind the byte at `at`.
    pub fn pieces_behind(&self, at: usize) -> impl Iterator<Item = &Piece> {
        self.pieces.range(at + 1..).map(|(_, piece)| piece)
    }

    /// Returns the bytes of `range`, each with its state.
    pub fn read(&self, range: Range<usize>) -> Excerpt {
        let mut bytes = vec![0; range.len()];
        let mut known = vec![Knowledge::Missing; range.len()];
        for piece in self.overlapping(range.clone()) {
            for at in piece.range.start.max(range.start)..piece.range.end.min(range.end) {
                let captured = piece.data.get(at - piece.range.start);
                bytes[at - range.start] = captured.copied().unwrap_or(0);
                known[at - range.start] =
                    if captured.is_some() { Knowledge::Captured } else { Knowledge::CutOff };
            }
        }
        Excerpt { bytes, known }
    }

    /// The packet that completed `range`, or would have; `None` when nothing of it was seen.
    pub fn packet_of(&self, range: Range<usize>) -> Option<usize> {
        self.overlapping(range).map(|piece| piece.packet).max()
    }

    /// The first byte at or after `from` that no packet has: the end, if there is no hole.
    pub fn next_hole(&self, from: usize) -> usize {
        let mut at = from;
        for piece in self.overlapping(from..usize::MAX) {
            if at < piece.range.start {
                return at;
            }
            at = piece.range.end;
        }
        at
    }

    fn overlapping(&self, range: Range<usize>) -> impl Iterator<Item = &Piece> {
        let before = self.pieces.range(..range.start).next_back().map(|(_, piece)| piece);
        before
            .filter(|piece| range.start < piece.range.end)
            .into_iter()
            .chain(self.pieces.range(range).map(|(_, piece)| piece))
    }

    fn starts_at(&self, syn: &Segment) -> bool {
        self.first == Some(syn.sequence.wrapping_add(1))
    }

    fn take(&mut self, segment: &Segment) {
        if segment.syn {
            self.first.get_or_insert_with(|| segment.sequence.wrapping_add(1));
        }
        let Some(first) = self.first else { return };
        // Signed: a keepalive probe repeats the byte before the first.
        let offset = segment.sequence.wrapping_sub(first).cast_signed() as isize;
        if !segment.syn && offset >= 0 {
            let start = offset.cast_unsigned();
            self.insert(segment.packet, start..start + segment.length, &segment.data);
        }
    }

    /// Adds the bytes that are new; of repeated bytes the first ones count.
    fn insert(&mut self, packet: usize, range: Range<usize>, data: &[u8]) {
        let mut at = range.start;
        while at < range.end {
            let Some(taken) = self.overlapping(at..range.end).next().map(|piece| piece.range.clone()) else {
                self.insert_new(packet, at..range.end, data, range.start);
                return;
            };
            if at < taken.start {
                self.insert_new(packet, at..taken.start, data, range.start);
            }
            at = taken.end;
        }
    }

    fn insert_new(&mut self, packet: usize, range: Range<usize>, data: &[u8], data_starts: usize) {
        let from = (range.start - data_starts).min(data.len());
        let to = (range.end - data_starts).min(data.len());
        self.pieces.insert(range.start, Piece { packet, range, data: data[from..to].to_vec() });
    }
}

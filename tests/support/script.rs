//! A capture as a script for one of its nodes: what the others say to it, and what it says to them, in the
//! order of the packets.

use super::conversation::{self, Content, Item};
use super::pcap;
use super::streams::{self, Connection, EventKind, Side};
use lnet_wire::{Body, Header, WireHandle};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// A capture, cut to the connections of one node.
#[derive(Debug)]
pub struct Script {
    /// The node's addresses.
    pub ours: Vec<IpAddr>,
    pub dialogues: Vec<Dialogue>,
    pub steps: Vec<Step>,
}

/// One connection between the node and another.
#[derive(Debug)]
pub struct Dialogue {
    pub opener: SocketAddr,
    pub acceptor: SocketAddr,
    pub we_open: bool,
    lines: Vec<Line>,
}

/// Something said on a connection, with its bytes.
#[derive(Clone, Debug)]
pub struct Line {
    /// Whether it is the node that says it.
    pub ours: bool,
    pub item: Item,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub dialogue: usize,
    pub action: Action,
}

/// In the order in which things of one packet happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    Open,
    /// The line of this number is said.
    Say(usize),
    Close {
        ours: bool,
    },
}

/// The capture `file` as seen by the node with the addresses `ours`.
pub fn script(file: &str, ours: &[IpAddr]) -> Script {
    let mut timed = Vec::new();
    let mut dialogues = Vec::new();
    for connection in streams::connections(&pcap::segments(file)) {
        let we_open = ours.contains(&connection.opener.ip());
        if we_open == ours.contains(&connection.acceptor.ip()) || (we_open && is_no_node(connection.opener)) {
            continue;
        }
        let dialogue = dialogues.len();
        let read = Dialogue::new(&connection, we_open);
        timed.extend(read.steps(&connection).map(|(packet, action)| (packet, Step { dialogue, action })));
        dialogues.push(read);
    }
    timed.sort_by_key(|(packet, step)| (*packet, step.action));
    Script { ours: ours.to_vec(), dialogues, steps: timed.into_iter().map(|(_, step)| step).collect() }
}

/// A kernel node calls from privileged ports.
fn is_no_node(caller: SocketAddr) -> bool {
    caller.port() > 1023
}

impl Script {
    pub fn line(&self, dialogue: usize, line: usize) -> &Line {
        &self.dialogues[dialogue].lines[line]
    }

    /// All that is said, in order, with the number of its dialogue.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.steps.iter().filter_map(|step| match step.action {
            Action::Say(line) => Some((step.dialogue, self.line(step.dialogue, line))),
            _ => None,
        })
    }

    /// The payloads of the REPLYs that the node sends, by the handles of the GETs that they answer.
    pub fn our_replies(&self) -> HashMap<WireHandle, &[u8]> {
        let replies = self.lines().filter_map(|(_, line)| match line.header()?.body {
            Body::Reply { handle } if line.ours => Some((handle, line.payload())),
            _ => None,
        });
        replies.collect()
    }

    /// The same capture from the other end.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        for dialogue in &mut self.dialogues {
            dialogue.we_open = !dialogue.we_open;
            dialogue.lines.iter_mut().for_each(|line| line.ours = !line.ours);
        }
        for step in &mut self.steps {
            if let Action::Close { ours } = &mut step.action {
                *ours = !*ours;
            }
        }
        self
    }
}

impl Dialogue {
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    fn new(connection: &Connection, we_open: bool) -> Self {
        let our_side = if we_open { Side::Opener } else { Side::Acceptor };
        let line = |item: Item| {
            let said = connection.stream(item.from).read(item.range.clone());
            assert!(said.is_captured(), "only complete captures can be played: {item:?}");
            Line { ours: item.from == our_side, item, bytes: said.bytes }
        };
        let lines = conversation::items(connection).into_iter().map(line).collect();
        Self { opener: connection.opener, acceptor: connection.acceptor, we_open, lines }
    }

    /// To be tampered with.
    pub fn last_line(&mut self) -> &mut Line {
        self.lines.last_mut().expect("a line")
    }

    /// With the numbers of their packets.
    fn steps(&self, connection: &Connection) -> impl Iterator<Item = (usize, Action)> {
        let our_side = if self.we_open { Side::Opener } else { Side::Acceptor };
        let opened = connection.events.iter().find(|event| event.kind == EventKind::Syn);
        let closed = connection.first_close();
        let closed_at = closed.map_or(usize::MAX, |event| event.packet);
        let open = opened.map(|event| (event.packet, Action::Open));
        let close = closed.map(|event| (event.packet, Action::Close { ours: event.by == our_side }));
        let says = self.lines.iter().enumerate();
        let says = says.map(|(number, line)| (line.item.packet, Action::Say(number)));
        let before_close = move |(packet, _): &(usize, Action)| *packet <= closed_at;
        open.into_iter().chain(says.filter(before_close)).chain(close).collect::<Vec<_>>().into_iter()
    }
}

impl Line {
    /// The LNet header, if this is a message.
    pub fn header(&self) -> Option<&Header> {
        match &self.item.content {
            Content::Message { header, .. } => Some(header),
            _ => None,
        }
    }

    /// The message's payload; empty if this is none.
    pub fn payload(&self) -> &[u8] {
        match &self.item.content {
            Content::Message { payload, .. } => &self.bytes[self.bytes.len() - payload.len()..],
            _ => &[],
        }
    }

    /// Whether the node's application, not the node itself, has this sent: a PUT or GET of ours.
    pub fn is_of_our_application(&self) -> bool {
        let request = |header: &Header| matches!(header.body, Body::Put { .. } | Body::Get { .. });
        self.ours && self.header().is_some_and(request)
    }
}

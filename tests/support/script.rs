//! A capture as a script for one of its nodes: the messages of the other nodes to it, and its own to them, in the order of the
//! packets.

use super::conversation::{self, Content, Item};
use super::pcap;
use super::streams::{self, Connection, EventKind, Side};
use lnet_wire::nid::Address;
use lnet_wire::ping_info::ping_buffer_len;
use lnet_wire::{Body, Header, Nid, RESERVED_PORTAL, WireHandle};
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A capture, cut to the connections of one node.
#[derive(Debug)]
pub struct Script {
    /// The node's addresses.
    pub ours: Vec<IpAddr>,
    pub dialogues: Vec<Dialogue>,
    pub steps: Vec<Step>,
}

/// A connection between the node and another.
#[derive(Debug)]
pub struct Dialogue {
    pub opener: SocketAddr,
    pub acceptor: SocketAddr,
    pub we_open: bool,
    lines: Vec<Line>,
}

/// A message on a connection, with its bytes.
#[derive(Clone, Debug)]
pub struct Line {
    /// Whether the node is the sender.
    pub ours: bool,
    /// Whether the node is not the source of the message, but forwards it.
    pub forwarded: bool,
    pub item: Item,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub dialogue: usize,
    pub action: Action,
}

/// The number of a dialogue, and that of a line in it.
pub type Place = (usize, usize);

/// The reason why a node sends a PUT or GET.
#[derive(Clone, Copy, Debug)]
pub enum Cause {
    /// An application sends the request at this place. The node sends that request, or first the ping that precedes it.
    Request(Place),
    /// An operator discovers this peer.
    Discover(Nid),
    /// The node itself pushes its NIDs to a peer, after a message that it has received.
    Itself,
}

/// The events of one packet, in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    Open,
    /// The line of this number is sent.
    Say(usize),
    Close {
        ours: bool,
    },
}

/// The length of the ping reply that discovery asks for, in bytes; an operator's ping asks for more.
const ROOM_OF_DISCOVERY: u32 = ping_buffer_len(16) as u32;

/// The capture `file` in the view of the node with the addresses `ours`.
pub fn script(file: &str, ours: &[IpAddr]) -> Script {
    script_until(file, ours, Duration::MAX)
}

/// The same, of the first part of the capture: what came later than `end` after the first packet is left out, and so are connections that
/// nobody accepted.
pub fn script_until(file: &str, ours: &[IpAddr], end: Duration) -> Script {
    let mut timed = Vec::new();
    let mut dialogues = Vec::new();
    let mut segments = pcap::segments(file);
    let start = segments.first().map_or(0, |first| first.time);
    segments.retain(|segment| u128::from(segment.time - start) < end.as_micros());
    for connection in streams::connections(&segments) {
        if connection.is_refused() {
            continue;
        }
        let we_open = ours.contains(&connection.opener.ip());
        if we_open == ours.contains(&connection.acceptor.ip()) || (we_open && is_no_node(connection.opener)) {
            continue;
        }
        let dialogue = dialogues.len();
        let read = Dialogue::new(&connection, we_open, ours);
        timed.extend(read.steps(&connection).map(|(packet, action)| (packet, Step { dialogue, action })));
        dialogues.push(read);
    }
    timed.sort_by_key(|(packet, step)| (*packet, step.action));
    Script { ours: ours.to_vec(), dialogues, steps: timed.into_iter().map(|(_, step)| step).collect() }
}

/// The address in a NID of a TCP net.
pub fn address_of(nid: Nid) -> IpAddr {
    match nid.address() {
        Address::Short(v4) => IpAddr::V4(v4.into()),
        Address::Long(v6) => IpAddr::V6(v6.into()),
    }
}

/// A kernel node calls from privileged ports.
fn is_no_node(caller: SocketAddr) -> bool {
    caller.port() > 1023
}

impl Script {
    pub fn line(&self, dialogue: usize, line: usize) -> &Line {
        &self.dialogues[dialogue].lines[line]
    }

    /// All lines, in order, each with the number of its dialogue.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.steps.iter().filter_map(|step| match step.action {
            Action::Say(line) => Some((step.dialogue, self.line(step.dialogue, line))),
            _ => None,
        })
    }

    /// Returns the reason why the node sends the line at `place`; `None` for a line that is no PUT or GET of the node.
    pub fn cause_of(&self, place: Place) -> Option<Cause> {
        let line = self.line(place.0, place.1);
        let header = line.header().filter(|_| line.is_request_of_ours())?;
        match header.body {
            Body::Put { portal: RESERVED_PORTAL, .. } => Some(Cause::Itself),
            Body::Get { portal: RESERVED_PORTAL, sink_length, .. } if sink_length == ROOM_OF_DISCOVERY => {
                let waiting = self.application_requests_behind(place).find(|place| {
                    self.line(place.0, place.1).header().is_some_and(|it| it.dest_nid == header.dest_nid)
                });
                Some(waiting.map_or(Cause::Discover(header.dest_nid), Cause::Request))
            }
            _ => Some(Cause::Request(place)),
        }
    }

    /// Whether the line there is sent by the node's discovery.
    pub fn is_of_discovery(&self, place: Place) -> bool {
        match self.cause_of(place) {
            Some(Cause::Request(request)) => request != place,
            Some(Cause::Discover(_) | Cause::Itself) => true,
            None => false,
        }
    }

    /// The PUTs and GETs of the node that wait for discoveries, from `place` on.
    fn application_requests_behind(&self, place: Place) -> impl Iterator<Item = Place> {
        let places = self.steps.iter().filter_map(|step| match step.action {
            Action::Say(line) => Some((step.dialogue, line)),
            Action::Open | Action::Close { .. } => None,
        });
        places.skip_while(move |it| *it != place).filter(|place| {
            let line = self.line(place.0, place.1);
            line.is_request_of_ours() && line.portal().is_some_and(|portal| portal != RESERVED_PORTAL)
        })
    }

    /// The node's pushes with the same content as an earlier one to the same peer, and the ACKs to them.
    pub fn repeated_pushes(&self) -> HashSet<Place> {
        let said = self.steps.iter().filter_map(|step| match step.action {
            Action::Say(line) => Some((step.dialogue, line)),
            Action::Open | Action::Close { .. } => None,
        });
        let (mut pushed, mut repeated, mut handles) = (HashSet::new(), HashSet::new(), HashSet::new());
        for place in said {
            let line = self.line(place.0, place.1);
            let Some(header) = line.header() else { continue };
            match header.body {
                Body::Put { portal: RESERVED_PORTAL, ack, .. }
                    if line.is_request_of_ours() && !pushed.insert((header.dest_nid, line.payload())) =>
                {
                    repeated.insert(place);
                    handles.extend(ack);
                }
                Body::Ack { handle, .. } if handles.contains(&handle) => {
                    repeated.insert(place);
                }
                _ => {}
            }
        }
        repeated
    }

    /// The payloads of the REPLYs that the node sends, by the handles of the GETs that they answer.
    pub fn our_replies(&self) -> HashMap<WireHandle, &[u8]> {
        let replies = self.lines().filter_map(|(_, line)| match line.header()?.body {
            Body::Reply { handle } if line.ours => Some((handle, line.payload())),
            _ => None,
        });
        replies.collect()
    }

    /// The same capture in the view of the other node.
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

    fn new(connection: &Connection, we_open: bool, addresses: &[IpAddr]) -> Self {
        let our_side = if we_open { Side::Opener } else { Side::Acceptor };
        let line = |item: Item| {
            let said = connection.stream(item.from).read(item.range.clone());
            assert!(said.is_captured(), "only complete captures can be played: {item:?}");
            let ours = item.from == our_side;
            let source = item.source().map(address_of);
            let forwarded = ours && source.is_some_and(|source| !addresses.contains(&source));
            Line { ours, forwarded, item, bytes: said.bytes }
        };
        let lines = conversation::items(connection).into_iter().map(line).collect();
        Self { opener: connection.opener, acceptor: connection.acceptor, we_open, lines }
    }

    /// The last line, for tests that change it.
    pub fn last_line(&mut self) -> &mut Line {
        self.lines.last_mut().expect("a line")
    }

    /// The steps of the dialogue, with the numbers of their packets.
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

    /// The message's payload; empty for other lines.
    pub fn payload(&self) -> &[u8] {
        match &self.item.content {
            Content::Message { payload, .. } => &self.bytes[self.bytes.len() - payload.len()..],
            _ => &[],
        }
    }

    /// The portal of a PUT or GET.
    pub fn portal(&self) -> Option<u32> {
        match self.header()?.body {
            Body::Put { portal, .. } | Body::Get { portal, .. } => Some(portal),
            Body::Ack { .. } | Body::Reply { .. } => None,
        }
    }

    /// Whether this is a PUT or GET of the node's.
    pub fn is_request_of_ours(&self) -> bool {
        self.ours && !self.forwarded && self.portal().is_some()
    }
}

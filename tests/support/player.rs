//! Plays the other nodes of a capture against a live node, and checks every byte that the node sends.

use super::conversation::Content;
use super::difference::{self, Difference};
use super::script::{Action, Cause, Dialogue, Line, Place, Script};
use lnet_wire::byte_order::ByteOrder;
use lnet_wire::{Body, Nid, WireHandle};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use socklnd::proto::frame::{self, Incoming};
use socklnd::proto::{ConnectionType, Version};
use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// The longest time that a step of the node may take. Only a failing test waits that long.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// The programs that use the node, controlled by the capture: each makes its requests in the order of the capture.
pub trait Application {
    /// Makes the node connect to `to`, with nothing of the capture to send there; does not wait.
    fn call(&mut self, from: Nid, to: Nid);

    /// Makes the node send this PUT or GET; does not wait.
    fn start(&mut self, request: &Line);

    /// Makes the node discover this peer; does not wait.
    fn discover(&mut self, peer: Nid);

    /// Waits until the node has processed both HELLOs of a connection to this address of it.
    fn connected(&mut self, our_end: IpAddr);

    /// Prepares for a PUT or GET that the node is about to receive; `answer` is its reply.
    fn prepare(&mut self, request: &Line, response: Option<&[u8]>);

    /// Waits until the application has got this message, and checks it.
    fn received(&mut self, message: &Line);
}

/// The other nodes.
pub struct Player<'a> {
    script: &'a Script,
    listeners: Vec<(SocketAddr, TcpListener)>,
    /// The sockets, by number of the dialogue.
    sockets: HashMap<usize, TcpStream>,
    /// The handles that the node wrote into its requests, by those of the captured node.
    handles: HashMap<WireHandle, WireHandle>,
    /// The same for the cookies of its requests for delivery ACKs.
    cookies: HashMap<u64, u64>,
    /// The number of HELLOs sent so far, by the number of the dialogue.
    greetings: HashMap<usize, usize>,
    /// Lines of the node by dialogue and number.
    heard_before_its_turn: HashSet<Place>,
    /// The lines for which the application has been given something to do.
    started: Vec<Place>,
    difference: Difference,
    /// The lines that the node need not send, and the responses to them.
    left_out: HashSet<Place>,
}

impl<'a> Player<'a> {
    /// Listens on the addresses of the others that the node calls.
    pub fn new(script: &'a Script) -> Self {
        let mut listeners: Vec<(SocketAddr, TcpListener)> = Vec::new();
        for dialogue in script.dialogues.iter().filter(|dialogue| dialogue.we_open) {
            let address = dialogue.acceptor;
            if !listeners.iter().any(|(known, _)| *known == address) {
                listeners.push((address, TcpListener::bind(address).expect("a free port 988")));
            }
        }
        let (sockets, handles) = (HashMap::new(), HashMap::new());
        Self {
            script,
            listeners,
            sockets,
            handles,
            cookies: HashMap::new(),
            greetings: HashMap::new(),
            heard_before_its_turn: HashSet::new(),
            started: Vec::new(),
            difference: Difference::default(),
            left_out: HashSet::new(),
        }
    }

    /// Lets the node omit pushes that repeat earlier ones, although the captured node sent them.
    #[must_use]
    pub fn without_repeated_pushes(self) -> Self {
        Self { left_out: self.script.repeated_pushes(), ..self }
    }

    /// Plays the capture to its end. Panics if the node does not behave as the captured one did.
    pub fn play(mut self, application: &mut dyn Application) {
        let responses = self.script.our_replies();
        for step in &self.script.steps {
            let dialogue = &self.script.dialogues[step.dialogue];
            match step.action {
                Action::Open if dialogue.we_open => self.be_called(step.dialogue, application),
                Action::Open => self.call(step.dialogue),
                Action::Say(number) if self.left_out.contains(&(step.dialogue, number)) => {}
                Action::Say(number) => {
                    let line = self.script.line(step.dialogue, number);
                    if line.ours {
                        self.hear(step.dialogue, number, application);
                    } else {
                        self.say(step.dialogue, line, &responses, application);
                    }
                    self.count_greeting(step.dialogue, line, application);
                }
                Action::Close { ours: true } => self.expect_end(step.dialogue),
                Action::Close { ours: false } => drop(self.sockets.remove(&step.dialogue)),
            }
        }
        self.part();
    }

    fn count_greeting(&mut self, number: usize, line: &Line, application: &mut dyn Application) {
        if let Content::Hello { .. } = line.item.content {
            let greetings = self.greetings.entry(number).or_default();
            *greetings += 1;
            if *greetings == 2 {
                application.connected(self.script.dialogues[number].our_end().ip());
            }
        }
    }

    fn call(&mut self, number: usize) {
        let dialogue = &self.script.dialogues[number];
        let socket =
            Socket::new(Domain::for_address(dialogue.opener), Type::STREAM, Some(Protocol::TCP)).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&SockAddr::from(dialogue.opener)).expect("the captured node's address and port");
        socket
            .connect_timeout(&SockAddr::from(dialogue.acceptor), TIMEOUT)
            .unwrap_or_else(|error| panic!("{}: the node does not listen: {error}", dialogue.name()));
        self.keep(number, socket.into());
    }

    /// Makes the application start the operation that causes the node's connection, and waits for the connection.
    fn be_called(&mut self, number: usize, application: &mut dyn Application) {
        let dialogue = &self.script.dialogues[number];
        let (from, to) = (dialogue.opener, dialogue.acceptor);
        self.give_cause_for(number, application);
        let (_, listener) = self.listeners.iter().find(|(address, _)| *address == to).unwrap();
        let (socket, caller) = accept(listener, &dialogue.name());
        assert_eq!(caller, from, "{}: the address and port that the node calls from", dialogue.name());
        self.keep(number, socket);
    }

    fn keep(&mut self, number: usize, socket: TcpStream) {
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        socket.set_write_timeout(Some(TIMEOUT)).unwrap();
        socket.set_nodelay(true).unwrap();
        self.sockets.insert(number, socket);
    }

    /// Makes the node's application start the operation that causes the node to open the dialogue `number`.
    fn give_cause_for(&mut self, number: usize, application: &mut dyn Application) {
        let ends = self.script.dialogues[number].ends();
        let of_the_pair = self.script.steps.iter().filter(|step| {
            let [opener, acceptor] = self.script.dialogues[step.dialogue].ends();
            ends == [opener, acceptor] || ends == [acceptor, opener]
        });
        let mut requests = of_the_pair.filter_map(|step| match step.action {
            Action::Say(line) => Some((step.dialogue, line)),
            Action::Open | Action::Close { .. } => None,
        });
        if let Some(place) = requests.find(|place| self.script.cause_of(*place).is_some()) {
            self.have_it_said(place, application);
        } else if let Some((from, to)) = self.script.dialogues[number].nids() {
            application.call(from, to);
        }
    }

    /// Makes the application start, once, the operation that causes the node to send the line at `place`.
    fn have_it_said(&mut self, place: Place, application: &mut dyn Application) {
        let Some(cause) = self.script.cause_of(place) else { return };
        let begins_at = if let Cause::Request(request) = cause { request } else { place };
        if self.started.contains(&begins_at) {
            return;
        }
        self.started.push(begins_at);
        match cause {
            Cause::Request(request) => application.start(self.script.line(request.0, request.1)),
            Cause::Discover(peer) => application.discover(peer),
            Cause::Itself => {}
        }
    }

    fn say(
        &mut self,
        number: usize,
        line: &Line,
        responses: &HashMap<WireHandle, &[u8]>,
        application: &mut dyn Application,
    ) {
        let response = match line.header().map(|header| header.body) {
            Some(Body::Get { reply, .. }) => responses.get(&reply).copied(),
            _ => None,
        };
        application.prepare(line, response);
        let mut bytes = with_handle(line, &self.handles);
        self.translate_ack_cookies(line, &mut bytes);
        let name = self.script.dialogues[number].name();
        self.socket(number)
            .write_all(&bytes)
            .unwrap_or_else(|error| panic!("{name}: {error} at {:?}", line.item));
        application.received(line);
    }

    fn hear(&mut self, number: usize, line_number: usize, application: &mut dyn Application) {
        let line = self.script.line(number, line_number);
        self.have_it_said((number, line_number), application);
        if self.heard_before_its_turn.remove(&(number, line_number)) {
            return;
        }
        let group = self.interchangeable_with(number);
        loop {
            let heard = match line.header() {
                None if group.len() == 1 => self.read(number, line.bytes.len()),
                _ => self.read_message(self.wait_for_any(&group).unwrap_or(number), line),
            };
            let heard = heard.unwrap_or_else(|error| {
                let name = self.script.dialogues[number].name();
                panic!("{name}: {error} where the kernel said {:?}\n{}", line.item, self.what_else_was_said())
            });
            let place = self.place_of(&heard, (number, line_number), &group);
            self.check(place, &heard);
            if place == (number, line_number) {
                return;
            }
            self.heard_before_its_turn.insert(place);
        }
    }

    fn check(&mut self, place: Place, heard: &[u8]) {
        let dialogue = &self.script.dialogues[place.0];
        let line = self.script.line(place.0, place.1);
        if let Err(mismatch) = self.difference.check(dialogue.our_end().ip(), line, heard) {
            panic!("{}: {mismatch}\nkernel: {:?}", dialogue.name(), line.item);
        }
        if let (Some(theirs), Some(ours)) = (own_handle(line, &line.bytes), own_handle(line, heard)) {
            self.handles.insert(theirs, ours);
        }
        if let Some(place) = difference::node_chosen_cookie(line) {
            self.cookies.insert(cookie(&line.bytes, place.start), cookie(heard, place.start));
        }
    }

    /// Replaces the captured cookies in delivery ACKs by those of the live node.
    fn translate_ack_cookies(&self, line: &Line, bytes: &mut [u8]) {
        let places: &[usize] = match &line.item.content {
            Content::Noop { .. } => &[8, 16],
            Content::Message { version, .. } if *version >= Version::V2 => &[16],
            _ => return,
        };
        for at in places {
            if let Some(ours) = self.cookies.get(&cookie(bytes, *at)) {
                bytes[*at..*at + 8].copy_from_slice(&ours.to_le_bytes());
            }
        }
    }

    fn read(&self, number: usize, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.socket(number).read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The next message or NOOP on a connection of the version that `like` came on.
    fn read_message(&self, number: usize, like: &Line) -> io::Result<Vec<u8>> {
        let version = match &like.item.content {
            Content::Message { version, .. } => *version,
            _ => Version::V3,
        };
        let mut bytes = self.read(number, frame::FRAME_LEN)?;
        loop {
            match frame::decode(version, ByteOrder::Little, &bytes) {
                Ok(Incoming::Need(len)) => bytes.extend(self.read(number, len - bytes.len())?),
                Ok(Incoming::Message { header, .. }) => {
                    bytes.extend(self.read(number, header.payload_length as usize)?);
                    return Ok(bytes);
                }
                // Any bytes but a message fail the comparison.
                Ok(Incoming::Noop { .. } | Incoming::Confirmation { .. }) | Err(_) => return Ok(bytes),
            }
        }
    }

    /// Returns the place of the line that was `heard`: the expected one, or one that the node has sent early, as there is
    /// no order between connections, and none between discovery and other messages of a node.
    fn place_of(&self, heard: &[u8], expected: Place, group: &[usize]) -> Place {
        let passes = |place: &Place| {
            let line = self.script.line(place.0, place.1);
            let address = self.script.dialogues[place.0].our_end().ip();
            line.ours
                && heard.len() == line.bytes.len()
                && self.difference.clone().check(address, line, heard).is_ok()
        };
        let places = self.script.steps.iter().filter_map(|step| match step.action {
            Action::Say(line) if group.contains(&step.dialogue) => Some((step.dialogue, line)),
            _ => None,
        });
        let has_no_order = |place: &Place| {
            let of_discovery = |place: Place| self.script.is_of_discovery(place);
            *place == expected || group.len() > 1 || of_discovery(*place) != of_discovery(expected)
        };
        let mut open = places.skip_while(|place| *place != expected).filter(has_no_order);
        open.find(|place| {
            passes(place) && !self.heard_before_its_turn.contains(place) && !self.left_out.contains(place)
        })
        .unwrap_or(expected)
    }

    /// The open connections on which the node may send the messages that the kernel sent on this one: messages use any
    /// connection of their type.
    fn interchangeable_with(&self, number: usize) -> Vec<usize> {
        let role = |number: usize| self.script.dialogues[number].role();
        let greeted = |number: usize| self.greetings.get(&number) == Some(&2);
        let alike = |other: &usize| {
            *other == number || (greeted(number) && greeted(*other) && role(*other) == role(number))
        };
        self.sockets.keys().copied().filter(alike).collect()
    }

    /// Returns one of the connections that has something to read; `None` if none has within [`TIMEOUT`].
    fn wait_for_any(&self, numbers: &[usize]) -> Option<usize> {
        let mut all: Vec<PollFd<'_>> =
            numbers.iter().map(|number| PollFd::new(self.socket(*number), PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: TIMEOUT.as_secs().cast_signed(), tv_nsec: 0 };
        poll(&mut all, Some(&timeout)).unwrap();
        let ready = all.iter().position(|one| !one.revents().is_empty());
        ready.map(|at| numbers[at])
    }

    /// Describes the unread bytes of all connections, for the message of a failing test.
    fn what_else_was_said(&self) -> String {
        let mut all = String::new();
        for (number, mut socket) in &self.sockets {
            let mut bytes = vec![0; 4096];
            socket.set_nonblocking(true).unwrap();
            if let Ok(len @ 1..) = socket.read(&mut bytes) {
                let name = self.script.dialogues[*number].name();
                all.push_str(&format!("unread on {name}: {:02x?}\n", &bytes[..len.min(160)]));
            }
        }
        all
    }

    /// Checks that the node has sent nothing more, and waits until it closes the connection, in any way.
    fn expect_end(&mut self, number: usize) {
        let Some(socket) = self.sockets.remove(&number) else { return };
        self.read_to_end(number, socket);
    }

    /// Closes the open connections; checks that the node has sent nothing more and closes them, too.
    fn part(mut self) {
        for socket in self.sockets.values() {
            // The node may have closed the connection as a sibling of one closed before.
            let _ = socket.shutdown(Shutdown::Write);
        }
        for (number, socket) in std::mem::take(&mut self.sockets) {
            self.read_to_end(number, socket);
        }
    }

    fn read_to_end(&self, number: usize, mut socket: TcpStream) {
        let mut rest = Vec::new();
        let ended = socket.read_to_end(&mut rest);
        let name = self.script.dialogues[number].name();
        assert!(rest.is_empty(), "{name}: the node said more than the kernel did: {rest:02x?}");
        if let Err(error) = ended {
            assert_eq!(
                error.kind(),
                ErrorKind::ConnectionReset,
                "{name}: the node does not close the connection"
            );
        }
    }

    fn socket(&self, number: usize) -> &TcpStream {
        self.sockets.get(&number).expect("an open connection")
    }
}

impl Dialogue {
    fn name(&self) -> String {
        format!("{} -> {}", self.opener, self.acceptor)
    }

    fn ends(&self) -> [IpAddr; 2] {
        [self.opener.ip(), self.acceptor.ip()]
    }

    /// The addresses of the connection, and its type as the opener sees it.
    fn role(&self) -> Option<([IpAddr; 2], ConnectionType)> {
        self.lines().iter().find_map(|line| match &line.item.content {
            Content::Hello { hello, .. } => hello.connection_type.map(|kind| (self.ends(), kind)),
            _ => None,
        })
    }

    /// The NIDs in the opener's HELLO: its own, and that of the node it connects to.
    fn nids(&self) -> Option<(Nid, Nid)> {
        self.lines().iter().find_map(|line| match &line.item.content {
            Content::Hello { hello, .. } => hello.dest_nid.map(|to| (hello.src_nid, to)),
            _ => None,
        })
    }

    fn our_end(&self) -> SocketAddr {
        if self.we_open { self.opener } else { self.acceptor }
    }
}

fn accept(listener: &TcpListener, name: &str) -> (TcpStream, SocketAddr) {
    let socket = Socket::from(listener.try_clone().unwrap());
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let (stream, caller) =
        socket.accept().unwrap_or_else(|error| panic!("{name}: no call from the node: {error}"));
    (stream.into(), caller.as_socket().unwrap())
}

fn cookie(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The handle that the sender of a PUT or GET made up.
fn own_handle(line: &Line, bytes: &[u8]) -> Option<WireHandle> {
    let at = difference::node_chosen_handle(line)?;
    Some(WireHandle {
        interface_cookie: u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()),
        object_cookie: u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap()),
    })
}

/// An ACK or REPLY to the node carries the handle that this node, not the captured one, wrote.
fn with_handle(line: &Line, handles: &HashMap<WireHandle, WireHandle>) -> Vec<u8> {
    let mut bytes = line.bytes.clone();
    let answered = match line.header().map(|header| header.body) {
        Some(Body::Ack { handle, .. } | Body::Reply { handle }) => handles.get(&handle),
        _ => None,
    };
    if let (Some(handle), Some(at)) = (answered, difference::handle(line)) {
        bytes[at..at + 8].copy_from_slice(&handle.interface_cookie.to_le_bytes());
        bytes[at + 8..at + 16].copy_from_slice(&handle.object_cookie.to_le_bytes());
    }
    bytes
}

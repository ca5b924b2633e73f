//! An interface with its peers and connections. It waits for nothing: all sockets say at once what they have.
//!
//! A connection is a Unix socket and two rings. The end that connects makes the rings and sends their files with its hello; the other end
//! answers with its own. From then on the socket carries wake-ups alone, and its end is that of the connection. Each of two nodes may connect to
//! the other at the same time: both connections stay, messages leave over one of them, and are received over both.

mod connecting;

use crate::pipes::{Done, Inbound, Message, Outbound, Received, Share, Unusable};
use lnd_common::conn_error::{BytesSent, ConnError};
use lnet_core::{Cause, Errno, SendFailure, Time};
use lnet_os::local_socket::listen_local;
use lnet_os::socket::{self, Wait};
use lnet_ring::Wake;
use lnet_wire::Nid;
use rustix::event::{Timespec, epoll};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// The number of a connection.
pub(crate) type ConnId = u64;

/// The number of the listening socket in the epoll set.
const LISTENER: ConnId = 0;
/// The time in which a hello must come.
const HELLO_TIME: Duration = Duration::from_secs(5);
/// The events that are read from the epoll set at once.
const MAX_EVENTS: usize = 32;

/// What the core, or the log, is to be told.
#[derive(Debug)]
pub(crate) enum Output {
    Finalize(Message, Result<(), SendFailure>),
    Connected { conn: ConnId, peer: Nid, incarnation: u64 },
    Arrived { conn: ConnId, from: Nid, message: Received },
    Ended { peer: Nid, reason: Ended },
    Refused { reason: String },
}

/// The reason why a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Ended {
    #[error("it cannot be reached: {}", .0.text())]
    NotConnected(Errno),
    #[error("the peer has closed it")]
    ByPeer,
    #[error("the peer has been restarted")]
    Restarted,
    #[error("the peer has read nothing for the LND timeout")]
    Stalled,
    #[error("the peer has sent {0}")]
    Violation(String),
    #[error("the node has given it up")]
    Aborted(Cause),
    #[error("the interface ends")]
    Shutdown,
}

impl Ended {
    /// The failure of messages of which it is certain that the peer does not have them.
    pub(crate) fn failure(&self) -> SendFailure {
        let error = match self {
            // There is no network between the nodes, so nothing else is to blame.
            Self::Stalled => return SendFailure::unsent(Errno::TimedOut, Cause::RemoteDropped),
            Self::NotConnected(errno) => ConnError::NotConnected(*errno),
            Self::ByPeer | Self::Restarted => ConnError::ClosedByPeer(Errno::ConnectionReset),
            Self::Violation(_) => ConnError::BrokenByPeer,
            Self::Aborted(cause) => ConnError::Aborted(*cause),
            Self::Shutdown => ConnError::Shutdown,
        };
        error.failure(BytesSent::Nothing)
    }
}

impl From<Unusable> for Ended {
    fn from(unusable: Unusable) -> Self {
        match unusable {
            Unusable::Closed(_) => Self::ByPeer,
            _ => Self::Violation(unusable.to_string()),
        }
    }
}

/// What does not change of an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    pub(crate) nid: Nid,
    pub(crate) incarnation: u64,
    /// The words for records of the rings that it makes.
    pub(crate) ring_words: usize,
}

/// An interface. See the module.
pub(crate) struct Engine {
    local: Local,
    listener: OwnedFd,
    epoll: Arc<OwnedFd>,
    conns: BTreeMap<ConnId, Conn>,
    peers: BTreeMap<Nid, Peer>,
    shares: BTreeMap<Nid, Share>,
    last: ConnId,
    out: VecDeque<Output>,
    /// Whether there is a connection for which nobody looks at the time yet.
    is_untimed: bool,
}

struct Conn {
    socket: OwnedFd,
    since: Time,
    state: State,
}

enum State {
    /// Another process has connected, and not said who it is.
    Accepted,
    /// This node has sent its hello.
    Asked(Nid, Box<(Outbound, Inbound)>),
    Up(Box<Up>),
}

struct Up {
    peer: Nid,
    incarnation: u64,
    outbound: Outbound,
    inbound: Inbound,
}

#[derive(Default)]
struct Peer {
    /// The messages that wait for a connection.
    waiting: Vec<Message>,
    /// The connections that the core knows of: the first is that for messages.
    up: Vec<ConnId>,
    /// The connection that has been asked for, or that the core is being told of.
    coming: Option<ConnId>,
}

impl Engine {
    pub(crate) fn new(local: Local, listener: OwnedFd, epoll: Arc<OwnedFd>) -> io::Result<Self> {
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        Ok(Self {
            local,
            listener,
            epoll,
            conns: BTreeMap::new(),
            peers: BTreeMap::new(),
            shares: BTreeMap::new(),
            last: LISTENER,
            out: VecDeque::new(),
            is_untimed: false,
        })
    }

    /// Lets peers connect.
    pub(crate) fn open(&self) -> io::Result<()> {
        listen_local(&self.listener)
    }

    pub(crate) fn take_outputs(&mut self) -> VecDeque<Output> {
        std::mem::take(&mut self.out)
    }

    /// Sends a message, or keeps it until there is a connection.
    pub(crate) fn send(&mut self, message: Message, now: Time) {
        let nid = message.next_hop().nid;
        let peer = self.peers.entry(nid).or_default();
        if let Some((id, Conn { state: State::Up(up), .. })) =
            peer.up.first().and_then(|id| Some((*id, self.conns.get_mut(id)?)))
        {
            up.outbound.send(message, now);
            return self.work_on(id, 0, now);
        }
        peer.waiting.push(message);
        if peer.coming.is_none() {
            self.connect(nid, now);
        }
    }

    /// The core knows of a connection: what waits for it is sent, but for what `is_stale`.
    pub(crate) fn reported(&mut self, id: ConnId, is_stale: &dyn Fn(&Message) -> bool, now: Time) {
        let Some(Conn { state: State::Up(up), .. }) = self.conns.get_mut(&id) else { return };
        let peer = self.peers.entry(up.peer).or_default();
        peer.coming.take_if(|coming| *coming == id);
        peer.up.push(id);
        for message in std::mem::take(&mut peer.waiting) {
            if is_stale(&message) {
                self.out.push_back(Output::Finalize(message, Err(Ended::Restarted.failure())));
            } else {
                up.outbound.send(message, now);
            }
        }
        self.work_on(id, 0, now);
    }

    /// Looks at the rings of all connections, and reads messages, `limit` of each at most. Returns whether there was anything to do.
    pub(crate) fn work(&mut self, limit: usize, now: Time) -> bool {
        let before = self.out.len();
        let mut from = LISTENER;
        while let Some(id) = self.conns.range(from..).next().map(|(id, _)| *id) {
            self.work_on(id, limit, now);
            from = id + 1;
        }
        self.out.len() > before
    }

    /// Takes what the sockets have. Returns whether they had anything.
    pub(crate) fn poll(&mut self, now: Time) -> bool {
        let mut events = [MaybeUninit::uninit(); MAX_EVENTS];
        // Without an answer the next look is as good.
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut events[..], Some(&Timespec::default())) else {
            return false;
        };
        for event in events.iter() {
            match event.data.u64() {
                LISTENER => self.accept(now),
                id => self.receive(id, now),
            }
        }
        !events.is_empty()
    }

    /// Announces that this node sleeps until a socket has something. `false` if there is something to do.
    pub(crate) fn arm(&mut self) -> bool {
        let mut may_sleep = true;
        for conn in self.conns.values_mut() {
            if let State::Up(up) = &mut conn.state {
                // A peer that breaks the rules is found by the next look.
                may_sleep &= up.inbound.arm().unwrap_or(false) & up.outbound.arm().unwrap_or(false);
            }
        }
        may_sleep
    }

    /// Takes back what [`Engine::arm`] has announced.
    pub(crate) fn disarm(&self) {
        for conn in self.conns.values() {
            if let State::Up(up) = &conn.state {
                up.inbound.disarm();
                up.outbound.disarm();
            }
        }
    }

    /// Whether [`Engine::tick`] is to be called, as there is a first connection.
    pub(crate) const fn take_untimed(&mut self) -> bool {
        std::mem::replace(&mut self.is_untimed, false)
    }

    /// Ends what is late; returns whether there is anything for which the time matters.
    pub(crate) fn tick(&mut self, timeout: Duration, now: Time) -> bool {
        let mut late = Vec::new();
        for (id, conn) in &self.conns {
            let (since, limit) = match &conn.state {
                State::Accepted | State::Asked(..) => (conn.since, HELLO_TIME.min(timeout)),
                State::Up(up) if !up.outbound.is_idle() => (up.outbound.progress(), timeout),
                State::Up(_) => continue,
            };
            if now.since(since) >= limit {
                late.push(*id);
            }
        }
        late.into_iter().for_each(|id| self.end(id, &Ended::Stalled, now));
        self.shares.retain(|_, share| share.is_used());
        self.shares.values().for_each(Share::trim);
        !self.conns.is_empty()
    }

    /// Ends the connections of a peer, or of all.
    pub(crate) fn end_all(&mut self, peer: Option<Nid>, reason: &Ended, now: Time) {
        let concerned = |nid: &Nid| peer.is_none_or(|peer| peer == *nid);
        for (_, peer) in self.peers.iter_mut().filter(|(nid, _)| concerned(nid)) {
            let failed = std::mem::take(&mut peer.waiting);
            self.out.extend(failed.into_iter().map(|it| Output::Finalize(it, Err(reason.failure()))));
        }
        let ids: Vec<ConnId> = self
            .conns
            .iter()
            .filter(|(_, conn)| conn.peer().as_ref().map_or_else(|| peer.is_none(), concerned))
            .map(|(id, _)| *id)
            .collect();
        ids.into_iter().for_each(|id| self.end(id, reason, now));
    }

    /// Ends a connection. Of its messages those that the peer has read are sent, and the others are not.
    pub(crate) fn end(&mut self, id: ConnId, reason: &Ended, now: Time) {
        let Some(conn) = self.conns.remove(&id) else { return };
        let (nid, outbound) = match conn.state {
            State::Accepted => return,
            State::Asked(nid, pipes) => (nid, pipes.0),
            State::Up(up) => (up.peer, up.outbound),
        };
        let mut done = Vec::new();
        outbound.close(reason.failure(), &mut done);
        self.put_out(done);
        let peer = self.peers.entry(nid).or_default();
        let was_up = peer.up.contains(&id);
        peer.up.retain(|it| *it != id);
        peer.coming.take_if(|coming| *coming == id);
        if peer.up.is_empty() && peer.coming.is_none() {
            let failed = std::mem::take(&mut peer.waiting);
            self.out.extend(failed.into_iter().map(|it| Output::Finalize(it, Err(reason.failure()))));
            self.peers.remove(&nid);
            if was_up || matches!(reason, Ended::Violation(_)) {
                self.out.push_back(Output::Ended { peer: nid, reason: reason.clone() });
            }
        } else if let Some(next) = peer.up.first().copied() {
            let waiting = std::mem::take(&mut peer.waiting);
            if let Some(Conn { state: State::Up(up), .. }) = self.conns.get_mut(&next) {
                waiting.into_iter().for_each(|message| up.outbound.send(message, now));
                self.work_on(next, 0, now);
            }
        }
    }

    /// The incarnation of a peer NI, of its connections.
    pub(crate) fn incarnation(&self, peer: Nid) -> Option<u64> {
        match &self.conns.get(self.peers.get(&peer)?.up.first()?)?.state {
            State::Up(up) => Some(up.incarnation),
            _ => None,
        }
    }

    fn work_on(&mut self, id: ConnId, limit: usize, now: Time) {
        let Some(Conn { state: State::Up(up), socket, .. }) = self.conns.get_mut(&id) else { return };
        let (mut done, mut arrived) = (Vec::new(), Vec::new());
        // In this order: a peer reads a message before it responds, so a message ends before its response is told.
        let read = up.inbound.work(limit, &mut arrived);
        let sent = up.outbound.work(now, &mut done);
        let from = up.peer;
        if sent == Ok(Wake::Needed) || read == Ok(Wake::Needed) {
            // A socket that takes nothing has wake-ups that the peer has not read; one that has ended says so itself.
            _ = socket::send(&*socket, &[IoSlice::new(&[0])], Wait::Never);
        }
        self.put_out(done);
        let arrived = arrived.into_iter();
        self.out.extend(arrived.map(|message| Output::Arrived { conn: id, from, message }));
        if let Some(unusable) = sent.err().map(Unusable::from).or_else(|| read.err()) {
            self.end(id, &unusable.into(), now);
        }
    }

    fn put_out(&mut self, done: Vec<Done>) {
        self.out.extend(done.into_iter().map(|(message, result)| Output::Finalize(message, result)));
    }
}

impl Conn {
    fn peer(&self) -> Option<Nid> {
        match &self.state {
            State::Accepted => None,
            State::Asked(nid, _) => Some(*nid),
            State::Up(up) => Some(up.peer),
        }
    }
}

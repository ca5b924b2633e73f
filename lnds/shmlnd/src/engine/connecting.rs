//! How connections begin: sockets, hellos, rings.

use super::{Conn, ConnId, Ended, Engine, Output, State, Up};
use crate::config::MAX_RING;
use crate::hello::{HELLO_LEN, Hello};
use crate::host::socket_name;
use crate::pipes::{Inbound, Outbound};
use lnet_core::{Errno, Time};
use lnet_os::descriptor_passing::{receive_with, send_with};
use lnet_os::local_socket::{accept_local, connect_local, receive_local};
use lnet_os::peer_cred::PeerCred;
use lnet_os::shared_memory::SharedMemory;
use lnet_ring::size_in_words;
use lnet_wire::Nid;
use rustix::event::epoll;
use rustix::process::geteuid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The connections of an interface, with those that have not said whose they are, at most.
const MAX_CONNS: usize = 512;
/// The connections of one peer, at most: one that it made, and one that this node made.
const MAX_CONNS_OF_PEER: usize = 2;
/// The packets of a connection, and the new connections, that are taken in one turn.
const MAX_PACKETS: usize = 16;

impl Engine {
    pub(super) fn connect(&mut self, nid: Nid, now: Time) {
        if let Err(error) = self.try_connect(nid, now) {
            let reason = Ended::NotConnected(Errno::from(&error));
            let Some(peer) = self.peers.remove(&nid) else { return };
            let failed = peer.waiting.into_iter();
            self.out.extend(failed.map(|it| Output::Finalize(it, Err(reason.failure()))));
        }
    }

    fn try_connect(&mut self, nid: Nid, now: Time) -> io::Result<()> {
        let socket = connect_local(&socket_name(nid))?;
        if !is_of_this_user(&socket) || self.conns.len() >= MAX_CONNS {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let [to, from] = [self.new_ring()?, self.new_ring()?];
        let hello = Hello { from: self.local.nid, to: nid, incarnation: self.local.incarnation };
        send_with(&socket, &hello.encode(), &[to.file(), from.file()])?;
        let share = self.shares.entry(nid).or_default();
        let pipes = Outbound::new(to, now).and_then(|outbound| Ok((outbound, Inbound::new(from, share)?)));
        let pipes = pipes.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let id = self.add(socket, State::Asked(nid, Box::new(pipes)), now)?;
        self.peers.entry(nid).or_default().coming = Some(id);
        Ok(())
    }

    fn new_ring(&self) -> io::Result<SharedMemory> {
        let words = size_in_words(self.local.ring_words).ok_or(io::ErrorKind::InvalidInput)?;
        SharedMemory::create(c"lnet-shm", words * size_of::<u64>()).map_err(io::Error::other)
    }

    pub(super) fn accept(&mut self, now: Time) {
        for _ in 0..MAX_PACKETS {
            let Ok(socket) = accept_local(&self.listener) else { return };
            let reason = if !is_of_this_user(&socket) {
                "it is another user's"
            } else if self.conns.len() >= MAX_CONNS {
                "there are too many"
            } else if let Err(error) = self.add(socket, State::Accepted, now) {
                log::debug!("a connection was not accepted ({error})");
                continue;
            } else {
                continue;
            };
            self.out.push_back(Output::Refused { reason: reason.to_owned() });
        }
    }

    fn add(&mut self, socket: OwnedFd, state: State, now: Time) -> io::Result<ConnId> {
        let id = self.last + 1;
        epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(id), epoll::EventFlags::IN)?;
        self.last = id;
        self.is_untimed = true;
        self.conns.insert(id, Conn { socket, since: now, state });
        Ok(id)
    }

    /// Takes what the socket of a connection has.
    pub(super) fn receive(&mut self, id: ConnId, now: Time) {
        for _ in 0..MAX_PACKETS {
            let Some(conn) = self.conns.get(&id) else { return };
            let mut buffer = [0; HELLO_LEN + 1];
            let mut files = Vec::new();
            let received = match conn.state {
                State::Accepted => receive_with(&conn.socket, &mut buffer, &mut files),
                _ => receive_local(&conn.socket, &mut buffer),
            };
            let result = match received {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(0) | Err(_) => {
                    // What the peer has sent before is taken: it may have ended since.
                    self.work_on(id, usize::MAX, now);
                    Err(Ended::ByPeer)
                }
                Ok(len) => self.packet(id, &buffer[..len], files, now),
            };
            if let Err(reason) = result {
                self.end(id, &reason, now);
            }
        }
    }

    fn packet(&mut self, id: ConnId, bytes: &[u8], files: Vec<OwnedFd>, now: Time) -> Result<(), Ended> {
        let state = self.conns.get(&id).map(|conn| &conn.state);
        match state {
            Some(State::Accepted) => {
                if let Err(reason) = self.hello(id, bytes, files, now) {
                    self.conns.remove(&id);
                    self.out.push_back(Output::Refused { reason });
                }
                Ok(())
            }
            Some(State::Asked(nid, _)) => {
                let nid = *nid;
                let hello = Hello::decode(bytes).map_err(|error| Ended::Violation(error.to_string()))?;
                if hello.from != nid || hello.to != self.local.nid {
                    return Err(Ended::Violation(format!("a hello from {} to {}", hello.from, hello.to)));
                }
                self.come_up(id, hello);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes the hello of a process that has connected. `Err` says why it is refused.
    fn hello(&mut self, id: ConnId, bytes: &[u8], files: Vec<OwnedFd>, now: Time) -> Result<(), String> {
        let hello = Hello::decode(bytes).map_err(|error| error.to_string())?;
        if !hello.is_for(self.local.nid) {
            return Err(format!("a hello from {} to {}", hello.from, hello.to));
        }
        let [inbound, outbound] =
            <[OwnedFd; 2]>::try_from(files).map_err(|files| format!("a hello with {} files", files.len()))?;
        let map = |file| match SharedMemory::map(file) {
            Ok(memory) if memory.len() <= MAX_RING => Ok(memory),
            Ok(memory) => Err(format!("a ring of {} bytes", memory.len())),
            Err(error) => Err(format!("a ring that cannot be mapped: {error}")),
        };
        let share = self.shares.entry(hello.from).or_default();
        let inbound = Inbound::new(map(inbound)?, share).map_err(|error| error.to_string())?;
        let outbound = Outbound::new(map(outbound)?, now).map_err(|error| error.to_string())?;
        self.make_room(&hello, now);
        let answer = Hello { from: self.local.nid, to: hello.from, incarnation: self.local.incarnation };
        let Some(conn) = self.conns.get_mut(&id) else { return Ok(()) };
        send_with(conn.socket.as_fd(), &answer.encode(), &[]).map_err(|error| error.to_string())?;
        conn.state = State::Asked(hello.from, Box::new((outbound, inbound)));
        self.come_up(id, hello);
        Ok(())
    }

    /// Ends connections of the peer that has sent this hello: those of its earlier incarnations, and the oldest of too many.
    fn make_room(&mut self, hello: &Hello, now: Time) {
        let of_peer = |conn: &Conn| match &conn.state {
            State::Up(up) if up.peer == hello.from => Some(up.incarnation == hello.incarnation),
            _ => None,
        };
        let (same, earlier): (Vec<_>, Vec<_>) = self
            .conns
            .iter()
            .filter_map(|(id, conn)| Some((*id, of_peer(conn)?)))
            .partition(|(_, is_same)| *is_same);
        let too_many = (same.len() + 1).saturating_sub(MAX_CONNS_OF_PEER);
        for (id, _) in earlier.into_iter().chain(same.into_iter().take(too_many)) {
            self.end(id, &Ended::Restarted, now);
        }
    }

    fn come_up(&mut self, id: ConnId, hello: Hello) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        match std::mem::replace(&mut conn.state, State::Accepted) {
            State::Asked(peer, pipes) => {
                let (outbound, inbound) = *pipes;
                let incarnation = hello.incarnation;
                conn.state = State::Up(Box::new(Up { peer, incarnation, outbound, inbound }));
                self.peers.entry(peer).or_default().coming.get_or_insert(id);
                self.out.push_back(Output::Connected { conn: id, peer, incarnation });
            }
            other => conn.state = other,
        }
    }
}

/// Whether the process at the other end of a socket has the same user as this one.
fn is_of_this_user(socket: &OwnedFd) -> bool {
    PeerCred::of(socket).is_ok_and(|cred| cred.user == geteuid().as_raw())
}

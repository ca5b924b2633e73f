//! Who is connected to one socket.

use super::connection;
use super::door::Access;
use super::{STACK, SharedBackend, lock};
use lnet_dlc::frame;
use lnet_wire::Errno;
use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The clients of one socket.
#[derive(Debug)]
pub(super) struct Clients {
    most: usize,
    table: Mutex<Table>,
    gone: Condvar,
}

#[derive(Debug, Default)]
struct Table {
    clients: BTreeMap<u64, Client>,
    /// Threads that have ended or are about to.
    ended: Vec<JoinHandle<()>>,
    /// Counts clients and requests: what has the greater number came later.
    count: u64,
}

#[derive(Debug)]
struct Client {
    stream: Arc<UnixStream>,
    thread: Option<JoinHandle<()>>,
    state: State,
}

/// What a client's thread is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waiting for a request, or for the rest of one; since when, by [`Table::count`].
    Idle(u64),
    /// Carrying out or answering one.
    Busy,
    /// Sent away.
    Leaving,
}

/// Whether there is room for one more.
#[derive(Debug, PartialEq, Eq)]
enum Room {
    Free,
    /// If this one goes.
    InPlaceOf(u64),
    None,
}

/// Who is leaving does not count, for an idle client goes at once; but one may have a request to finish, and
/// a stranger may send many such: of them there are no more than of the others.
fn room(states: impl Iterator<Item = (u64, State)>, most: usize) -> Room {
    let (mut here, mut leaving, mut longest_idle) = (0, 0, None);
    for (id, state) in states {
        match state {
            State::Leaving => {
                leaving += 1;
                continue;
            }
            State::Idle(since) if longest_idle.is_none_or(|(earliest, _)| since < earliest) => {
                longest_idle = Some((since, id));
            }
            _ => {}
        }
        here += 1;
    }
    match longest_idle {
        _ if here < most => Room::Free,
        _ if leaving >= most => Room::None,
        Some((_, id)) => Room::InPlaceOf(id),
        None => Room::None,
    }
}

impl Clients {
    pub(super) fn new(most: usize) -> Self {
        Self { most, table: Mutex::default(), gone: Condvar::new() }
    }

    /// Gives a new client its thread.
    pub(super) fn admit(
        self: &Arc<Self>,
        stream: UnixStream,
        access: Access,
        backend: &SharedBackend,
        patience: Duration,
    ) {
        if !access.admits(&stream) {
            log::warn!("control socket: a client that is neither the owner nor root is turned away");
            return turn_away(&stream, Errno::Access);
        }
        let mut table = lock(&self.table);
        let ended = std::mem::take(&mut table.ended);
        match room(table.clients.iter().map(|(id, client)| (*id, client.state)), self.most) {
            Room::Free => {}
            Room::InPlaceOf(id) => {
                log::info!("control socket: more than {} clients; the longest idle one goes", self.most);
                if let Some(client) = table.clients.get_mut(&id) {
                    client.leave();
                }
            }
            Room::None => {
                drop(table);
                log::warn!("control socket: {} clients at work or going; one more is turned away", self.most);
                return turn_away(&stream, Errno::TooManyUsers);
            }
        }
        table.count += 1;
        let id = table.count;
        let stream = Arc::new(stream);
        let (clients, own_stream, backend) = (Arc::clone(self), Arc::clone(&stream), Arc::clone(backend));
        let thread = thread::Builder::new().name("lnet_ctl".to_owned()).stack_size(STACK).spawn(move || {
            connection::serve(&own_stream, access, &*backend, patience, &Seat { clients, id })
        });
        match thread {
            // The thread does nothing to the table before this lets go of it.
            Ok(thread) => {
                let state = State::Idle(id);
                table.clients.insert(id, Client { stream, thread: Some(thread), state });
            }
            Err(error) => log::warn!("control socket: no thread for a client: {error}"),
        }
        drop(table);
        join(ended);
    }

    /// No further requests are read.
    pub(super) fn leave(&self) {
        lock(&self.table).clients.values_mut().for_each(Client::leave);
    }

    /// Waits for the clients to go, until `grace` for their answers and until `last` for their threads.
    pub(super) fn wait(&self, grace: Instant, last: Instant) {
        if !self.wait_for_none(grace) {
            for client in lock(&self.table).clients.values() {
                let _ = client.stream.shutdown(Shutdown::Both);
            }
            if !self.wait_for_none(last) {
                log::warn!("control socket: a request does not end; it is left alone with its thread");
                lock(&self.table).clients.clear();
            }
        }
        let ended = std::mem::take(&mut lock(&self.table).ended);
        join(ended);
    }

    fn wait_for_none(&self, deadline: Instant) -> bool {
        let mut table = lock(&self.table);
        while !table.clients.is_empty() {
            let Ok(left) = frame::time_left(deadline) else { return false };
            table = self.gone.wait_timeout(table, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Client {
    /// No further request is read; one that is there already is carried out, and the client sees the end.
    fn leave(&mut self) {
        self.state = State::Leaving;
        let _ = self.stream.shutdown(Shutdown::Read);
    }
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // The last client may be the one through which the server is being stopped.
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
    }
}

/// Says why, if the client's buffer takes it at once.
fn turn_away(stream: &UnixStream, errno: Errno) {
    if stream.set_nonblocking(true).is_ok() {
        let _ = frame::write(stream, &frame::encode_reply(&Err(errno)), None);
    }
}

/// A client's place in the table; given back when dropped, which takes the table's lock.
pub(super) struct Seat {
    clients: Arc<Clients>,
    id: u64,
}

impl Seat {
    /// From now on until the next [`Seat::idle`] nobody takes the place.
    pub(super) fn busy(&self) {
        self.change(|_| State::Busy);
    }

    /// Waits for a request.
    pub(super) fn idle(&self) {
        self.change(State::Idle);
    }

    fn change(&self, to: impl FnOnce(u64) -> State) {
        let mut table = lock(&self.clients.table);
        table.count += 1;
        let now = table.count;
        if let Some(client) = table.clients.get_mut(&self.id).filter(|it| it.state != State::Leaving) {
            client.state = to(now);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut table = lock(&self.clients.table);
        if let Some(client) = table.clients.remove(&self.id) {
            table.ended.extend(client.thread);
        }
        drop(table);
        self.clients.gone.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_that_was_idle_for_longest_makes_room_and_one_at_work_never_does() {
        use State::{Busy, Idle, Leaving};
        let table: [(&[(u64, State)], Room); 8] = [
            (&[], Room::Free),
            (&[(1, Busy)], Room::Free),
            (&[(1, Busy), (2, Leaving)], Room::Free),
            (&[(1, Idle(9)), (2, Idle(3))], Room::InPlaceOf(2)),
            (&[(1, Busy), (2, Idle(3))], Room::InPlaceOf(2)),
            (&[(1, Busy), (2, Busy), (3, Leaving)], Room::None),
            (&[(1, Idle(1)), (2, Idle(2)), (3, Leaving)], Room::InPlaceOf(1)),
            (&[(1, Idle(1)), (2, Idle(2)), (3, Leaving), (4, Leaving)], Room::None),
        ];
        for (states, expected) in table {
            assert_eq!(room(states.iter().copied(), 2), expected, "{states:?}");
        }
    }
}

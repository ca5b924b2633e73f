//! The clients of one listening socket, and the limit on their number.

use super::connection;
use super::listener::{self, Access};
use super::log::ServerLog;
use super::{STACK, SharedBackend, lock};
use lnet_dlc::frame;
use lnet_log::{LogClass, write_line};
use lnet_os::thread::JoinHandle;
use lnet_wire::Errno;
use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The clients of one socket.
#[derive(Debug)]
pub(super) struct Clients {
    max_clients: usize,
    pub(super) log: Arc<ServerLog>,
    table: Mutex<Table>,
    gone: Condvar,
}

#[derive(Debug, Default)]
struct Table {
    clients: BTreeMap<u64, Client>,
    /// The threads that have ended or are about to.
    ended: Vec<JoinHandle<()>>,
    /// A count of clients and of their changes of state; a greater number is later.
    count: u64,
}

#[derive(Debug)]
struct Client {
    stream: Arc<UnixStream>,
    thread: Option<JoinHandle<()>>,
    state: ClientState,
}

/// The state of a client's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientState {
    /// The thread waits for a request, or for the rest of one, since this value of [`Table::count`].
    Idle(u64),
    /// The thread carries out a request or sends the reply.
    Busy,
    /// The client is being disconnected.
    Leaving,
}

/// The decision about a new client.
#[derive(Debug, PartialEq, Eq)]
enum Admission {
    Accept,
    /// Accept the new client, and disconnect the one with this id.
    Replace(u64),
    Reject,
}

/// Decides on a new client. Clients that are being disconnected do not count towards `max_clients`, as idle ones end at once.
/// Those with a request to finish end later, so there may be as many of them, too.
fn admission(states: impl Iterator<Item = (u64, ClientState)>, max_clients: usize) -> Admission {
    let (mut here, mut leaving, mut longest_idle) = (0, 0, None);
    for (id, state) in states {
        match state {
            ClientState::Leaving => {
                leaving += 1;
                continue;
            }
            ClientState::Idle(since) if longest_idle.is_none_or(|(earliest, _)| since < earliest) => {
                longest_idle = Some((since, id));
            }
            _ => {}
        }
        here += 1;
    }
    match longest_idle {
        _ if here < max_clients => Admission::Accept,
        _ if leaving >= max_clients => Admission::Reject,
        Some((_, id)) => Admission::Replace(id),
        None => Admission::Reject,
    }
}

impl Clients {
    pub(super) fn new(max_clients: usize, log: Arc<ServerLog>) -> Self {
        Self { max_clients, log, table: Mutex::default(), gone: Condvar::new() }
    }

    /// Checks a new client, and starts its thread.
    pub(super) fn admit(
        self: &Arc<Self>,
        stream: UnixStream,
        access: Access,
        backend: &SharedBackend,
        request_timeout: Duration,
    ) {
        let user = listener::user(&stream);
        if !access.admits(&stream) {
            self.log.log(
                LogClass::ControlClientRejected,
                &user,
                format_args!("control socket: client of {user} rejected (neither the owner nor root)"),
            );
            return reject(&stream, Errno::Access);
        }
        let mut table = lock(&self.table);
        let ended = std::mem::take(&mut table.ended);
        match admission(table.clients.iter().map(|(id, client)| (*id, client.state)), self.max_clients) {
            Admission::Accept => {}
            Admission::Replace(id) => {
                self.log.log(
                    LogClass::ControlClientRemoved,
                    &user,
                    format_args!(
                        "control socket: more than {} clients; closing the longest idle one",
                        self.max_clients
                    ),
                );
                if let Some(client) = table.clients.get_mut(&id) {
                    client.leave();
                }
            }
            Admission::Reject => {
                drop(table);
                self.log.log(
                    LogClass::ControlClientRejected,
                    &user,
                    format_args!(
                        "control socket: client of {user} rejected ({} clients are busy)",
                        self.max_clients
                    ),
                );
                return reject(&stream, Errno::TooManyUsers);
            }
        }
        table.count += 1;
        let id = table.count;
        let client = listener::user_and_process(&stream);
        let stream = Arc::new(stream);
        let (clients, own_stream, backend) = (Arc::clone(self), Arc::clone(&stream), Arc::clone(backend));
        let builder = thread::Builder::new().name("lnet_ctl".to_owned()).stack_size(STACK);
        let thread = lnet_os::thread::spawn(builder, move || {
            connection::serve(
                &own_stream,
                access,
                &*backend,
                request_timeout,
                &ClientSlot { clients, id, user, client },
            )
        });
        match thread {
            // The thread does not access the table before this function releases the lock.
            Ok(thread) => {
                let state = ClientState::Idle(id);
                table.clients.insert(id, Client { stream, thread: Some(thread), state });
            }
            Err(error) => self.log.log(
                LogClass::ControlAcceptFailed,
                "control socket",
                format_args!("control socket: no thread for a client ({error}); its connection is closed"),
            ),
        }
        drop(table);
        join(ended);
    }

    /// Ends the reading of further requests from all clients.
    pub(super) fn leave(&self) {
        lock(&self.table).clients.values_mut().for_each(Client::leave);
    }

    /// Waits for the end of the clients, until `reply_deadline` for their replies and until `last` for their threads.
    pub(super) fn wait(&self, reply_deadline: Instant, last: Instant) {
        if !self.wait_for_none(reply_deadline) {
            for client in lock(&self.table).clients.values() {
                let _ = client.stream.shutdown(Shutdown::Both);
            }
            if !self.wait_for_none(last) {
                write_line!(
                    LogClass::ControlRequestStuck,
                    "control socket: a request does not end; its thread is left to end by itself"
                );
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
    /// Ends the reading of further requests; one that has arrived is carried out, then the client receives the end of the stream.
    fn leave(&mut self) {
        self.state = ClientState::Leaving;
        let _ = self.stream.shutdown(Shutdown::Read);
    }
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // The last client may be the one whose request stops the server.
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
    }
}

/// Replies with the error, if the client's socket buffer accepts it at once.
fn reject(stream: &UnixStream, errno: Errno) {
    if stream.set_nonblocking(true).is_ok() {
        let _ = frame::write(stream, &frame::encode_reply(&Err(errno.into()).into()), None);
    }
}

/// The entry of a client in the table. Dropping this removes it, under the table's lock.
pub(super) struct ClientSlot {
    clients: Arc<Clients>,
    id: u64,
    /// The user of the client, for log lines.
    pub(super) user: String,
    /// The user and the process of the client.
    pub(super) client: String,
}

impl ClientSlot {
    pub(super) fn log(&self, class: LogClass, line: Arguments<'_>) {
        self.clients.log.log(class, &self.user, line);
    }

    /// Marks the client as busy: it is not disconnected for a new one until the next [`ClientSlot::idle`].
    pub(super) fn busy(&self) {
        self.change(|_| ClientState::Busy);
    }

    /// Marks the client as waiting for a request: it may be disconnected for a new one.
    pub(super) fn idle(&self) {
        self.change(ClientState::Idle);
    }

    fn change(&self, to: impl FnOnce(u64) -> ClientState) {
        let mut table = lock(&self.clients.table);
        table.count += 1;
        let now = table.count;
        if let Some(client) = table.clients.get_mut(&self.id).filter(|it| it.state != ClientState::Leaving) {
            client.state = to(now);
        }
    }
}

impl Drop for ClientSlot {
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
    fn the_longest_idle_client_is_replaced_and_never_a_busy_one() {
        use ClientState::{Busy, Idle, Leaving};
        let table: [(&[(u64, ClientState)], Admission); 8] = [
            (&[], Admission::Accept),
            (&[(1, Busy)], Admission::Accept),
            (&[(1, Busy), (2, Leaving)], Admission::Accept),
            (&[(1, Idle(9)), (2, Idle(3))], Admission::Replace(2)),
            (&[(1, Busy), (2, Idle(3))], Admission::Replace(2)),
            (&[(1, Busy), (2, Busy), (3, Leaving)], Admission::Reject),
            (&[(1, Idle(1)), (2, Idle(2)), (3, Leaving)], Admission::Replace(1)),
            (&[(1, Idle(1)), (2, Idle(2)), (3, Leaving), (4, Leaving)], Admission::Reject),
        ];
        for (states, expected) in table {
            assert_eq!(admission(states.iter().copied(), 2), expected, "{states:?}");
        }
    }
}

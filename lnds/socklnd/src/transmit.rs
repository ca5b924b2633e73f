//! The sending half of a connection.
//!
//! The thread that brings a message writes it, in one system call, if nobody else is writing. If somebody
//! is, it leaves the message in the queue and goes on: the writer takes it along. What the socket does not
//! take waits for the kernel's word that there is room again.

use crate::connection::Connection;
use crate::decide::cause::{Left, Trouble};
use crate::proto::Version;
use crate::proto::checksum::Checksum;
use crate::proto::frame::{Cookies, Head};
use crate::socket_io::{self, Vecs};
use crate::sync::lock;
use lnet_core::{Errno, Message};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The most messages written with one system call.
const BATCH: usize = 16;
/// After so many system calls for other threads' messages a writer hands over to the scheduler.
const ROUNDS: usize = 16;

/// A message or NOOP on its way into a socket.
#[derive(Debug)]
pub(crate) struct Outgoing {
    head: Head,
    sent: usize,
    message: Option<Box<Message>>,
    /// The receipt that it asks for.
    pub(crate) cookie: Option<u64>,
}

impl Outgoing {
    /// A message for a connection of `version`; it comes back when a NID does not fit that.
    pub(crate) fn message(
        message: Box<Message>,
        version: Version,
        cookie: Option<u64>,
        checksum: bool,
    ) -> Result<Self, Box<Message>> {
        let cookies = Cookies { request: cookie.unwrap_or(0), receipt: 0 };
        let Some(mut head) = Head::message(version, message.header(), cookies) else {
            return Err(message);
        };
        if checksum && version == Version::V2 {
            let mut sum = Checksum::new();
            sum.update(head.bytes());
            socket_io::add_to_checksum(&mut sum, message.payload(), message.payload_len());
            head.set_checksum(sum.value());
        }
        Ok(Self { head, sent: 0, message: Some(message), cookie })
    }

    pub(crate) fn noop(cookies: Cookies) -> Self {
        Self { head: Head::noop(cookies), sent: 0, message: None, cookie: None }
    }

    /// How much of it has been given to the network.
    pub(crate) fn has_left(&self) -> Left {
        if self.sent > 0 { Left::Something } else { Left::Nothing }
    }

    pub(crate) fn into_message(self) -> Option<Box<Message>> {
        self.message
    }

    fn left(&self) -> usize {
        let payload = self.message.as_ref().map_or(0, |message| message.payload_len());
        (self.head.bytes().len() + payload).saturating_sub(self.sent)
    }

    fn add_to<'a>(&'a self, vecs: &mut Vecs<'a>) {
        let head = self.head.bytes();
        vecs.bytes_to_send(head.get(self.sent..).unwrap_or_default());
        if let Some(message) = &self.message {
            let payload = message.payload().advanced(self.sent.saturating_sub(head.len()));
            let left = payload.remaining();
            vecs.memory(payload, left);
        }
    }
}

/// What the connection's senders share.
#[derive(Debug, Default)]
pub(crate) struct SendSide {
    queue: VecDeque<Outgoing>,
    /// Kept by the writers for the next, so that none allocates.
    spare: Vec<Outgoing>,
    /// A thread is writing; it will see what is put into the queue.
    writing: bool,
    /// The socket is full; the scheduler will go on.
    blocked: bool,
    /// Room was reported while a thread was writing.
    again: bool,
    /// Nothing is sent any more.
    ended: Option<Trouble>,
}

impl SendSide {
    pub(crate) fn is_writing(&self) -> bool {
        self.writing
    }

    /// The writer goes; the scheduler will go on with what it leaves.
    fn stop_for_now(&mut self, mut batch: Vec<Outgoing>) {
        while let Some(out) = batch.pop() {
            self.queue.push_front(out);
        }
        self.spare = batch;
        self.blocked = true;
        self.writing = false;
    }
}

/// What came of handing something over.
pub(crate) enum Transmitted {
    /// Written.
    Done(Outgoing),
    /// Not written in full, and never will be.
    Failed(Outgoing, Trouble),
    /// The connection keeps it.
    Queued,
    /// The connection has ended; nothing was written.
    Ended(Outgoing),
}

enum Written {
    All,
    /// There are more runs of memory than one system call takes.
    More,
    SocketFull,
    Failed(Trouble),
}

impl Connection {
    /// Sends, or queues.
    pub(crate) fn transmit(self: &Arc<Self>, mut out: Outgoing) -> Transmitted {
        {
            let mut side = lock(&self.tx);
            if side.ended.is_some() {
                return Transmitted::Ended(out);
            }
            self.unsent.fetch_add(out.left(), Ordering::Relaxed);
            if side.writing || side.blocked {
                side.queue.push_back(out);
                return Transmitted::Queued;
            }
            side.writing = true;
        }
        match self.write(std::slice::from_mut(&mut out)) {
            Written::All => {
                self.drain_queue(None, false);
                Transmitted::Done(out)
            }
            Written::More => {
                self.drain_queue(Some(out), false);
                Transmitted::Queued
            }
            Written::SocketFull => {
                self.drain_queue(Some(out), true);
                Transmitted::Queued
            }
            Written::Failed(trouble) => {
                self.writing_failed(trouble);
                self.end_writing();
                Transmitted::Failed(out, trouble)
            }
        }
    }

    /// Sends a NOOP if the connection lives.
    pub(crate) fn transmit_noop(self: &Arc<Self>, cookies: Cookies) {
        let _ = self.transmit(Outgoing::noop(cookies));
    }

    /// There is room in the socket again, perhaps.
    pub(crate) fn on_writable(self: &Arc<Self>) {
        {
            let mut side = lock(&self.tx);
            if side.writing {
                side.again = true;
                return;
            }
            side.blocked = false;
            if side.queue.is_empty() {
                return;
            }
            side.writing = true;
        }
        self.drain_queue(None, false);
    }

    /// Nothing more is sent. What is queued comes back.
    pub(crate) fn stop_sending(&self, trouble: Trouble) {
        let queue = {
            let mut side = lock(&self.tx);
            side.ended = Some(trouble);
            std::mem::take(&mut side.queue)
        };
        for out in queue {
            self.give_back(out, Err(trouble));
        }
    }

    /// Writes the queue, as the one thread that may; before it what remains of `first`. `full` says that
    /// the socket was full just now.
    fn drain_queue(self: &Arc<Self>, first: Option<Outgoing>, mut full: bool) {
        let mut batch = std::mem::take(&mut lock(&self.tx).spare);
        batch.extend(first);
        for _ in 0..ROUNDS {
            {
                let mut side = lock(&self.tx);
                if let Some(trouble) = side.ended {
                    drop(side);
                    return self.give_up(batch, trouble);
                }
                if full && !std::mem::take(&mut side.again) {
                    return side.stop_for_now(batch);
                }
                let room = BATCH.saturating_sub(batch.len()).min(side.queue.len());
                batch.extend(side.queue.drain(..room));
                if batch.is_empty() {
                    side.spare = batch;
                    side.writing = false;
                    return;
                }
            }
            match self.write(&mut batch) {
                Written::All | Written::More => full = false,
                Written::SocketFull => full = true,
                Written::Failed(trouble) => {
                    self.writing_failed(trouble);
                    return self.give_up(batch, trouble);
                }
            }
            let done = batch.iter().take_while(|out| out.left() == 0).count();
            for out in batch.drain(..done) {
                self.give_back(out, Ok(()));
            }
        }
        let mut side = lock(&self.tx);
        if let Some(trouble) = side.ended {
            drop(side);
            return self.give_up(batch, trouble);
        }
        side.stop_for_now(batch);
        drop(side);
        self.scheduler.schedule(Arc::clone(self));
    }

    fn give_up(&self, batch: Vec<Outgoing>, trouble: Trouble) {
        for out in batch {
            self.give_back(out, Err(trouble));
        }
        self.end_writing();
    }

    /// One system call's worth.
    fn write(self: &Arc<Self>, batch: &mut [Outgoing]) -> Written {
        match send(self.fd(), batch) {
            Ok((sent, full)) => {
                self.unsent.fetch_sub(sent, Ordering::Relaxed);
                self.note_written();
                let mut left = sent;
                for out in &mut *batch {
                    let n = out.left().min(left);
                    out.sent += n;
                    left -= n;
                }
                match (full, batch.iter().all(|out| out.left() == 0)) {
                    (_, true) => Written::All,
                    (true, false) => Written::SocketFull,
                    (false, false) => Written::More,
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Written::SocketFull,
            Err(error) => Written::Failed(self.why_writing_failed(Errno::from(&error))),
        }
    }

    /// If the connection has been ended meanwhile, that is why.
    fn why_writing_failed(&self, errno: Errno) -> Trouble {
        lock(&self.tx).ended.unwrap_or(match errno {
            Errno::Pipe | Errno::ConnectionReset => Trouble::EndedByPeer(errno),
            _ => Trouble::WriteFailed(errno),
        })
    }

    /// The socket is dead for writing. The peer may have said something before it died.
    fn writing_failed(self: &Arc<Self>, trouble: Trouble) {
        match trouble {
            Trouble::EndedByPeer(errno) => self.peer.ended_by_peer(self, errno, true),
            _ => self.peer.end(self, trouble),
        }
    }

    fn end_writing(&self) {
        lock(&self.tx).writing = false;
        self.note_quiet();
    }

    /// A message has left, or never will.
    fn give_back(&self, out: Outgoing, result: Result<(), Trouble>) {
        let result = result.map_err(|trouble| trouble.failure(out.has_left()));
        let Outgoing { message: Some(message), cookie, .. } = out else { return };
        if let Some((message, result)) = self.peer.written(message, cookie, result) {
            self.ni().upcalls.finalize(message, result);
        }
    }
}

/// One system call: how much it sent, and whether the socket is full now.
fn send(socket: BorrowedFd<'_>, batch: &[Outgoing]) -> std::io::Result<(usize, bool)> {
    loop {
        let mut vecs = Vecs::new();
        for out in batch {
            out.add_to(&mut vecs);
            if vecs.is_full() {
                break;
            }
        }
        match socket_io::send(socket, &mut vecs) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(sent) => return Ok((sent, sent < vecs.total())),
        }
    }
}

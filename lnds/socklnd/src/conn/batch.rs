//! The bytes of a batch of messages, which leave with one system call.

use super::outgoing::Outgoing;
use crate::proto::frame::Heads;
use crate::socket_io::{self, Vecs};
use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;

/// The result of [`send`].
pub(super) struct SentBytes {
    /// The number of bytes.
    pub(super) sent: usize,
    /// Whether the socket is full now.
    pub(super) full: bool,
    /// Whether something was left out because it has not arrived.
    pub(super) starved: bool,
}

thread_local! {
    /// Memory for the heads that leave with one system call.
    static HEADS: Cell<Heads> = const { Cell::new(Heads::new()) };
}

/// Sends with one system call.
pub(super) fn send(socket: BorrowedFd<'_>, batch: &[Outgoing]) -> io::Result<SentBytes> {
    let mut heads = HEADS.try_with(Cell::take).unwrap_or_else(|_| Heads::new());
    heads.clear();
    batch.iter().for_each(|out| out.add_head(&mut heads));
    let result = send_with(socket, batch, heads.bytes());
    // A handler of the program's exit sends when the variables of its thread are gone.
    _ = HEADS.try_with(|kept| kept.set(heads));
    result
}

/// Sends `batch`, whose heads are encoded in `heads` one behind the other.
fn send_with(socket: BorrowedFd<'_>, batch: &[Outgoing], heads: &[u8]) -> io::Result<SentBytes> {
    loop {
        let mut vecs = Vecs::new();
        let (mut heads, mut starved) = (heads, false);
        for out in batch {
            let (head, others) = heads.split_at(out.head_left().min(heads.len()));
            heads = others;
            vecs.bytes_to_send(head);
            starved = !out.add_payload(&mut vecs);
            if starved || vecs.is_full() {
                break;
            }
        }
        if vecs.total() == 0 {
            return Ok(SentBytes { sent: 0, full: false, starved });
        }
        match socket_io::send(socket, &vecs) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(sent) => return Ok(SentBytes { sent, full: sent < vecs.total(), starved }),
        }
    }
}

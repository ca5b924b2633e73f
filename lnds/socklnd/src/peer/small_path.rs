//! The connection by which a thread sends small messages to the peer that it sent to last: the next one needs no look at the table of peers
//! and at the peer's state, as long as that has not changed.

use super::Peer;
use crate::conn::{Connection, SmallPath};
use crate::ni::SockNi;
use lnet_core::lnd::SendOutcome;
use lnet_core::{OutgoingMessage, Pooled};
use lnet_wire::ProcessId;
use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::{Arc, Weak};

/// The path by which a thread sent last.
struct LastPath {
    /// The address of the connection's NI, which it keeps.
    ni: *const SockNi,
    id: ProcessId,
    connection: Weak<Connection>,
    path: SmallPath,
}

thread_local! {
    static LAST: RefCell<Option<LastPath>> = const { RefCell::new(None) };
    /// The connection of the last message that had no known path: a path is known from the second message in a row on.
    static SEEN: Cell<*const Connection> = const { Cell::new(ptr::null()) };
}

/// Sends `message` to `id` as the calling thread sent the last one, if that is known to be right. It comes back otherwise.
#[inline]
pub(crate) fn send_like_last(
    ni: &Arc<SockNi>,
    id: ProcessId,
    message: Pooled<OutgoingMessage>,
) -> Result<SendOutcome, Pooled<OutgoingMessage>> {
    let known = |last: &RefCell<Option<LastPath>>| {
        let last = last.borrow();
        let last = last.as_ref().filter(|last| ptr::eq(last.ni, Arc::as_ptr(ni)) && last.id == id)?;
        Some((last.connection.upgrade()?, last.path))
    };
    // A thread that is ending knows none.
    match LAST.try_with(known).ok().flatten() {
        Some((connection, path)) => connection.send_small(path, message),
        None => Err(message),
    }
}

/// Notes that the calling thread sends a small message to `peer` by `connection`.
pub(super) fn note(peer: &Peer, connection: &Arc<Connection>, path: SmallPath) {
    if !ptr::eq(SEEN.replace(Arc::as_ptr(connection)), Arc::as_ptr(connection)) {
        return;
    }
    let connection = Arc::downgrade(connection);
    let last = LastPath { ni: Arc::as_ptr(&peer.ni), id: peer.id, connection, path };
    _ = LAST.try_with(|known| known.replace(Some(last)));
}

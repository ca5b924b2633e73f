//! What keeps the memory of an MD valid: the program, the node, or a program in another process.

use super::MdMemory;
use lnet_wire::{Errno, Pid};
use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

/// Memory of an MD that belongs to a program in another process. The node keeps this as long as the MD, so it may own the memory
/// of this process that the MD has. The methods but for `pid` are called without a lock of the library, and all by any thread. A `drop` must neither call
/// the library nor wait for another thread.
pub trait ClientMemory: Send + Sync {
    /// The PID of the program, from which its messages to programs on this node come. It stays the same. Called with a lock of the library.
    fn pid(&self) -> Pid;

    /// Whether the MD's memory is that of the program itself. If not, the bytes for a GET are fetched when one has arrived. A PUT
    /// fills the MD's memory in either case.
    fn is_in_place(&self) -> bool;

    /// Gets the bytes of the program's memory from `offset` on, for the REPLY to a GET. Calls `then` once, on any thread, now or
    /// later: with memory of at least `len` bytes, or with the status with which the GET ends.
    fn fetch(&self, offset: u32, len: u32, then: ThenReply);

    /// Whether the ACK of a PUT leaves only when the program has handled the event of the PUT.
    fn acknowledges(&self) -> bool {
        false
    }

    /// Called after the event of a PUT that wants an ACK, if [`ClientMemory::acknowledges`]. The ACK leaves when `ack` is dropped, now
    /// or later, on any thread.
    fn handle_put(&self, ack: DeferredAck) {
        drop(ack);
    }
}

/// What follows the fetch of the bytes for a REPLY. It sends the REPLY, or reports the end of the GET, before it returns, so the
/// caller must not hold a lock that an event handler or a [`ClientMemory`] needs. If it is dropped and was not called, the GET ends
/// with [`Errno::Io`]. After the shutdown of the node, which has ended the GET, it does nothing.
pub type ThenReply = Box<dyn FnOnce(Result<ReplyMemory, Errno>) + Send>;

/// The ACK of a PUT that a program is about to handle. Dropping this sends it, on the thread that does so and before the drop returns: the
/// caller must not hold a lock that an event handler or a [`ClientMemory`] needs. After the shutdown of the node, which has ended the
/// ACK, it does nothing.
pub struct DeferredAck(Option<Box<dyn FnOnce() + Send>>);

impl DeferredAck {
    /// The ACK that `send` sends.
    pub(crate) fn new(send: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(send)))
    }
}

impl Debug for DeferredAck {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeferredAck").finish_non_exhaustive()
    }
}

impl Drop for DeferredAck {
    fn drop(&mut self) {
        if let Some(send) = self.0.take() {
            send();
        }
    }
}

/// The payload of a REPLY, in memory of this process that `keeper` keeps valid. The node drops it when the REPLY has left.
#[derive(Debug)]
pub struct ReplyMemory {
    /// The memory, with the first byte of the payload at its start.
    pub memory: MdMemory,
    /// The owner of the memory.
    pub keeper: Arc<dyn Any + Send + Sync>,
}

/// What keeps the memory of an MD valid.
pub(crate) enum Keeper {
    /// The program in this process that made the MD, until the MD's last event.
    Program,
    /// The node, whose memory it is.
    Node(#[allow(dead_code, reason = "it is kept until the MD ends")] Arc<dyn Any + Send + Sync>),
    /// The node, for a program in another process.
    Client(Arc<dyn ClientMemory>),
}

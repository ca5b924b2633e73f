//! What a program does with requests, and what it may answer.

use super::difficult::Done;
use super::request::ServiceRequest;
use crate::errno::Errno;
use crate::message::Opcode;

/// The program behind a service.
///
/// Connecting, disconnecting and pings are the service's own affair and do not come here.
pub trait Handler: Send + Sync {
    /// Serves a request. Called on the service's threads, on several at once; may take its time, and call LNet. A
    /// client that understands it is kept waiting by early replies meanwhile.
    fn handle(&self, request: &mut ServiceRequest<'_>) -> Answer;

    /// Whether there is anything to be had for this operation. Clients are answered `-EOPNOTSUPP` where not, as an
    /// error (kind 4712).
    fn serves(&self, opcode: Opcode) -> bool {
        let _ = opcode;
        true
    }
}

/// What becomes of a request.
#[derive(Debug)]
pub enum Answer {
    /// The client is told this.
    Reply(Reply),
    /// The client is told nothing, and will send its request again, which is then served again.
    None,
}

/// A reply.
#[derive(Default)]
pub struct Reply {
    pub(super) status: i32,
    pub(super) buffers: Vec<Vec<u8>>,
    pub(super) transno: u64,
    pub(super) on_done: Option<OnDone>,
}

/// Called once; see [`Reply::difficult`].
pub(super) type OnDone = Box<dyn FnOnce(Done) + Send>;

impl Reply {
    /// It went well: status 0, no buffer but the body.
    pub fn new() -> Self {
        Self::default()
    }

    /// It went wrong.
    pub fn error(errno: Errno) -> Self {
        Self { status: errno.to_c(), ..Self::default() }
    }

    /// With this status: 0, a negative errno, or what the operation has beside them.
    #[must_use]
    pub const fn status(mut self, status: i32) -> Self {
        self.status = status;
        self
    }

    /// With one more buffer, behind the body and those before. What it holds is in this machine's byte order.
    #[must_use]
    pub fn buffer(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.buffers.push(bytes.into());
        self
    }

    /// The request became this transaction.
    #[must_use]
    pub const fn transno(mut self, transno: u64) -> Self {
        self.transno = transno;
        self
    }

    /// Something is held until the client has the reply, the transaction is on disk, or the client is gone (PR-75).
    /// Then `on_done` is called, once, on a thread of the service, which it must not keep for long. A reply that is not
    /// sent counts as lost.
    #[must_use]
    pub fn difficult(mut self, on_done: impl FnOnce(Done) + Send + 'static) -> Self {
        self.on_done = Some(Box::new(on_done));
        self
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl From<Errno> for Answer {
    fn from(errno: Errno) -> Self {
        Self::Reply(Reply::error(errno))
    }
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lengths: Vec<usize> = self.buffers.iter().map(Vec::len).collect();
        f.debug_struct("Reply")
            .field("status", &self.status)
            .field("lengths", &lengths)
            .field("transno", &self.transno)
            .field("is_difficult", &self.on_done.is_some())
            .finish()
    }
}

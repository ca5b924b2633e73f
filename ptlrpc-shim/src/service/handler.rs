//! The interface of the program behind a service: its handler, and the replies that it may give.

use super::engines::difficult_reply::{OnDone, ReplyDone};
use super::service_request::ServiceRequest;
use crate::Errno;
use crate::message::Opcode;

/// The program behind a service.
///
/// The service itself serves connect and disconnect requests and pings.
pub trait Handler: Send + Sync {
    /// Serves a request. Called on the service's threads, on several at once; may block, and call LNet. Clients that support
    /// early replies are sent some meanwhile.
    fn handle(&self, request: &mut ServiceRequest<'_>) -> Response;

    /// Whether the operation is supported. If not, the service replies with the error `-EOPNOTSUPP` (type 4712).
    fn serves(&self, opcode: Opcode) -> bool {
        let _ = opcode;
        true
    }
}

/// The outcome of a request.
#[derive(Debug)]
pub enum Response {
    /// The client gets this reply.
    Reply(Reply),
    /// The client gets no reply: it will send its request again, which is then served again.
    None,
}

/// A reply.
#[derive(Default)]
pub struct Reply {
    pub(crate) status: i32,
    pub(crate) buffers: ReplyBuffers,
    pub(crate) transno: u64,
    pub(crate) on_done: Option<OnDone>,
}

/// The buffers of a reply behind its body. Most replies have one.
#[derive(Default)]
pub(crate) enum ReplyBuffers {
    #[default]
    None,
    One(Vec<u8>),
    Several(Vec<Vec<u8>>),
}

impl ReplyBuffers {
    fn push(&mut self, buffer: Vec<u8>) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(buffer),
            Self::One(first) => Self::Several(vec![first, buffer]),
            Self::Several(mut all) => {
                all.push(buffer);
                Self::Several(all)
            }
        };
    }

    pub(crate) fn as_slice(&self) -> &[Vec<u8>] {
        match self {
            Self::None => &[],
            Self::One(buffer) => std::slice::from_ref(buffer),
            Self::Several(all) => all,
        }
    }
}

impl Reply {
    /// A reply of success: status 0, no buffer but the body.
    pub fn new() -> Self {
        Self::default()
    }

    /// A reply of failure, with the negative of this errno as its status.
    pub fn error(errno: Errno) -> Self {
        Self { status: errno.to_c(), ..Self::default() }
    }

    /// Sets the status: 0, a negative errno, or a value that the operation defines.
    #[must_use]
    pub const fn status(mut self, status: i32) -> Self {
        self.status = status;
        self
    }

    /// Adds a buffer, behind the body and those before, in this machine's byte order.
    #[must_use]
    pub fn buffer(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.buffers.push(bytes.into());
        self
    }

    /// Sets the transaction number of the request.
    #[must_use]
    pub const fn transno(mut self, transno: u64) -> Self {
        self.transno = transno;
        self
    }

    /// Makes the reply difficult: `on_done` is called, once, when the client has the reply, the transaction is committed, or the
    /// client is gone (PR-75). It runs on a thread of the service, and should be quick. A reply that is not sent is lost.
    #[must_use]
    pub fn difficult(mut self, on_done: impl FnOnce(ReplyDone) + Send + 'static) -> Self {
        self.on_done = Some(Box::new(on_done));
        self
    }
}

impl From<Reply> for Response {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl From<Errno> for Response {
    fn from(errno: Errno) -> Self {
        Self::Reply(Reply::error(errno))
    }
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lengths: Vec<usize> = self.buffers.as_slice().iter().map(Vec::len).collect();
        f.debug_struct("Reply")
            .field("status", &self.status)
            .field("lengths", &lengths)
            .field("transno", &self.transno)
            .field("is_difficult", &self.on_done.is_some())
            .finish()
    }
}

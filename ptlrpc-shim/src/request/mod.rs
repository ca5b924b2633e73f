//! Requests, from the first sending to the answer.

mod drive;
mod flight;
mod set;
mod wake;

pub(crate) use drive::{Driven, Purpose};
pub use flight::Direction;
pub(crate) use set::{Board, Done};
pub use set::{Set, Ticket};
pub(crate) use wake::{Wake, Waker};

use crate::errno::Errno;
use crate::lnet::{Part, Region};
use crate::message::portal::Portal;
use crate::message::{Body, BulkBits, Message, Opcode};
use std::sync::Arc;
use std::time::Duration;

/// What is asked of a service.
#[derive(Clone, Debug)]
pub struct Request {
    /// What it is to do.
    pub opcode: Opcode,
    /// What goes with it: buffers 1 and on; buffer 0 is the body.
    pub buffers: Vec<Vec<u8>>,
    /// Room for the reply's buffers from 1 on, in bytes each. A reply that needs more is asked for again.
    pub reply_room: Vec<u32>,
    /// Data that goes beside.
    pub bulk: Option<Bulk>,
    /// Another portal than the import's for requests.
    pub portal: Option<Portal>,
    /// Executed once at most, whatever gets lost: sent again the service knows it. If the service has forgotten it meanwhile,
    /// because it was started anew, the request ends with [`Errno::UNKNOWN_OUTCOME`]. Without this what gets no answer is asked
    /// again, and may be done twice.
    pub at_most_once: bool,
    /// Ends with an error rather than being sent again.
    pub no_resend: bool,
    /// Ends with [`Errno::AGAIN`] rather than waiting for a connection.
    pub no_delay: bool,
    /// How long each sending may take; by itself what the service has needed lately.
    pub timeout: Option<Duration>,
    /// How long all of it may take; `None`: until there is an answer.
    pub limit: Option<Duration>,
}

/// Data that goes beside a request, at most 64 MiB.
#[derive(Clone, Debug)]
pub struct Bulk {
    /// Where it is, or goes. It is the caller's again, by `Arc::get_mut`, soon after the request has ended.
    pub memory: Arc<Region>,
    /// Which way.
    pub direction: Direction,
}

/// The answer of a service.
#[derive(Clone, Debug)]
pub struct Reply {
    bytes: Part,
    body: Body,
    bulk_bytes: u64,
}

impl Request {
    /// One that is asked until it is answered.
    pub const fn new(opcode: Opcode) -> Self {
        Self {
            opcode,
            buffers: Vec::new(),
            reply_room: Vec::new(),
            bulk: None,
            portal: None,
            at_most_once: false,
            no_resend: false,
            no_delay: false,
            timeout: None,
            limit: None,
        }
    }

    /// How many MDs its bulk data needs; an error if that is too much.
    fn bulk_count(&self) -> Result<u32, Errno> {
        let Some(bulk) = &self.bulk else { return Ok(0) };
        let count = bulk.memory.len().div_ceil(flight::BULK_MD) as u32;
        // What is empty has no descriptor, so nobody could tell when it is done.
        BulkBits::starting_at(crate::message::Xid(0), count).map(BulkBits::count).ok_or(Errno::INVALID)
    }
}

impl Reply {
    /// What the service says: 0, or a negative error number.
    pub const fn status(&self) -> i32 {
        self.body.status
    }

    /// The same as a result.
    pub fn result(&self) -> Result<(), Errno> {
        Errno::from_c(self.body.status).map_or(Ok(()), Err)
    }

    /// The body.
    pub const fn body(&self) -> &Body {
        &self.body
    }

    /// Buffer `index`, from 1; `None` if it has no such buffer.
    pub fn buffer(&self, index: usize) -> Option<&[u8]> {
        Message::parse(&self.bytes).ok()?.buffer(index)
    }

    /// Bytes of bulk data that were moved.
    pub const fn bulk_bytes(&self) -> u64 {
        self.bulk_bytes
    }

    /// The whole message, in its sender's byte order.
    pub fn message(&self) -> Result<Message<'_>, Errno> {
        Message::parse(&self.bytes).map_err(|bad| bad.errno().into())
    }
}

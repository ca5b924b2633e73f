//! The specification of a request, as a caller writes it.

use crate::Errno;
use crate::lnet::Region;
use crate::message::portal::Portal;
use crate::message::{BulkBits, Opcode, Xid};
use std::sync::Arc;
use std::time::Duration;

/// The longest MD of a bulk transfer (PR-22).
pub(crate) const BULK_MD_LEN: usize = 1 << 20;

/// A request to a service.
#[derive(Clone, Debug)]
pub struct Request {
    /// The operation.
    pub opcode: Opcode,
    /// The buffers of the message from 1 on; buffer 0 is the body.
    pub buffers: Vec<Vec<u8>>,
    /// The expected lengths of the reply's buffers from 1 on. After a longer reply the request is sent again with more space.
    pub reply_lengths: Vec<u32>,
    /// Bulk data.
    pub bulk: Option<Bulk>,
    /// The request portal, if it is not the import's.
    pub portal: Option<Portal>,
    /// Whether the request is executed at most once, whatever is lost: the service recognizes a request that is sent again.
    /// If the service was restarted meanwhile, and has forgotten it, the request ends with [`Errno::Stale`].
    /// Without this flag a request without a reply is sent again, and may be executed twice.
    pub at_most_once: bool,
    /// Fails rather than being sent again.
    pub no_resend: bool,
    /// Fails with [`Errno::Again`] rather than waiting for a connection.
    pub no_delay: bool,
    /// The timeout of each transmission; `None`: by the estimate of the service's time.
    pub timeout: Option<Duration>,
    /// The timeout of the request as a whole; `None`: none.
    pub limit: Option<Duration>,
}

/// Bulk data of a request, at most 64 MiB.
#[derive(Clone, Debug)]
pub struct Bulk {
    /// The memory of the data. The caller has exclusive access again (`Arc::get_mut`) soon after the request has ended.
    pub memory: Arc<Region>,
    /// The direction of the transfer.
    pub direction: Direction,
}

/// The direction of a bulk transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The service puts the data: a read.
    FromService,
    /// The service gets the data: a write.
    ToService,
}

impl Request {
    /// A request that is sent until there is a reply.
    pub const fn new(opcode: Opcode) -> Self {
        Self {
            opcode,
            buffers: Vec::new(),
            reply_lengths: Vec::new(),
            bulk: None,
            portal: None,
            at_most_once: false,
            no_resend: false,
            no_delay: false,
            timeout: None,
            limit: None,
        }
    }

    /// A ping: sent once, over the connection that there is.
    pub(crate) fn ping() -> Self {
        Self { no_resend: true, no_delay: true, ..Self::new(Opcode::PING) }
    }

    /// The number of MDs that the request's bulk data takes. `EINVAL`: too many.
    pub(crate) fn bulk_md_count(&self) -> Result<u32, Errno> {
        let Some(bulk) = &self.bulk else { return Ok(0) };
        let count = bulk.memory.len().div_ceil(BULK_MD_LEN) as u32;
        // Empty bulk data would have no MD, and so no event at its end.
        BulkBits::starting_at(Xid(0), count).map(BulkBits::count).ok_or(Errno::Invalid)
    }
}

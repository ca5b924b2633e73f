//! One sending of a request: its descriptors, and what their events say.
//!
//! Each sending has its own, so that what is still to come of an earlier one cannot be taken for news of this.

use super::wake::Waker;
use crate::errno::Errno;
use crate::lnet::{Ack, Criteria, Event, EventKind, Md, MdSpec, Node, Part, ProcessId, Region, Sink};
use crate::message::body::Body;
use crate::message::checksum::early_reply_is_intact;
use crate::message::header::BODY_ONLY_LEN;
use crate::message::{BulkBits, Message};
use crate::sync::lock;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The longest MD of a bulk transfer (PR-22).
pub(crate) const BULK_MD: usize = 1 << 20;

/// Which way bulk data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The service puts it here: a read.
    FromService,
    /// The service gets it here: a write.
    ToService,
}

/// What is sent, and where.
#[derive(Debug)]
pub(crate) struct Sending<'a> {
    pub(crate) message: Region,
    pub(crate) to: ProcessId,
    pub(crate) request_portal: u32,
    pub(crate) reply_portal: u32,
    pub(crate) xid: u64,
    pub(crate) reply_bits: u64,
    pub(crate) reply_room: usize,
    /// Early replies may come, and the real one behind them.
    pub(crate) adaptive: bool,
    pub(crate) bulk: Option<BulkSending<'a>>,
}

#[derive(Debug)]
pub(crate) struct BulkSending<'a> {
    pub(crate) memory: &'a Arc<Region>,
    pub(crate) direction: Direction,
    pub(crate) portal: u32,
    pub(crate) bits: BulkBits,
}

/// What is known of a sending.
#[derive(Clone, Debug, Default)]
pub(crate) struct News {
    /// It has not arrived.
    pub(crate) failed: Option<Errno>,
    /// What the last early reply said.
    pub(crate) early: Option<Body>,
    pub(crate) early_count: u32,
    /// The reply is there: where.
    pub(crate) reply: Option<Range<usize>>,
    /// The reply did not fit: bytes that it needs.
    pub(crate) needs: Option<u32>,
    /// LNet may still write to the memory for replies.
    pub(crate) reply_open: bool,
    /// Descriptors for bulk data that have not had their last event.
    pub(crate) bulk_open: u32,
    pub(crate) bulk_failed: Option<Errno>,
    pub(crate) bulk_bytes: u64,
}

/// A sending that is under way, or was.
pub(crate) struct Flight {
    news: Arc<Shared>,
    replies: Arc<Region>,
    reply_md: Md,
    request_md: Md,
    bulk_mds: Vec<Md>,
}

struct Shared {
    news: Mutex<News>,
    waker: Waker,
}

impl Flight {
    /// Offers memory for bulk data and for the reply, then sends (PR-30). An error: nothing has left, and nothing is offered any
    /// more when the last events have come.
    pub(crate) fn begin(node: &Node, sending: Sending<'_>, waker: Waker) -> Result<Self, Errno> {
        let shared = Arc::new(Shared { news: Mutex::default(), waker });
        let bulk_mds = match &sending.bulk {
            Some(bulk) => shared.offer_bulk(node, bulk, sending.to)?,
            None => Vec::new(),
        };
        let withdraw = |mds: &[Md], errno| {
            mds.iter().for_each(|md| node.unlink(*md));
            errno
        };
        let early = if sending.adaptive { BODY_ONLY_LEN } else { 0 };
        let replies = Arc::new(Region::zeroed(early + sending.reply_room));
        let reply_md =
            shared.offer_replies(node, &sending, &replies).map_err(|errno| withdraw(&bulk_mds, errno))?;
        let near = bulk_mds.first().copied();
        let spec = MdSpec { near, ..MdSpec::active(Arc::new(sending.message), 1) };
        let sink = Arc::new(RequestSink(Arc::clone(&shared)));
        let sent = node.bind(&spec, sink).and_then(|md| {
            node.put(None, md, Ack::No, sending.to, sending.request_portal, sending.xid, 0, 0)
                .map(|()| md)
                .inspect_err(|_| node.unlink(md))
        });
        match sent {
            Ok(request_md) => Ok(Self { news: shared, replies, reply_md, request_md, bulk_mds }),
            Err(errno) => {
                node.unlink(reply_md);
                Err(withdraw(&bulk_mds, errno))
            }
        }
    }

    pub(crate) fn news(&self) -> News {
        lock(&self.news.news).clone()
    }

    /// No reply is wanted any more, and the request need not go on.
    pub(crate) fn close_reply(&self, node: &Node) {
        node.unlink(self.reply_md);
        node.unlink(self.request_md);
    }

    /// No bulk data either.
    pub(crate) fn close_bulk(&self, node: &Node) {
        self.bulk_mds.iter().for_each(|md| node.unlink(*md));
    }

    /// The reply, once nothing can be written there any more.
    pub(crate) fn reply(&self) -> Option<Part> {
        let news = lock(&self.news.news);
        let range = news.reply.clone().filter(|_| !news.reply_open)?;
        // SAFETY: the descriptor has had its last event, and no other is over this memory.
        Some(unsafe { Part::new(Arc::clone(&self.replies), range) })
    }
}

impl Shared {
    fn offer_bulk(
        self: &Arc<Self>,
        node: &Node,
        bulk: &BulkSending<'_>,
        from: ProcessId,
    ) -> Result<Vec<Md>, Errno> {
        let mut mds = Vec::new();
        for (index, bits) in bulk.bits.range().enumerate() {
            let start = index * BULK_MD;
            let spec = MdSpec {
                range: start..(start + BULK_MD).min(bulk.memory.len()),
                puts: bulk.direction == Direction::FromService,
                gets: bulk.direction == Direction::ToService,
                ..MdSpec::active(Arc::clone(bulk.memory), 1)
            };
            lock(&self.news).bulk_open += 1;
            let sink = Arc::new(BulkSink(Arc::clone(self)));
            let criteria = Criteria { from: Some(from), bits, ignore: 0 };
            match node.attach(bulk.portal, criteria, spec, sink) {
                Ok(md) => mds.push(md),
                Err(errno) => {
                    mds.iter().for_each(|md| node.unlink(*md));
                    return Err(errno);
                }
            }
        }
        Ok(mds)
    }

    fn offer_replies(
        self: &Arc<Self>,
        node: &Node,
        sending: &Sending<'_>,
        replies: &Arc<Region>,
    ) -> Result<Md, Errno> {
        let spec = MdSpec {
            threshold: None,
            puts: true,
            manage_remote: true,
            truncate: true,
            ..MdSpec::active(Arc::clone(replies), 1)
        };
        lock(&self.news).reply_open = true;
        let (shared, region) = (Arc::clone(self), Arc::clone(replies));
        let sink = Arc::new(ReplySink { shared, region, adaptive: sending.adaptive });
        let criteria = Criteria { from: Some(sending.to), bits: sending.reply_bits, ignore: 0 };
        node.attach(sending.reply_portal, criteria, spec, sink)
    }

    fn tell(&self, what: impl FnOnce(&mut News)) {
        what(&mut lock(&self.news));
        self.waker.wake();
    }
}

/// PR-50.
struct RequestSink(Arc<Shared>);

impl Sink for RequestSink {
    fn event(&self, event: &Event) {
        let failed = match (event.kind, event.status) {
            (_, Err(errno)) => errno,
            (EventKind::Unlink, Ok(())) => Errno::SHUTDOWN,
            _ => return,
        };
        self.0.tell(|news| news.failed = Some(failed));
    }
}

/// PR-51.
struct ReplySink {
    shared: Arc<Shared>,
    region: Arc<Region>,
    adaptive: bool,
}

impl Sink for ReplySink {
    fn event(&self, event: &Event) {
        let early = (self.adaptive && event.kind == EventKind::Put && event.offset == 0)
            .then(|| self.early(event.mlength as usize));
        self.shared.tell(|news| {
            if event.unlinked {
                news.reply_open = false;
            }
            match (event.kind, event.status, early) {
                (EventKind::Put, Ok(()), Some(early)) => {
                    if let Some(early) = early.filter(|_| news.reply.is_none()) {
                        news.early = Some(early);
                        news.early_count += 1;
                    }
                }
                (EventKind::Put, Ok(()), None) if event.mlength < event.rlength => {
                    news.needs = Some(event.rlength);
                }
                (EventKind::Put, Ok(()), None) => {
                    let start = event.offset as usize;
                    news.reply = Some(start..start + event.mlength as usize);
                }
                (EventKind::Put, Err(errno), _) => news.failed = Some(errno),
                _ => {}
            }
        });
    }
}

impl ReplySink {
    /// What an early reply says. The next one may be on its way into the same bytes: the checksum tells.
    fn early(&self, len: usize) -> Option<Body> {
        let bytes = self.region.copy_while_written(0..len.min(BODY_ONLY_LEN));
        let message = Message::parse(&bytes).ok()?;
        early_reply_is_intact(&message).then(|| message.body().ok()).flatten()
    }
}

/// PR-52.
struct BulkSink(Arc<Shared>);

impl Sink for BulkSink {
    fn event(&self, event: &Event) {
        self.0.tell(|news| {
            match (event.kind, event.status) {
                (EventKind::Put | EventKind::Get, Ok(())) => news.bulk_bytes += u64::from(event.mlength),
                (EventKind::Unlink, Ok(())) => {}
                (_, Err(errno)) => news.bulk_failed = Some(errno),
                _ => {}
            }
            if event.unlinked {
                news.bulk_open = news.bulk_open.saturating_sub(1);
            }
        });
    }
}

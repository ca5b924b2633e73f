//! One transmission of a request: its descriptors and their events.
//!
//! Each transmission has its own descriptors, so that late events of an earlier one are not taken for events of this one.

use super::request_message::RequestMessage;
use super::spec::{BULK_MD_LEN, Direction};
use crate::Errno;
use crate::lnet::{
    Destination, Event, EventHandler, EventKind, MatchCriteria, Md, MdSpec, MessageId, Node, NotSent,
    ProcessId, Region, RegionOwner, RegionSlice, SendEvents, SendPool,
};
use crate::message::checksum::early_reply_is_intact;
use crate::message::header::BODY_ONLY_LEN;
use crate::message::{BulkBits, Message};
use crate::wakeup::Waker;
use lnet_api::sync::lock;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The specification of a transmission: the message, its destination, and the match bits.
#[derive(Debug)]
pub(super) struct TransmissionSpec<'a> {
    pub(super) message: &'a RequestMessage<'a>,
    pub(super) peer: ProcessId,
    pub(super) request_portal: u32,
    pub(super) reply_portal: u32,
    pub(super) xid: u64,
    pub(super) reply_bits: u64,
    /// Bytes of the expected reply.
    pub(super) reply_len: usize,
    /// Whether there may be early replies, which are received before the reply in its memory.
    pub(super) early_replies: bool,
    pub(super) bulk: Option<BulkSpec<'a>>,
}

#[derive(Debug)]
pub(super) struct BulkSpec<'a> {
    pub(super) memory: &'a Arc<Region>,
    pub(super) direction: Direction,
    pub(super) portal: u32,
    pub(super) bits: BulkBits,
}

/// The status of a transmission, as its events have reported it.
#[derive(Clone, Debug, Default)]
pub(super) struct TransmissionStatus {
    /// The request could not be delivered.
    pub(super) failed: Option<Errno>,
    /// Seconds from the transmission on that the last early reply has extended the timeout to.
    pub(super) early_timeout: Option<u32>,
    pub(super) early_replies: u32,
    /// The place of the reply in the reply buffer, once it has arrived.
    pub(super) reply: Option<Range<usize>>,
    /// The reply was truncated: its length.
    pub(super) truncated_from: Option<u32>,
    /// LNet may still write to the reply buffer.
    pub(super) reply_md_is_live: bool,
    /// MDs of bulk data that have not had their last event.
    pub(super) live_bulk_mds: u32,
    pub(super) bulk_failed: Option<Errno>,
    pub(super) bulk_bytes: u64,
}

/// A transmission, in progress or not.
pub(super) struct Transmission {
    shared: Arc<Shared>,
    reply_md: Md,
    request: MessageId,
    bulk_mds: Vec<Md>,
}

/// Sends the requests of a client.
pub(crate) type RequestSender = SendPool<RequestEvents>;

/// The part of a transmission that its events need.
pub(crate) struct Shared {
    status: Mutex<TransmissionStatus>,
    /// The request has not had its last event.
    request_is_live: AtomicBool,
    waker: Waker,
    /// The reply buffer.
    replies: Region,
    early_replies: bool,
}

impl RegionOwner for Shared {
    fn region(&self) -> &Region {
        &self.replies
    }
}

impl Transmission {
    /// Attaches the memory for bulk data and for the reply, then sends the request (PR-30). `waker` is woken by each event. After
    /// an error nothing was sent, and the memory is detached.
    pub(super) fn start(
        sender: &RequestSender,
        spec: &TransmissionSpec<'_>,
        waker: &Waker,
    ) -> Result<Self, Errno> {
        let node = sender.node();
        let shared = sender.events().shared(spec, waker);
        let bulk_mds = match &spec.bulk {
            Some(bulk) => shared.attach_bulk(node, bulk, spec.peer)?,
            None => Vec::new(),
        };
        let unlink = |mds: &[Md], errno| {
            mds.iter().for_each(|md| node.unlink(*md));
            errno
        };
        let reply_md = shared.attach_reply(node, spec).map_err(|errno| unlink(&bulk_mds, errno))?;
        match shared.send_request(sender, spec, bulk_mds.first().copied()) {
            Ok(request) => Ok(Self { shared, reply_md, request, bulk_mds }),
            Err(errno) => {
                node.unlink(reply_md);
                Err(unlink(&bulk_mds, errno))
            }
        }
    }

    pub(super) fn status(&self) -> TransmissionStatus {
        lock(&self.shared.status).clone()
    }

    /// Whether the request has not had its last event.
    pub(super) fn request_is_live(&self) -> bool {
        self.shared.request_is_live.load(Ordering::Acquire)
    }

    /// Unlinks the descriptors of the request and of the reply.
    pub(super) fn unlink_reply(&self, sender: &RequestSender) {
        let reply_md_is_live = lock(&self.shared.status).reply_md_is_live;
        if reply_md_is_live {
            sender.node().unlink(self.reply_md);
        }
        if self.request_is_live() {
            sender.abort(self.request);
        }
    }

    /// Keeps the reply buffer for another transmission, once nobody uses it any more.
    pub(super) fn keep_buffer(self, sender: &RequestSender) {
        sender.events().keep(self.shared);
    }

    /// Unlinks the descriptors of bulk data.
    pub(super) fn unlink_bulk(&self, node: &Node) {
        self.bulk_mds.iter().for_each(|md| node.unlink(*md));
    }

    /// The reply that this transmission has by its status, after the last event of its descriptor.
    pub(super) fn reply(&self, status: &TransmissionStatus) -> Option<RegionSlice<Shared>> {
        let range = status.reply.clone().filter(|_| !status.reply_md_is_live)?;
        // SAFETY: the descriptor has had its last event, and no other is over this memory.
        Some(unsafe { RegionSlice::new(Arc::clone(&self.shared), range) })
    }
}

impl Shared {
    fn attach_bulk(
        self: &Arc<Self>,
        node: &Node,
        bulk: &BulkSpec<'_>,
        peer: ProcessId,
    ) -> Result<Vec<Md>, Errno> {
        let mut mds = Vec::new();
        for (index, bits) in bulk.bits.range().enumerate() {
            let start = index * BULK_MD_LEN;
            let spec = MdSpec {
                range: start..(start + BULK_MD_LEN).min(bulk.memory.len()),
                puts: bulk.direction == Direction::FromService,
                gets: bulk.direction == Direction::ToService,
                ..MdSpec::active(Arc::clone(bulk.memory), 1)
            };
            lock(&self.status).live_bulk_mds += 1;
            let handler = Arc::new(BulkEvents(Arc::clone(self)));
            let criteria = MatchCriteria { from: Some(peer), bits, ignore: 0 };
            match node.attach(bulk.portal, criteria, spec, handler) {
                Ok(md) => mds.push(md),
                Err(errno) => {
                    mds.iter().for_each(|md| node.unlink(*md));
                    return Err(errno);
                }
            }
        }
        Ok(mds)
    }

    fn attach_reply(self: &Arc<Self>, node: &Node, spec: &TransmissionSpec<'_>) -> Result<Md, Errno> {
        // An early reply leaves space for a reply of the expected length; the reply does not, wherever it ends. So LNet unlinks the
        // descriptor with it.
        let md_spec = MdSpec {
            threshold: None,
            puts: true,
            manage_remote: true,
            truncate: true,
            max_size: u32::try_from(spec.reply_len).ok(),
            ..MdSpec::own(self.replies.len(), 1)
        };
        let criteria = MatchCriteria { from: Some(spec.peer), bits: spec.reply_bits, ignore: 0 };
        node.attach_own(spec.reply_portal, criteria, &md_spec, Arc::clone(self))
    }

    fn send_request(
        self: &Arc<Self>,
        sender: &RequestSender,
        spec: &TransmissionSpec<'_>,
        bulk_md: Option<Md>,
    ) -> Result<MessageId, Errno> {
        let mut buffer = sender.buffer(spec.message.len()?, bulk_md)?;
        spec.message.write(buffer.bytes_mut())?;
        let destination = Destination {
            from: None,
            to: spec.peer,
            portal: spec.request_portal,
            match_bits: spec.xid,
            offset: 0,
        };
        buffer.send(&destination, Arc::clone(self)).map_err(|(_, errno, _)| errno)
    }

    fn update(&self, change: impl FnOnce(&mut TransmissionStatus)) {
        change(&mut lock(&self.status));
        self.waker.wake();
    }
}

/// Takes the outcomes of requests (PR-50), and keeps reply buffers of transmissions that have ended for others.
#[derive(Default)]
pub(crate) struct RequestEvents {
    kept: Mutex<Vec<Arc<Shared>>>,
}

/// The most reply buffers that are kept, and the longest.
const MAX_KEPT: usize = 16;
const MAX_KEPT_LEN: usize = 16 << 10;

impl RequestEvents {
    /// The state of a transmission that begins: a kept one that neither a descriptor nor a reply uses, or a new one.
    fn shared(&self, spec: &TransmissionSpec<'_>, waker: &Waker) -> Arc<Shared> {
        let status = TransmissionStatus { reply_md_is_live: true, ..TransmissionStatus::default() };
        let early_len = if spec.early_replies { BODY_ONLY_LEN } else { 0 };
        let (len, early_replies) = (early_len + spec.reply_len, spec.early_replies);
        let mut kept = lock(&self.kept);
        for at in (0..kept.len()).rev() {
            if let Some(shared) = Arc::get_mut(&mut kept[at])
                && shared.replies.len() == len
            {
                (shared.status, shared.early_replies) = (status.into(), early_replies);
                *shared.request_is_live.get_mut() = true;
                shared.waker.set_to(waker);
                return kept.swap_remove(at);
            }
        }
        drop(kept);
        let replies = Region::zeroed(len);
        Arc::new(Shared {
            status: status.into(),
            request_is_live: true.into(),
            waker: waker.clone(),
            replies,
            early_replies,
        })
    }

    /// Keeps the state of a transmission that has ended, in place of the oldest one if there are too many.
    fn keep(&self, shared: Arc<Shared>) {
        if shared.replies.len() > MAX_KEPT_LEN {
            return;
        }
        let mut kept = lock(&self.kept);
        let oldest = (kept.len() == MAX_KEPT).then(|| kept.remove(0));
        kept.push(shared);
        drop(kept);
        drop(oldest);
    }
}

impl SendEvents for RequestEvents {
    type Context = Arc<Shared>;

    fn on_sent(&self, shared: Arc<Shared>, outcome: Result<(), NotSent<'_>>) {
        shared.request_is_live.store(false, Ordering::Release);
        if let Err(NotSent { errno, .. }) = outcome {
            shared.update(|status| status.failed = Some(errno));
        }
    }
}

/// Events of the reply buffer (PR-51).
impl EventHandler for Shared {
    fn on_event(&self, event: &Event) {
        let early = (self.early_replies && event.kind == EventKind::Put && event.offset == 0)
            .then(|| self.read_early_reply(event.mlength as usize));
        self.update(|status| {
            if event.unlinked {
                status.reply_md_is_live = false;
            }
            match (event.kind, event.status, early) {
                (EventKind::Put, Ok(()), Some(early)) => {
                    if let Some(early) = early.filter(|_| status.reply.is_none()) {
                        status.early_timeout = Some(early);
                        status.early_replies += 1;
                    }
                }
                (EventKind::Put, Ok(()), None) if event.mlength < event.rlength => {
                    status.truncated_from = Some(event.rlength);
                }
                (EventKind::Put, Ok(()), None) => {
                    let start = event.offset as usize;
                    status.reply = Some(start..start + event.mlength as usize);
                }
                (EventKind::Put, Err(errno), _) => status.failed = Some(errno),
                _ => {}
            }
        });
    }
}

impl Shared {
    /// Reads the timeout of an early reply. Another one may be arriving in the same bytes: then the checksum is wrong.
    fn read_early_reply(&self, len: usize) -> Option<u32> {
        let bytes = self.replies.copy_while_written(0..len.min(BODY_ONLY_LEN));
        let message = Message::parse(&bytes).ok()?;
        early_reply_is_intact(&message).then(|| message.body().ok()).flatten().map(|body| body.timeout)
    }
}

/// Events of bulk data (PR-52).
struct BulkEvents(Arc<Shared>);

impl EventHandler for BulkEvents {
    fn on_event(&self, event: &Event) {
        self.0.update(|status| {
            match (event.kind, event.status) {
                (EventKind::Put | EventKind::Get, Ok(())) => status.bulk_bytes += u64::from(event.mlength),
                (EventKind::Unlink, Ok(())) => {}
                (_, Err(errno)) => status.bulk_failed = Some(errno),
                _ => {}
            }
            if event.unlinked {
                status.live_bulk_mds = status.live_bulk_mds.saturating_sub(1);
            }
        });
    }
}

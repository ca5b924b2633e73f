//! The two directions of a connection: messages of this node on their way into a ring, and messages of the peer on their way out of one.

use crate::assembly::{Assembly, Misplaced, Whole, next_record};
use crate::buffers::Buffers;
use lnet_core::{OutgoingMessage, Pooled, SendFailure, Time};
use lnet_os::shared_memory::SharedMemory;
use lnet_ring::{Closed, Consumer, Corrupt, MAX_BODY, Producer, PushError, Wake};
use lnet_wire::header::{Header, LONG_HEADER_LEN};
use lolnd::copy;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A message that this node sends.
pub(crate) type Message = Pooled<OutgoingMessage>;
/// A message that the driver is done with, and what became of it.
pub(crate) type Done = (Message, Result<(), SendFailure>);

/// The bytes of deferred messages of a peer from which on its connections are not read.
const MAX_DEFERRED: usize = 2 << 20;
/// What a deferred message counts for beside its bytes.
const OVERHEAD: usize = 1024;

/// The reason why a connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unusable {
    #[error(transparent)]
    Ring(#[from] Corrupt),
    #[error(transparent)]
    Record(#[from] Misplaced),
    /// The peer has ended the connection, and its socket says so, too.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// The direction to the peer.
pub(crate) struct Outbound {
    ring: Producer<SharedMemory>,
    /// The messages that are not in the ring as a whole.
    queue: VecDeque<Message>,
    /// The bytes of the first of these, with its header, that are in the ring.
    offset: usize,
    /// The next record, and its kind if there was no room for it.
    body: Vec<u8>,
    kind: Option<u32>,
    /// The messages in the ring that the peer has not read, with the end of each.
    unread: VecDeque<(u64, Message)>,
    /// The end of what the peer has read.
    read: u64,
    /// The last time at which the peer had read something, or had nothing to read.
    progress: Time,
}

impl Outbound {
    pub(crate) fn new(memory: SharedMemory, now: Time) -> Result<Self, Corrupt> {
        let ring = Producer::new(memory)?;
        Ok(Self {
            ring,
            queue: VecDeque::new(),
            offset: 0,
            body: Vec::with_capacity(MAX_BODY),
            kind: None,
            unread: VecDeque::new(),
            read: 0,
            progress: now,
        })
    }

    pub(crate) fn send(&mut self, message: Message, now: Time) {
        if self.is_idle() {
            self.progress = now;
        }
        self.queue.push_back(message);
    }

    /// Takes note of what the peer has read, and fills the ring. Returns whether the peer has to be woken.
    pub(crate) fn work(&mut self, now: Time, done: &mut Vec<Done>) -> Result<Wake, Corrupt> {
        self.note_read(now, done)?;
        while let Some(message) = self.queue.pop_front() {
            if !self.push(&message)? {
                self.queue.push_front(message);
                break;
            }
            self.unread.push_back((self.ring.pushed(), message));
        }
        Ok(self.ring.publish())
    }

    /// Announces that this side sleeps until the peer has read something. `false` if it has.
    pub(crate) fn arm(&mut self) -> Result<bool, Corrupt> {
        self.ring.begin_wait_for_reading()
    }

    pub(crate) fn disarm(&self) {
        self.ring.end_wait();
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.unread.is_empty()
    }

    /// The time since which the peer has read nothing.
    pub(crate) const fn progress(&self) -> Time {
        self.progress
    }

    /// Ends the direction. What the peer has read it has; nothing of the rest will arrive, and that has this failure.
    pub(crate) fn close(self, failure: SendFailure, done: &mut Vec<Done>) {
        // If the peer writes nonsense, nobody knows what it has read. What it has, it may get once more then.
        let read = self.ring.close().unwrap_or(0);
        let result = |end| if end <= read { Ok(()) } else { Err(failure) };
        done.extend(self.unread.into_iter().map(|(end, message)| (message, result(end))));
        done.extend(self.queue.into_iter().map(|message| (message, Err(failure))));
    }

    fn note_read(&mut self, now: Time, done: &mut Vec<Done>) -> Result<(), Corrupt> {
        if self.unread.is_empty() && self.offset == 0 {
            return Ok(());
        }
        let read = self.ring.read_by_consumer()?;
        if read != self.read {
            (self.read, self.progress) = (read, now);
        }
        while let Some((_, message)) = self.unread.pop_front_if(|(end, _)| *end <= read) {
            done.push((message, Ok(())));
        }
        Ok(())
    }

    /// Pushes what is left of a message; `false` if there is no room.
    fn push(&mut self, message: &Message) -> Result<bool, Corrupt> {
        let payload = message.payload();
        let len = LONG_HEADER_LEN + message.payload_len();
        while self.offset < len {
            let kind = self.kind.take().unwrap_or_else(|| {
                let (kind, body_len) = next_record(message.payload_len(), self.offset, MAX_BODY);
                self.body.clear();
                if self.offset == 0 {
                    self.body.extend_from_slice(&message.header().encode_long());
                }
                let from = self.offset.saturating_sub(LONG_HEADER_LEN);
                let missing = body_len - self.body.len();
                copy::append(&mut self.body, payload.clone().advanced(from), missing);
                kind
            });
            match self.ring.push(kind, &self.body) {
                Ok(()) => self.offset += self.body.len(),
                Err(PushError::Corrupt(corrupt)) => return Err(corrupt),
                // A record fits into every ring once that is empty.
                Err(PushError::Full | PushError::TooLong(_)) => {
                    self.kind = Some(kind);
                    return Ok(false);
                }
            }
        }
        self.offset = 0;
        Ok(true)
    }
}

/// The direction from the peer.
pub(crate) struct Inbound {
    ring: Consumer<SharedMemory>,
    assembly: Assembly,
    share: Share,
}

impl Inbound {
    pub(crate) fn new(memory: SharedMemory, share: &Share) -> Result<Self, Corrupt> {
        Ok(Self { ring: Consumer::new(memory)?, assembly: Assembly::default(), share: share.clone() })
    }

    /// Reads messages, `limit` at most, and adds them to `arrived`. Returns whether the peer has to be woken.
    pub(crate) fn work(&mut self, limit: usize, arrived: &mut Vec<Received>) -> Result<Wake, Unusable> {
        let mut wake = Wake::NotNeeded;
        let end = arrived.len() + limit;
        while arrived.len() < end && !self.is_held() {
            if self.assembly.bytes.capacity() == 0 {
                self.assembly.bytes = self.share.0.buffers.take();
            }
            let before = self.assembly.bytes.len();
            let Some(kind) = self.ring.pop_more(&mut self.assembly.bytes)? else { break };
            let whole = self.assembly.added(kind, before)?;
            if self.ring.commit()? == Wake::Needed {
                wake = Wake::Needed;
            }
            arrived.extend(whole.map(|whole| Received { whole, share: self.share.clone() }));
        }
        Ok(wake)
    }

    /// Announces that this side sleeps until there is something to read. `false` if there is.
    pub(crate) fn arm(&mut self) -> Result<bool, Corrupt> {
        Ok(self.ring.begin_sleep()? || self.is_held())
    }

    pub(crate) fn disarm(&self) {
        self.ring.end_sleep();
    }

    /// Whether messages that the core has deferred are as many as may be.
    fn is_held(&self) -> bool {
        self.share.0.deferred.load(Ordering::Acquire) > MAX_DEFERRED
    }
}

/// A message that has arrived, in a buffer that goes back to the peer's share in the end.
#[derive(Debug)]
pub(crate) struct Received {
    whole: Whole,
    share: Share,
}

impl Received {
    pub(crate) const fn header(&self) -> Header {
        self.whole.header
    }

    pub(crate) fn payload(&self) -> &[u8] {
        self.whole.payload()
    }

    /// Takes the part of the share for this message, which is deferred. Its buffer gets no larger than the message.
    pub(crate) fn defer(&mut self) -> Taken {
        self.whole.bytes.shrink_to_fit();
        let bytes = self.whole.bytes.len() + OVERHEAD;
        self.share.0.deferred.fetch_add(bytes, Ordering::AcqRel);
        Taken(self.share.clone(), bytes)
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        self.share.0.buffers.give_back(std::mem::take(&mut self.whole.bytes));
    }
}

/// The share of a peer in the memory of the driver: deferred messages and spare buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Share(Arc<Memory>);

#[derive(Debug, Default)]
struct Memory {
    /// The bytes of deferred messages.
    deferred: AtomicUsize,
    buffers: Buffers,
}

/// A part of a share that is taken, until dropped.
#[derive(Debug)]
pub(crate) struct Taken(Share, usize);

impl Share {
    /// Whether there are connections or messages of the peer.
    pub(crate) fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Frees the spare buffers, if none was used since the last call.
    pub(crate) fn trim(&self) {
        self.0.buffers.trim();
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.0.deferred.fetch_sub(self.1, Ordering::AcqRel);
    }
}

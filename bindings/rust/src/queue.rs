//! Event queues, and the operations whose events they get.

use crate::live_mds::lock;
use crate::message::describe;
use crate::raw::{self, MdOwner};
use crate::{Buffer, Errno, Event, MatchEntry, MemoryDescriptor, Message, Node, sys};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_long, c_uint};
use std::fmt;
use std::mem::forget;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A queue of events: those of the messages that are sent by it, and of the memory that is attached by it.
///
/// The program fetches the events with [`EventQueue::poll`] and [`EventQueue::wait`], or they go to a handler. When the queue is dropped, all its descriptors are
/// unlinked, and the drop waits for their last events: for an operation that is in progress with a peer that does not respond, up to the
/// transaction timeout. Dropped in a handler it is leaked, with its reference on the node.
pub struct EventQueue {
    queue: raw::Queue<Md>,
    shared: Arc<Shared>,
    node: Node,
}

/// The part of a queue that its descriptors have.
struct Shared {
    sink: Sink,
    mds: Mutex<LiveTable>,
}

/// The place where events go.
enum Sink {
    Stored(Mutex<StoredEvents>),
    Handler(Box<dyn Fn(Event) + Send + Sync>),
}

/// Events that the program has not fetched.
struct StoredEvents {
    events: VecDeque<Event>,
    capacity: usize,
    lost: u64,
}

/// The descriptors that have not had their last event, by their numbers.
#[derive(Default)]
struct LiveTable {
    next: u64,
    mds: BTreeMap<u64, LiveEntry>,
}

#[derive(Default)]
struct LiveEntry {
    /// None while LNet makes it.
    handle: Option<sys::lnet_handle_md>,
    /// Whether the events are dropped: the message was refused, or the queue is being dropped.
    is_discarded: bool,
}

/// A descriptor: the owner of its memory.
struct Md {
    buffer: Option<Buffer>,
    tag: u64,
    number: u64,
    shared: Arc<Shared>,
}

/// Memory that is attached at a portal. Dropping it ends that: the descriptor's last event follows, when the operations in progress have
/// ended.
#[must_use = "dropped at once, it is unlinked at once"]
#[derive(Debug)]
pub struct Attached {
    handle: sys::lnet_handle_md,
    _node: Node,
}

impl EventQueue {
    /// Makes a queue that keeps `capacity` events for [`EventQueue::poll`]. When it is full, further events are lost and counted
    /// ([`EventQueue::lost`]), except for the last one of each descriptor, which has the memory and is never lost.
    pub fn new(node: &Node, capacity: u32) -> Result<Self, Errno> {
        let stored = StoredEvents { events: VecDeque::new(), capacity: capacity as usize, lost: 0 };
        Self::with_sink(node, capacity, Sink::Stored(Mutex::new(stored)))
    }

    /// Makes a queue whose events go to `handler`, on threads of the library and on those that are inside a call of it: one event of a
    /// descriptor at a time, events of several at the same time. It should return soon, and must not call LNet; it hands the event over to
    /// a thread of the program that does. A panic in it ends the process.
    pub fn with_handler(node: &Node, handler: impl Fn(Event) + Send + Sync + 'static) -> Result<Self, Errno> {
        Self::with_sink(node, 1, Sink::Handler(Box::new(handler)))
    }

    fn with_sink(node: &Node, events: u32, sink: Sink) -> Result<Self, Errno> {
        let shared = Arc::new(Shared { sink, mds: Mutex::default() });
        Ok(Self { queue: raw::Queue::new(events.max(1))?, shared, node: node.clone() })
    }

    /// Attaches memory at a portal, behind the existing entries. Messages that match may use it, until the descriptor has taken as many as
    /// its threshold says, or the result is dropped.
    pub fn attach(&self, entry: MatchEntry, descriptor: MemoryDescriptor) -> Result<Attached, Errno> {
        let md = descriptor.to_c()?;
        let any = sys::lnet_process_id { nid: sys::LNET_NID_ANY, pid: sys::LNET_PID_ANY };
        let from = entry.sender.map_or(any, |sender| sender.to_c());
        let mut me = sys::lnet_handle_me { cookie: sys::COOKIE_NONE };
        Errno::check(sys::LNetMEAttach(
            entry.portal as c_uint,
            from,
            entry.bits,
            entry.ignore,
            sys::LNET_UNLINK,
            sys::LNET_INS_AFTER,
            &mut me,
        ))?;
        // SAFETY: what `post` gives; LNet calls the handler with it until the last event.
        let attach = |md, handle: *mut _| unsafe { sys::LNetMDAttach(me, md, sys::LNET_UNLINK, handle) };
        match self.post(descriptor.buffer, descriptor.tag, md, attach) {
            Ok((handle, _)) => Ok(Attached { handle, _node: self.node.clone() }),
            Err(errno) => {
                sys::LNetMEUnlink(me);
                Err(errno)
            }
        }
    }

    /// Sends a buffer. The result says whether LNet took the message; whether it was sent is told by [`EventKind::Send`], whether it was
    /// taken, if an acknowledgement is asked for, by [`EventKind::Ack`]. The last event has the buffer. After an error there is no event,
    /// and the buffer is dropped.
    ///
    /// [`EventKind::Send`]: crate::EventKind::Send
    /// [`EventKind::Ack`]: crate::EventKind::Ack
    pub fn put(&self, buffer: Buffer, message: Message) -> Result<(), Errno> {
        // The ACK is an operation of its own.
        let (threshold, ack) = if message.ack { (2, sys::LNET_ACK_REQ) } else { (1, sys::LNET_NOACK_REQ) };
        self.start(buffer, threshold, message, |from, md| {
            let Message { portal, bits, offset, hdr_data, .. } = message;
            sys::LNetPut(from, md, ack, message.to.to_c(), portal, bits, offset, hdr_data)
        })
    }

    /// Fetches data into a buffer: as many bytes as it has. [`EventKind::Reply`] says that they are there. The last event has the buffer;
    /// its status is an error if the target had no such memory, or did not respond. After an error of the call there is no event.
    ///
    /// [`EventKind::Reply`]: crate::EventKind::Reply
    pub fn get(&self, buffer: Buffer, message: Message) -> Result<(), Errno> {
        // The request and the REPLY.
        self.start(buffer, 2, message, |from, md| {
            let Message { portal, bits, offset, .. } = message;
            sys::LNetGet(from, md, message.to.to_c(), portal, bits, offset)
        })
    }

    /// Makes a descriptor for one operation, and starts that.
    fn start(
        &self,
        buffer: Buffer,
        threshold: i32,
        message: Message,
        start: impl FnOnce(sys::lnet_nid_t, sys::lnet_handle_md) -> i32,
    ) -> Result<(), Errno> {
        let md = describe(&buffer, threshold, 0)?;
        // SAFETY: what `post` gives; LNet calls the handler with it until the last event.
        let bind = |md, handle: *mut _| unsafe { sys::LNetMDBind(md, sys::LNET_UNLINK, handle) };
        let (handle, number) = self.post(buffer, message.tag, md, bind)?;
        let from = message.source.map_or(sys::LNET_NID_ANY, |nid| nid.to_u64());
        Errno::check(start(from, handle)).map(drop).inspect_err(|_| {
            if let Some(entry) = lock(&self.shared.mds).mds.get_mut(&number) {
                entry.is_discarded = true;
            }
            sys::LNetMDUnlink(handle);
        })
    }

    /// Makes a descriptor, by `make`. Returns its handle and its number.
    fn post(
        &self,
        buffer: Buffer,
        tag: u64,
        md: sys::lnet_md,
        make: impl FnOnce(sys::lnet_md, *mut sys::lnet_handle_md) -> i32,
    ) -> Result<(sys::lnet_handle_md, u64), Errno> {
        let number = lock(&self.shared.mds).add();
        let owner = Md { buffer: Some(buffer), tag, number, shared: Arc::clone(&self.shared) };
        // SAFETY: `md` describes the memory of the buffer, which the owner has and does not access before the last event. `make` is
        // LNetMDAttach or LNetMDBind.
        let made = unsafe { self.queue.post(owner, md, make) };
        let mut live = lock(&self.shared.mds);
        match made {
            Ok(handle) => {
                // It may have had its last event.
                if let Some(entry) = live.mds.get_mut(&number) {
                    entry.handle = Some(handle);
                }
                Ok((handle, number))
            }
            Err(errno) => {
                live.mds.remove(&number);
                Err(errno)
            }
        }
    }

    /// Returns the oldest event; waits for one, at most for this time. `None`: there was none. A queue with a handler has none. In an event
    /// handler: [`Errno::Busy`].
    pub fn poll(&self, timeout: Duration) -> Result<Option<Event>, Errno> {
        Ok(poll_any(&[self], timeout)?.map(|(_, event)| event))
    }

    /// Returns the oldest event; waits until there is one.
    pub fn wait(&self) -> Result<Event, Errno> {
        loop {
            if let Some(event) = self.poll(Duration::MAX)? {
                return Ok(event);
            }
        }
    }

    /// The number of events that were lost because the queue was full.
    pub fn lost(&self) -> u64 {
        match &self.shared.sink {
            Sink::Stored(stored) => lock(stored).lost,
            Sink::Handler(_) => 0,
        }
    }

    fn pop(&self) -> Option<Event> {
        match &self.shared.sink {
            Sink::Stored(stored) => lock(stored).events.pop_front(),
            Sink::Handler(_) => None,
        }
    }
}

/// Returns the oldest event of the first of these queues that has one, with the index of that queue: their order is their priority. Waits
/// for an event, at most for this time.
pub fn poll_any(queues: &[&EventQueue], timeout: Duration) -> Result<Option<(usize, Event)>, Errno> {
    let polled: Vec<_> = queues.iter().map(|queue| &queue.queue).collect();
    // A time that the clock cannot express is without limit.
    let deadline = Instant::now().checked_add(timeout);
    loop {
        let found = queues.iter().enumerate().find_map(|(at, queue)| Some((at, queue.pop()?)));
        if found.is_some() {
            return Ok(found);
        }
        let timeout_ms = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
            None => -1,
            // The part of a millisecond counts as a whole one, so that the loop does not spin.
            Some(left) => c_long::try_from(left.as_micros().div_ceil(1000)).unwrap_or(c_long::MAX),
        };
        let is_over = !raw::poll_any(&polled, timeout_ms)? && timeout_ms == 0;
        if is_over {
            return Ok(queues.iter().enumerate().find_map(|(at, queue)| Some((at, queue.pop()?))));
        }
    }
}

impl LiveTable {
    fn add(&mut self) -> u64 {
        self.next += 1;
        self.mds.insert(self.next, LiveEntry::default());
        self.next
    }
}

impl Sink {
    fn deliver(&self, event: Event) {
        match self {
            Self::Handler(handler) => handler(event),
            Self::Stored(stored) => lock(stored).store(event),
        }
    }
}

impl StoredEvents {
    fn store(&mut self, event: Event) {
        if self.events.len() < self.capacity || event.buffer.is_some() {
            self.events.push_back(event);
        } else {
            self.lost += 1;
        }
    }
}

impl MdOwner for Md {
    fn on_event(&mut self, event: &sys::lnet_event) {
        let mut live = lock(&self.shared.mds);
        let is_discarded = live.mds.get(&self.number).is_some_and(|entry| entry.is_discarded);
        let mut buffer = None;
        if event.unlinked != 0 {
            live.mds.remove(&self.number);
            buffer = self.buffer.take();
        }
        drop(live);
        if !is_discarded {
            self.shared.sink.deliver(Event::from_c(event, self.tag, buffer));
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        sys::LNetMDUnlink(self.handle);
    }
}

impl Drop for EventQueue {
    fn drop(&mut self) {
        if raw::in_handler() {
            forget(self.node.clone());
            return;
        }
        let handles: Vec<_> = {
            let mut live = lock(&self.shared.mds);
            live.mds.values_mut().for_each(|entry| entry.is_discarded = true);
            live.mds.values().filter_map(|entry| entry.handle).collect()
        };
        for handle in handles {
            sys::LNetMDUnlink(handle);
        }
        self.queue.close();
    }
}

impl fmt::Debug for EventQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventQueue({:?}, {} descriptors)", self.queue.handle(), lock(&self.shared.mds).mds.len())
    }
}

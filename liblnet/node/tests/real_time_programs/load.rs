//! The load of one participant: PUTs and GETs to others, several at a time, whose bytes are checked on arrival.

use super::network::{Network, PORTAL};
use lnet_core::{EqHandle, Errno, Event, EventKind, MdMemory, MdOptions, MdSpec, Target};
use lnet_os::shared_memory::SharedMemory;
use lnet_wire::{Nid, Pid};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, OnceLock, Weak};
use std::time::Duration;

/// The operations of a participant at a time.
const IN_FLIGHT: usize = 8;
/// The buffers for PUTs of others: as many as come at a time from all participants.
const INBOXES: usize = 64;
/// The bytes of each piece of memory.
const LEN: usize = 16 << 10;
/// Far beyond the time after which an operation without an answer ends.
const FOR_EVER: Duration = Duration::from_secs(60);
/// The first number of the memory that others may GET.
const SERVED: usize = INBOXES + IN_FLIGHT;

/// A participant, and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The number of the participant.
    pub number: u64,
    pub nid: Nid,
    /// Whether it is alive all the time: operations with it must not fail.
    pub is_steady: bool,
}

impl Place {
    /// The match bits for PUTs to a participant.
    const fn inbox(self) -> u64 {
        self.number * 2
    }

    /// The match bits for GETs from a participant.
    const fn served(self) -> u64 {
        self.number * 2 + 1
    }
}

/// What has happened to the operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub ended: u64,
    pub unanswered: u64,
    pub down: u64,
}

/// An operation that has not ended.
#[derive(Clone, Copy, Debug)]
struct Pending {
    to: Place,
    is_get: bool,
    /// The first word of the memory of the participant that a GET reads.
    offset: usize,
    len: usize,
    status: Result<(), Errno>,
}

#[derive(Debug, Default)]
struct State {
    /// By the number of the piece of memory.
    pending: HashMap<usize, Pending>,
    counts: Counts,
    is_down: bool,
    fault: Option<String>,
}

pub struct Load {
    me: Weak<Self>,
    place: Place,
    network: Arc<dyn Network>,
    memory: Arc<SharedMemory>,
    eq: OnceLock<EqHandle>,
    state: Mutex<State>,
    changed: Condvar,
}

/// The word with this number of the bytes with this tag.
fn word(tag: u64, number: usize) -> u64 {
    (tag ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Load {
    /// Memory for a load. It has to stay until the network is shut down.
    pub fn memory() -> Arc<SharedMemory> {
        Arc::new(SharedMemory::create(c"load", LEN * (SERVED + 1)).unwrap())
    }

    /// Offers `memory` for PUTs and GETs. The error is that of the network.
    pub fn start(
        place: Place,
        network: Arc<dyn Network>,
        memory: Arc<SharedMemory>,
        in_place: bool,
    ) -> Result<Arc<Self>, Errno> {
        if in_place {
            network.add_memory(&memory)?;
        }
        let load = Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            place,
            network,
            memory,
            eq: OnceLock::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let handler = Weak::clone(&load.me);
        let handler = Box::new(move |event: &Event| {
            if let Some(load) = handler.upgrade() {
                load.handle(event);
            }
        });
        load.eq.set(load.network.eq_alloc(handler)?).unwrap();
        load.fill(SERVED, place.served(), LEN);
        let (spec, memory) = load.md(SERVED, LEN, -1, MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0);
        load.network.attach(place.served(), spec, memory)?;
        (0..INBOXES).try_for_each(|inbox| load.offer(inbox))?;
        Ok(load)
    }

    /// Begins an operation with one of `others` when there are few enough. `false` if the network is down, or something is wrong.
    pub fn step(&self, others: &[Place], random: &mut fastrand::Rng) -> bool {
        let Some(free) = self.wait_for_free() else { return false };
        let Some(to) = random.choice(others).copied() else { return false };
        let is_get = random.bool();
        let words = LEN / 8;
        let offset = if is_get { random.usize(0..words) } else { 0 };
        let len = 8 * random.usize(1..=words - offset);
        let hdr_data = random.u64(..);
        if !is_get {
            self.fill(free, hdr_data, len);
        }
        let pending = Pending { to, is_get, offset, len, status: Ok(()) };
        self.state.lock().unwrap().pending.insert(free, pending);
        let (spec, memory) = self.md(free, len, 2, 0);
        let md = match self.network.bind(spec, memory) {
            Ok(md) => md,
            Err(errno) => {
                self.state.lock().unwrap().pending.remove(&free);
                self.note(errno, "LNetMDBind");
                return self.is_well();
            }
        };
        let (nid, match_bits) = (Some(to.nid), if is_get { to.served() } else { to.inbox() });
        let target =
            Target { nid, pid: Pid::LUSTRE, portal: PORTAL, match_bits, offset: (8 * offset) as u32 };
        let begun = match is_get {
            true => self.network.get(md, target),
            false => self.network.put(md, target, hdr_data),
        };
        // Its end comes by an event of the MD.
        if let Err(errno) = begun {
            self.note(errno, "LNetPut or LNetGet");
        }
        self.is_well()
    }

    /// Waits until all operations have ended; returns what has happened to them, or what was wrong.
    pub fn finish(&self) -> Result<Counts, String> {
        let state = self.state.lock().unwrap();
        let wait = |state: &mut State| !state.pending.is_empty() && state.fault.is_none();
        let (mut state, _) = self.changed.wait_timeout_while(state, FOR_EVER, wait).unwrap();
        let counts = std::mem::take(&mut state.counts);
        match state.fault.take() {
            Some(fault) => Err(fault),
            None if state.pending.is_empty() => Ok(counts),
            None => Err(format!("operations that do not end: {:?}", state.pending)),
        }
    }

    /// The counts since the last call.
    pub fn take_counts(&self) -> Counts {
        std::mem::take(&mut self.state.lock().unwrap().counts)
    }

    /// The number of a piece of memory for the next operation.
    fn wait_for_free(&self) -> Option<usize> {
        let state = self.state.lock().unwrap();
        let wait =
            |state: &mut State| state.pending.len() >= IN_FLIGHT && !state.is_down && state.fault.is_none();
        let (mut state, timeout) = self.changed.wait_timeout_while(state, FOR_EVER, wait).unwrap();
        if timeout.timed_out() {
            let text = format!("operations that do not end: {:?}", state.pending);
            state.fault.get_or_insert(text);
        }
        let is_well = !state.is_down && state.fault.is_none();
        (INBOXES..SERVED).find(|number| is_well && !state.pending.contains_key(number))
    }

    fn is_well(&self) -> bool {
        let state = self.state.lock().unwrap();
        !state.is_down && state.fault.is_none()
    }

    /// Records the error of a call.
    fn note(&self, errno: Errno, call: &str) {
        let mut state = self.state.lock().unwrap();
        match errno {
            Errno::NetworkDown | Errno::Shutdown => state.is_down = true,
            _ => _ = state.fault.get_or_insert_with(|| format!("{call}: {errno}")),
        }
        self.changed.notify_all();
    }

    fn wrong(&self, text: String) {
        self.state.lock().unwrap().fault.get_or_insert(text);
        self.changed.notify_all();
    }

    fn offer(&self, inbox: usize) -> Result<(), Errno> {
        let (spec, memory) = self.md(inbox, LEN, 1, MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
        self.network.attach(self.place.inbox(), spec, memory)
    }

    fn handle(&self, event: &Event) {
        let number = event.md.user_ptr;
        match number {
            0..INBOXES => {
                if event.kind == EventKind::Put && event.status.is_ok() {
                    self.check(number, event.hdr_data, 0, event.mlength as usize, "a PUT");
                }
                if event.unlinked && event.status != Err(Errno::NetworkDown) {
                    _ = self.offer(number).inspect_err(|errno| self.note(*errno, "a buffer for PUTs"));
                }
            }
            INBOXES..SERVED => self.handle_own(number, event),
            _ => {}
        }
    }

    /// Handles an event of an operation of this participant.
    fn handle_own(&self, number: usize, event: &Event) {
        let mut state = self.state.lock().unwrap();
        let Some(pending) = state.pending.get_mut(&number) else {
            drop(state);
            return self.wrong(format!("an event after the last one: {event:?}"));
        };
        pending.status = pending.status.and(event.status);
        if !event.unlinked {
            return;
        }
        let Pending { to, is_get, offset, len, status } = *pending;
        if is_get && status.is_ok() {
            // The memory is free only when its bytes are checked.
            drop(state);
            self.check(number, to.served(), offset, len, "a GET");
            state = self.state.lock().unwrap();
        }
        state.pending.remove(&number);
        match status {
            Ok(()) => state.counts.ended += 1,
            Err(Errno::NetworkDown | Errno::Shutdown) => {
                state.counts.down += 1;
                state.is_down = true;
            }
            Err(errno) if to.is_steady => {
                let text = || format!("an operation with {to:?} failed ({errno}): {event:?}");
                state.fault.get_or_insert_with(text);
            }
            Err(_) => state.counts.unanswered += 1,
        }
        drop(state);
        self.changed.notify_all();
    }

    fn md(&self, number: usize, len: usize, threshold: i32, options: u32) -> (MdSpec, MdMemory) {
        let start = self.memory.address() + number * LEN;
        let (length, eq) = (len as u32, self.eq.get().copied());
        let options = MdOptions(options);
        let spec = MdSpec { start, length, threshold, max_size: 0, options, user_ptr: number, eq };
        (spec, MdMemory::contiguous(start, length))
    }

    fn fill(&self, number: usize, tag: u64, len: usize) {
        let words = &self.memory[number * LEN / 8..][..len / 8];
        for (at, its) in words.iter().enumerate() {
            its.store(word(tag, at), Ordering::Relaxed);
        }
    }

    /// Checks the bytes of a piece of memory, which are those with this tag from the word `offset` on.
    fn check(&self, number: usize, tag: u64, offset: usize, len: usize, what: &str) {
        let words = &self.memory[number * LEN / 8..][..len / 8];
        let is_wrong = |(at, its): &(usize, &_)| -> bool {
            let its: &std::sync::atomic::AtomicU64 = its;
            its.load(Ordering::Relaxed) != word(tag, offset + at)
        };
        if let Some((at, _)) = words.iter().enumerate().find(is_wrong) {
            self.wrong(format!("word {at} of {what} of {len} bytes is wrong"));
        }
    }
}

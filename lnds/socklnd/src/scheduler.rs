//! Scheduler of socket reads and writes: one epoll set, served by the scheduler's own thread (the owner) and by any
//! application thread that waits for an event. An event handler may block either; then another thread becomes the owner,
//! does the work that was left undone ([`Pollable::relieve`]), and the first ends when its handler returns.

use crate::late_schedule::{self, LateSchedule, LateSender};
use crate::next_read::NextRead;
use crate::owner_backoff::OwnerBackoff;
use crate::sync::lock;
use crate::wake::{SharedWake, WAKE, WAKE_OWNER, shared_epoll};
use crate::wakeups::{MayWait, Wakeups, Woken};
use lnd_common::handler_watch::{Served, WatchSignal};
use lnd_common::pending_acks::Wait;
use lnet_core::event::HandlerState;
use rustix::event::epoll::EventFlags;
use rustix::event::{Timespec, epoll};
use slab::Slab;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// Maximum number of events taken from the kernel at once.
const EVENTS: usize = 64;
/// Number of polls of an application thread for each one that asks the kernel for events; the others read one socket,
/// which saves a system call on the path of a message.
const POLLS: u64 = 4;
/// The same while all that came was on one connection ([`NextRead::is_steady`]). A multiple of [`POLLS`].
const POLLS_OF_STEADY: u64 = 16;

/// Number of connections that the kernel reports at once from which on none is predicted.
const SEVERAL: usize = 3;

/// An object that a scheduler serves: its socket becomes readable and writable.
pub(crate) trait Pollable: Send + Sync + Sized {
    /// A one-time task that needs no event of the kernel.
    type Task: Task;

    fn fd(&self) -> BorrowedFd<'_>;
    fn is_closed(&self) -> bool;
    /// Stores the token; called once, right after registration.
    fn registered_as(&self, token: u64);
    fn token(&self) -> Option<u64>;
    /// Handles events from the kernel; returns whether there was anything to receive.
    fn on_event(self: &Arc<Self>, flags: EventFlags) -> bool;
    /// Runs after a call of [`Scheduler::schedule`].
    fn on_schedule(self: &Arc<Self>);
    /// Receives available data; returns whether there was any.
    fn poll(self: &Arc<Self>) -> bool;
    /// Receives and sends in place of a thread that may be blocked in an event handler.
    fn relieve(self: &Arc<Self>);
    /// Does `work`; messages that it sends leave together at its end.
    fn sending_together(work: impl FnOnce());
}

thread_local! {
    /// The address of the scheduler whose own thread this is, and its number as an owner.
    static OWN: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
}

/// See [`Pollable::Task`].
pub(crate) trait Task: Send {
    fn run(self);
    /// Ends the task after the end of all threads.
    fn abandon(self);
}

/// An epoll set, and the tasks of the connections in it.
pub(crate) struct Scheduler<C: Pollable> {
    epoll: OwnedFd,
    wakeups: Wakeups<SharedWake>,
    connections: Mutex<Slab<Registered<C>>>,
    generation: AtomicU64,
    /// Tasks that are ready without an event of the kernel.
    ready: Mutex<VecDeque<Ready<C>>>,
    /// Number of turns that application threads took without waiting.
    polled: AtomicU64,
    /// The connection that an application thread which does not wait reads first.
    next_read: Mutex<NextRead<C>>,
    /// Whether the kernel last reported several connections at once: then it is asked which, in place of a prediction.
    several_ready: AtomicBool,
    late: LateSchedule,
    /// Whether `ready` holds reports of sent messages.
    finishes: AtomicBool,
    /// The number of the owner; a thread with another number has been replaced.
    owner: AtomicU64,
    /// Handler states of the owner, and of the last application thread.
    owner_handlers: Mutex<Option<Arc<HandlerState>>>,
    app_handlers: Mutex<Option<Arc<HandlerState>>>,
    /// The address of the latter, to see without the lock that it is known.
    app_handlers_at: AtomicUsize,
    /// Whether the owner is to look at every connection, because some thread is blocked in a handler.
    relief_wanted: AtomicBool,
    /// Whether an application's thread takes a turn.
    app_turn: AtomicBool,
    watch: Arc<WatchSignal>,
}

/// A task that is ready without an event of the kernel.
enum Ready<C: Pollable> {
    Look(Arc<C>),
    Task(C::Task),
}

struct Registered<C> {
    generation: u32,
    connection: Arc<C>,
}

impl<C: Pollable> Scheduler<C> {
    pub(crate) fn new(watch: &Arc<WatchSignal>) -> io::Result<Self> {
        let (epoll, wake) = shared_epoll()?;
        Ok(Self {
            epoll,
            wakeups: Wakeups::new(wake),
            connections: Mutex::default(),
            generation: AtomicU64::new(0),
            ready: Mutex::default(),
            polled: AtomicU64::new(0),
            next_read: Mutex::new(NextRead::new()),
            several_ready: AtomicBool::new(false),
            late: LateSchedule::new(Instant::now()),
            finishes: AtomicBool::new(false),
            owner: AtomicU64::new(0),
            owner_handlers: Mutex::default(),
            app_handlers: Mutex::default(),
            app_handlers_at: AtomicUsize::new(0),
            relief_wanted: AtomicBool::new(false),
            app_turn: AtomicBool::new(false),
            watch: Arc::clone(watch),
        })
    }

    /// Starts to serve a connection, unless it is closed already. Bytes that have already arrived on it count as new.
    pub(crate) fn add(&self, connection: &Arc<C>) -> io::Result<()> {
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) as u32;
        let token = {
            let mut connections = lock(&self.connections);
            // Under the lock: a thread that closes the connection checks this queue afterwards.
            if connection.is_closed() {
                return Ok(());
            }
            let key = connections.insert(Registered { generation, connection: Arc::clone(connection) });
            let token = u64::from(generation) << 32 | key as u64 & 0xffff_ffff;
            connection.registered_as(token);
            token
        };
        let flags =
            epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&self.epoll, connection.fd(), epoll::EventData::new_u64(token), flags)?;
        Ok(())
    }

    /// Queues the report of a sent message: the application's thread makes the report when it polls again, or the
    /// scheduler's thread does.
    pub(crate) fn finish_later(&self, task: C::Task) {
        lock(&self.ready).push_back(Ready::Task(task));
        self.finishes.store(true, Ordering::SeqCst);
        self.wakeups.wake_any_if_owner_sleeps();
    }

    /// Removes a connection that has been closed. The kernel does so when its socket is closed.
    pub(crate) fn remove(&self, connection: &C) {
        let mut connections = lock(&self.connections);
        let Some((key, generation)) = connection.token().map(split) else { return };
        if connections.get(key).is_some_and(|it| it.generation == generation) {
            let removed = connections.remove(key);
            drop(connections);
            drop(removed);
        }
    }

    /// Queues a turn of `connection`. From any thread.
    pub(crate) fn schedule(&self, connection: Arc<C>) {
        lock(&self.ready).push_back(Ready::Look(connection));
        self.wake_for_ready();
    }

    /// Queues `task`. From any thread.
    pub(crate) fn schedule_task(&self, task: C::Task) {
        lock(&self.ready).push_back(Ready::Task(task));
        self.wake_for_ready();
    }

    /// Wakes a thread for queued work. The owner wakes only an app poller, since it checks the queue itself before it sleeps.
    fn wake_for_ready(&self) {
        match OWN.get() == (self.address(), self.owner.load(Ordering::SeqCst)) {
            true => self.wakeups.wake_app_poller(),
            false => self.wakeups.wake_any(),
        }
    }

    /// Whether the two serve connections of the same driver.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.watch, &other.watch)
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Makes the calling thread the owner, until the end or until another becomes it. Application threads wait in
    /// `app_scheduler`.
    pub(crate) fn run(&self, app_scheduler: &Self) {
        let owner = self.become_owner();
        let mut backoff = OwnerBackoff::default();
        let mut short_since = None;
        while !self.is_stopped() && self.owner.load(Ordering::SeqCst) == owner {
            if self.relief_wanted.swap(false, Ordering::SeqCst) {
                self.relieve_all();
            }
            if let Some(time) = backoff.next(self.polled.load(Ordering::Relaxed), self.wakeups.app_polls()) {
                std::thread::park_timeout(time);
                continue;
            }
            let mut has_short = false;
            let mut buffer = [const { MaybeUninit::uninit() }; EVENTS];
            let events = self.wakeups.owner_waits(|| {
                has_short = self.late.has_short();
                self.wait(&mut buffer, self.late.may_wait())
            });
            self.watch.note_serving();
            let worked = self.handle(events);
            if worked {
                app_scheduler.note_work();
            }
            // A wake-up ends the wait before its time.
            self.late.on_look(events.is_empty() && !worked, Instant::now);
            short_since = has_short.then(|| short_since.unwrap_or_else(Instant::now));
            if short_since.is_some_and(|since| !worked || since.elapsed() >= late_schedule::SHORT) {
                short_since = None;
                self.late.send_short();
            }
        }
        if !self.is_stopped() {
            // The kernel may have reported an event to this thread after the new owner had checked everything.
            self.relieve();
        }
    }

    /// Makes the calling thread the owner, which then checks everything that is ready before it sleeps. Returns its number.
    fn become_owner(&self) -> u64 {
        let owner = self.owner.fetch_add(1, Ordering::SeqCst) + 1;
        OWN.set((self.address(), owner));
        *lock(&self.owner_handlers) = HandlerState::with_own(Arc::clone);
        owner
    }

    /// Performs for every connection the work that a blocked thread may have left, including events that it took from the kernel.
    fn relieve_all(&self) {
        let all: Vec<Arc<C>> =
            lock(&self.connections).iter().map(|(_, it)| Arc::clone(&it.connection)).collect();
        all.iter().for_each(|connection| connection.relieve());
    }

    /// Notes that something was done elsewhere that a thread in [`Scheduler::turn_for_application`] may be waiting for.
    pub(crate) fn note_work(&self) {
        self.wakeups.note_work();
    }

    /// Ends [`Scheduler::run`].
    pub(crate) fn stop(&self) {
        self.wakeups.stop();
    }

    /// Drops the queued work after the end of all threads: it would keep the driver alive, which keeps it.
    pub(crate) fn clear(&self) {
        let left = std::mem::take(&mut *lock(&self.ready));
        for ready in left {
            if let Ready::Task(task) = ready {
                task.abandon();
            }
        }
    }

    /// Notes that `sender` has something to send soon. Delivery ACKs are piggybacked on the next message to their peer, and postponed
    /// messages leave with the next one; otherwise the sender is called, as [`LateSchedule`] says.
    pub(crate) fn note_late_sender(&self, sender: Weak<dyn LateSender>, wait: Wait) {
        self.late.list(sender, wait, Instant::now);
        // An application's thread reads, and may not come again: only the scheduler's own thread is sure to send them in
        // time.
        self.wakeups.wake_owner_if_it_sleeps();
    }

    /// Runs one turn of an application's thread, one at a time. `seen` is the amount of work that the thread last knew
    /// of: if more has been done since, its event may have happened, and the turn does not wait.
    pub(crate) fn turn_for_application(&self, timeout: Duration, seen: &mut u64) -> bool {
        self.app_turn.store(true, Ordering::Relaxed);
        HandlerState::with_own(|own| {
            // The address of a state that is kept is no other's.
            let address = Arc::as_ptr(own).addr();
            if self.app_handlers_at.load(Ordering::Relaxed) != address {
                *lock(&self.app_handlers) = Some(Arc::clone(own));
                self.app_handlers_at.store(address, Ordering::Relaxed);
            }
        });
        self.watch.note_serving();
        let worked = self.take_turn_for_application(timeout, seen);
        self.app_turn.store(false, Ordering::Relaxed);
        worked
    }

    fn take_turn_for_application(&self, timeout: Duration, seen: &mut u64) -> bool {
        if self.finishes.load(Ordering::Relaxed) && self.work_off() {
            return true;
        }
        self.late.on_application_turn();
        // Connections that had more to read than their turn allowed come before the predicted one, which may always have more.
        let poll = if timeout.is_zero() { self.polled.fetch_add(1, Ordering::Relaxed) } else { 0 };
        if !poll.is_multiple_of(POLLS_OF_STEADY)
            && !self.several_ready.load(Ordering::Relaxed)
            && lock(&self.ready).is_empty()
        {
            let guess = {
                let next_read = lock(&self.next_read);
                let may_guess = !poll.is_multiple_of(POLLS) || next_read.is_steady();
                may_guess.then(|| next_read.guess()).flatten()
            };
            if let Some(connection) = guess {
                let worked = connection.poll();
                if worked {
                    lock(&self.next_read).note(&connection);
                }
                return worked;
            }
        }
        let may_wait = self.late.may_wait().map_or(timeout, |may_wait| may_wait.min(timeout));
        self.wakeups.app_waits(seen, |allowed| {
            let mut buffer = [const { MaybeUninit::uninit() }; EVENTS];
            let longest = if allowed == MayWait::Yes { may_wait } else { Duration::ZERO };
            let (_, events) = self.wait(&mut buffer, Some(longest));
            let worked = self.handle(events);
            self.late.on_look(!longest.is_zero() && events.is_empty() && !worked, Instant::now);
            worked
        })
    }

    /// Waits for events, at most `timeout`. Returns the wake-ups and the events.
    fn wait<'a>(
        &self,
        buffer: &'a mut [MaybeUninit<epoll::Event>],
        timeout: Option<Duration>,
    ) -> (Woken, &'a [epoll::Event]) {
        let timeout = if lock(&self.ready).is_empty() { timeout } else { Some(Duration::ZERO) };
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // Interrupted or not: then there are no events.
        let events: &[epoll::Event] = match epoll::wait(&self.epoll, buffer, timeout.as_ref()) {
            Ok((events, _)) => events,
            Err(_) => &[],
        };
        let is = |token| events.iter().any(|event| event.data.u64() == token);
        (Woken { any: is(WAKE), owner: is(WAKE_OWNER) }, events)
    }

    /// Handles events, and then queued work, whose messages leave together. Returns whether there was any; a wake-up does not
    /// count.
    fn handle(&self, events: &[epoll::Event]) -> bool {
        let mut worked = false;
        C::sending_together(|| worked = self.handle_all(events));
        worked
    }

    fn handle_all(&self, events: &[epoll::Event]) -> bool {
        let mut ready = 0;
        for event in events {
            if self.has_been_replaced() {
                return ready > 0;
            }
            let token = event.data.u64();
            if !matches!(token, WAKE | WAKE_OWNER)
                && let Some(connection) = self.find(token)
            {
                // The kernel also reports bytes that have been read since.
                if connection.on_event(event.flags) {
                    lock(&self.next_read).note(&connection);
                }
                ready += 1;
            }
        }
        if ready > 0 {
            self.several_ready.store(ready >= SEVERAL, Ordering::Relaxed);
        }
        self.do_ready() || ready > 0
    }

    /// Whether the calling thread was the owner and has been replaced by one that checks everything when
    /// [`Scheduler::run`] ends here.
    fn has_been_replaced(&self) -> bool {
        let (address, owner) = OWN.get();
        address == self.address() && owner != self.owner.load(Ordering::Relaxed)
    }

    /// Does the queued work, whose messages leave together. Returns whether there was any.
    fn work_off(&self) -> bool {
        let mut worked = false;
        C::sending_together(|| worked = self.do_ready());
        worked
    }

    fn do_ready(&self) -> bool {
        self.finishes.store(false, Ordering::SeqCst);
        // Only the present number of tasks is run: each may queue itself again.
        let scheduled = lock(&self.ready).len();
        (0..scheduled).for_each(|_| self.do_one());
        scheduled > 0
    }

    fn do_one(&self) {
        if self.has_been_replaced() {
            return;
        }
        let ready = lock(&self.ready).pop_front();
        match ready {
            Some(Ready::Look(connection)) => connection.on_schedule(),
            Some(Ready::Task(task)) => task.run(),
            None => {}
        }
    }

    fn find(&self, token: u64) -> Option<Arc<C>> {
        let (key, generation) = split(token);
        lock(&self.connections)
            .get(key)
            .filter(|it| it.generation == generation)
            .map(|it| Arc::clone(&it.connection))
    }
}

impl<C: Pollable> Served for Scheduler<C> {
    fn is_stopped(&self) -> bool {
        self.wakeups.is_stopped()
    }

    fn is_served(&self) -> bool {
        self.app_turn.load(Ordering::Relaxed) || !self.wakeups.owner_sleeps()
    }

    fn servers(&self) -> [Option<Arc<HandlerState>>; 2] {
        [&self.owner_handlers, &self.app_handlers].map(|state| lock(state).clone())
    }

    fn app_poller_is_kept(&self) {
        self.wakeups.app_is_kept();
    }

    fn relieve(&self) {
        self.relief_wanted.store(true, Ordering::SeqCst);
        self.wakeups.wake_owner();
    }
}

fn split(token: u64) -> (usize, u32) {
    ((token & 0xffff_ffff) as usize, (token >> 32) as u32)
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;

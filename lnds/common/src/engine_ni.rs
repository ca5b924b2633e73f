//! An interface whose driver is an engine: all of its state behind one lock, commands on their way in, outputs on their way to the core.
//!
//! No thread waits for the engine. A thread that has something for it puts that in the inbox, and works off the inbox if nobody else
//! does; so does whoever has just finished. The same holds for the outputs ([`crate::outputs`]): event handlers of the program may send,
//! and may be slow, while no lock is held.
//!
//! The interface's own thread, the owner, looks for what peers have done, unless an application's thread does that while it waits for an
//! event ([`NiList::progress`]), so that no other thread has to wake that one.
//!
//! A driver implements [`EngineNi`], and has a [`NiList`] of its interfaces.

mod owner;

use crate::deliverers::Role;
use crate::driver_threads::Threads;
use crate::outputs::{OutputQueue, PassOutputs};
use crate::sync::{lock, try_lock};
use lnet_core::Time;
use lnet_core::event::in_handler;
use lnet_core::lnd::Progress;
use lnet_os::descriptor::{new_eventfd, wake};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// The number of an application thread's turns of which one looks everywhere.
const APP_FULL_LOOK_INTERVAL: u64 = 16;

/// Where a turn looks for what peers have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nowhere: that is for others.
    Nowhere,
    /// Where it takes no system call: at rings, at completion queues.
    AtWork,
    /// Everywhere, also at what makes the descriptors readable.
    Everywhere,
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Whether there was anything to do.
    pub worked: bool,
    /// Whether something was taken that had made a descriptor readable.
    pub took_events: bool,
    /// Whether [`EngineNi::tick`] is to be called although it was not to be called again.
    pub needs_tick: bool,
}

/// An interface. See the module.
pub trait EngineNi: Send + Sync + Sized + 'static {
    /// What is behind the lock.
    type Engine: Send;
    /// What the engine is to do.
    type Command: Send;
    /// What the core is to be told.
    type Output: Send;
    /// The first letters of the names of the owners.
    const OWNER: &'static str;
    /// The name of the thread that replaces an owner.
    const WATCH: &'static str;
    /// The number of the owner's turns of which one looks everywhere while there is work.
    const FULL_LOOK_INTERVAL: u64;

    /// The parts that the threads of the interface share.
    fn shared(&self) -> &NiShared<Self>;

    /// The time.
    fn now(&self) -> Time;

    /// The descriptors that become readable, after [`EngineNi::arm`], when a peer has done something.
    fn descriptors(&self) -> &[OwnedFd];

    /// Carries out commands and does what there is to do, and adds to [`NiShared::outputs`]. There are no commands after the interface
    /// has ended.
    fn turn(&self, engine: &mut Self::Engine, commands: Vec<Self::Command>, look: Look) -> Turn;

    /// Asks for the descriptors to become readable. Returns whether there is nothing to do until then.
    fn arm(&self, engine: &mut Self::Engine) -> bool;

    /// Takes back what [`EngineNi::arm`] has asked for, as far as that is possible.
    fn disarm(&self, _engine: &mut Self::Engine) {}

    /// Whether the owner is to look for nothing, as too many outputs wait.
    fn is_full(&self) -> bool {
        false
    }

    /// Ends what is late. Returns the time after which it is to be called again; `None` if nothing can become late.
    fn tick(&self, now: Time) -> Option<Duration>;

    /// Ends the interface: when this returns every message has been returned, and no upcall follows. Called more than once.
    fn end(&self);

    /// Passes an output to the core. Event handlers of the program run here.
    fn pass(&self, output: Self::Output);

    /// Puts a command in the inbox; returns it if the interface has ended.
    fn push(&self, command: Self::Command) -> Result<(), Self::Command> {
        match &mut *lock(&self.shared().inbox) {
            Some(inbox) => inbox.push(command),
            None => return Err(command),
        }
        Ok(())
    }

    /// Puts a command in the inbox, for the owner. An interface that has ended needs none.
    fn tell(&self, command: Self::Command) {
        _ = self.push(command);
        self.shared().wake();
    }

    /// Puts a command in the inbox and carries it out if nobody else does. Outputs are left to the owner. Returns the command if the
    /// interface has ended.
    fn submit(&self, command: Self::Command) -> Result<(), Self::Command> {
        self.push(command)?;
        self.step();
        if !self.shared().outputs.is_empty() {
            self.shared().wake();
        }
        Ok(())
    }

    /// Works off the inbox. If another thread has the engine, which may not look at the inbox again, the owner does it.
    fn step(&self) {
        loop {
            let Some(mut state) = try_lock(&self.shared().state) else { return self.shared().wake() };
            self.step_with(&mut state, Look::Nowhere);
            drop(state);
            // Whoever put something in the inbox since then found the engine locked.
            if !self.shared().has_commands() {
                return;
            }
        }
    }

    /// Works off the inbox, and what peers have done. Returns whether there was anything.
    fn step_with(&self, state: &mut State<Self::Engine>, look: Look) -> bool {
        let shared = self.shared();
        let commands = lock(&shared.inbox).as_mut().map(std::mem::take).unwrap_or_default();
        let has_commands = !commands.is_empty();
        let turn = self.turn(&mut state.engine, commands, look);
        // The owner would not see what has been taken here, and the descriptors do not become readable again by themselves.
        let owner_sleeps_on = turn.took_events && std::mem::replace(&mut state.owner_sleeps, false);
        if owner_sleeps_on || turn.needs_tick {
            shared.wake();
        }
        if look == Look::Everywhere {
            state.is_armed = false;
        }
        turn.worked || has_commands
    }

    /// Whether there is nothing to do until a descriptor is readable, so that the calling thread may sleep.
    fn has_nothing_new(&self, role: Role) -> bool {
        let shared = self.shared();
        if shared.has_commands() {
            return false;
        }
        let mut state = lock(&shared.state);
        state.is_armed = true;
        let may_sleep = self.arm(&mut state.engine);
        state.owner_sleeps |= may_sleep && role == Role::Owner;
        may_sleep
    }

    /// Ends the interface and waits for its threads, for [`lnet_core::lnd::LndNi::shutdown`].
    fn shut_down(&self) {
        let shared = self.shared();
        shared.is_ending.store(true, Ordering::SeqCst);
        shared.wake();
        // An event handler may end the interface. The thread that waits for all handlers does not wait for that one.
        let role = shared.outputs.deliverers.leave(std::thread::current().id());
        if role == Some(Role::Owner) {
            self.end();
        }
        shared.threads.join();
        // Without a thread nobody has done it.
        self.end();
    }
}

/// The engine, behind its lock.
#[derive(Debug)]
pub struct State<E> {
    /// The engine.
    pub engine: E,
    /// Whether the descriptors were asked for, since the last look at everything.
    is_armed: bool,
    /// Whether the owner sleeps until a descriptor is readable, or is about to.
    owner_sleeps: bool,
}

/// The parts that the threads of an interface share.
#[derive(Debug)]
pub struct NiShared<N: EngineNi> {
    state: Mutex<State<N::Engine>>,
    /// `None` when the interface has ended.
    inbox: Mutex<Option<Vec<N::Command>>>,
    /// The outputs.
    pub outputs: OutputQueue<N::Output>,
    threads: Threads,
    wake: OwnedFd,
    is_ending: AtomicBool,
    has_ended: AtomicBool,
    /// The number of the owner; a thread with another number has been replaced.
    owner: AtomicU64,
    /// The number of turns of application threads.
    app_turns: AtomicU64,
    /// Whether an application's thread waits for peers.
    app_waits: AtomicBool,
}

impl<N: EngineNi> NiShared<N> {
    /// The parts around an engine, with no thread yet.
    pub fn new(engine: N::Engine) -> io::Result<Self> {
        Ok(Self {
            state: Mutex::new(State { engine, is_armed: false, owner_sleeps: false }),
            inbox: Mutex::new(Some(Vec::new())),
            outputs: OutputQueue::default(),
            threads: Threads::default(),
            wake: new_eventfd()?,
            is_ending: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            owner: AtomicU64::new(0),
            app_turns: AtomicU64::new(0),
            app_waits: AtomicBool::new(false),
        })
    }

    /// Locks the engine.
    pub fn lock(&self) -> MutexGuard<'_, State<N::Engine>> {
        lock(&self.state)
    }

    /// Wakes the owner.
    pub fn wake(&self) {
        wake(&self.wake);
    }

    /// Closes the inbox; returns the commands in it, or `None` if it is closed.
    pub fn close_inbox(&self) -> Option<Vec<N::Command>> {
        lock(&self.inbox).take()
    }

    /// Notes that the interface has ended.
    pub fn note_end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
        self.outputs.watch.wake();
    }

    /// Waits for one of these descriptors, or until the owner is woken; returns whether it was.
    pub fn wait(&self, descriptors: &[OwnedFd], timeout: Option<Duration>) -> bool {
        let all = std::iter::once(&self.wake).chain(descriptors);
        let mut fds: Vec<_> = all.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // An error, such as EINTR, is as good as an event: the caller looks again.
        _ = poll(&mut fds, timeout.as_ref());
        let is_woken = fds.first().is_some_and(|fd| !fd.revents().is_empty());
        if is_woken {
            _ = rustix::io::read(&self.wake, &mut [0; 8]);
        }
        is_woken
    }

    fn has_commands(&self) -> bool {
        lock(&self.inbox).as_ref().is_some_and(|inbox| !inbox.is_empty())
    }
}

impl<N: EngineNi> PassOutputs for N {
    type Output = N::Output;
    const OWNER: &'static str = N::OWNER;
    const WATCH: &'static str = N::WATCH;

    fn outputs(&self) -> &OutputQueue<N::Output> {
        &self.shared().outputs
    }

    fn threads(&self) -> &Threads {
        &self.shared().threads
    }

    fn run_owner(&self) {
        owner::run(self);
    }

    fn wake_owner(&self) {
        self.shared().wake();
    }

    fn has_ended(&self) -> bool {
        self.shared().has_ended.load(Ordering::SeqCst)
    }

    fn pass(&self, output: N::Output) {
        EngineNi::pass(self, output);
    }

    fn find_outputs(&self) {
        self.step();
    }
}

/// The interfaces of a driver, for the application's threads.
#[derive(Debug)]
pub struct NiList<N> {
    nis: Mutex<Vec<Weak<N>>>,
    /// The lock of the application thread that looks for what peers have done: one at a time.
    app_poller: Mutex<()>,
}

impl<N> Default for NiList<N> {
    fn default() -> Self {
        Self { nis: Mutex::default(), app_poller: Mutex::default() }
    }
}

impl<N: EngineNi> NiList<N> {
    /// Adds an interface. The list does not keep it alive.
    pub fn add(&self, ni: &Arc<N>) {
        let mut nis = lock(&self.nis);
        nis.retain(|ni| ni.strong_count() > 0);
        nis.push(Arc::downgrade(ni));
    }

    /// Does what there is to do for the interfaces, and waits for it for `timeout`: [`lnet_core::lnd::Driver::progress`].
    pub fn progress(&self, timeout: Duration) -> Progress {
        let Some(_polling) = try_lock(&self.app_poller) else { return Progress::NotOffered };
        if in_handler() || self.ni(0).is_none() {
            return Progress::NotOffered;
        }
        let all = || (0..).map_while(|at| self.ni(at));
        if turn_for_all(all()) {
            return Progress::Worked;
        }
        if timeout.is_zero() {
            return Progress::Idle;
        }
        let nis: Vec<Arc<N>> = all().collect();
        if wait_for_any(&nis, timeout) { Progress::Worked } else { Progress::Idle }
    }

    /// The interface at a place of the list, which is not locked afterwards.
    fn ni(&self, at: usize) -> Option<Arc<N>> {
        let nis = lock(&self.nis);
        nis.iter().filter_map(Weak::upgrade).nth(at)
    }
}

/// Does what there is to do for an interface, without waiting. Returns whether there was anything. One thread at a time.
fn turn_for_application<N: EngineNi>(ni: &N) -> bool {
    let shared = ni.shared();
    let turn = shared.app_turns.fetch_add(1, Ordering::Relaxed);
    let Some(mut state) = try_lock(&shared.state) else { return false };
    let look = if state.is_armed || turn.is_multiple_of(APP_FULL_LOOK_INTERVAL) {
        Look::Everywhere
    } else {
        Look::AtWork
    };
    let worked = ni.step_with(&mut state, look);
    drop(state);
    // Whoever put something in the inbox since then found the engine locked.
    if shared.has_commands() {
        ni.step();
    }
    ni.pass_outputs(Role::Application);
    worked
}

/// A turn for each of these interfaces. Returns whether there was anything to do.
fn turn_for_all<N: EngineNi>(nis: impl Iterator<Item = Arc<N>>) -> bool {
    let mut worked = false;
    for ni in nis {
        worked |= turn_for_application(&*ni);
    }
    worked
}

/// Waits until a peer has done something, at most `timeout`, and does what there is to do for these interfaces. Returns whether there was
/// anything.
fn wait_for_any<N: EngineNi>(nis: &[Arc<N>], timeout: Duration) -> bool {
    let set_waits = |waits| nis.iter().for_each(|ni| ni.shared().app_waits.store(waits, Ordering::SeqCst));
    set_waits(true);
    if nis.iter().all(|ni| ni.has_nothing_new(Role::Application)) {
        let all = nis.iter().flat_map(|ni| ni.descriptors());
        let mut fds: Vec<_> = all.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = Timespec::try_from(timeout).ok();
        // An error, such as EINTR, is as good as an event: the turns look again.
        _ = poll(&mut fds, timeout.as_ref());
    }
    // Before the turns, in which an event handler may keep this thread.
    set_waits(false);
    turn_for_all(nis.iter().cloned())
}

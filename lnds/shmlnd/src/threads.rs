//! The threads that serve an interface: its own, the owner, and those of an application that waits for an event, so that no other thread has to
//! wake that one.

use crate::engine::Ended;
use crate::ni::{Command, Look, ShmNi, State, Upcall};
use lnd_common::deliverers::Role;
use lnd_common::handler_watch;
use lnd_common::sync::{lock, try_lock};
use lnet_core::{Errno, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The first letters of the owners' names.
const OWNER: &str = "lnet_shm_sd_";
/// The time between two looks at what is late.
const TICK: Duration = Duration::from_secs(1);
/// The time for which the owner leaves the rings to an application's thread that has looked at them. What happens when that thread has
/// stopped waits for this time at most. It is also the time for which the owner waits while as many outputs wait as may.
const PAUSE: Duration = Duration::from_millis(1);
/// The number of turns of which one looks at the sockets while there is work.
const FULL_LOOK_INTERVAL: u64 = 16;

impl ShmNi {
    /// Starts the owner, and the thread that replaces it when a handler keeps it.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<()> {
        let ni = Arc::clone(self);
        self.threads.start("lnet_shm_watch".to_owned(), move || {
            let watched = Arc::clone(&ni);
            handler_watch::run(&ni.watch, &[watched], |ni| ni.replace_owner());
        })?;
        let ni = Arc::clone(self);
        self.threads.start_owner(OWNER, move || ni.run())
    }

    /// Lets a new thread do the work of the owner, which is blocked in a handler.
    fn replace_owner(&self) {
        self.deliverers.replace(Role::Owner);
        if let Some(ni) = self.me.upgrade() {
            self.threads.replace_owner(OWNER, move || ni.run());
        }
    }

    /// Makes the calling thread the owner, until another becomes it, or until the interface ends, which it carries out.
    fn run(&self) {
        let owner = self.owner.fetch_add(1, Ordering::SeqCst) + 1;
        let is_owner = || self.owner.load(Ordering::SeqCst) == owner;
        let mut next_tick = Some(self.clock.now());
        let mut app_turns = self.app_turns.load(Ordering::Relaxed);
        let mut turns = 0;
        while is_owner() && !self.is_ending.load(Ordering::SeqCst) {
            let now = self.clock.now();
            if next_tick.is_none_or(|at| now >= at) {
                next_tick = self.tick(now).then(|| Time(now.0 + TICK));
                self.deliver(Role::Owner);
                self.log.poll(now);
            }
            let until_tick = next_tick.map(|at| at.since(now));
            let app_turns_now = self.app_turns.load(Ordering::Relaxed);
            if app_turns_now != app_turns || self.app_waits.load(Ordering::SeqCst) || self.is_full() {
                app_turns = app_turns_now;
                let pause = until_tick.map_or(PAUSE, |until| until.min(PAUSE));
                if self.wait(&[], Some(pause)) {
                    self.step();
                }
                self.deliver(Role::Owner);
                continue;
            }
            let look = if turns % FULL_LOOK_INTERVAL == 0 { Look::Everywhere } else { Look::AtRings };
            let mut state = lock(&self.state);
            state.owner_sleeps = false;
            if let State { engine: Some(engine), is_armed: true, .. } = &*state {
                engine.disarm();
            }
            let worked = self.step_with(&mut state, look);
            drop(state);
            self.deliver(Role::Owner);
            turns = if worked { turns + 1 } else { 0 };
            if !worked && self.has_nothing_new(Role::Owner) {
                self.wait(&[&self.epoll], until_tick);
            }
        }
        if is_owner() {
            self.end();
        }
    }

    /// Waits for one of these descriptors, or until the thread is woken; returns whether it was.
    fn wait(&self, descriptors: &[&OwnedFd], timeout: Option<Duration>) -> bool {
        let all = std::iter::once(&self.wake).chain(descriptors.iter().copied());
        let mut fds: Vec<_> = all.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // An error, such as EINTR, is as good as an event: the loop looks again.
        _ = poll(&mut fds, timeout.as_ref());
        let is_woken = fds.first().is_some_and(|fd| !fd.revents().is_empty());
        if is_woken {
            _ = rustix::io::read(&self.wake, &mut [0; 8]);
        }
        is_woken
    }

    /// Ends what is late; returns whether there is anything for which the time matters.
    fn tick(&self, now: Time) -> bool {
        let mut state = lock(&self.state);
        let Some(engine) = &mut state.engine else { return false };
        let is_active = engine.tick(self.upcalls.lnd_timeout(), now);
        self.step_with(&mut state, Look::Nowhere);
        is_active
    }

    /// Ends the interface: when this returns every message has been returned, and no upcall follows.
    pub(crate) fn end(&self) {
        let mut state = lock(&self.state);
        self.step_with(&mut state, Look::Nowhere);
        let Some(left) = lock(&self.inbox).take() else { return };
        // The name is free for another interface.
        let Some(mut engine) = state.engine.take() else { return };
        engine.end_all(None, &Ended::Shutdown, self.clock.now());
        let out = engine.take_outputs();
        drop(engine);
        drop(state);
        if let Some(outputs) = &mut *lock(&self.outputs) {
            outputs.extend(out.into_iter().map(Upcall::Output));
        }
        // What was read from a ring is delivered: its sender takes it for sent.
        self.deliver_last();
        let last = lock(&self.outputs).take();
        for upcall in last.into_iter().flatten() {
            if let Upcall::Resumed(deferred, action) = upcall {
                deferred.carry_out(&*self.upcalls, action);
            }
        }
        for command in left {
            if let Command::Send(message) = command {
                self.upcalls.finalize(message, Err(Errno::Shutdown.into()));
            }
        }
        self.has_ended.store(true, Ordering::SeqCst);
        self.watch.wake();
    }
}

/// What an application's thread does for an interface while it waits for an event.
impl ShmNi {
    /// Does what there is to do, without waiting. Returns whether there was anything. One thread at a time.
    fn turn_for_application(&self) -> bool {
        let turn = self.app_turns.fetch_add(1, Ordering::Relaxed);
        let Some(mut state) = try_lock(&self.state) else { return false };
        let look = if state.is_armed || turn.is_multiple_of(FULL_LOOK_INTERVAL) {
            Look::Everywhere
        } else {
            Look::AtRings
        };
        let worked = self.step_with(&mut state, look);
        drop(state);
        // Whoever put something in the inbox since then found the engine locked.
        if self.has_commands() {
            self.step();
        }
        self.deliver(Role::Application);
        worked
    }
}

/// A turn for each of these interfaces. Returns whether there was anything to do.
pub(crate) fn turn_for_all(nis: impl Iterator<Item = Arc<ShmNi>>) -> bool {
    let mut worked = false;
    for ni in nis {
        worked |= ni.turn_for_application();
    }
    worked
}

/// Waits until a peer has done something, at most `timeout`, and does what there is to do for these interfaces. Returns whether there was
/// anything.
pub(crate) fn wait_for_any(nis: &[Arc<ShmNi>], timeout: Duration) -> bool {
    nis.iter().for_each(|ni| ni.app_waits.store(true, Ordering::SeqCst));
    if nis.iter().all(|ni| ni.has_nothing_new(Role::Application)) {
        let mut fds: Vec<_> = nis.iter().map(|ni| PollFd::new(&*ni.epoll, PollFlags::IN)).collect();
        let timeout = Timespec::try_from(timeout).ok();
        // An error, such as EINTR, is as good as an event: the turns look again.
        _ = poll(&mut fds, timeout.as_ref());
    }
    // Before the turns, in which an event handler may keep this thread.
    nis.iter().for_each(|ni| ni.app_waits.store(false, Ordering::SeqCst));
    turn_for_all(nis.iter().cloned())
}

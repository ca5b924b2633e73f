//! The interface's own thread, the owner: it looks for what the device has done, and for what is late.

use super::{Command, Look, O2ibNi, State};
use crate::conn::{Decision, Output};
use lnd_common::deliverers::Role;
use lnd_common::handler_watch;
use lnd_common::sync::lock;
use lnet_core::{Errno, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The first letters of the owners' names.
pub(super) const OWNER: &str = "lnet_o2ib_sd_";
/// How often, and how long each time, the end of an interface waits for work that is posted (wire-o2ib 12: a kernel node may not like a
/// connection that ends with the last response).
const DRAIN_WAITS: u32 = 10;
const DRAIN_WAIT: Duration = Duration::from_millis(100);
/// The time between two looks at what is late, and the same while something is posted.
const TICK: Duration = Duration::from_secs(1);
const BUSY_TICK: Duration = Duration::from_millis(200);
/// The time for which the owner leaves the device to an application's thread that has looked at it. What happens when that thread has
/// stopped waits for this time at most.
const APP_TURN_PAUSE: Duration = Duration::from_millis(1);
/// The number of turns of which one looks at everything while there is work.
const FULL_LOOK_INTERVAL: u32 = 8;

impl O2ibNi {
    /// Starts the owner, and the thread that replaces it when a handler keeps it.
    pub(super) fn start(self: &Arc<Self>) -> io::Result<()> {
        let ni = Arc::clone(self);
        self.threads.start("lnet_o2ib_watch".to_owned(), move || {
            let watched = Arc::clone(&ni);
            handler_watch::run(&ni.watch, &[watched], |ni| ni.replace_owner());
        })?;
        let ni = Arc::clone(self);
        self.threads.start_owner(OWNER, move || ni.run())
    }

    /// Makes the calling thread the owner, until another becomes it, or until the interface ends, which it carries out.
    pub(super) fn run(&self) {
        let owner = self.owner.fetch_add(1, Ordering::SeqCst) + 1;
        let is_owner = || self.owner.load(Ordering::SeqCst) == owner;
        let mut next_tick = Some(self.node.clock.now());
        let mut app_turns = self.app_turns.load(Ordering::Relaxed);
        let mut turns = 0;
        while is_owner() && !self.is_ending.load(Ordering::SeqCst) {
            let now = self.node.clock.now();
            if next_tick.is_none_or(|at| now >= at) {
                next_tick = self.tick(now).map(|after| Time(now.0 + after));
                self.deliver(Role::Owner);
                self.log.poll(now);
            }
            let until_tick = next_tick.map(|at| at.since(now));
            let app_turns_now = self.app_turns.load(Ordering::Relaxed);
            if app_turns_now != app_turns || self.app_waits.load(Ordering::SeqCst) {
                app_turns = app_turns_now;
                let pause = until_tick.map_or(APP_TURN_PAUSE, |until| until.min(APP_TURN_PAUSE));
                if self.wait(&[], Some(pause)) {
                    self.step();
                    self.deliver(Role::Owner);
                }
                continue;
            }
            let look = if turns % FULL_LOOK_INTERVAL == 0 { Look::Everywhere } else { Look::AtWork };
            let mut state = lock(&self.state);
            let worked = self.step_with(&mut state, look);
            drop(state);
            self.deliver(Role::Owner);
            turns = if worked { turns + 1 } else { 0 };
            if !worked && self.has_nothing_new() {
                self.wait(&self.descriptors, until_tick);
            }
        }
        if is_owner() {
            self.end();
        }
    }

    /// Waits for one of these descriptors, or until the thread is woken; returns whether it was.
    fn wait(&self, descriptors: &[OwnedFd], timeout: Option<Duration>) -> bool {
        let all = std::iter::once(&self.wake).chain(descriptors);
        let mut fds: Vec<_> = all.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // An error, such as EINTR, is as good as an event: the loop looks again.
        _ = poll(&mut fds, timeout.as_ref());
        let is_woken = !fds[0].revents().is_empty();
        if is_woken {
            _ = rustix::io::read(&self.wake, &mut [0; 8]);
        }
        is_woken
    }

    /// Does what is due; returns the time after which it is to be called again.
    fn tick(&self, now: Time) -> Option<Duration> {
        let mut state = lock(&self.state);
        let State { engine, device: Some(device), .. } = &mut *state else { return None };
        engine.set_timeout(self.fixed_timeout.unwrap_or_else(|| self.node.upcalls.lnd_timeout()));
        let is_active = engine.tick(&mut **device, now);
        lock(&self.outputs).extend(engine.take_outputs());
        is_active.then_some(if engine.has_posted() { BUSY_TICK } else { TICK })
    }

    /// Ends the interface: when this returns every message has been returned, and no upcall follows.
    pub(super) fn end(&self) {
        for _ in 0..DRAIN_WAITS {
            let mut state = lock(&self.state);
            self.step_with(&mut state, Look::Everywhere);
            let is_drained = state.device.is_none() || !state.engine.has_posted();
            drop(state);
            self.deliver(Role::Owner);
            if is_drained {
                break;
            }
            if self.has_nothing_new() {
                self.wait(&self.descriptors, Some(DRAIN_WAIT));
            }
        }
        let mut state = lock(&self.state);
        let Some(left) = lock(&self.inbox).take() else { return };
        let State { engine, device, .. } = &mut *state;
        if let Some(device) = device.as_deref_mut() {
            engine.shut_down(device, self.node.clock.now());
        }
        // The service is free for another interface.
        *device = None;
        let mut outputs = lock(&self.outputs);
        outputs.extend(engine.take_outputs());
        for command in left {
            match command {
                Command::Send(message) => {
                    outputs.push_back(Output::Finalize(message, Err(Errno::Shutdown.into())));
                }
                Command::Decided(_, Decision::Deliver(arriving)) => {
                    outputs.push_back(Output::Received(arriving, Err(Errno::Shutdown)));
                }
                _ => {}
            }
        }
        drop((outputs, state));
        self.deliver_last();
        self.has_ended.store(true, Ordering::SeqCst);
        self.watch.wake();
    }
}

//! An interface: the engine behind a lock, the commands on their way in, and what the core is to be told on its way out.
//!
//! As in the driver of InfiniBand no thread waits for the engine: who has something for it puts that in the inbox, and works off the inbox
//! if nobody else does. The outputs are passed to the core by one thread at a time, in order and without a lock: an event handler of the
//! program may send, and may be slow.

use crate::deferred::Deferred;
use crate::engine::{ConnId, Ended, Engine, Output};
use crate::pipes::Message;
use lnd_common::deliverers::{DelivererId, Deliverers, Role};
use lnd_common::driver_threads::Threads;
use lnd_common::handler_watch::{Served, WatchSignal};
use lnd_common::sync::{lock, try_lock};
use lnet_core::event::HandlerState;
use lnet_core::lnd::{DeferredRx, RxAction, Upcalls};
use lnet_core::topology::Ni;
use lnet_core::{Cause, Clock, Errno, Provenance};
use lnet_log::{LogClass, RateLimitedLog};
use lnet_os::descriptor::new_eventfd;
use lnet_wire::Nid;
use lolnd::copy;
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// The messages that are read from a connection in one turn.
const MESSAGES_PER_TURN: usize = 16;
/// The outputs from which on nothing more is read.
const MAX_OUTPUTS: usize = 64;

/// What the engine is to do.
pub(crate) enum Command {
    Send(Message),
    Reported(ConnId),
    Abort(Option<Nid>, Cause),
    End(ConnId, Ended),
}

/// What the core is to be told, by the engine or of a deferred message.
pub(crate) enum Upcall {
    Output(Output),
    Resumed(Arc<Deferred>, RxAction),
}

/// Where a turn looks for what peers have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Nowhere: the rings are for others.
    Nowhere,
    /// At the rings, which takes no system call.
    AtRings,
    /// At rings and sockets.
    Everywhere,
}

pub(crate) struct State {
    /// `None` when the interface has ended.
    pub(crate) engine: Option<Engine>,
    /// Whether peers were asked to wake this node, since the last look at the sockets.
    pub(crate) is_armed: bool,
    /// Whether the owner sleeps until a socket has something, or is about to.
    pub(crate) owner_sleeps: bool,
}

/// One interface.
pub(crate) struct ShmNi {
    pub(crate) nid: Nid,
    pub(crate) me: Weak<Self>,
    /// The core's NI. Weak, because that keeps this one alive.
    lnet_ni: Weak<Ni>,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) state: Mutex<State>,
    /// `None` when the interface has ended.
    pub(crate) inbox: Mutex<Option<Vec<Command>>>,
    /// `None` when the interface has ended.
    pub(crate) outputs: Mutex<Option<VecDeque<Upcall>>>,
    /// The threads that pass outputs.
    pub(crate) deliverers: Deliverers,
    pub(crate) wake: OwnedFd,
    /// The set of the engine's sockets.
    pub(crate) epoll: Arc<OwnedFd>,
    pub(crate) log: RateLimitedLog,
    pub(crate) is_ending: AtomicBool,
    pub(crate) has_ended: AtomicBool,
    /// The number of the owner; a thread with another number has been replaced.
    pub(crate) owner: AtomicU64,
    /// The number of turns of application threads.
    pub(crate) app_turns: AtomicU64,
    /// Whether an application's thread waits for peers.
    pub(crate) app_waits: AtomicBool,
    pub(crate) threads: Threads,
    pub(crate) watch: WatchSignal,
}

impl ShmNi {
    pub(crate) fn new(
        ni: &Arc<Ni>,
        upcalls: Arc<dyn Upcalls>,
        clock: Arc<dyn Clock>,
        engine: Engine,
        epoll: Arc<OwnedFd>,
    ) -> io::Result<Arc<Self>> {
        let wake = new_eventfd()?;
        Ok(Arc::new_cyclic(|me| Self {
            nid: ni.nid(),
            me: Weak::clone(me),
            lnet_ni: Arc::downgrade(ni),
            upcalls,
            clock,
            state: Mutex::new(State { engine: Some(engine), is_armed: false, owner_sleeps: false }),
            inbox: Mutex::new(Some(Vec::new())),
            outputs: Mutex::new(Some(VecDeque::new())),
            deliverers: Deliverers::default(),
            wake,
            epoll,
            log: RateLimitedLog::new(),
            is_ending: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            owner: AtomicU64::new(0),
            app_turns: AtomicU64::new(0),
            app_waits: AtomicBool::new(false),
            threads: Threads::default(),
            watch: WatchSignal::default(),
        }))
    }

    /// Wakes the owner.
    pub(crate) fn wake(&self) {
        // A full counter has woken it.
        _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Puts a command in the inbox; gives it back if the interface has ended.
    pub(crate) fn push(&self, command: Command) -> Result<(), Command> {
        match &mut *lock(&self.inbox) {
            Some(inbox) => inbox.push(command),
            None => return Err(command),
        }
        Ok(())
    }

    /// Puts a command in the inbox, for the owner. An interface that has ended needs none.
    pub(crate) fn tell(&self, command: Command) {
        _ = self.push(command);
        self.wake();
    }

    pub(crate) fn has_commands(&self) -> bool {
        lock(&self.inbox).as_ref().is_some_and(|inbox| !inbox.is_empty())
    }

    pub(crate) fn has_outputs(&self) -> bool {
        lock(&self.outputs).as_ref().is_some_and(|outputs| !outputs.is_empty())
    }

    /// Whether as many outputs wait as may.
    pub(crate) fn is_full(&self) -> bool {
        lock(&self.outputs).as_ref().is_some_and(|outputs| outputs.len() >= MAX_OUTPUTS)
    }

    /// Works off the inbox, unless another thread has the engine, which does it then.
    pub(crate) fn step(&self) {
        loop {
            let Some(mut state) = try_lock(&self.state) else { return self.wake() };
            self.step_with(&mut state, Look::Nowhere);
            drop(state);
            // Whoever put something in the inbox since then found the engine locked.
            if !self.has_commands() {
                return;
            }
        }
    }

    /// Works off the inbox, and what peers have done. Returns whether there was anything.
    pub(crate) fn step_with(&self, state: &mut State, look: Look) -> bool {
        let now = self.clock.now();
        let State { engine: Some(engine), is_armed, owner_sleeps } = state else { return false };
        let commands = lock(&self.inbox).as_mut().map(std::mem::take).unwrap_or_default();
        let mut worked = !commands.is_empty();
        for command in commands {
            match command {
                Command::Send(message) => engine.send(message, now),
                Command::Reported(conn) => {
                    let is_stale = |message: &Message| self.upcalls.is_for_earlier_incarnation(message);
                    engine.reported(conn, &is_stale, now);
                }
                Command::Abort(peer, cause) => engine.end_all(peer, &Ended::Aborted(cause), now),
                Command::End(conn, reason) => engine.end(conn, &reason, now),
            }
        }
        if look == Look::Everywhere {
            // The owner would not see what has been taken here, and a peer wakes a node once.
            if engine.poll(now) && std::mem::replace(owner_sleeps, false) {
                self.wake();
            }
            *is_armed = false;
        }
        if look != Look::Nowhere {
            let limit = if self.is_full() { 0 } else { MESSAGES_PER_TURN };
            worked |= engine.work(limit, now);
        }
        if engine.take_untimed() {
            self.wake();
        }
        let new = engine.take_outputs();
        worked |= !new.is_empty();
        if let Some(outputs) = &mut *lock(&self.outputs) {
            outputs.extend(new.into_iter().map(Upcall::Output));
        }
        worked
    }

    /// Whether there is nothing to do until a socket has something, so that the calling thread may sleep.
    pub(crate) fn has_nothing_new(&self, role: Role) -> bool {
        if self.has_commands() {
            return false;
        }
        let mut state = lock(&self.state);
        state.is_armed = true;
        let may_sleep = state.engine.as_mut().is_none_or(Engine::arm);
        state.owner_sleeps |= may_sleep && role == Role::Owner;
        may_sleep
    }
}

/// Passing the outputs to the core.
impl ShmNi {
    /// Passes the outputs to the core, unless a thread does. Event handlers of the program run here.
    pub(crate) fn deliver(&self, role: Role) {
        while self.has_outputs() {
            let Some(deliverer) = self.deliverers.begin(role) else { return };
            self.watch.note_serving();
            if !self.deliver_all(deliverer) {
                return;
            }
        }
    }

    /// Passes the outputs to the core, after all threads that do, unless that is this one: an event handler ends the interface.
    pub(crate) fn deliver_last(&self) {
        let deliverer = self.deliverers.begin_after_others(Role::Owner);
        self.deliver_all(deliverer);
    }

    /// Passes the outputs to the core, as this deliverer. Returns whether it still was the current one at the end.
    fn deliver_all(&self, deliverer: DelivererId) -> bool {
        loop {
            // Its own statement: the lock is not held while the output is passed.
            let next = lock(&self.outputs).as_mut().and_then(VecDeque::pop_front);
            match next {
                Some(Upcall::Output(output)) => self.pass(output),
                Some(Upcall::Resumed(deferred, action)) => {
                    deferred.carry_out(&*self.upcalls, action);
                    // The connection may be read on.
                    self.wake();
                }
                None => {
                    self.step();
                    if !self.has_outputs() {
                        break;
                    }
                }
            }
            if !self.deliverers.is_current(deliverer) {
                break;
            }
        }
        self.deliverers.end(deliverer)
    }

    fn pass(&self, output: Output) {
        match output {
            Output::Finalize(message, result) => self.upcalls.finalize(message, result),
            Output::Connected { conn, peer, incarnation } => {
                if let Some(ni) = self.lnet_ni.upgrade() {
                    self.upcalls.connected(&ni, peer, incarnation);
                }
                self.tell(Command::Reported(conn));
            }
            Output::Arrived { conn, from, message, share } => {
                let Some(ni) = self.lnet_ni.upgrade() else { return };
                let header = message.header;
                let deferred = OnceCell::new();
                let make_deferred = || {
                    let new = || Deferred::new(Weak::clone(&self.me));
                    Arc::clone(deferred.get_or_init(new)) as Arc<dyn DeferredRx>
                };
                match self.upcalls.receive(&ni, from, &header, &Provenance::default(), &make_deferred) {
                    RxAction::Deliver(arriving) => {
                        copy::fill_payload_of(&arriving, message.payload());
                        self.upcalls.received(arriving, Ok(()));
                    }
                    RxAction::Discard => {}
                    RxAction::Defer => {
                        if let Some(deferred) = deferred.into_inner() {
                            let taken = share.take(message.payload().len());
                            deferred.keep(message, taken);
                        }
                    }
                    RxAction::Reject(violation) => {
                        self.tell(Command::End(conn, Ended::Violation(violation.to_string())));
                    }
                }
            }
            Output::Ended { peer, reason } => {
                self.log_end(peer, &reason);
                if let Some(ni) = self.lnet_ni.upgrade() {
                    self.upcalls.connections_ended(&ni, peer);
                }
            }
            Output::Refused { reason } => self.log.write(
                self.clock.now(),
                LogClass::InboundRejected,
                self.nid,
                format_args!("{}: connection from a process of this host rejected ({reason})", self.nid),
            ),
        }
    }

    fn log_end(&self, peer: Nid, reason: &Ended) {
        let class = match reason {
            Ended::Violation(_) => LogClass::ProtocolViolation,
            Ended::Stalled => LogClass::ConnectionStalled,
            _ => return log::debug!("{peer}: connection closed ({reason})"),
        };
        self.log.write(self.clock.now(), class, peer, format_args!("{peer}: connection closed ({reason})"));
    }

    /// Takes the core's decision on a deferred message. Returns it to the core if the interface has ended.
    pub(crate) fn resume(&self, deferred: Arc<Deferred>, action: RxAction) {
        let left = match &mut *lock(&self.outputs) {
            Some(outputs) => {
                outputs.push_back(Upcall::Resumed(deferred, action));
                self.wake();
                None
            }
            None => Some(action),
        };
        if let Some(RxAction::Deliver(arriving)) = left {
            self.upcalls.received(arriving, Err(Errno::Shutdown));
        }
    }
}

impl Served for ShmNi {
    fn is_stopped(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    fn is_served(&self) -> bool {
        self.deliverers.is_served()
    }

    fn servers(&self) -> [Option<Arc<HandlerState>>; 2] {
        self.deliverers.servers()
    }

    fn app_poller_is_kept(&self) {
        self.deliverers.replace(Role::Application);
    }

    fn relieve(&self) {
        self.wake();
    }
}

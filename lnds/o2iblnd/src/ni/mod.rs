//! An interface and its thread: the engine and the device behind a lock, the messages of the core on their way in, and what the core is
//! to be told on its way out.
//!
//! No thread ever waits for the engine. A thread that has something for it puts that in the inbox, and works off the inbox if nobody else
//! does; so does whoever has just finished. The same holds for the outputs, which one thread at a time passes to the core, in order, with
//! no lock of the engine: an event handler of the program may send, and may be slow.

use crate::config::conns;
use crate::conn::{Decision, Ended, Output, RxId};
use crate::device::{ConnId, Device, Event};
use crate::engine::Engine;
use lnd_common::sync::lock;
use lnet_core::lnd::{DeferredRx, InterfaceEvents, LndNi, RxAction, SendOutcome, Upcalls};
use lnet_core::topology::Ni;
use lnet_core::{ArrivingMessage, Cause, Clock, Errno, OutgoingMessage, Pooled, Provenance, Time};
use lnet_log::{LogClass, RateLimitedLog};
use lnet_os::descriptor::new_eventfd;
use lnet_os::thread::JoinHandle;
use lnet_wire::Nid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::fmt::Arguments;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread::ThreadId;
use std::time::Duration;

type Message = Pooled<OutgoingMessage>;

/// How often, and how long each time, the end of an interface waits for work that is posted (wire-o2ib 12: a kernel node may not like a
/// connection that ends with the last response).
const DRAIN_WAITS: u32 = 10;
const DRAIN_WAIT: Duration = Duration::from_millis(100);
/// The time between two looks at what is late, and the same while something is posted.
const TICK: Duration = Duration::from_secs(1);
const BUSY_TICK: Duration = Duration::from_millis(200);

/// What the engine is to do.
enum Command {
    Send(Message),
    Decided(RxId, Decision<ArrivingMessage>),
    Reported(ConnId, Nid),
    Abort(Option<Nid>, Cause),
    ConnsPerPeer(u16),
}

/// The engine with its device.
struct State {
    engine: Engine<Message, ArrivingMessage>,
    device: Box<dyn Device>,
    events: Vec<Event>,
}

/// What an interface has of its node.
pub(crate) struct NodeSide {
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) events: Arc<dyn InterfaceEvents>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// One interface.
pub(crate) struct O2ibNi {
    nid: Nid,
    me: Weak<Self>,
    /// The core's NI. Weak, because that keeps this one alive.
    lnet_ni: Weak<Ni>,
    node: NodeSide,
    fixed_timeout: Option<Duration>,
    state: Mutex<State>,
    /// `None` when the interface has ended.
    inbox: Mutex<Option<Vec<Command>>>,
    outputs: Mutex<VecDeque<Output<Message, ArrivingMessage>>>,
    /// The thread that passes the outputs to the core.
    deliverer: Mutex<Option<ThreadId>>,
    /// No thread passes outputs any more.
    delivered: Condvar,
    wake: OwnedFd,
    /// The descriptors of the device.
    descriptors: Vec<OwnedFd>,
    log: RateLimitedLog,
    is_ending: AtomicBool,
    conns_per_peer: AtomicU16,
}

impl O2ibNi {
    pub(crate) fn new(
        ni: &Arc<Ni>,
        node: NodeSide,
        engine: Engine<Message, ArrivingMessage>,
        device: Box<dyn Device>,
        fixed_timeout: Option<Duration>,
    ) -> Result<Arc<Self>, Errno> {
        let conns_per_peer = AtomicU16::new(engine.conns_per_peer());
        let wake = new_eventfd().map_err(|error| Errno::from(&error))?;
        let descriptors = device.descriptors()?;
        Ok(Arc::new_cyclic(|me| Self {
            nid: ni.nid(),
            me: Weak::clone(me),
            lnet_ni: Arc::downgrade(ni),
            node,
            fixed_timeout,
            state: Mutex::new(State { engine, device, events: Vec::new() }),
            inbox: Mutex::new(Some(Vec::new())),
            outputs: Mutex::default(),
            deliverer: Mutex::default(),
            delivered: Condvar::new(),
            wake,
            descriptors,
            log: RateLimitedLog::new(),
            is_ending: AtomicBool::new(false),
            conns_per_peer,
        }))
    }

    /// Gives the engine something to do; returns it if the interface has ended.
    fn push(&self, command: Command) -> Result<(), Command> {
        match &mut *lock(&self.inbox) {
            Some(inbox) => {
                inbox.push(command);
                Ok(())
            }
            None => Err(command),
        }
    }

    /// Wakes the interface's thread.
    fn wake(&self) {
        // A counter that is full wakes as well.
        _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Works off the inbox. If another thread has the engine, which may not look at the inbox again, the interface's thread does it.
    fn step(&self) {
        loop {
            let Some(mut state) = try_lock(&self.state) else { return self.wake() };
            self.step_with(&mut state, false);
            drop(state);
            // Whoever put something in the inbox since then found the engine locked.
            if lock(&self.inbox).as_ref().is_none_or(Vec::is_empty) {
                return;
            }
        }
    }

    fn step_with(&self, state: &mut State, polls: bool) {
        let now = self.node.clock.now();
        let State { engine, device, events } = state;
        let device = &mut **device;
        let commands = lock(&self.inbox).as_mut().map(std::mem::take).unwrap_or_default();
        for command in commands {
            match command {
                Command::Send(message) => engine.send(message, device, now),
                Command::Decided(rx, decision) => engine.decided(rx, decision, device, now),
                Command::Reported(conn, peer) => {
                    let is_stale = |message: &Message| self.node.upcalls.is_for_earlier_incarnation(message);
                    engine.reported(conn, peer, is_stale, device, now);
                }
                Command::Abort(peer, cause) => {
                    let may_move = |message: &Message| self.node.upcalls.may_change_path(message);
                    engine.abort(peer, cause, &may_move, device, now);
                }
                Command::ConnsPerPeer(conns) => engine.set_conns_per_peer(conns),
            }
        }
        if polls {
            device.poll(events);
            for event in events.drain(..) {
                engine.event(event, device, now);
            }
            engine.sweep(device);
        }
        lock(&self.outputs).extend(engine.take_outputs());
    }

    /// Passes the outputs to the core, unless a thread does. Event handlers of the program run here.
    fn deliver(&self) {
        loop {
            let mut deliverer = lock(&self.deliverer);
            if deliverer.is_some() {
                return;
            }
            *deliverer = Some(std::thread::current().id());
            drop(deliverer);
            self.deliver_all();
            if lock(&self.outputs).is_empty() {
                return;
            }
        }
    }

    /// Passes the outputs to the core, after any thread that does, unless that is this one: an event handler ends the interface.
    fn deliver_last(&self) {
        let me = std::thread::current().id();
        let mut deliverer = lock(&self.deliverer);
        while deliverer.is_some_and(|its| its != me) {
            deliverer = self.delivered.wait(deliverer).unwrap_or_else(PoisonError::into_inner);
        }
        *deliverer = Some(me);
        drop(deliverer);
        self.deliver_all();
    }

    /// Passes the outputs to the core. This thread is the deliverer.
    fn deliver_all(&self) {
        loop {
            let next = lock(&self.outputs).pop_front();
            match next {
                Some(output) => self.pass(output),
                None => {
                    self.step();
                    if lock(&self.outputs).is_empty() {
                        break;
                    }
                }
            }
        }
        *lock(&self.deliverer) = None;
        self.delivered.notify_all();
    }

    fn pass(&self, output: Output<Message, ArrivingMessage>) {
        match output {
            Output::Finalize(message, result) => self.node.upcalls.finalize(message, result),
            Output::Received(arriving, result) => self.node.upcalls.received(arriving, result),
            Output::Receive { rx, from, header, reply_here } => {
                let Some(ni) = self.lnet_ni.upgrade() else { return };
                let provenance = Provenance { reply_here, ..Provenance::default() };
                let make_deferred =
                    || Arc::new(Deferred { ni: Weak::clone(&self.me), rx }) as Arc<dyn DeferredRx>;
                let action = self.node.upcalls.receive(&ni, from, &header, &provenance, &make_deferred);
                self.decide(rx, action);
            }
            Output::Connected { conn, peer, stamp } => {
                if let Some(ni) = self.lnet_ni.upgrade() {
                    self.node.upcalls.connected(&ni, peer, stamp);
                }
                _ = self.push(Command::Reported(conn, peer));
            }
            Output::Unresponsive { peer } => {
                if let Some(ni) = self.lnet_ni.upgrade() {
                    // Peers do not recognise copies: what may have been sent is not sent again, whether or not it could be.
                    self.node.upcalls.path_is_unresponsive(&ni, peer);
                }
                _ = self.push(Command::Abort(Some(peer), Cause::NetworkTimeout));
            }
            Output::Responsive { peer } => {
                if let Some(ni) = self.lnet_ni.upgrade() {
                    self.node.upcalls.path_is_responsive(&ni, peer);
                }
            }
            Output::Port(state) => {
                let why = state.err().map(|error| error.to_string());
                self.node.events.device_state(self.nid, why.as_deref());
            }
            Output::Ended { peer, reason } => {
                self.log_end(peer, &reason);
                if let Some(ni) = self.lnet_ni.upgrade() {
                    self.node.upcalls.connections_ended(&ni, peer);
                }
            }
            Output::NotConnected { peer, reason } => {
                self.write(LogClass::ConnectFailed, peer, format_args!("{peer}: cannot connect ({reason})"));
            }
        }
    }

    fn decide(&self, rx: RxId, action: RxAction) {
        let decision = match action {
            RxAction::Deliver(arriving) => Decision::Deliver(arriving),
            RxAction::Discard => Decision::Discard,
            RxAction::Reject(violation) => Decision::Reject(violation.to_string()),
            RxAction::Defer => return,
        };
        if let Err(Command::Decided(_, Decision::Deliver(arriving))) =
            self.push(Command::Decided(rx, decision))
        {
            self.node.upcalls.received(arriving, Err(Errno::Shutdown));
        }
    }

    /// Works until the interface ends, which it carries out.
    fn run(&self) {
        let mut next_tick = Some(self.node.clock.now());
        while !self.is_ending.load(Ordering::SeqCst) {
            let mut state = lock(&self.state);
            self.step_with(&mut state, true);
            drop(state);
            self.deliver();
            let now = self.node.clock.now();
            if next_tick.is_none_or(|at| now >= at) {
                next_tick = self.tick(now).map(|after| Time(now.0 + after));
                self.deliver();
                self.log.poll(now);
            }
            if self.has_nothing_new() {
                self.wait(next_tick.map(|at| at.since(now)));
            }
        }
        self.end();
    }

    /// Whether there is nothing to do until a descriptor is readable.
    fn has_nothing_new(&self) -> bool {
        lock(&self.inbox).as_ref().is_none_or(Vec::is_empty) && !lock(&self.state).device.arm()
    }

    fn wait(&self, timeout: Option<Duration>) {
        let all = std::iter::once(&self.wake).chain(&self.descriptors);
        let mut fds: Vec<_> = all.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // An error, such as EINTR, is as good as an event: the loop looks again.
        _ = poll(&mut fds, timeout.as_ref());
        // The counter is empty if nobody has written.
        _ = rustix::io::read(&self.wake, &mut [0; 8]);
    }

    /// Does what is due; returns the time after which it is to be called again.
    fn tick(&self, now: Time) -> Option<Duration> {
        let mut state = lock(&self.state);
        let State { engine, device, .. } = &mut *state;
        engine.set_timeout(self.fixed_timeout.unwrap_or_else(|| self.node.upcalls.lnd_timeout()));
        let is_active = engine.tick(&mut **device, now);
        lock(&self.outputs).extend(engine.take_outputs());
        is_active.then_some(if engine.has_posted() { BUSY_TICK } else { TICK })
    }

    /// Ends the interface: when this returns every message has been returned, and no upcall follows.
    fn end(&self) {
        if lock(&self.inbox).is_none() {
            return;
        }
        for _ in 0..DRAIN_WAITS {
            let mut state = lock(&self.state);
            self.step_with(&mut state, true);
            let is_drained = !state.engine.has_posted() || state.device.arm();
            drop(state);
            self.deliver();
            if is_drained {
                break;
            }
            self.wait(Some(DRAIN_WAIT));
        }
        let mut state = lock(&self.state);
        let left = lock(&self.inbox).take().unwrap_or_default();
        let State { engine, device, .. } = &mut *state;
        engine.shut_down(&mut **device, self.node.clock.now());
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
    }

    fn log_end(&self, peer: Nid, reason: &Ended) {
        match reason {
            Ended::Violation(_) => self.write(
                LogClass::ProtocolViolation,
                peer,
                format_args!("{peer}: connection closed ({reason})"),
            ),
            Ended::TimedOut(_) | Ended::Work(_) => self.write(
                LogClass::ConnectionStalled,
                peer,
                format_args!("{peer}: connection closed ({reason})"),
            ),
            _ => log::debug!("{peer}: connection closed ({reason})"),
        }
    }

    fn write(&self, class: LogClass, peer: Nid, line: Arguments<'_>) {
        self.log.write(self.node.clock.now(), class, peer, line);
    }
}

/// A message of a peer that waits for a buffer of this node.
struct Deferred {
    ni: Weak<O2ibNi>,
    rx: RxId,
}

impl DeferredRx for Deferred {
    fn resume(&self, action: RxAction) {
        let Some(ni) = self.ni.upgrade() else { return };
        ni.decide(self.rx, action);
        // No event handler runs on this thread.
        ni.wake();
    }

    fn is_lost(&self) -> bool {
        self.ni.upgrade().is_none_or(|ni| lock(&ni.state).engine.is_lost(self.rx))
    }

    fn resume_here(&self, action: RxAction) {
        let Some(ni) = self.ni.upgrade() else { return };
        ni.decide(self.rx, action);
        let mut state = lock(&ni.state);
        ni.step_with(&mut state, false);
        drop(state);
        ni.deliver();
    }
}

/// An interface as the core sees it.
pub(crate) struct NiHandle {
    ni: Arc<O2ibNi>,
    numbers: Vec<(&'static str, u32)>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl NiHandle {
    pub(crate) const fn new(ni: Arc<O2ibNi>, numbers: Vec<(&'static str, u32)>) -> Self {
        Self { ni, numbers, thread: Mutex::new(None) }
    }
}

impl LndNi for NiHandle {
    fn open(&self) {
        let ni = Arc::clone(&self.ni);
        let thread = std::thread::Builder::new().name("lnet_o2ib".to_owned());
        match lnet_os::thread::spawn(thread, move || ni.run()) {
            Ok(handle) => *lock(&self.thread) = Some(handle),
            Err(error) => lnet_log::write_line!(
                LogClass::ThreadFailed,
                "NI {}: its thread cannot start ({error}); no message arrives",
                self.ni.nid
            ),
        }
    }

    fn send(&self, message: Message) -> SendOutcome {
        if let Err(Command::Send(message)) = self.ni.push(Command::Send(message)) {
            return SendOutcome::Done(message, Err(Errno::Shutdown.into()));
        }
        self.ni.step();
        if !lock(&self.ni.outputs).is_empty() {
            self.ni.wake();
        }
        SendOutcome::Pending
    }

    fn conns_per_peer(&self) -> Option<u16> {
        Some(self.ni.conns_per_peer.load(Ordering::Relaxed))
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        self.numbers.clone()
    }

    fn set_conns_per_peer(&self, connections: u16) {
        let connections = conns(connections.into());
        self.ni.conns_per_peer.store(connections, Ordering::Relaxed);
        _ = self.ni.push(Command::ConnsPerPeer(connections));
        self.ni.wake();
    }

    fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        _ = self.ni.push(Command::Abort(peer, cause));
        self.ni.wake();
    }

    fn incarnation(&self, peer: Nid) -> Option<u64> {
        lock(&self.ni.state).engine.incarnation(peer)
    }

    fn shutdown(&self) {
        self.ni.is_ending.store(true, Ordering::SeqCst);
        self.ni.wake();
        let thread = lock(&self.thread).take();
        match thread {
            // An event handler on the interface's own thread ends the interface.
            Some(thread) if thread.thread().id() == std::thread::current().id() => self.ni.end(),
            Some(thread) => _ = thread.join(),
            None => self.ni.end(),
        }
    }
}

/// Locks `mutex` if nobody else has, also after a panic.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

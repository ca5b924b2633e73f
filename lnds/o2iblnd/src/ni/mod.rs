//! An interface: the engine and the device behind a lock, the messages of the core on their way in, and what the core is to be told
//! on its way out.
//!
//! No thread ever waits for the engine. A thread that has something for it puts that in the inbox, and works off the inbox if nobody else
//! does; so does whoever has just finished. The same holds for the outputs, which one thread at a time passes to the core, in order, with
//! no lock of the engine: an event handler of the program may send, and may be slow.
//!
//! The interface's own thread (`thread`) looks for what the device has done, unless an application's thread does that while it waits for
//! an event (`application`).

mod application;
mod deliver;
mod handle;
mod thread;

pub(crate) use application::{turn_for_all, wait_for_any};
pub(crate) use handle::NiHandle;

use crate::conn::{Decision, Output, RxId};
use crate::device::{ConnId, Device, Event};
use crate::engine::Engine;
use lnd_common::deliverers::Deliverers;
use lnd_common::driver_threads::Threads;
use lnd_common::handler_watch::WatchSignal;
use lnd_common::sync::{lock, try_lock};
use lnet_core::lnd::{InterfaceEvents, Upcalls};
use lnet_core::topology::Ni;
use lnet_core::{ArrivingMessage, Cause, Clock, Errno, OutgoingMessage, Pooled};
use lnet_log::RateLimitedLog;
use lnet_os::descriptor::new_eventfd;
use lnet_wire::Nid;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

type Message = Pooled<OutgoingMessage>;

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
    /// `None` when the interface has ended.
    device: Option<Box<dyn Device>>,
    events: Vec<Event>,
    /// Whether the device was asked to make its descriptors readable, since [`Look::Everywhere`].
    is_armed: bool,
}

/// Where a turn looks for what the device has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// Nowhere: the device is for others.
    Nowhere,
    /// At the work of connections, which takes no system call.
    AtWork,
    /// At everything.
    Everywhere,
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
    /// The threads that pass outputs.
    deliverers: Deliverers,
    wake: OwnedFd,
    /// The descriptors of the device.
    descriptors: Vec<OwnedFd>,
    log: RateLimitedLog,
    is_ending: AtomicBool,
    has_ended: AtomicBool,
    conns_per_peer: AtomicU16,
    /// The number of the owner; a thread with another number has been replaced.
    owner: AtomicU64,
    /// The number of turns of application threads.
    app_turns: AtomicU64,
    /// Whether an application's thread waits for the device.
    app_waits: AtomicBool,
    threads: Threads,
    watch: WatchSignal,
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
            state: Mutex::new(State { engine, device: Some(device), events: Vec::new(), is_armed: false }),
            inbox: Mutex::new(Some(Vec::new())),
            outputs: Mutex::default(),
            deliverers: Deliverers::default(),
            wake,
            descriptors,
            log: RateLimitedLog::new(),
            is_ending: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            conns_per_peer,
            owner: AtomicU64::new(0),
            app_turns: AtomicU64::new(0),
            app_waits: AtomicBool::new(false),
            threads: Threads::default(),
            watch: WatchSignal::default(),
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

    fn has_commands(&self) -> bool {
        lock(&self.inbox).as_ref().is_some_and(|inbox| !inbox.is_empty())
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
            self.step_with(&mut state, Look::Nowhere);
            drop(state);
            // Whoever put something in the inbox since then found the engine locked.
            if !self.has_commands() {
                return;
            }
        }
    }

    /// Works off the inbox and what the device has done. Returns whether there was anything.
    fn step_with(&self, state: &mut State, look: Look) -> bool {
        let now = self.node.clock.now();
        let State { engine, device: Some(device), events, is_armed } = state else { return false };
        let device = &mut **device;
        let commands = lock(&self.inbox).as_mut().map(std::mem::take).unwrap_or_default();
        let mut worked = !commands.is_empty();
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
        match look {
            Look::Nowhere => {}
            Look::AtWork => device.poll_work(events),
            Look::Everywhere => {
                device.poll(events);
                *is_armed = false;
            }
        }
        if look != Look::Nowhere {
            worked |= !events.is_empty();
            for event in events.drain(..) {
                engine.event(event, device, now);
            }
            engine.sweep(device);
        }
        let mut outputs = lock(&self.outputs);
        outputs.extend(engine.take_outputs());
        worked
    }

    /// Whether there is nothing to do until a descriptor is readable.
    fn has_nothing_new(&self) -> bool {
        if self.has_commands() {
            return false;
        }
        let mut state = lock(&self.state);
        state.is_armed = true;
        !state.device.as_mut().is_some_and(|device| device.arm())
    }
}

//! An interface: the engine and the device, with what they are to do and what the core is to be told. `lnd_common::engine_ni` has its
//! threads.

mod end;
mod handle;
mod outputs;

pub(crate) use handle::NiHandle;

use crate::conn::{Decision, Output, RxId};
use crate::device::{ConnId, Device, Event};
use crate::engine::Engine;
use lnd_common::engine_ni::{EngineNi, Look, NiShared, Turn};
use lnet_core::lnd::{InterfaceEvents, Upcalls};
use lnet_core::topology::Ni;
use lnet_core::{ArrivingMessage, Cause, Clock, Errno, OutgoingMessage, Pooled, Time};
use lnet_log::{History, RateLimitedLog};
use lnet_wire::Nid;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU16;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The time between two looks at what is late, and the same while something is posted.
const TICK: Duration = Duration::from_secs(1);
const BUSY_TICK: Duration = Duration::from_millis(200);

type Message = Pooled<OutgoingMessage>;

/// What the engine is to do.
pub(crate) enum Command {
    Send(Message),
    Decided(RxId, Decision<ArrivingMessage>),
    Reported(ConnId, Nid),
    Abort(Option<Nid>, Cause),
    ConnsPerPeer(u16),
}

/// The engine with its device.
pub(crate) struct DeviceEngine {
    engine: Engine<Message, ArrivingMessage>,
    /// `None` when the interface has ended.
    device: Option<Box<dyn Device>>,
    events: Vec<Event>,
}

/// What an interface has of its node.
pub(crate) struct NodeSide {
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) events: Arc<dyn InterfaceEvents>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) history: Arc<History>,
}

/// One interface.
pub(crate) struct O2ibNi {
    nid: Nid,
    me: Weak<Self>,
    /// The core's NI. Weak, because that keeps this one alive.
    lnet_ni: Weak<Ni>,
    node: NodeSide,
    fixed_timeout: Option<Duration>,
    shared: NiShared<Self>,
    /// The descriptors of the device.
    descriptors: Vec<OwnedFd>,
    log: RateLimitedLog,
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
        let descriptors = device.descriptors()?;
        let engine = DeviceEngine { engine, device: Some(device), events: Vec::new() };
        let shared = NiShared::new(engine).map_err(|error| Errno::from(&error))?;
        let log = RateLimitedLog::new().keeping(Some(Arc::clone(&node.history)));
        Ok(Arc::new_cyclic(|me| Self {
            nid: ni.nid(),
            me: Weak::clone(me),
            lnet_ni: Arc::downgrade(ni),
            node,
            fixed_timeout,
            shared,
            descriptors,
            log,
            conns_per_peer,
        }))
    }
}

impl EngineNi for O2ibNi {
    type Engine = DeviceEngine;
    type Command = Command;
    type Output = Output<Message, ArrivingMessage>;
    const OWNER: &'static str = "lnet_o2ib_sd_";
    const WATCH: &'static str = "lnet_o2ib_watch";
    const FULL_LOOK_INTERVAL: u64 = 8;

    fn shared(&self) -> &NiShared<Self> {
        &self.shared
    }

    fn now(&self) -> Time {
        self.node.clock.now()
    }

    fn descriptors(&self) -> &[OwnedFd] {
        &self.descriptors
    }

    fn turn(&self, engine: &mut DeviceEngine, commands: Vec<Command>, look: Look) -> Turn {
        let now = self.now();
        let mut turn = Turn::default();
        let DeviceEngine { engine, device: Some(device), events } = engine else { return turn };
        let device = &mut **device;
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
            Look::Everywhere => turn.took_events = device.poll(events),
        }
        if look != Look::Nowhere {
            turn.worked = !events.is_empty();
            for event in events.drain(..) {
                engine.event(event, device, now);
            }
            engine.sweep(device);
        }
        self.shared.outputs.extend(engine.take_outputs());
        turn
    }

    fn arm(&self, engine: &mut DeviceEngine) -> bool {
        !engine.device.as_mut().is_some_and(|device| device.arm())
    }

    fn tick(&self, now: Time) -> Option<Duration> {
        self.log.poll(now);
        let mut state = self.shared.lock();
        let DeviceEngine { engine, device: Some(device), .. } = &mut state.engine else { return None };
        engine.set_timeout(self.fixed_timeout.unwrap_or_else(|| self.node.upcalls.lnd_timeout()));
        let is_active = engine.tick(&mut **device, now);
        self.shared.outputs.extend(engine.take_outputs());
        is_active.then_some(if engine.has_posted() { BUSY_TICK } else { TICK })
    }

    fn end(&self) {
        self.drain();
        self.shut_down_device();
    }

    fn pass(&self, output: Output<Message, ArrivingMessage>) {
        self.pass_output(output);
    }
}

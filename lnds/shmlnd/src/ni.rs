//! An interface: the engine with what it is to do, and what the core is to be told. `lnd_common::engine_ni` has its threads.

use crate::deferred::Deferred;
use crate::engine::{ConnId, Ended, Engine, Output};
use crate::pipes::Message;
use lnd_common::engine_ni::{EngineNi, Look, NiShared, Turn};
use lnd_common::outputs::PassOutputs;
use lnet_core::lnd::{DeferredRx, RxAction, Upcalls};
use lnet_core::topology::Ni;
use lnet_core::{Cause, Clock, Errno, Provenance, Time};
use lnet_log::{History, LogClass, RateLimitedLog};
use lnet_wire::Nid;
use lolnd::copy;
use std::cell::OnceCell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The time between two looks at what is late.
const TICK: Duration = Duration::from_secs(1);
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

/// One interface.
pub(crate) struct ShmNi {
    pub(crate) nid: Nid,
    me: Weak<Self>,
    /// The core's NI. Weak, because that keeps this one alive.
    lnet_ni: Weak<Ni>,
    upcalls: Arc<dyn Upcalls>,
    clock: Arc<dyn Clock>,
    shared: NiShared<Self>,
    /// The set of the engine's sockets.
    epoll: Arc<OwnedFd>,
    log: RateLimitedLog,
}

impl ShmNi {
    pub(crate) fn new(
        ni: &Arc<Ni>,
        upcalls: Arc<dyn Upcalls>,
        clock: Arc<dyn Clock>,
        history: &Arc<History>,
        engine: Engine,
        epoll: Arc<OwnedFd>,
    ) -> io::Result<Arc<Self>> {
        let shared = NiShared::new(Some(engine))?;
        Ok(Arc::new_cyclic(|me| Self {
            nid: ni.nid(),
            me: Weak::clone(me),
            lnet_ni: Arc::downgrade(ni),
            upcalls,
            clock,
            shared,
            epoll,
            log: RateLimitedLog::new().keeping(Some(Arc::clone(history))),
        }))
    }
}

impl EngineNi for ShmNi {
    /// `None` when the interface has ended.
    type Engine = Option<Engine>;
    type Command = Command;
    type Output = Upcall;
    const OWNER: &'static str = "lnet_shm_sd_";
    const WATCH: &'static str = "lnet_shm_watch";
    const FULL_LOOK_INTERVAL: u64 = 16;

    fn shared(&self) -> &NiShared<Self> {
        &self.shared
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn descriptors(&self) -> &[OwnedFd] {
        std::slice::from_ref(&*self.epoll)
    }

    fn turn(&self, engine: &mut Option<Engine>, commands: Vec<Command>, look: Look) -> Turn {
        let now = self.now();
        let mut turn = Turn::default();
        let Some(engine) = engine else { return turn };
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
            turn.took_events = engine.poll(now);
        }
        if look != Look::Nowhere {
            let limit = if self.is_full() { 0 } else { MESSAGES_PER_TURN };
            turn.worked = engine.work(limit, now);
        }
        turn.needs_tick = engine.take_untimed();
        let new = engine.take_outputs();
        turn.worked |= !new.is_empty();
        self.shared.outputs.extend(new.into_iter().map(Upcall::Output));
        turn
    }

    /// Asks the peers to wake this node.
    fn arm(&self, engine: &mut Option<Engine>) -> bool {
        engine.as_mut().is_none_or(Engine::arm)
    }

    fn disarm(&self, engine: &mut Option<Engine>) {
        engine.iter().for_each(Engine::disarm);
    }

    fn is_full(&self) -> bool {
        self.shared.outputs.len() >= MAX_OUTPUTS
    }

    fn tick(&self, now: Time) -> Option<Duration> {
        self.log.poll(now);
        let mut state = self.shared.lock();
        let is_active = state.engine.as_mut()?.tick(self.upcalls.lnd_timeout(), now);
        self.step_with(&mut state, Look::Nowhere);
        is_active.then_some(TICK)
    }

    fn end(&self) {
        let mut state = self.shared.lock();
        self.step_with(&mut state, Look::Nowhere);
        let Some(left) = self.shared.close_inbox() else { return };
        // The name is free for another interface.
        let Some(mut engine) = state.engine.take() else { return };
        engine.end_all(None, &Ended::Shutdown, self.now());
        self.shared.outputs.extend(engine.take_outputs().into_iter().map(Upcall::Output));
        drop(engine);
        drop(state);
        // What was read from a ring is delivered: its sender takes it for sent.
        self.pass_last_outputs();
        for upcall in self.shared.outputs.close() {
            if let Upcall::Resumed(deferred, action) = upcall {
                deferred.carry_out(&*self.upcalls, action);
            }
        }
        for command in left {
            if let Command::Send(message) = command {
                self.upcalls.finalize(message, Err(Errno::Shutdown.into()));
            }
        }
        self.shared.note_end();
    }

    fn pass(&self, upcall: Upcall) {
        match upcall {
            Upcall::Output(output) => self.pass_output(output),
            Upcall::Resumed(deferred, action) => {
                deferred.carry_out(&*self.upcalls, action);
                // The connection may be read on.
                self.shared.wake();
            }
        }
    }
}

/// Passing the outputs to the core.
impl ShmNi {
    fn pass_output(&self, output: Output) {
        match output {
            Output::Finalize(message, result) => self.upcalls.finalize(message, result),
            Output::Connected { conn, peer, incarnation } => {
                if let Some(ni) = self.lnet_ni.upgrade() {
                    self.upcalls.connected(&ni, peer, incarnation);
                }
                self.tell(Command::Reported(conn));
            }
            Output::Arrived { conn, from, mut message } => {
                let Some(ni) = self.lnet_ni.upgrade() else { return };
                let header = message.header();
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
                            let taken = message.defer();
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
                self.now(),
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
        self.log.write(self.now(), class, peer, format_args!("{peer}: connection closed ({reason})"));
    }

    /// Takes the core's decision on a deferred message. Returns it to the core if the interface has ended.
    pub(crate) fn resume(&self, deferred: Arc<Deferred>, action: RxAction) {
        match self.shared.outputs.push(Upcall::Resumed(deferred, action)) {
            Ok(()) => self.shared.wake(),
            Err(Upcall::Resumed(_, RxAction::Deliver(arriving))) => {
                self.upcalls.received(arriving, Err(Errno::Shutdown));
            }
            Err(_) => {}
        }
    }
}

//! Passing the outputs of the engine to the core, where event handlers of the program run: one thread at a time, and another one when
//! the handler keeps that thread.

use super::handle::Deferred;
use super::thread::OWNER;
use super::{Command, Message, O2ibNi};
use crate::conn::{Decision, Ended, Output, RxId};
use lnd_common::deliverers::{DelivererId, Role};
use lnd_common::handler_watch::Served;
use lnd_common::sync::lock;
use lnet_core::event::HandlerState;
use lnet_core::lnd::{DeferredRx, RxAction};
use lnet_core::{ArrivingMessage, Cause, Errno, Provenance};
use lnet_log::LogClass;
use lnet_wire::Nid;
use std::fmt::Arguments;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

impl O2ibNi {
    /// Passes the outputs to the core, unless a thread does. Event handlers of the program run here.
    pub(super) fn deliver(&self, role: Role) {
        while self.has_outputs() {
            let Some(deliverer) = self.deliverers.begin(role) else { return };
            self.watch.note_serving();
            if !self.deliver_all(deliverer) {
                return;
            }
        }
    }

    /// Passes the outputs to the core, after all threads that do, unless that is this one: an event handler ends the interface.
    pub(super) fn deliver_last(&self) {
        let deliverer = self.deliverers.begin_after_others(Role::Owner);
        self.deliver_all(deliverer);
    }

    /// Lets a new thread do the work of the interface's own, which is blocked in a handler.
    pub(super) fn replace_owner(&self) {
        self.deliverers.replace(Role::Owner);
        if let Some(ni) = self.me.upgrade() {
            self.threads.replace_owner(OWNER, move || ni.run());
        }
    }

    pub(super) fn has_outputs(&self) -> bool {
        !lock(&self.outputs).is_empty()
    }

    /// Passes the outputs to the core, as this deliverer. Returns whether it still was the current one at the end.
    fn deliver_all(&self, deliverer: DelivererId) -> bool {
        loop {
            // Its own statement: the lock is not held while the output is passed.
            let next = lock(&self.outputs).pop_front();
            match next {
                Some(output) => self.pass(output),
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

    pub(super) fn decide(&self, rx: RxId, action: RxAction) {
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

impl Served for O2ibNi {
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

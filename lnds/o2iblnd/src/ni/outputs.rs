//! What the core and the log are told.

use super::handle::Deferred;
use super::{Command, Message, O2ibNi};
use crate::conn::{Decision, Ended, Output, RxId};
use lnd_common::engine_ni::EngineNi;
use lnet_core::lnd::{DeferredRx, RxAction};
use lnet_core::{ArrivingMessage, Cause, Errno, Provenance};
use lnet_log::LogClass;
use lnet_wire::Nid;
use std::fmt::Arguments;
use std::sync::{Arc, Weak};

impl O2ibNi {
    /// Passes an output to the core. Event handlers of the program run here.
    pub(super) fn pass_output(&self, output: Output<Message, ArrivingMessage>) {
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
        self.log.write(self.now(), class, peer, line);
    }
}

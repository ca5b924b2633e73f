//! The interface of the core and a network driver (LND).
//!
//! A driver is a [`Driver`], one per kind of network and node; each interface that it serves is an [`LndNi`]. The
//! core passes a [`Message`] to [`LndNi::send`]; the driver returns every message exactly once. When a message
//! arrives the driver asks [`Upcalls::receive`] what to do with the payload, does it, and calls
//! [`Upcalls::received`].
//!
//! The core holds no lock during any call in either direction, so a driver may make upcalls from inside `send`.

use super::failure::{Cause, SendFailure};
use super::message::{Message, TakenCredits};
use super::ni::Ni;
use super::provenance::{Confirmation, MessageOrigin, Provenance};
use crate::stats::Partial;
use lnet_settings::Settings;
use lnet_wire::Errno;
use lnet_wire::{Header, NetType, Nid};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// A driver for one kind of network.
pub trait Driver: Send + Sync {
    /// The kind of network it serves.
    fn net_type(&self) -> NetType;

    /// Brings `ni` up, except that inbound connections are accepted only after [`LndNi::open`]. An error has been
    /// logged, with its cause.
    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, Errno>;

    /// Runs the driver's I/O on the calling thread for a while, so that a thread that waits for an event need not be
    /// woken by another. Returns after the first progress, after `timeout`, or at once if the driver does not support
    /// this or another thread is polling.
    fn progress(&self, timeout: Duration) -> Progress {
        let _ = timeout;
        Progress::NotOffered
    }

    /// Stops the driver's threads. Its interfaces have been shut down before.
    fn shutdown(&self) {}
}

/// The result of [`Driver::progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not supported: the caller should wait by other means.
    NotOffered,
    /// Nothing happened before the timeout.
    Idle,
    /// Something was read or written.
    Worked,
}

/// One interface of a driver.
pub trait LndNi: Send + Sync {
    /// Sends `message` to [`Message::next_hop`]. Never blocks on the network.
    fn send(&self, message: Box<Message>) -> SendOutcome;

    /// Accepts inbound connections from now on. Called once, when messages can be sent on the interface; until then
    /// inbound connections wait.
    fn open(&self) {}

    /// The number of connections to each peer NI, if the driver has connections.
    fn conns_per_peer(&self) -> Option<u16> {
        None
    }

    /// Sets the number of connections to each peer NI, for new connections; 0: the driver's choice.
    fn set_conns_per_peer(&self, connections: u16) {
        let _ = connections;
    }

    /// Aborts the messages in flight to the peer NI `peer` (`None`: to all), as the core knows that the path does not
    /// work now: connections are closed, and every message that is not known to have arrived is returned, from inside
    /// this call or soon after, with `cause`. Later messages open new connections. Connections to a peer that does
    /// not deduplicate stay open: of their messages only those are returned of which nothing was sent and which may
    /// change their path.
    fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        let _ = (peer, cause);
    }

    /// Sends the confirmation of a message that this node, a gateway, was to forward, to the peer NI that it came from and that named it
    /// `hop`. Without a connection to that node, in that incarnation, nothing is sent: it sends the message again.
    fn confirm(&self, to: Nid, hop: MessageOrigin, confirmation: Confirmation) {
        let _ = (to, hop, confirmation);
    }

    /// The incarnation of the peer NI `peer`, as its connections show it ([`Upcalls::connected`]); `None` without a connection.
    fn incarnation(&self, peer: Nid) -> Option<u64> {
        let _ = peer;
        None
    }

    /// Shuts the interface down: no upcall for it follows the return, and every message has been returned (with
    /// [`Errno::Shutdown`]).
    fn shutdown(&self);
}

/// The result of [`LndNi::send`].
#[derive(Debug)]
pub enum SendOutcome {
    /// The driver has finished: the peer has the message, or will not get it. Its memory is not used any more.
    Done(Box<Message>, Result<(), SendFailure>),
    /// The driver keeps the message and will call [`Upcalls::finalize`].
    Pending,
}

/// The services of the core for drivers. Any thread may call them; none of them blocks. Event handlers of the
/// application run inside them.
pub trait Upcalls: Send + Sync {
    /// A message has arrived on `ni` from the directly connected peer `from`; returns what to do with its payload.
    /// `make_deferred` is called before this returns [`RxAction::Defer`].
    fn receive(
        &self,
        ni: &Arc<Ni>,
        from: Nid,
        header: &Header,
        provenance: &Provenance,
        make_deferred: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> RxAction;

    /// The payload of a message from [`RxAction::Deliver`] has been received, or has failed. The REPLY to a GET is
    /// sent from inside this call.
    fn received(&self, message: Box<Message>, result: Result<(), Errno>);

    /// The driver has finished a message for which `send` returned [`SendOutcome::Pending`].
    fn finalize(&self, message: Box<Message>, result: Result<(), SendFailure>);

    /// How long a driver may try to send one message, unless it is configured otherwise (HE-30).
    fn lnd_timeout(&self) -> Duration {
        Duration::from_secs(Settings::default().lnd_timeout().into())
    }

    /// Whether the deadline of the message has passed: a driver that has not begun to send it need not.
    fn is_late(&self, message: &Message) -> bool {
        let _ = message;
        false
    }

    /// The path from `ni` to the peer NI `peer` is late: messages are in flight, and nothing has been received for a
    /// short while, or they have to be sent again: the first sign that it may be unresponsive. The core prefers other
    /// paths for new messages, and does nothing else. The driver repeats the call as long as the path stays late, and
    /// ends it with [`Upcalls::path_is_responsive`].
    fn path_is_late(&self, ni: &Arc<Ni>, peer: Nid) {
        let _ = (ni, peer);
    }

    /// The path from `ni` to the peer NI `peer` is unresponsive: messages are in flight, and nothing has been
    /// received for a while. The core marks the path, and uses it only where there is no other, until something has
    /// arrived over it or [`Upcalls::path_is_responsive`]. The driver repeats the call as long as the path stays
    /// unresponsive.
    ///
    /// Returns whether every message in flight could take another path. If so, and the peer deduplicates, the driver
    /// is to return all messages ([`Cause::NetworkTimeout`]). Otherwise it keeps trying with messages that may have
    /// been sent, and returns those of which nothing was sent and which may change their path
    /// ([`Upcalls::may_change_path`]).
    fn path_is_unresponsive(&self, ni: &Arc<Ni>, peer: Nid) -> bool {
        let _ = (ni, peer);
        false
    }

    /// The peer NI has responded on a path that was reported as late or unresponsive.
    fn path_is_responsive(&self, ni: &Arc<Ni>, peer: Nid) {
        let _ = (ni, peer);
    }

    /// Credits of messages that stay with the driver on an unresponsive path: waiting messages may take other paths.
    fn release_credits(&self, credits: Vec<TakenCredits>) {
        let _ = credits;
    }

    /// A connection from `ni` to the peer NI `peer` is made; nothing has been sent on it yet. `incarnation` is not 0, and differs for each
    /// start of the peer's interface: the core discovers a peer again that has been started again.
    fn connected(&self, ni: &Arc<Ni>, peer: Nid, incarnation: u64) {
        let _ = (ni, peer, incarnation);
    }

    /// Whether this message, which has waited for the connection that is made now, is to be returned as not sent: its peer has been started
    /// again, and its NID may be another node's.
    fn is_for_earlier_incarnation(&self, message: &Message) -> bool {
        let _ = message;
        false
    }

    /// The gateway `from` confirms the message that was sent to it as `id` ([`Message::message_id`]), before or after its
    /// delivery ACK.
    fn confirmed(&self, from: Nid, id: NonZeroU64, confirmation: Confirmation) {
        let _ = (from, id, confirmation);
    }

    /// Connections from `ni` to the peer NI `peer` have ended: confirmations that were under way on them will not arrive, and if it is
    /// a gateway's it may not be there any more. Called after the messages on them have been returned, and before that of an interface that is shut down has
    /// returned.
    fn connections_ended(&self, ni: &Arc<Ni>, peer: Nid) {
        let _ = (ni, peer);
    }

    /// Something becomes of a message that the driver keeps because it has arrived in part: for the counters.
    fn count_partial(&self, change: Partial) {
        let _ = change;
    }

    /// A message that the core has deferred will not arrive: [`DeferredRx::is_lost`] says of which.
    fn deferred_is_lost(&self) {}

    /// Whether this message, if it is returned unsent, could take another path that may work.
    fn may_change_path(&self, message: &Message) -> bool {
        let _ = message;
        false
    }
}

/// What a driver does with a message that arrived.
#[derive(Debug)]
pub enum RxAction {
    /// Read [`Message::payload_len`] bytes into [`Message::payload`], discard what the header announces beyond that,
    /// and call [`Upcalls::received`].
    Deliver(Box<Message>),
    /// Read the whole payload and discard it; nothing to report.
    Discard,
    /// Stop reading: [`DeferredRx::resume`] supplies the action later (a lazy portal without a buffer).
    Defer,
    /// The message violates the protocol: close the connection, and log the violation.
    Reject(Violation),
}

/// A message in a driver that waits for a buffer.
pub trait DeferredRx: Send + Sync {
    /// The action: [`RxAction::Deliver`] or [`RxAction::Discard`]. Called once, possibly before the
    /// [`Upcalls::receive`] that returned [`RxAction::Defer`] has returned.
    fn resume(&self, action: RxAction);

    /// Whether it will not arrive: its connection has ended, and its sender does not send it again.
    fn is_lost(&self) -> bool {
        false
    }

    /// As [`DeferredRx::resume`], which is called instead or not at all, by a caller that lets event handlers run on its thread: a
    /// message that has arrived in full has been delivered when this returns.
    fn resume_here(&self, action: RxAction) {
        self.resume(action);
    }
}

/// A violation of LNet's rules (the fatal checks, wire-tcp 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// An ACK or GET with a payload.
    #[error("an ACK or GET with {0} bytes of payload")]
    UnexpectedPayload(u32),
    /// A payload above 1 MiB.
    #[error("a payload of {0} bytes, more than 1 MiB")]
    PayloadTooLong(u32),
    /// For another node on the same net: it should have gone there directly.
    #[error("for another node on the net it came by")]
    ShouldHaveGoneDirect,
    /// For another of this node's interfaces.
    #[error("for another interface of this node")]
    WrongInterface,
    /// This node is shutting down.
    #[error("this node is shutting down")]
    ShuttingDown,
}

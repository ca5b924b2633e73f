//! What a network driver (LND) does for the core, and what the core does for a driver.
//!
//! A driver is a [`Driver`], one per kind of network and node; each interface that it serves is an
//! [`LndNi`]. The core hands it a [`Message`] with [`LndNi::send`]; the driver hands every message back
//! exactly once. For a message that arrives the driver asks [`Upcalls::receive`] what to do with the
//! payload, does it, and reports with [`Upcalls::received`].
//!
//! No lock of the core's is held during any call in either direction, so a driver may call up from inside
//! `send`.

use super::failure::{Cause, SendFailure};
use super::message::{Message, TakenCredits};
use super::ni::Ni;
use crate::environment::settings::Settings;
use lnet_wire::Errno;
use lnet_wire::{Header, NetType, Nid};
use std::sync::Arc;
use std::time::Duration;

/// A driver for one kind of network.
pub trait Driver: Send + Sync {
    /// The kind of network it serves.
    fn net_type(&self) -> NetType;

    /// Brings `ni` up, all but letting peers in, which is for [`LndNi::open`]. The error has been logged, naming the thing
    /// that was in the way.
    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, Errno>;

    /// Lets the calling thread do the driver's reading and writing for a while, so that a thread that waits
    /// for an event need not be woken by another. Returns after the first thing done, after `timeout`, or
    /// at once when the driver does not offer this or another thread is at it.
    fn progress(&self, timeout: Duration) -> Progress {
        let _ = timeout;
        Progress::NotOffered
    }

    /// Ends the driver's threads. Its interfaces have been shut down before.
    fn shutdown(&self) {}
}

/// What came of [`Driver::progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The caller should wait by other means.
    NotOffered,
    /// Nothing happened within the time given.
    Idle,
    /// Something was read or written.
    Worked,
}

/// One interface as its driver serves it.
pub trait LndNi: Send + Sync {
    /// Sends `message` to [`Message::next_hop`]. Never blocks on the network.
    fn send(&self, message: Box<Message>) -> SendOutcome;

    /// Lets peers in. Called once, when messages can be sent by the interface; until then callers wait.
    fn open(&self) {}

    /// How many connections each peer NI gets, if the driver has such a thing.
    fn conns_per_peer(&self) -> Option<u16> {
        None
    }

    /// Sets that for connections made from now on; 0: as many as the driver thinks right.
    fn set_conns_per_peer(&self, connections: u16) {
        let _ = connections;
    }

    /// Gives up what is under way to the peer NI `peer` (`None`: to all of them), because the core knows that it will not
    /// get there at this time: connections are ended, and every message that is not known to have arrived comes back, from
    /// inside this call or soon after, with `cause`. What is sent afterwards is tried anew. Connections to a peer that would
    /// not know again what comes twice stay: of them only what has not left, and may change its path, comes back.
    fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        let _ = (peer, cause);
    }

    /// Takes the interface down: no upcall for it follows the return, and every message it had is back
    /// (with [`Errno::Shutdown`]).
    fn shutdown(&self);
}

/// What a driver says of a message that it was given.
#[derive(Debug)]
pub enum SendOutcome {
    /// It is done with it: the peer has it, or will not get it. The memory is free again.
    Done(Box<Message>, Result<(), SendFailure>),
    /// It keeps it and will call [`Upcalls::finalize`].
    Pending,
}

/// What the core does for drivers. Any thread may call; none of these blocks. Event handlers of the
/// application run inside them.
pub trait Upcalls: Send + Sync {
    /// A message has arrived on `ni` from the directly connected peer `from`: what is to become of its
    /// payload? `hold` is called when the answer is [`RxAction::Defer`], before this returns.
    fn receive(
        &self,
        ni: &Arc<Ni>,
        from: Nid,
        header: &Header,
        hold: &dyn Fn() -> Arc<dyn DeferredRx>,
    ) -> RxAction;

    /// The payload of a message from [`RxAction::Deliver`] is in place, or will never be. A GET's data is
    /// sent from inside this call.
    fn received(&self, message: Box<Message>, result: Result<(), Errno>);

    /// A message for which `send` answered [`SendOutcome::Pending`] is done with.
    fn finalize(&self, message: Box<Message>, result: Result<(), SendFailure>);

    /// How long a driver may try to send one message, unless it has been told something else (HE-30).
    fn lnd_timeout(&self) -> Duration {
        Duration::from_secs(Settings::default().lnd_timeout().into())
    }

    /// Whether the time of this message is over: a driver that has not begun to send it need not.
    fn is_late(&self, message: &Message) -> bool {
        let _ = message;
        false
    }

    /// The path from `ni` to the peer NI `peer` is unresponsive: messages are under way, and nothing has been heard for a
    /// while. The core remembers that, and uses the path only where there is no other, until something has arrived
    /// over it or [`Upcalls::path_is_responsive`]. Called again and again while it is so.
    ///
    /// Whether every message that is under way could take another path. If so, and the peer would know again what it may
    /// have, the driver is to give everything back ([`Cause::NetworkTimeout`]). Otherwise it goes on trying with what
    /// may have left, and gives back what has not and may change its path ([`Upcalls::may_change_path`]).
    fn path_is_unresponsive(&self, ni: &Arc<Ni>, peer: Nid) -> bool {
        let _ = (ni, peer);
        false
    }

    /// The peer NI has answered on a path that was reported as unresponsive.
    fn path_is_responsive(&self, ni: &Arc<Ni>, peer: Nid) {
        let _ = (ni, peer);
    }

    /// Credits of messages that stay with the driver on an unresponsive path: what waits for them may go by another one.
    fn release_credits(&self, credits: Vec<TakenCredits>) {
        let _ = credits;
    }

    /// Whether this message, if it comes back unsent, could take another path that may work.
    fn may_change_path(&self, message: &Message) -> bool {
        let _ = message;
        false
    }
}

/// What a driver does with a message that arrived.
#[derive(Debug)]
pub enum RxAction {
    /// Read [`Message::payload_len`] bytes into [`Message::payload`], throw away what the header announces
    /// beyond that, and call [`Upcalls::received`].
    Deliver(Box<Message>),
    /// Read all of the payload and throw it away; nothing to report.
    Discard,
    /// Do not read on: [`DeferredRx::resume`] brings the verdict later (a lazy portal without a buffer).
    Defer,
    /// The message breaks the protocol: close the connection, saying why in the log.
    Reject(Violation),
}

/// A message that waits in a driver for a buffer.
pub trait DeferredRx: Send + Sync {
    /// The verdict: [`RxAction::Deliver`] or [`RxAction::Discard`]. Comes once, possibly before the
    /// [`Upcalls::receive`] that asked to hold has returned.
    fn resume(&self, verdict: RxAction);
}

/// How a message breaks LNet's rules (the fatal checks, wire-tcp 5.1).
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

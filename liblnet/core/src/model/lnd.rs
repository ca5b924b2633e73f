//! The interface of the core and a network driver (LND).
//!
//! A driver is a [`Driver`], one per kind of network and node; each interface that it serves is an [`LndNi`]. The
//! core passes an [`OutgoingMessage`] to [`LndNi::send`]; the driver returns every message exactly once. When a message
//! arrives the driver asks [`Upcalls::receive`] what to do with the payload, does it, and returns the [`ArrivingMessage`] by
//! [`Upcalls::received`].
//!
//! The core holds no lock during any call in either direction, so a driver may make upcalls from inside `send`.

pub use super::arrival::{Arrival, ArrivalWaiter, Arrived};
pub use super::driver_config::{DriverConfig, DriverContext, InterfaceEvents};

use super::failure::{Cause, SendFailure};
use super::families::AddressFamilies;
use super::message::{ArrivingMessage, OutgoingMessage, Pooled, TakenCredits};
use super::ni::{Ni, NiTunables};
use super::provenance::{Confirmation, MessageOrigin, Provenance};
use crate::stats::Partial;
use lnet_settings::Settings;
use lnet_wire::Errno;
use lnet_wire::{Header, NetId, NetType, Nid, ProcessId};
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// The longest time for which a connection may be kept for a message whose payload is still arriving. The driver then ends the
/// connection, as the message cannot be completed.
pub const MAX_CUT_THROUGH: Duration = Duration::from_millis(500);

/// The size of the NID that an interface has whose address is not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NidSize {
    /// Eight bytes, as in all releases: an IPv4 address.
    #[default]
    Short,
    /// Twenty bytes: an IPv6 address, if there is one that other links can reach.
    Large,
}

/// A driver for one kind of network.
pub trait Driver: Send + Sync {
    /// The kind of network that the driver serves.
    fn net_type(&self) -> NetType;

    /// Brings `ni` up, but accepts inbound connections only after [`LndNi::open`]. The node logs an error, and `lnetctl` shows it.
    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError>;

    /// Finds the interface of the host that an operator names, by its name or address, or the driver's choice if none is named; returns its
    /// NID on `net`. `size` says which of several addresses of an interface that is not named by its address is taken.
    fn find_interface(
        &self,
        net: NetId,
        interface: Option<&str>,
        size: NidSize,
    ) -> Result<FoundInterface, StartError> {
        let _ = (interface, size);
        Err(start_error!(Errno::NoDevice, "net {net}: its interfaces cannot be named"))
    }

    /// The IP address of the host that an interface with this NID uses. The node marks the interface as down or up with the link and the
    /// address. `None`: no event of links and addresses concerns it.
    fn ip_address(&self, nid: Nid) -> Option<IpAddr> {
        let _ = nid;
        None
    }

    /// The links by which messages leave the host. With [`Egress::Routes`] the node warns of several interfaces in one subnet.
    fn egress(&self) -> Egress {
        Egress::Routes { own_link: None }
    }

    /// The tunables of an interface for which an operator gives no others.
    fn ni_tunables(&self) -> NiTunables {
        NiTunables::default()
    }

    /// Runs the driver's I/O on the calling thread for a while, so that a thread that waits for an event need not be
    /// woken by another. Returns after the first progress, after `timeout`, or at once if the driver does not support
    /// this or another thread is polling.
    fn progress(&self, timeout: Duration) -> Progress {
        let _ = timeout;
        Progress::NotOffered
    }

    /// Stops the driver's threads. The driver's interfaces have been shut down before.
    fn shutdown(&self) {}
}

/// The links of the host by which the messages of a driver's interfaces leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Egress {
    /// Each interface's own link, whatever the host's routes are.
    OwnLink,
    /// The links that the host's routes name.
    Routes {
        /// The environment variable, with its value, that lets messages leave by their interface's own link; `None` if there is none.
        own_link: Option<&'static str>,
    },
}

/// An interface of the host that a driver has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundInterface {
    /// The NID of the interface on the requested net.
    pub nid: Nid,
    /// The name or address by which the interface is found again.
    pub name: String,
}

/// The reason why an interface cannot be added to a node, in the words of the part that finds it, such as the driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct StartError {
    /// The error number that callers get.
    pub errno: Errno,
    /// The subject and the cause, as in a log line: `interface eth9: not usable (there is no such interface)`.
    pub text: String,
    /// Whether the error may pass without a change of the configuration: the host lacks an interface, or its address, and may get it.
    pub may_pass: bool,
}

impl StartError {
    /// The same error, as one that may pass.
    #[must_use]
    pub fn that_may_pass(self) -> Self {
        Self { may_pass: true, ..self }
    }
}

impl From<StartError> for Errno {
    fn from(error: StartError) -> Self {
        error.errno
    }
}

/// A [`StartError`] with an error number and a text with arguments, as in `format!`. The list of log lines has
/// these texts.
#[macro_export]
macro_rules! start_error {
    ($errno:expr, $($text:tt)+) => {
        $crate::lnd::StartError { errno: $errno, text: format!($($text)+), may_pass: false }
    };
}
pub(crate) use start_error;

/// The result of [`Driver::progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The driver does not support the call: the caller must wait by other means.
    NotOffered,
    /// Nothing happened before the timeout.
    Idle,
    /// Something was read or written.
    Worked,
}

/// An interface of a driver.
pub trait LndNi: Send + Sync {
    /// Sends `message` to [`OutgoingMessage::next_hop`]. Never blocks on the network.
    fn send(&self, message: Pooled<OutgoingMessage>) -> SendOutcome;

    /// Whether [`LndNi::send`] would now begin to send a message with `length` bytes of payload to the next hop `to` although the payload is
    /// still arriving ([`OutgoingMessage::arrival`]). A driver says so only if nothing else waits for the connection, no other message has to
    /// wait behind this one, the peer deduplicates, and nothing in front of the payload depends on its end, such as a checksum.
    fn may_cut_through(&self, to: ProcessId, length: usize) -> bool {
        let _ = (to, length);
        false
    }

    /// Accepts inbound connections from now on. Called once, when messages can be sent on the interface; connections that
    /// arrive earlier wait.
    fn open(&self) {}

    /// The families of NIDs that the interface can connect to beside that of its own NID. A driver whose protocol would have to shorten
    /// the interface's NID for a family leaves it out. Read once, when the interface has been started.
    fn other_families(&self) -> AddressFamilies {
        AddressFamilies::NONE
    }

    /// The number of connections to each peer NI, if the driver has connections.
    fn conns_per_peer(&self) -> Option<u16> {
        None
    }

    /// The numbers that the driver has for the interface, by their names in YAML, beside the connections: those of
    /// [`super::ni::NiConfig::lnd_numbers`] and the driver's own for the rest.
    fn numbers(&self) -> Vec<(&'static str, u32)> {
        Vec::new()
    }

    /// Sets the number of connections to each peer NI, for connections made from now on; 0: the driver's default.
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

    /// Sends `confirmation` of a message that this node, a gateway, was to forward, to the peer NI `to`, which sent it under the
    /// name `hop`. Without a connection to that incarnation of the peer nothing is sent, and the peer resends the message.
    fn confirm(&self, to: Nid, hop: MessageOrigin, confirmation: Confirmation) {
        let _ = (to, hop, confirmation);
    }

    /// The incarnation of the peer NI `peer` as of its connections ([`Upcalls::connected`]); `None` without a connection.
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
    /// The driver has finished: the peer has the message, or will not get it. The driver does not use its memory any more.
    Done(Pooled<OutgoingMessage>, Result<(), SendFailure>),
    /// The driver keeps the message and will call [`Upcalls::finalize`].
    Pending,
    /// The same, and the message is on its way, or about to leave with others: it needs its credits, which are these, no more.
    Sent(TakenCredits),
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
    fn received(&self, message: ArrivingMessage, result: Result<(), Errno>);

    /// Asks whether a message from [`RxAction::Deliver`] is sent on although only the first `arrived` bytes of its payload are in its memory.
    /// For payloads that a driver reads in parts, and that cannot turn out to be wrong at their end. The caller may hold locks of the driver.
    fn cut_through(&self, message: &mut ArrivingMessage, arrived: usize) -> CutThrough {
        let _ = (message, arrived);
        CutThrough::Never
    }

    /// Begins to send the message of [`CutThrough::Begin`].
    fn send_cut_through(&self, message: Pooled<OutgoingMessage>) {
        let _ = message;
    }

    /// The driver has finished a message that it has kept.
    fn finalize(&self, message: Pooled<OutgoingMessage>, result: Result<(), SendFailure>);

    /// The time a driver may spend on sending one message, unless the driver is configured otherwise (HE-30).
    fn lnd_timeout(&self) -> Duration {
        Duration::from_secs(Settings::default().lnd_timeout().into())
    }

    /// Whether the deadline of the message has passed: a driver that has not begun to send it need not.
    fn is_late(&self, message: &OutgoingMessage) -> bool {
        let _ = message;
        false
    }

    /// Reports that the path from `ni` to the peer NI `peer` is late: messages are in flight, and nothing has been received for a
    /// short while, or TCP sends them again: the first sign that the path may be unresponsive. The core prefers other paths
    /// for new messages, and for those that wait for credits. The driver repeats the call as long as the path stays late, and then calls
    /// [`Upcalls::path_is_responsive`].
    ///
    /// Returns whether another path to the peer is known to work. If so the driver, which keeps the messages on this one,
    /// is to pass their credits to [`Upcalls::release_credits`].
    fn path_is_late(&self, ni: &Arc<Ni>, peer: Nid) -> bool {
        let _ = (ni, peer);
        false
    }

    /// Reports that the path from `ni` to the peer NI `peer` is unresponsive: messages are in flight, and nothing has been
    /// received for a while. The core uses the path only where there is no other, until something has arrived over it or
    /// [`Upcalls::path_is_responsive`] is called. The driver repeats the call as long as the path stays unresponsive.
    ///
    /// Returns whether every message in flight could take another path. If so, and the peer deduplicates, the driver
    /// is to return all messages ([`Cause::NetworkTimeout`]). Otherwise it keeps trying with messages that may have
    /// been sent, and returns those of which nothing was sent and which may change their path
    /// ([`Upcalls::may_change_path`]).
    fn path_is_unresponsive(&self, ni: &Arc<Ni>, peer: Nid) -> bool {
        let _ = (ni, peer);
        false
    }

    /// Reports that the peer NI has responded on a path that was reported as late or unresponsive.
    fn path_is_responsive(&self, ni: &Arc<Ni>, peer: Nid) {
        let _ = (ni, peer);
    }

    /// Returns the credits of messages that stay with the driver until they have arrived, so that others need not wait for those: they are
    /// on a late or unresponsive path, or small and on their way.
    fn release_credits(&self, credits: TakenCredits) {
        let _ = credits;
    }

    /// Reports a new connection from `ni` to the peer NI `peer`, on which nothing has been sent yet. `incarnation` is not 0, and
    /// differs for each start of the peer's interface: the core discovers a restarted peer again.
    fn connected(&self, ni: &Arc<Ni>, peer: Nid, incarnation: u64) {
        let _ = (ni, peer, incarnation);
    }

    /// Whether a message that has waited for the connection now made is to be returned as not sent: its peer has restarted, and
    /// the NID may be another node's.
    fn is_for_earlier_incarnation(&self, message: &OutgoingMessage) -> bool {
        let _ = message;
        false
    }

    /// Reports that the gateway `from` confirms the message sent to it as `id` ([`OutgoingMessage::message_id`]), before or after the
    /// delivery ACK of the message.
    fn confirmed(&self, from: Nid, id: NonZeroU64, confirmation: Confirmation) {
        let _ = (from, id, confirmation);
    }

    /// Reports that connections from `ni` to the peer NI `peer` have ended: confirmations in flight on them are lost, and a
    /// gateway may be down. Called after the messages on them have been returned; when an interface is shut down, before
    /// that call returns.
    fn connections_ended(&self, ni: &Arc<Ni>, peer: Nid) {
        let _ = (ni, peer);
    }

    /// Whether a node may have the NID `peer`. No node has what remains of a shortened one: the core has said so, and a driver writes no
    /// further lines about its connections.
    fn is_of_node(&self, peer: Nid) -> bool {
        let _ = peer;
        true
    }

    /// Counts a change of a message that has arrived in part and is kept by the driver.
    fn count_partial(&self, change: Partial) {
        let _ = change;
    }

    /// Reports that deferred messages will not arrive; [`DeferredRx::is_lost`] tells which.
    fn deferred_is_lost(&self) {}

    /// Whether the message, if it is returned unsent, could take another path that may work.
    fn may_change_path(&self, message: &OutgoingMessage) -> bool {
        let _ = message;
        false
    }
}

/// The answer of [`Upcalls::cut_through`].
#[derive(Debug)]
pub enum CutThrough {
    /// The message is received as a whole: the driver need not ask again.
    Never,
    /// The driver is to ask again when this number of bytes has arrived. It reads no more than that before.
    NotYet(u32),
    /// The driver is to pass this message to [`Upcalls::send_cut_through`], without any lock, and to report to
    /// [`ArrivingMessage::arrival`] what arrives from now on. [`Upcalls::received`] ends the arrival.
    Begin(Pooled<OutgoingMessage>),
}

/// The driver's next action for a message that arrived.
#[derive(Debug)]
pub enum RxAction {
    /// Read [`ArrivingMessage::payload_len`] bytes into [`ArrivingMessage::payload`], discard what the header announces beyond
    /// that, and call [`Upcalls::received`].
    Deliver(ArrivingMessage),
    /// Read the whole payload and discard it; nothing to report.
    Discard,
    /// Stop reading: [`DeferredRx::resume`] supplies the action later (a lazy portal without a buffer).
    Defer,
    /// The message violates the protocol: close the connection, and log the violation.
    Reject(Violation),
}

/// A message in a driver that waits for a buffer.
pub trait DeferredRx: Send + Sync {
    /// Continues the message with [`RxAction::Deliver`] or [`RxAction::Discard`]. Called once, possibly before the
    /// [`Upcalls::receive`] that returned [`RxAction::Defer`] has returned.
    fn resume(&self, action: RxAction);

    /// Whether the message will not arrive: its connection has ended, and the sender does not resend it.
    fn is_lost(&self) -> bool {
        false
    }

    /// Like [`DeferredRx::resume`], which is then not called, for a caller that allows event handlers on its thread: a message
    /// whose payload has arrived has been delivered when this returns.
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
    /// The message is for another node on the same net, and should have been sent there directly.
    #[error("for another node on the net it came by")]
    ShouldHaveGoneDirect,
    /// The message is for another of this node's interfaces.
    #[error("for another interface of this node")]
    WrongInterface,
    /// This node is shutting down.
    #[error("this node is shutting down")]
    ShuttingDown,
}

//! The failures of messages that drivers report, and their meaning (core-behaviour 4.2).

use lnet_wire::Errno;

/// Causes of failures, with the numbers of core-behaviour 4.2. `Local*`: nothing left this node, or its device
/// failed. [`Cause::RemoteDropped`]: certainly not delivered. With the other causes the message may have been
/// delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// The device was interrupted.
    LocalInterrupt = 1,
    /// The message was dropped before it left.
    LocalDropped = 2,
    /// The message was cancelled before it left.
    LocalAborted = 3,
    /// This node has no route to the peer.
    LocalNoRoute = 4,
    /// The device of this node, or its driver, failed.
    LocalError = 5,
    /// The message waited too long in this node.
    LocalTimeout = 6,
    /// The peer failed.
    RemoteError = 7,
    /// The peer did not accept the message.
    RemoteDropped = 8,
    /// The peer took too long.
    RemoteTimeout = 9,
    /// No response came in time, and either end may be the cause.
    NetworkTimeout = 10,
}

impl Cause {
    /// All causes, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::LocalInterrupt,
        Self::LocalDropped,
        Self::LocalAborted,
        Self::LocalNoRoute,
        Self::LocalError,
        Self::LocalTimeout,
        Self::RemoteError,
        Self::RemoteDropped,
        Self::RemoteTimeout,
        Self::NetworkTimeout,
    ];

    /// Whether the cause lowers the health of the local NI.
    pub const fn blames_ni(self) -> bool {
        (self as u8) < Self::RemoteError as u8 || matches!(self, Self::NetworkTimeout)
    }

    /// Whether the cause lowers the health of the peer NI.
    pub const fn blames_peer_ni(self) -> bool {
        self as u8 >= Self::RemoteError as u8
    }

    /// Whether the message has certainly not been delivered, so that the kernel's rules allow a resend.
    pub const fn is_safe_to_resend(self) -> bool {
        !matches!(self, Self::LocalError | Self::RemoteError | Self::RemoteTimeout | Self::NetworkTimeout)
    }

    /// The cause's name in the kernel's tools.
    pub const fn text(self) -> &'static str {
        match self {
            Self::LocalInterrupt => "LOCAL_INTERRUPT",
            Self::LocalDropped => "LOCAL_DROPPED",
            Self::LocalAborted => "LOCAL_ABORTED",
            Self::LocalNoRoute => "LOCAL_NO_ROUTE",
            Self::LocalError => "LOCAL_ERROR",
            Self::LocalTimeout => "LOCAL_TIMEOUT",
            Self::RemoteError => "REMOTE_ERROR",
            Self::RemoteDropped => "REMOTE_DROPPED",
            Self::RemoteTimeout => "REMOTE_TIMEOUT",
            Self::NetworkTimeout => "NETWORK_TIMEOUT",
        }
    }
}

/// Whether the peer may have received a failed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The peer has not received the whole message.
    NotSent,
    /// The peer may have received the message, and does not deduplicate it.
    Unknown,
    /// The peer may have received the message, and deduplicates it when it comes on another path with the same id
    /// ([`crate::model::message::OutgoingMessage::message_id`]).
    Deduplicated,
    /// As [`Delivery::Deduplicated`], but the connection had to be ended because of another message, whose sender stalled: no path of
    /// this node is to blame.
    Abandoned,
    /// A gateway had received the message and returned it: no path of this node is to blame.
    Returned,
    /// The destination may have the message, and could not recognise a copy as such: none is sent.
    Withheld,
    /// Nothing was sent: the destination may have the message already, so a copy must carry its origin, and the next hop does
    /// not accept origins.
    NeedsOrigin,
    /// Nothing was sent: the NIDs of the message do not fit in any protocol version of the next hop. No path is to blame.
    DoesNotFit,
}

impl Delivery {
    /// Whether the failure concerns the path to the next hop.
    pub(crate) const fn concerns_path(self) -> bool {
        !matches!(
            self,
            Self::Abandoned | Self::Returned | Self::Withheld | Self::NeedsOrigin | Self::DoesNotFit
        )
    }
}

/// The failure of a message that a driver has not sent, or whose arrival is not confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendFailure {
    /// The status of the event that reports the failure, if the message is not resent.
    pub errno: Errno,
    /// The cause, for health and resends.
    pub cause: Cause,
    /// Whether the peer may have received the message.
    pub delivery: Delivery,
}

impl SendFailure {
    /// The failure of a message of which no byte was sent.
    pub const fn unsent(errno: Errno, cause: Cause) -> Self {
        Self { errno, cause, delivery: Delivery::NotSent }
    }
}

/// The failure of a message that waited to be sent when a connect failed (core-behaviour 4.3, the mapping of the TCP
/// driver).
impl From<Errno> for SendFailure {
    fn from(errno: Errno) -> Self {
        let cause = match errno {
            Errno::TimedOut => Cause::LocalTimeout,
            Errno::NetworkDown
            | Errno::HostUnreachable
            | Errno::NetworkUnreachable
            | Errno::ConnectionRefused
            | Errno::ConnectionReset => Cause::RemoteDropped,
            Errno::Shutdown | Errno::Cancelled => Cause::LocalAborted,
            _ => Cause::LocalError,
        };
        Self::unsent(errno, cause)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_cause_lowers_the_health_and_allows_the_resend_of_the_specifications_table() {
        // (number, NI, peer NI, resend)
        let table = [
            (1, true, false, true),
            (2, true, false, true),
            (3, true, false, true),
            (4, true, false, true),
            (5, true, false, false),
            (6, true, false, true),
            (7, false, true, false),
            (8, false, true, true),
            (9, false, true, false),
            (10, true, true, false),
        ];
        let rows = Cause::ALL
            .map(|cause| (cause as u8, cause.blames_ni(), cause.blames_peer_ni(), cause.is_safe_to_resend()));
        assert_eq!(rows, table);
    }
}

//! Why a message was not sent: what drivers report, and what it means (core-behaviour 4.2).

use lnet_wire::Errno;

/// What went wrong, by the numbers of core-behaviour 4.2. `Local*`: nothing left this node, or its own device
/// failed. [`Cause::RemoteDropped`]: certainly not delivered. The rest: it may have been delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// The device was interrupted.
    LocalInterrupt = 1,
    /// It was dropped before it left.
    LocalDropped = 2,
    /// It was taken back before it left.
    LocalAborted = 3,
    /// This node has no route there.
    LocalNoRoute = 4,
    /// This node's device, or its driver, failed.
    LocalError = 5,
    /// It waited too long in this node.
    LocalTimeout = 6,
    /// The peer failed.
    RemoteError = 7,
    /// The peer did not take it.
    RemoteDropped = 8,
    /// The peer took too long.
    RemoteTimeout = 9,
    /// Nothing was heard, and nobody knows which end it is.
    NetworkTimeout = 10,
}

impl Cause {
    /// All, in the order of their numbers.
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

    /// Whether it lowers the health of this node's interface.
    pub const fn blames_ni(self) -> bool {
        (self as u8) < Self::RemoteError as u8 || matches!(self, Self::NetworkTimeout)
    }

    /// Whether it lowers the health of the peer's interface.
    pub const fn blames_peer_ni(self) -> bool {
        self as u8 >= Self::RemoteError as u8
    }

    /// Whether the message may be sent again by what the kernel knows: that it has not been delivered.
    pub const fn is_safe_to_resend(self) -> bool {
        !matches!(self, Self::LocalError | Self::RemoteError | Self::RemoteTimeout | Self::NetworkTimeout)
    }

    /// As the kernel's tools name it.
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

/// Whether the peer may have a message that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It has not, not all of it.
    NotSent,
    /// Perhaps; and it would take it for another if it came again.
    Unknown,
    /// Perhaps; and it would know it again if it came by another path under the same id
    /// ([`crate::Message::message_id`]).
    Deduplicated,
}

/// A message that a driver has not sent, or of which it does not know that it has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendFailure {
    /// What the message's owner is told if it is not sent again.
    pub errno: Errno,
    /// What health and resending go by.
    pub cause: Cause,
    /// Whether it may have arrived all the same.
    pub delivery: Delivery,
}

impl SendFailure {
    /// A failure of a message of which nothing has left.
    pub const fn unsent(errno: Errno, cause: Cause) -> Self {
        Self { errno, cause, delivery: Delivery::NotSent }
    }
}

/// Of a message that waited to be sent: what is wrong when a connection is not to be had (core-behaviour 4.3, the
/// mapping of the TCP
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

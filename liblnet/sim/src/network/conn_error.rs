//! Reasons why a message could not be delivered, and the failures that senders get: as with the TCP driver.

use lnet_core::{Cause, Delivery, Errno, SendFailure};

/// The reason why a message did not reach its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnError {
    /// No node listens at the address.
    Refused,
    /// The receiver ended the connection, or is gone.
    EndedByPeer,
    /// Nothing was received for a second, and there is another path.
    Unresponsive,
    /// Nothing was confirmed within the timeout.
    Stalled,
    /// A message that was sent while it arrived could not be completed in time.
    Abandoned,
    /// The core aborted the message, for this cause.
    Aborted(Cause),
    /// The interface, or its node, is shut down.
    Shutdown,
}

impl ConnError {
    /// The failure of a message; `left`: whether a part of it was sent.
    pub(crate) fn failure(self, left: bool, deduplicated: bool) -> SendFailure {
        let delivery = match (left, deduplicated) {
            (false, _) => Delivery::NotSent,
            (true, false) => Delivery::Unknown,
            (true, true) => Delivery::Deduplicated,
        };
        let delivery = if self == Self::Abandoned { Delivery::Abandoned } else { delivery };
        SendFailure { errno: self.errno(), cause: self.cause(left), delivery }
    }

    const fn errno(self) -> Errno {
        match self {
            Self::Refused => Errno::ConnectionRefused,
            Self::EndedByPeer => Errno::ConnectionReset,
            Self::Unresponsive | Self::Stalled => Errno::TimedOut,
            Self::Aborted(cause) => match cause {
                Cause::LocalTimeout | Cause::RemoteTimeout | Cause::NetworkTimeout => Errno::TimedOut,
                Cause::LocalAborted => Errno::Cancelled,
                Cause::RemoteError | Cause::RemoteDropped => Errno::HostUnreachable,
                _ => Errno::NetworkDown,
            },
            Self::Abandoned => Errno::ConnectionAborted,
            Self::Shutdown => Errno::Shutdown,
        }
    }

    const fn cause(self, left: bool) -> Cause {
        match (self, left) {
            (Self::Refused, _) | (Self::EndedByPeer, false) => Cause::RemoteDropped,
            (Self::EndedByPeer, true) => Cause::RemoteError,
            (Self::Unresponsive, _) => Cause::NetworkTimeout,
            (Self::Stalled, false) => Cause::LocalTimeout,
            (Self::Stalled, true) => Cause::RemoteTimeout,
            (Self::Aborted(cause), _) => cause,
            (Self::Abandoned | Self::Shutdown, _) => Cause::LocalAborted,
        }
    }

    /// A text for reports.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Refused => "nobody listens there",
            Self::EndedByPeer => "its connection broke",
            Self::Unresponsive => "the path is unresponsive, and there is another",
            Self::Stalled => "it was not confirmed in time",
            Self::Abandoned => "a message on its connection did not arrive",
            Self::Aborted(_) => "the core aborted it",
            Self::Shutdown => "its interface ends",
        }
    }
}

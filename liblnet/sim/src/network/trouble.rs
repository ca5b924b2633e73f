//! Why a message comes back, and what its sender is told: as the TCP driver does.

use lnet_core::{Cause, Delivery, Errno, SendFailure};

/// What kept a message from its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nobody listens there.
    Refused,
    /// The receiver ended the connection, or is gone.
    EndedByPeer,
    /// Nothing was heard for a second, and there is another way.
    Silent,
    /// Nothing was confirmed in the time that there is for it.
    Stalled,
    /// The core knows why.
    BrokenOff(Cause),
    /// The interface, or its node, ends.
    Shutdown,
}

impl Trouble {
    /// What the sender of a message is told of which so much has left.
    pub(crate) fn failure(self, left: bool, known_again: bool) -> SendFailure {
        let delivery = match (left, known_again) {
            (false, _) => Delivery::NotSent,
            (true, false) => Delivery::Unknown,
            (true, true) => Delivery::Deduplicated,
        };
        SendFailure { errno: self.errno(), cause: self.cause(left), delivery }
    }

    const fn errno(self) -> Errno {
        match self {
            Self::Refused => Errno::ConnectionRefused,
            Self::EndedByPeer => Errno::ConnectionReset,
            Self::Silent | Self::Stalled => Errno::TimedOut,
            Self::BrokenOff(cause) => match cause {
                Cause::LocalTimeout | Cause::RemoteTimeout | Cause::NetworkTimeout => Errno::TimedOut,
                Cause::LocalAborted => Errno::Cancelled,
                Cause::RemoteError | Cause::RemoteDropped => Errno::HostUnreachable,
                _ => Errno::NetworkDown,
            },
            Self::Shutdown => Errno::Shutdown,
        }
    }

    const fn cause(self, left: bool) -> Cause {
        match (self, left) {
            (Self::Refused, _) | (Self::EndedByPeer, false) => Cause::RemoteDropped,
            (Self::EndedByPeer, true) => Cause::RemoteError,
            (Self::Silent, _) => Cause::NetworkTimeout,
            (Self::Stalled, false) => Cause::LocalTimeout,
            (Self::Stalled, true) => Cause::RemoteTimeout,
            (Self::BrokenOff(cause), _) => cause,
            (Self::Shutdown, _) => Cause::LocalAborted,
        }
    }

    /// For people.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Refused => "nobody listens there",
            Self::EndedByPeer => "its connection broke",
            Self::Silent => "its receiver is silent, and there is another way",
            Self::Stalled => "it was not confirmed in time",
            Self::BrokenOff(_) => "the core broke its connection off",
            Self::Shutdown => "its interface ends",
        }
    }
}

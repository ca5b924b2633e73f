//! Failure of a message (core-behaviour 4.3), derived from the event at its connection and from whether any byte had left.

use lnet_core::{Cause, Delivery, Errno, SendFailure};

/// The reason why messages did not reach their peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnError {
    /// The peer has no connection that messages may go over, and this node cannot connect to it.
    NoRoute,
    /// Connecting to the peer failed with this error.
    NotConnected(Errno),
    /// No connection came up in the time that a message may wait.
    WaitedTooLong,
    /// Writing to the socket failed with this error.
    WriteFailed(Errno),
    /// No progress, or no delivery ACK, within the timeout; or TCP itself gave up.
    Stalled,
    /// The peer closed or reset its connections, or has been restarted.
    ClosedByPeer(Errno),
    /// The peer broke the protocol.
    BrokenByPeer,
    /// This node could not continue, because of this error.
    Local(Errno),
    /// The peer has been unresponsive while messages were under way, and there is another path for them.
    Unresponsive,
    /// The core knows with this cause that nothing reaches the peer.
    Aborted(Cause),
    /// The sender of a message that was sent on while it arrived has stalled: the message cannot be completed.
    Abandoned,
    /// Connections of another version have replaced this one.
    Replaced,
    /// The peer supports no version in which the message fits.
    NotSupported,
    /// The NI shuts down.
    Shutdown,
}

/// The amount of a message that had been given to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BytesSent {
    /// No byte was sent.
    Nothing,
    /// At least one byte was sent, perhaps all.
    Something,
}

impl ConnError {
    /// The error that the owner of a message gets.
    pub const fn errno(self) -> Errno {
        match self {
            Self::NoRoute | Self::NotSupported => Errno::HostUnreachable,
            Self::NotConnected(errno)
            | Self::WriteFailed(errno)
            | Self::ClosedByPeer(errno)
            | Self::Local(errno) => errno,
            Self::WaitedTooLong | Self::Stalled | Self::Unresponsive => Errno::TimedOut,
            Self::BrokenByPeer => Errno::Protocol,
            Self::Aborted(cause) => match cause {
                Cause::LocalTimeout | Cause::RemoteTimeout | Cause::NetworkTimeout => Errno::TimedOut,
                Cause::LocalInterrupt | Cause::LocalDropped | Cause::LocalNoRoute | Cause::LocalError => {
                    Errno::NetworkDown
                }
                Cause::LocalAborted => Errno::Cancelled,
                Cause::RemoteError | Cause::RemoteDropped => Errno::HostUnreachable,
            },
            Self::Abandoned => Errno::ConnectionAborted,
            Self::Replaced => Errno::ConnectionReset,
            Self::Shutdown => Errno::Shutdown,
        }
    }

    /// Whether TCP's send queue is to be discarded when a connection ends for this reason: its bytes must not be delivered
    /// later, in addition to what is resent.
    pub const fn is_abort(self) -> bool {
        matches!(self, Self::Stalled | Self::Unresponsive | Self::Aborted(_) | Self::Abandoned)
    }

    /// Returns the failure that health and resending need, for a message of which `left` had been sent.
    pub fn failure(self, left: BytesSent) -> SendFailure {
        let delivery = match left {
            BytesSent::Nothing => Delivery::NotSent,
            BytesSent::Something => Delivery::Unknown,
        };
        let delivery = match self {
            Self::Abandoned => Delivery::Abandoned,
            Self::NotSupported => Delivery::DoesNotFit,
            _ => delivery,
        };
        SendFailure { errno: self.errno(), cause: self.cause(left), delivery }
    }

    /// Returns the cause. Where core-behaviour 4.3 does not cover a case, it names the side at fault. A peer that closes,
    /// or that breaks the protocol, must not be able to lower the health of this node's NI; in the kernel it can.
    fn cause(self, left: BytesSent) -> Cause {
        match (self, left) {
            (Self::NoRoute | Self::NotSupported, _)
            | (Self::ClosedByPeer(_) | Self::BrokenByPeer | Self::Replaced, BytesSent::Something) => {
                Cause::RemoteError
            }
            (Self::WaitedTooLong, _) | (Self::Stalled, BytesSent::Nothing) => Cause::LocalTimeout,
            (Self::Stalled | Self::WriteFailed(Errno::TimedOut), BytesSent::Something) => {
                Cause::RemoteTimeout
            }
            (Self::ClosedByPeer(_) | Self::BrokenByPeer | Self::Replaced, BytesSent::Nothing) => {
                Cause::RemoteDropped
            }
            (
                Self::NotConnected(errno) | Self::Local(errno) | Self::WriteFailed(errno),
                BytesSent::Nothing,
            ) => {
                match SendFailure::from(errno).cause {
                    // A message of which nothing was sent may take another path, whatever the local failure; in the kernel it
                    // may not.
                    Cause::LocalError => Cause::LocalDropped,
                    cause => cause,
                }
            }
            (Self::NotConnected(_) | Self::Local(_) | Self::WriteFailed(_), BytesSent::Something) => {
                Cause::LocalError
            }
            (Self::Unresponsive, _) => Cause::NetworkTimeout,
            (Self::Aborted(cause), _) => cause,
            (Self::Abandoned | Self::Shutdown, _) => Cause::LocalAborted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Cause::{
        LocalAborted, LocalDropped, LocalError, LocalTimeout, RemoteDropped, RemoteError, RemoteTimeout,
    };

    #[test]
    fn the_cause_follows_from_the_error_and_whether_any_byte_had_left() {
        let refused = Errno::ConnectionRefused;
        for (conn_error, errno, unsent, sent) in [
            (ConnError::NoRoute, Errno::HostUnreachable, RemoteError, RemoteError),
            (ConnError::NotConnected(refused), refused, RemoteDropped, LocalError),
            (
                ConnError::NotConnected(Errno::ConnectionReset),
                Errno::ConnectionReset,
                RemoteDropped,
                LocalError,
            ),
            (
                ConnError::NotConnected(Errno::HostUnreachable),
                Errno::HostUnreachable,
                RemoteDropped,
                LocalError,
            ),
            (
                ConnError::NotConnected(Errno::NetworkUnreachable),
                Errno::NetworkUnreachable,
                RemoteDropped,
                LocalError,
            ),
            (ConnError::NotConnected(Errno::NetworkDown), Errno::NetworkDown, RemoteDropped, LocalError),
            (ConnError::NotConnected(Errno::TimedOut), Errno::TimedOut, LocalTimeout, LocalError),
            (ConnError::NotConnected(Errno::NoMemory), Errno::NoMemory, LocalDropped, LocalError),
            (ConnError::WaitedTooLong, Errno::TimedOut, LocalTimeout, LocalTimeout),
            (ConnError::WriteFailed(Errno::NoMemory), Errno::NoMemory, LocalDropped, LocalError),
            (
                ConnError::WriteFailed(Errno::HostUnreachable),
                Errno::HostUnreachable,
                RemoteDropped,
                LocalError,
            ),
            (ConnError::WriteFailed(Errno::TimedOut), Errno::TimedOut, LocalTimeout, RemoteTimeout),
            (ConnError::Stalled, Errno::TimedOut, LocalTimeout, RemoteTimeout),
            (
                ConnError::ClosedByPeer(Errno::ConnectionReset),
                Errno::ConnectionReset,
                RemoteDropped,
                RemoteError,
            ),
            (ConnError::ClosedByPeer(Errno::Pipe), Errno::Pipe, RemoteDropped, RemoteError),
            (ConnError::BrokenByPeer, Errno::Protocol, RemoteDropped, RemoteError),
            (ConnError::Local(Errno::NoMemory), Errno::NoMemory, LocalDropped, LocalError),
            (ConnError::Unresponsive, Errno::TimedOut, Cause::NetworkTimeout, Cause::NetworkTimeout),
            (ConnError::Replaced, Errno::ConnectionReset, RemoteDropped, RemoteError),
            (ConnError::Shutdown, Errno::Shutdown, LocalAborted, LocalAborted),
        ] {
            let unsent = SendFailure { errno, cause: unsent, delivery: Delivery::NotSent };
            let sent = SendFailure { errno, cause: sent, delivery: Delivery::Unknown };
            assert_eq!(conn_error.failure(BytesSent::Nothing), unsent, "{conn_error:?}");
            assert_eq!(conn_error.failure(BytesSent::Something), sent, "{conn_error:?}");
        }
    }

    #[test]
    fn a_message_that_the_peer_has_no_version_for_was_not_sent_and_blames_no_path() {
        let failure = ConnError::NotSupported.failure(BytesSent::Nothing);
        assert_eq!((failure.errno, failure.delivery), (Errno::HostUnreachable, Delivery::DoesNotFit));
    }

    #[test]
    fn a_message_that_the_core_aborts_comes_back_with_the_cores_cause() {
        for cause in Cause::ALL {
            for (left, delivery) in
                [(BytesSent::Nothing, Delivery::NotSent), (BytesSent::Something, Delivery::Unknown)]
            {
                let failure = ConnError::Aborted(cause).failure(left);
                assert_eq!((failure.cause, failure.delivery), (cause, delivery));
                let is_timeout = failure.errno == Errno::TimedOut;
                assert_eq!(is_timeout, cause.text().ends_with("TIMEOUT"), "{cause:?}");
            }
        }
    }
}

//! The inputs of the step function of discovery, and the actions it returns.

use super::Step;
use lnet_wire::ping_info::{PingInfo, ReceivedPingInfo};
use lnet_wire::{Errno, NetId, Nid};

/// An event that concerns the discovery of a peer.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// The peer has been taken from the queue: the step function decides the next action.
    Look,
    /// A message waits for the discovery of the peer, or a caller waits for it.
    Wanted,
    /// The peer is to be pinged again; with `force` also pushed to again (DI-35).
    Examine { force: bool },
    /// The peer is a gateway and is to be checked (RT-30): as [`Input::Examine`] with `force`, on its net `net` if given.
    Check { net: Option<NetId> },
    /// The REPLY to a ping arrived.
    Reply { received: Box<ReceivedPingInfo>, path: (Nid, Nid) },
    /// The REPLY to a ping could not be decoded.
    BadReply,
    /// The ping could not be sent, or no REPLY arrived in time.
    PingFailed(Errno),
    /// A push from the peer arrived. `may_be_stale`: the peer is unknown and may have been removed shortly before,
    /// together with its sequence number.
    Pushed { received: Box<ReceivedPingInfo>, path: (Nid, Nid), may_be_stale: bool },
    /// A push from the peer could not be decoded.
    BadPush { path: (Nid, Nid) },
    /// The node with this NID acknowledged a push of this sequence number.
    PushAcked(u32, Nid),
    /// A node other than the peer acknowledged a push to it.
    AckedByAnother,
    /// The push could not be sent, or no ACK arrived in time.
    PushFailed(Errno),
    /// The received ping information has been merged, as far as possible.
    Merged,
    /// The REPLY that was attributed to the peer came from another peer.
    AnotherResponded,
    /// The received ping information, with this sequence number, is older than that received from another NID of the
    /// peer.
    StaleReply(u32),
    /// The peer is to be pinged again: another peer claims one of its NIDs, or a NID that it claims has become free.
    Reverify,
    /// The peer has restarted.
    Restarted,
    /// The configuration of this node has changed; with `force` it is also pushed to peers that do not discover.
    Changed { force: bool },
    /// Discovery has been switched on.
    SwitchedOn,
}

/// The action to take for a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepAction {
    /// No action.
    Nothing,
    /// Put the peer in the queue.
    Queue,
    /// Remove the peer and its discovery state; requests that wait for it start again.
    Forget,
    /// Merge the received ping information.
    Merge(Box<PingInfo>),
    /// Ping the peer.
    Ping,
    /// Push to the peer.
    Push,
    /// Decide again at once ([`Input::Look`]).
    Repeat,
    /// Wait for the next input.
    Wait,
    /// The peer is discovered: the requests that wait for it are sent.
    Finish,
    /// The discovery failed: the requests that wait for it fail.
    GiveUp(Step, Errno),
}

//! What happens to a peer that is discovered, and what follows from it at once.

use super::Step;
use lnet_wire::ping_info::{PingInfo, ReceivedPingInfo};
use lnet_wire::{Errno, Nid};

/// What happens to a peer.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Its turn has come.
    Look,
    /// A message for it waits, or somebody wants to know it.
    Wanted,
    /// It is to be asked anew; with `force` also told anew (DI-35).
    Examine { force: bool },
    /// It answered a ping.
    Reply { received: Box<ReceivedPingInfo>, path: (Nid, Nid) },
    /// Its answer to a ping makes no sense.
    BadReply,
    /// A ping did not get there, or its answer did not come.
    PingFailed(Errno),
    /// It pushed its NIDs. `may_be_stale`: if nothing is known of it, that may be because it was forgotten.
    Pushed { received: Box<ReceivedPingInfo>, path: (Nid, Nid), may_be_stale: bool },
    /// It pushed something that makes no sense.
    BadPush { path: (Nid, Nid) },
    /// It confirmed a push of this configuration of this node, by this NID.
    PushAcked(u32, Nid),
    /// Another confirmed a push to it.
    AckedByAnother,
    /// A push did not get there, or was not confirmed.
    PushFailed(Errno),
    /// What it said has been followed, as far as it could be.
    Merged,
    /// The answer that was taken for its own came from another peer.
    AnsweredByAnother,
    /// What it said, with this sequence number, is older than what it said by another NID.
    StaleReply(u32),
    /// It is to be asked again: another peer claims one of its NIDs, or a NID that it claims is free now.
    Reverify,
    /// This node has something new to tell; with `force` to those, too, that are not discovered.
    Changed { force: bool },
    /// This node begins to discover.
    SwitchedOn,
}

/// What is to be done for a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepAction {
    /// Nothing.
    Nothing,
    /// Put it in the queue.
    Queue,
    /// Forget it, and what it was; whoever waits begins anew.
    Forget,
    /// Follow what it said.
    Merge(Box<PingInfo>),
    /// Ping it.
    Ping,
    /// Push to it.
    Push,
    /// Look once more.
    Again,
    /// Leave it until something happens.
    Wait,
    /// It is discovered: whoever waits goes on.
    Finish,
    /// It cannot be: whoever waits is told so.
    GiveUp(Step, Errno),
}

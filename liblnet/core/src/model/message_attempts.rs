//! What the node keeps about the attempts to send a message.

use super::provenance::MessageOrigin;
use crate::credit::NiCredit;
use lnet_wire::Nid;

/// The attempts to send a message before the present one.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// The number of resends.
    pub(crate) resends: u32,
    /// The number of resends on paths that had failed.
    pub(crate) retries: u32,
    /// The paths that have failed since every path was last tried: local NID, peer NID.
    pub(crate) failed: Vec<(Nid, Nid)>,
    /// Whether failed paths on which something was received later have been made available again.
    pub(crate) has_returned: bool,
    /// Whether selection prefers an unresponsive path to a failed one that was made available again.
    pub(crate) tries_unresponsive: bool,
}

/// The origin of a message, and whether it is sent with the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KnownOrigin {
    /// The message was not sent to a gateway of this library.
    #[default]
    None,
    /// The next hop knows the origin without being told: it is the name that the driver gave the message.
    Implied(MessageOrigin),
    /// The origin is sent with the message, because the next hop cannot know it otherwise.
    Carried(MessageOrigin),
}

/// The gateway that a message was sent to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gateway {
    /// `PeerNi::connection_epoch` of the gateway when the message was sent.
    pub(crate) connection_epoch: u32,
    /// Whether the gateway will confirm the message.
    pub(crate) confirms: bool,
}

/// The send credits that a message holds and must return once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldCredits {
    pub(crate) peer: bool,
    /// The NI credit; `None` while the message waits for one.
    pub(crate) ni: Option<NiCredit>,
}

impl Attempts {
    /// Makes these the attempts of a new message. Keeps the memory of the list.
    pub(crate) fn clear(&mut self) {
        let Self { resends, retries, failed, has_returned, tries_unresponsive } = self;
        (*resends, *retries) = (0, 0);
        failed.clear();
        (*has_returned, *tries_unresponsive) = (false, false);
    }
}

impl KnownOrigin {
    pub(crate) const fn name(self) -> Option<MessageOrigin> {
        match self {
            Self::None => None,
            Self::Implied(origin) | Self::Carried(origin) => Some(origin),
        }
    }
}

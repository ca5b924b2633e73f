//! Where a message comes from that gateways forward, and what they say of it.

use std::num::NonZeroU64;

/// A message as all nodes that it passes know it, whatever way it takes: named by the driver of the node that sent it first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageOrigin {
    /// The node that sent it first, in one incarnation. The topmost bit is set if a gateway on the way does not believe that, and 0 otherwise.
    pub node: NonZeroU64,
    /// The message among those of the node.
    pub id: NonZeroU64,
}

/// Of [`MessageOrigin::node`].
const REFUSED: u64 = 1 << 63;

impl MessageOrigin {
    /// The same, which the destination is not to believe.
    pub(crate) const fn refused(self) -> Self {
        match NonZeroU64::new(self.node.get() | REFUSED) {
            Some(node) => Self { node, ..self },
            None => self,
        }
    }

    /// Whether a gateway does not believe it.
    pub(crate) const fn is_refused(self) -> bool {
        self.node.get() & REFUSED != 0
    }
}

/// The origin that a message brings which a gateway forwards, or which is sent over another gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedOrigin {
    /// Of which message.
    pub origin: MessageOrigin,
    /// Whether the destination may have the message already.
    pub may_have_arrived: bool,
}

/// What a driver knows of a message that arrives, besides its header. Empty for a message of another implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// As the node names it that has sent it here: for [`super::lnd::LndNi::confirm`].
    pub hop: Option<MessageOrigin>,
    /// Of a forwarded message, or one that has been sent before: its origin, as the node says that has sent it here. The origin of any
    /// other is `hop`.
    pub carried: Option<CarriedOrigin>,
}

/// What a gateway says of a message that it was to forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The node behind it has the message.
    Delivered,
    /// The gateway could not forward it; nothing of it has left.
    NotDelivered,
    /// The gateway could not forward it; the destination may have it nevertheless.
    Unknown,
    /// The same, and the destination could not tell a copy from it.
    Withheld,
}

impl Provenance {
    /// Whether the node that has sent the message here says that it is the origin itself.
    pub(crate) fn is_from_its_origin(&self) -> bool {
        self.hop.zip(self.carried).is_some_and(|(hop, carried)| hop.node == carried.origin.node)
    }

    /// The origin of a message that is forwarded, and whether the destination may have it already.
    pub(crate) fn origin(&self) -> Option<CarriedOrigin> {
        let first = |origin| CarriedOrigin { origin, may_have_arrived: false };
        self.carried.or_else(|| self.hop.map(first))
    }
}

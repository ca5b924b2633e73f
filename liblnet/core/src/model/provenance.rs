//! The origin of messages that gateways forward, and the confirmations that gateways send.

use std::num::NonZeroU64;

/// The name of a message that all nodes on its path know it by, given by the driver of the node that sent it first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageOrigin {
    /// The node that sent the message first, in one incarnation. The topmost bit is set if a gateway refused the origin, and 0
    /// otherwise.
    pub node: NonZeroU64,
    /// The number of the message, unique among those of the node.
    pub id: NonZeroU64,
}

/// The bit of [`MessageOrigin::node`] that marks an origin as refused by a gateway.
const REFUSED: u64 = 1 << 63;

impl MessageOrigin {
    /// The same origin, marked as refused by this gateway: the destination does not recognise copies by it.
    pub(crate) const fn refused(self) -> Self {
        match NonZeroU64::new(self.node.get() | REFUSED) {
            Some(node) => Self { node, ..self },
            None => self,
        }
    }

    /// Whether a gateway refused the origin.
    pub(crate) const fn is_refused(self) -> bool {
        self.node.get() & REFUSED != 0
    }
}

/// The origin that accompanies a message which a gateway forwards, or which is resent over another gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedOrigin {
    /// The name of the message.
    pub origin: MessageOrigin,
    /// Whether the destination may have the message already.
    pub may_have_arrived: bool,
}

/// The information of a driver about an arriving message beside the header. Empty if the sender is of another implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The name that the previous hop gave the message, for [`super::lnd::LndNi::confirm`].
    pub hop: Option<MessageOrigin>,
    /// The origin that the previous hop reports, for a message that is forwarded or was sent before. The origin of any other
    /// message is its `hop`.
    pub carried: Option<CarriedOrigin>,
    /// Whether the sender of a GET takes the REPLY from the driver itself, as over RDMA: the REPLY leaves by the interface and to the
    /// peer NI that the GET came by, and is not resent. Such a GET is for this node, and is not forwarded.
    pub reply_here: bool,
}

/// The result that a gateway reports for a message that it was to forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The next node on the path has the message.
    Delivered,
    /// The gateway could not forward the message; none of it was sent on.
    NotDelivered,
    /// The gateway could not forward the message; the destination may have it nevertheless.
    Unknown,
    /// The gateway could not forward the message, and the destination may have it but could not recognise a copy.
    Withheld,
}

impl Provenance {
    /// Whether the previous hop reports itself as the origin.
    pub(crate) fn is_from_its_origin(&self) -> bool {
        self.hop.zip(self.carried).is_some_and(|(hop, carried)| hop.node == carried.origin.node)
    }

    /// The origin of a message that is forwarded, and whether the destination may have it already.
    pub(crate) fn origin(&self) -> Option<CarriedOrigin> {
        let first = |origin| CarriedOrigin { origin, may_have_arrived: false };
        self.carried.or_else(|| self.hop.map(first))
    }
}

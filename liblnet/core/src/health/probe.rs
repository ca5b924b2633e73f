//! Pings that are to find out whether something works again.

use super::recovery_queues::{Entry, NiKind};
use crate::memory::MdHandle;
use lnet_wire::Nid;

/// What is to be done about pings, in this order.
#[derive(Debug)]
pub(crate) enum ProbeAction {
    /// End this one, which nobody has answered. It may have ended by itself.
    End(MdHandle),
    /// Send this one, and tell [`super::Health::probe_sent`].
    Send(Probe),
}

/// A ping from an interface of this node's to one of a peer's, or to this node itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) local: Nid,
    pub(crate) peer: Nid,
    pub(super) purpose: Purpose,
}

/// What a ping is sent for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// An unhealthy interface.
    Recovery(NiKind, Entry),
    /// An unresponsive path.
    Unresponsive,
    /// A suspect path.
    Suspect,
}

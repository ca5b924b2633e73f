//! Pings that test whether an interface or a path has recovered.

use super::recovery_queues::{NiKind, QueuedNi};
use crate::memory::MdHandle;
use lnet_wire::Nid;

/// Pings to send and to end, in this order.
#[derive(Debug)]
pub(crate) enum ProbeAction {
    /// Unlink the MD of a ping without response. It may have been unlinked already.
    End(MdHandle),
    /// Send this ping, and call [`super::Health::probe_sent`].
    Send(Probe),
}

/// A ping from a local NI to a peer NI, or to this node itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) local: Nid,
    pub(crate) peer: Nid,
    pub(super) purpose: Purpose,
}

/// The subject that a ping tests.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// The ping tests an unhealthy interface.
    Recovery(NiKind, QueuedNi),
    /// The ping tests an unresponsive path.
    Unresponsive,
    /// The ping tests a suspect path.
    Suspect,
}

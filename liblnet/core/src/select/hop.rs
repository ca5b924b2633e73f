//! The next hop of a message that goes through a gateway.

use crate::model::{ActiveRoute, Ni, PeerNi, RouteState};
use std::sync::Arc;

/// The next hop of a message to a net that this node is not on.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    pub(super) ni: Arc<Ni>,
    /// The gateway.
    pub(super) peer_ni: Arc<PeerNi>,
    pub(super) route: Arc<ActiveRoute>,
    pub(super) route_state: RouteState,
}

//! The state of a node that a file is compared with.

use crate::present::Present;
use crate::request::Peer;

/// The present configuration of a node, with its peers.
#[derive(Clone, Debug, Default)]
pub(super) struct Now {
    pub(super) config: Present,
    pub(super) peers: Vec<Peer>,
    /// Whether names of interfaces mean their IPv6 addresses.
    pub(super) large_nids: bool,
}

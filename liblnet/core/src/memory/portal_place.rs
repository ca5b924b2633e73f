//! Where a PUT or GET goes on its target.

use lnet_wire::Body;
use std::fmt;

/// Where a PUT or GET goes on its target, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortalPlace {
    portal: u32,
    match_bits: u64,
    offset: u32,
}

impl PortalPlace {
    /// `None` for a response.
    pub(crate) const fn of(body: &Body) -> Option<Self> {
        match *body {
            Body::Put { portal, match_bits, offset, .. } | Body::Get { portal, match_bits, offset, .. } => {
                Some(Self { portal, match_bits, offset })
            }
            Body::Ack { .. } | Body::Reply { .. } => None,
        }
    }
}

impl fmt::Display for PortalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { portal, match_bits, offset } = self;
        write!(f, "portal {portal}, match bits {match_bits:#x}, offset {offset}")
    }
}

//! The place on the target that a PUT or GET addresses.

use lnet_wire::Body;
use std::fmt;

/// The place on the target that a PUT or GET addresses, for log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortalPlace {
    portal: u32,
    match_bits: u64,
    offset: u32,
}

impl PortalPlace {
    pub(crate) const fn new(portal: u32, match_bits: u64, offset: u32) -> Self {
        Self { portal, match_bits, offset }
    }

    /// The place that a message addresses; `None` for a response.
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

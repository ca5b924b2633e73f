//! The reachability of a peer, as a node reports it in its own process and over the control socket.

use std::fmt;

/// Whether a peer can be reached, as far as a node has noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Reachability {
    /// Nothing has ever arrived from the peer, and not every path to it has been found unresponsive.
    #[default]
    Unknown,
    /// Every path to the peer can be used.
    Reachable,
    /// Some paths can be used and others cannot any more: they are unresponsive, or an interface at one end is down.
    Degraded,
    /// No path can be used.
    Unreachable,
}

impl Reachability {
    /// The name in lower case.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Reachable => "reachable",
            Self::Degraded => "degraded",
            Self::Unreachable => "unreachable",
        }
    }
}

impl fmt::Display for Reachability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

//! The match criteria of match entries.

use crate::md::Access;
use lnet_wire::{Nid, Pid, ProcessId};

/// The initiator that an entry accepts; `None` accepts any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchId {
    /// The peer, by its primary NID.
    pub nid: Option<Nid>,
    /// The PID of the peer's process.
    pub pid: Option<Pid>,
}

impl MatchId {
    /// Any process of any peer.
    pub const ANY: Self = Self { nid: None, pid: None };
}

/// The position of a new entry in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertPosition {
    /// Before the others (`LNET_INS_BEFORE`).
    Before,
    /// After the others (`LNET_INS_AFTER`).
    After,
    /// After the others, like `After`, as each portal has one list, not one per CPU partition (`LNET_INS_LOCAL`).
    Local,
}

/// The two kinds of portals (MA-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortalKind {
    /// Every entry names one process and all match bits.
    Unique,
    /// Any entry may omit the process or have ignore bits.
    Wildcard,
}

/// The criteria of a match entry: initiator and match bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Criteria {
    pub(crate) from: MatchId,
    pub(crate) match_bits: u64,
    pub(crate) ignore_bits: u64,
}

/// A PUT or GET that is matched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchRequest {
    /// The process that sent the request, by primary NID (TRAP-13).
    pub(crate) initiator: ProcessId,
    pub(crate) match_bits: u64,
    pub(crate) access: Access,
}

impl Criteria {
    pub(crate) fn kind(&self) -> PortalKind {
        match self {
            Self { from: MatchId { nid: Some(_), pid: Some(_) }, ignore_bits: 0, .. } => PortalKind::Unique,
            _ => PortalKind::Wildcard,
        }
    }

    /// Whether the entry accepts the request by rules 3 and 4 of c-abi 3.3.
    pub(crate) fn accept(&self, request: &MatchRequest) -> bool {
        (self.match_bits ^ request.match_bits) & !self.ignore_bits == 0
            && self.from.nid.is_none_or(|nid| nid == request.initiator.nid)
            && self.from.pid.is_none_or(|pid| pid == request.initiator.pid)
    }
}

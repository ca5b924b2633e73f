//! The match criteria of match entries.

use crate::memory::Access;
use lnet_wire::{Nid, Pid, ProcessId};

/// The initiator that an entry accepts; `None` is any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchId {
    /// The peer, by its primary NID.
    pub nid: Option<Nid>,
    /// Its process.
    pub pid: Option<Pid>,
}

impl MatchId {
    /// Anybody.
    pub const ANY: Self = Self { nid: None, pid: None };
}

/// The position of a new entry among its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertPosition {
    /// Before the others (`LNET_INS_BEFORE`).
    Before,
    /// After them (`LNET_INS_AFTER`).
    After,
    /// As `After`: there is one list per portal, not one per CPU partition (`LNET_INS_LOCAL`).
    Local,
}

/// The two kinds of portals (MA-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Every entry names one process and all match bits.
    Unique,
    /// Anything else.
    Wildcard,
}

/// Match criteria.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Criteria {
    pub(crate) from: MatchId,
    pub(crate) match_bits: u64,
    pub(crate) ignore_bits: u64,
}

/// A PUT or GET that is matched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchRequest {
    /// By primary NID (TRAP-13).
    pub(crate) initiator: ProcessId,
    pub(crate) match_bits: u64,
    pub(crate) access: Access,
}

impl Criteria {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self { from: MatchId { nid: Some(_), pid: Some(_) }, ignore_bits: 0, .. } => Kind::Unique,
            _ => Kind::Wildcard,
        }
    }

    /// Rules 3 and 4 of c-abi 3.3.
    pub(crate) fn accept(&self, request: &MatchRequest) -> bool {
        (self.match_bits ^ request.match_bits) & !self.ignore_bits == 0
            && self.from.nid.is_none_or(|nid| nid == request.initiator.nid)
            && self.from.pid.is_none_or(|pid| pid == request.initiator.pid)
    }
}

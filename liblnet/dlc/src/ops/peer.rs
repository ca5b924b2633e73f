//! Other nodes.

use crate::Rc;
use crate::report::{Report, SeqNo};
use crate::request::Backend;
use lnet_wire::{Nid, TextError};

/// What to do with a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modify {
    /// Make it or give it NIDs.
    Add {
        /// Whether it is multi-rail.
        multi_rail: bool,
        /// Whether discovery may not change its primary NID.
        lock_primary: bool,
    },
    /// Take NIDs from it or forget it.
    Del {
        /// Even if its primary NID is locked.
        force: bool,
    },
}

/// The most NIDs that one list may name (`LNET_MAX_NIDS_PER_PEER`).
pub const MAX_NIDS: usize = 128;

/// Every NID of a list of ranges, with blanks or commas between; at least one, at most `max`, and no `*`.
/// `lustre_lnet_parse_nidstr`.
pub fn parse_nids(text: &str, max: usize) -> Result<Vec<Nid>, TextError> {
    todo!("{text} {max}")
}

/// Makes, changes or forgets a peer. `nids` is a list of ranges for [`parse_nids`]. A refused NID ends it;
/// those before stay. `lustre_lnet_modify_peer`.
pub fn modify(
    backend: &dyn Backend,
    primary: Option<&str>,
    nids: Option<&str>,
    what: Modify,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    todo!("{primary:?} {nids:?} {what:?} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Shows the peer with this NID, or all (DLC sheet 2.5). `lustre_lnet_show_peer`.
pub fn show(
    backend: &dyn Backend,
    nid: Option<&str>,
    detail: u32,
    seq_no: SeqNo,
    report: &mut Report,
    backup: bool,
) -> Rc {
    todo!("{nid:?} {detail} {seq_no:?} {report:?} {backup} {}", size_of_val(backend))
}

/// Shows the primary NIDs of all peers. `lustre_lnet_list_peer`.
pub fn list(backend: &dyn Backend, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Sets the health value of one peer NI or, without a NID, of all; -1 is 1000.
/// `lustre_lnet_config_peer_ni_healthv`.
pub fn set_health(
    backend: &dyn Backend,
    value: i32,
    nid: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    todo!("{value} {nid:?} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Overwrites a peer's state word, for debugging. `lustre_lnet_set_peer_state`.
pub fn set_state(
    backend: &dyn Backend,
    state: u32,
    nid: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    todo!("{state} {nid:?} {seq_no:?} {report:?} {}", size_of_val(backend))
}

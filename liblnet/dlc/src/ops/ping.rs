//! Asking other nodes who they are.

use crate::Rc;
use crate::report::{Report, SeqNo};
use crate::request::Backend;

/// Pings every NID of a comma list of `[PID-]NID` (DLC sheet 1.6). 0 if at least one answered.
/// `lustre_lnet_ping_nid`; `timeout_ms` as there: not above 0, or above 180000, is 180000.
pub fn ping(
    backend: &dyn Backend,
    nids: &str,
    source: Option<&str>,
    timeout_ms: i32,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    todo!("{nids} {source:?} {timeout_ms} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Discovers every NID of such a list. `lustre_lnet_discover_nid`.
pub fn discover(backend: &dyn Backend, nids: &str, force: bool, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{nids} {force} {seq_no:?} {report:?} {}", size_of_val(backend))
}

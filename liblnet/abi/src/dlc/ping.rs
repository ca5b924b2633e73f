//! Functions that ping and discover nodes.

use super::{OnFailure, show, text};
use crate::cyaml::convert::TreeOut;
use crate::entry::InString;
use lnet_dlc::SeqNo;
use lnet_dlc::ops::ping;
use std::ffi::c_int;

/// Pings every node of the comma list pnid and shows its NIDs under ping. src_nidstr is the NID to send from, or
/// NULL; timeout is in milliseconds, and a value that is not positive or above 180000 means 180000. Returns 0 if at
/// least one node responded.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_ping_nid(
    pnid: InString<'_>,
    src_nidstr: InString<'_>,
    timeout: c_int,
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
) -> c_int {
    show("lustre_lnet_ping_nid", show_rc, err_rc, OnFailure::Drop, |node, report| {
        let (nids, source) = (text(pnid).unwrap_or_default(), text(src_nidstr));
        ping::ping(node, &nids, source.as_deref(), timeout, SeqNo::from_c(seq_no), report)
    })
}

/// Discovers the NIDs of every node of the comma list pnid, even of nodes that are known already, and shows them
/// under discover. If force is not 0 each node also gets this node's NIDs, even if it has them. err_rc has the
/// step that failed and the NID. Returns 0 if at least one node responded.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_discover_nid(
    pnid: InString<'_>,
    force: c_int,
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
) -> c_int {
    show("lustre_lnet_discover_nid", show_rc, err_rc, OnFailure::Drop, |node, report| {
        let nids = text(pnid).unwrap_or_default();
        ping::discover(node, &nids, force != 0, SeqNo::from_c(seq_no), report)
    })
}

//! Functions for the node's counters, and for the recovery queues.

use super::{OnFailure, call, show};
use crate::cyaml::convert::TreeOut;
use lnet_dlc::SeqNo;
use lnet_dlc::ops::{recovery, stats};
use std::ffi::c_int;

/// Shows the node's counters under statistics.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_show_stats(seq_no: c_int, show_rc: TreeOut, err_rc: TreeOut) -> c_int {
    show("lustre_lnet_show_stats", show_rc, err_rc, OnFailure::Drop, |node, report| {
        stats::show(node, SeqNo::from_c(seq_no), report)
    })
}

/// Sets the node's counters to 0.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_reset_stats(seq_no: c_int, err_rc: TreeOut) -> c_int {
    call("lustre_lnet_reset_stats", err_rc, |node, report| stats::reset(node, SeqNo::from_c(seq_no), report))
}

/// Shows the NIDs of this node that are being recovered; nothing if there are none.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_show_local_ni_recovq(
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
) -> c_int {
    show("lustre_lnet_show_local_ni_recovq", show_rc, err_rc, OnFailure::Drop, |node, report| {
        recovery::show_local(node, SeqNo::from_c(seq_no), report)
    })
}

/// Shows the NIDs of other nodes that are being recovered; nothing if there are none.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_show_peer_ni_recovq(
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
) -> c_int {
    show("lustre_lnet_show_peer_ni_recovq", show_rc, err_rc, OnFailure::Drop, |node, report| {
        recovery::show_peer(node, SeqNo::from_c(seq_no), report)
    })
}

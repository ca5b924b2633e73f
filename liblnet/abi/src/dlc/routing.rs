//! Functions for forwarding, and for router buffers.

use super::{OnFailure, call, show};
use crate::cyaml::convert::TreeOut;
use crate::types::Flag;
use lnet_dlc::SeqNo;
use lnet_dlc::ops::routing;
use std::ffi::c_int;

/// Switches forwarding for other nodes on (enable other than 0) or off (0).
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_enable_routing(enable: c_int, seq_no: c_int, err_rc: TreeOut) -> c_int {
    call("lustre_lnet_enable_routing", err_rc, |node, report| {
        routing::enable(node, enable != 0, SeqNo::from_c(seq_no), report)
    })
}

/// Sets the numbers of router buffers over all CPU partitions: 0 for the default, -1 for no
/// change. Without effect while forwarding is off.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_config_buffers(
    tiny: c_int,
    small: c_int,
    large: c_int,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    call("lustre_lnet_config_buffers", err_rc, |node, report| {
        routing::config_buffers(node, tiny, small, large, SeqNo::from_c(seq_no), report)
    })
}

/// Shows the router buffers under routing; nothing until forwarding has been switched on once.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_show_routing(
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
    backup: Flag,
) -> c_int {
    show("lustre_lnet_show_routing", show_rc, err_rc, OnFailure::Drop, |node, report| {
        routing::show(node, SeqNo::from_c(seq_no), report, backup != 0)
    })
}

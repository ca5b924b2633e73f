//! Functions for the library itself, and for LNet as a whole.

use super::call;
use crate::cyaml::convert::TreeOut;
use crate::types::Flag;
use lnet_dlc::SeqNo;
use lnet_dlc::ops::lnet::config_ni_system;
use lnet_dlc::request::Configure;
use std::ffi::c_int;

/// Prepares the library. Returns the number of a device, which is 0; other implementations return a
/// negative number on failure. There is nothing to prepare here: nothing is connected before it is needed.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_config_lib_init() -> c_int {
    0
}

/// Undoes lustre_lnet_config_lib_init, which is nothing.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_config_lib_uninit() {}

/// Starts LNet (up), with the nets that are configured for the start if load_ni_from_mod; or stops
/// it. Returns 0, also if there is nothing to do; -EBUSY if a program uses the node that is to be stopped.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_config_ni_system(
    up: Flag,
    load_ni_from_mod: Flag,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    let seq_no = SeqNo::from_c(seq_no);
    call("lustre_lnet_config_ni_system", err_rc, |node, report| {
        let start = Configure { nets: load_ni_from_mod != 0, large_nids: false };
        config_ni_system(node, (up != 0).then_some(start), seq_no, report)
    })
}

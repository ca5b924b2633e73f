//! Functions for the settings of the whole node.
//!
//! The build script makes the functions from the table of settings; they call those below.

use super::{OnFailure, call, show};
use crate::cyaml::convert::TreeOut;
use lnet_dlc::SeqNo;
use lnet_dlc::ops::global::{self, Setting};
use std::ffi::c_int;

// One function that changes a setting, and one that shows it, for each row that names them: setting_functions.rs.
include!(concat!(env!("OUT_DIR"), "/setting_functions.rs"));

fn set(name: &'static str, setting: Setting, value: c_int, seq_no: c_int, err_rc: TreeOut) -> c_int {
    call(name, err_rc, |node, report| {
        global::config(node, setting, value.into(), SeqNo::from_c(seq_no), report)
    })
}

fn shown(name: &'static str, setting: Setting, seq_no: c_int, show_rc: TreeOut, err_rc: TreeOut) -> c_int {
    show(name, show_rc, err_rc, OnFailure::Drop, |node, report| {
        global::show(node, setting, SeqNo::from_c(seq_no), report)
    })
}

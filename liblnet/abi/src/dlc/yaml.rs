//! Files of configuration.

use super::{OnFailure, call, show};
use crate::cyaml::file;
use crate::cyaml::node::cYAML;
use crate::entry::bytes_of;
use lnet_dlc::import::{Source, import};
use lnet_dlc::yaml::Purpose;
use lnet_dlc::{Backend, Operation, Report, ReturnCode, SeqNo};
use std::ffi::{c_char, c_int};

/// Adds what the YAML file with the name f, or standard input where it is NULL, describes. Returns 0 or the
/// last failure; the items after one that fails are still taken. LUSTRE_CFG_RC_BAD_PARAM for a file with a
/// mistake, of which nothing is taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_yaml_config(f: *mut c_char, err_rc: *mut *mut cYAML) -> c_int {
    // SAFETY: by contract NULL or a string; the tree as always.
    unsafe { call("lustre_yaml_config", err_rc, |node, report| run(f, Purpose::Add, node, report)) }
}

/// Deletes what such a file describes; otherwise as lustre_yaml_config.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_yaml_del(f: *mut c_char, err_rc: *mut *mut cYAML) -> c_int {
    // SAFETY: by contract NULL or a string; the tree as always.
    unsafe { call("lustre_yaml_del", err_rc, |node, report| run(f, Purpose::Del, node, report)) }
}

/// Shows what such a file names; otherwise as lustre_yaml_config. What could be shown is, also when other
/// items failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_yaml_show(
    f: *mut c_char,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL or a string; the trees as always.
    unsafe {
        show("lustre_yaml_show", show_rc, err_rc, OnFailure::Show, |node, report| {
            run(f, Purpose::Show, node, report)
        })
    }
}

/// Carries out the pings and discoveries of such a file; otherwise as lustre_yaml_show.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_yaml_exec(
    f: *mut c_char,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
) -> c_int {
    // SAFETY: by contract NULL or a string; the trees as always.
    unsafe {
        show("lustre_yaml_exec", show_rc, err_rc, OnFailure::Show, |node, report| {
            run(f, Purpose::Exec, node, report)
        })
    }
}

/// # Safety
/// `path` is NULL or a string.
unsafe fn run(path: *const c_char, purpose: Purpose, node: &dyn Backend, report: &mut Report) -> ReturnCode {
    // SAFETY: this function's contract; standard input is open or fails to be read.
    let (name, text) = unsafe {
        match bytes_of(path) {
            Some(path) => (String::from_utf8_lossy(path), file::read_path(path)),
            None => ("stdin".into(), file::read_to_end(file::standard_input())),
        }
    };
    match text {
        Ok(text) => import(node, Source { name: &name, text: &text }, purpose, report),
        Err(error) => report.end(Operation::Yaml, "builder", SeqNo::NONE, ReturnCode::BAD_PARAM, error),
    }
}

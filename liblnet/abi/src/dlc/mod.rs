//! The DLC C API: `lustre_lnet_*` and `lustre_yaml_*`, over the operations of `lnet_dlc`.
//!
//! A file here holds the functions of the file of that name in `lnet_dlc::ops`; what they have in common is
//! below. The node that is configured is that of this process or, without one, that behind the control
//! socket (`backend::dlc_backend`).

pub mod descr;
pub mod global;
pub mod liblnd;
pub mod library;
pub mod net;
pub mod peer;
pub mod ping;
pub mod policy;
pub mod route;
pub mod routing;
pub mod selection;
pub mod stats;
pub mod types;
pub mod udsp_marshal;
pub mod yaml;

use crate::backend;
use crate::cyaml::node::cYAML;
use crate::cyaml::{convert, file};
use crate::entry::{bytes_of, entry};
use lnet_dlc::{Backend, Report, ReturnCode};
use std::borrow::Cow;
use std::ffi::{c_char, c_int};

/// What a call does with what it has to show when it fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnFailure {
    /// Nothing.
    Drop,
    /// As on success: the call is many, some of which went well.
    Show,
}

/// Runs an operation and adds its errors to `*err_rc`.
///
/// # Safety
/// `err_rc` is NULL, or valid and `*err_rc` is NULL or a tree.
unsafe fn call(
    name: &'static str,
    err_rc: *mut *mut cYAML,
    body: impl FnOnce(&dyn Backend, &mut Report) -> ReturnCode,
) -> c_int {
    entry(name, || {
        let mut report = Report::new();
        let rc = body(&*backend::dlc_backend()?, &mut report);
        // SAFETY: this function's contract.
        unsafe { add_errors(err_rc, &report) };
        Ok(rc.0)
    })
}

/// Runs an operation, adds its errors to `*err_rc` and what it shows to `*show_rc`, or writes that to
/// standard output if `show_rc` is NULL.
///
/// # Safety
/// `show_rc` and `err_rc` are each NULL, or valid and what they point to NULL or a tree.
unsafe fn show(
    name: &'static str,
    show_rc: *mut *mut cYAML,
    err_rc: *mut *mut cYAML,
    on_failure: OnFailure,
    body: impl FnOnce(&dyn Backend, &mut Report) -> ReturnCode,
) -> c_int {
    entry(name, || {
        let mut report = Report::new();
        let rc = body(&*backend::dlc_backend()?, &mut report);
        // SAFETY: this function's contract; standard output is open, or writing to it fails.
        unsafe {
            add_errors(err_rc, &report);
            if rc.is_ok() || on_failure == OnFailure::Show {
                match show_rc.is_null() {
                    true => file::write(file::standard_output(), &report.shown.to_yaml()),
                    false => convert::merge(show_rc, &report.shown),
                }
            }
        }
        Ok(rc.0)
    })
}

/// # Safety
/// As [`call`].
unsafe fn add_errors(err_rc: *mut *mut cYAML, report: &Report) {
    if !err_rc.is_null() {
        // SAFETY: not NULL, and this function's contract.
        unsafe { convert::merge(err_rc, &report.errors) };
    }
}

/// The text of a C string; `None` for NULL. What is not UTF-8 becomes something that no name is, so that the
/// operation refuses it as it refuses any other.
///
/// # Safety
/// `string` is NULL or a string that does not change during `'a`.
unsafe fn text<'a>(string: *const c_char) -> Option<Cow<'a, str>> {
    // SAFETY: this function's contract.
    unsafe { bytes_of(string) }.map(String::from_utf8_lossy)
}

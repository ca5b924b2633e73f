//! The DLC C API: `lustre_lnet_*` and `lustre_yaml_*`, over the operations of `lnet_dlc`.
//!
//! Each file holds the functions of the file of the same name in `lnet_dlc::ops`; their common parts are
//! below. The calls apply to the node of this process or, without one, to that behind the control
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
pub(crate) mod tunables;
pub mod types;
pub mod udsp_marshal;
pub mod yaml;

use crate::backend;
use crate::cyaml::convert::TreeOut;
use crate::cyaml::file;
use crate::entry::{InString, entry};
use lnet_dlc::{Backend, Report, ReturnCode};
use std::borrow::Cow;
use std::ffi::{CStr, c_int};

/// The treatment of the output of a call that fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnFailure {
    /// The output is dropped.
    Drop,
    /// The output is shown as on success: the call has several parts, some of which succeeded.
    Show,
}

/// Runs an operation and adds its errors to `err_rc`.
fn call(
    name: &'static str,
    err_rc: TreeOut,
    body: impl FnOnce(&dyn Backend, &mut Report) -> ReturnCode,
) -> c_int {
    entry(name, || {
        let mut report = Report::new();
        let rc = body(&*backend::dlc_backend()?, &mut report);
        err_rc.add(&report.errors);
        Ok(rc.0)
    })
}

/// Runs an operation, adds its errors to `err_rc` and its output to `show_rc`, or writes the output to
/// standard output if `show_rc` is NULL.
fn show(
    name: &'static str,
    show_rc: TreeOut,
    err_rc: TreeOut,
    on_failure: OnFailure,
    body: impl FnOnce(&dyn Backend, &mut Report) -> ReturnCode,
) -> c_int {
    entry(name, || {
        let mut report = Report::new();
        let rc = body(&*backend::dlc_backend()?, &mut report);
        err_rc.add(&report.errors);
        if rc.is_ok() || on_failure == OnFailure::Show {
            match show_rc.is_null() {
                true => file::print(&report.shown.to_yaml()),
                false => show_rc.add(&report.shown),
            }
        }
        Ok(rc.0)
    })
}

/// The text of a C string; `None` for NULL. Bytes that are not UTF-8 are replaced by a character that no name has, so that the
/// operation refuses the text as it refuses any other.
fn text(string: InString<'_>) -> Option<Cow<'_, str>> {
    string.get().map(CStr::to_string_lossy)
}

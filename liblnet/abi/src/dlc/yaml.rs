//! Functions for files of configuration.

use super::{OnFailure, call, show};
use crate::cyaml::convert::TreeOut;
use crate::cyaml::file;
use crate::entry::InString;
use lnet_dlc::import::{Source, import};
use lnet_dlc::yaml::Purpose;
use lnet_dlc::{Backend, Operation, Report, ReturnCode, SeqNo};
use std::ffi::c_int;

/// Adds the items of the YAML file with the name f, or of standard input if f is NULL. Returns 0 or the
/// last failure; the items after one that fails are still added. LUSTRE_CFG_RC_BAD_PARAM for a file with an
/// error, of which nothing is added.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_yaml_config(f: InString<'_>, err_rc: TreeOut) -> c_int {
    call("lustre_yaml_config", err_rc, |node, report| run(f, Purpose::Add, node, report))
}

/// Deletes the items of such a file; otherwise like lustre_yaml_config.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_yaml_del(f: InString<'_>, err_rc: TreeOut) -> c_int {
    call("lustre_yaml_del", err_rc, |node, report| run(f, Purpose::Del, node, report))
}

/// Shows the items of such a file; otherwise like lustre_yaml_config. Items are also shown if others
/// failed.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_yaml_show(f: InString<'_>, show_rc: TreeOut, err_rc: TreeOut) -> c_int {
    show("lustre_yaml_show", show_rc, err_rc, OnFailure::Show, |node, report| {
        run(f, Purpose::Show, node, report)
    })
}

/// Carries out the pings and discoveries of such a file; otherwise like lustre_yaml_show.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_yaml_exec(f: InString<'_>, show_rc: TreeOut, err_rc: TreeOut) -> c_int {
    show("lustre_yaml_exec", show_rc, err_rc, OnFailure::Show, |node, report| {
        run(f, Purpose::Exec, node, report)
    })
}

fn run(path: InString<'_>, purpose: Purpose, node: &dyn Backend, report: &mut Report) -> ReturnCode {
    let (name, text) = match path.get() {
        Some(path) => (path.to_string_lossy(), file::read_path(path.to_bytes())),
        None => ("stdin".into(), file::read_standard_input()),
    };
    match text {
        Ok(text) => import(node, Source { name: &name, text: &text }, purpose, report),
        Err(error) => {
            report.end(Operation::Yaml, "builder", SeqNo::NONE, ReturnCode::BAD_PARAM, error.to_string())
        }
    }
}

//! Files of configuration, taken in: `lnetctl import`, `lustre_yaml_*`.

use crate::report::Report;
use crate::request::Backend;
use crate::yaml::Purpose;
use crate::{Rc, Value};

/// Where the text came from, for messages, and the text.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file's name; `stdin` for standard input.
    pub name: &'a str,
    /// What it has.
    pub text: &'a str,
}

/// Reads the file and does with it what `purpose` says (DLC sheet 2.13). A file with a problem is not begun.
/// After that, blocks and items are taken in their order, a failing one does not stop the rest, and what is
/// returned is the last failure. `lustre_yaml_config`, `_del`, `_show`, `_exec`.
pub fn import(backend: &dyn Backend, source: Source<'_>, purpose: Purpose, report: &mut Report) -> Rc {
    todo!("{source:?} {purpose:?} {report:?} {}", size_of_val(backend))
}

/// What importing the file would change, without changing it: against the configuration of `backend`, or
/// against nothing. Problems of the file are reported as [`import`] reports them.
pub fn check(backend: Option<&dyn Backend>, source: Source<'_>, report: &mut Report) -> (Rc, Value) {
    todo!("{source:?} {report:?} {}", backend.is_some())
}

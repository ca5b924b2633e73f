//! Application of a file: `lnetctl apply`. The node becomes what the file says, and only what differs is changed.
//!
//! [`wanted`]: the file, as far as it is a state. [`difference()`]: the changes that lead from the present configuration to it.
//! [`change`]: one change.

mod change;
mod difference;
mod nets;
mod now;
mod peers;
mod routes;
mod rules;
mod wanted;

use crate::import::{self, Source, last_failure};
use crate::ops::error_text::cause;
use crate::present::{self, Present};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Request};
use crate::yaml::{Problem, Purpose, read};
use crate::{ReturnCode, Value};
use change::{Change, Verb};
use difference::difference;
use lnet_wire::Errno;
use now::Now;
use wanted::Wanted;

/// The use of the difference between the node and the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Carry the changes out.
    Change,
    /// Show the changes, under `apply`, and what the node would refuse of the interfaces; change nothing.
    Show,
}

/// Makes the node what the file says, or shows what that would change. Nets, routes, peers and selection rules that the node has and
/// the file does not are removed if the file has the block of their kind; blocks and settings that the file does not have stay as
/// they are. A file that is in force already changes nothing.
///
/// If the file has a problem nothing is done. A change that the node refuses does not stop the others; the last failure is the result.
pub fn apply(backend: &dyn Backend, source: Source<'_>, mode: Mode, report: &mut Report) -> ReturnCode {
    let changes = match changes(backend, source, report) {
        Ok(changes) => changes,
        Err(rc) => return rc,
    };
    match mode {
        Mode::Change => last_failure(changes.into_iter().map(|it| carry_out(backend, it, report))),
        Mode::Show => show(backend, changes, report),
    }
}

fn changes(
    backend: &dyn Backend,
    source: Source<'_>,
    report: &mut Report,
) -> Result<Vec<Change>, ReturnCode> {
    let end = "; nothing of this file is in force";
    let document = read(source.text, Purpose::Add)
        .map_err(|problems| import::report_problems(source.name, Purpose::Add, &problems, end, report))?;
    let unclear: Vec<Problem> =
        document.empty.iter().filter(|it| !it.has_value).map(wanted::unclear).collect();
    if !unclear.is_empty() {
        return Err(import::report_problems(source.name, Purpose::Add, &unclear, end, report));
    }
    let wanted = Wanted::of(document, lnet_os::interfaces::host_interfaces, present::has_large_nids(backend))
        .map_err(|(rc, text)| {
            report.end(
                Operation::Yaml,
                "apply",
                SeqNo::NONE,
                rc,
                format_args!("{}: {text}{end}", source.name),
            )
        })?;
    let now = present(backend).map_err(|errno| {
        let text = format!("cannot ask the node for its configuration: {}", errno.text());
        report.end(Operation::Show, "apply", SeqNo::NONE, errno.into(), text)
    })?;
    Ok(difference(&now, &wanted))
}

fn present(backend: &dyn Backend) -> Result<Now, Errno> {
    Ok(Now {
        config: Present::of(backend)?,
        peers: present::peers(backend)?,
        large_nids: present::has_large_nids(backend),
    })
}

fn carry_out(backend: &dyn Backend, change: Change, report: &mut Report) -> ReturnCode {
    let (operation, entity) = (change.operation(), change.entity());
    match backend.call(change.request) {
        Ok(_) => ReturnCode::OK,
        Err(error) => {
            let text = format!("cannot {} {}: {}", change.verb.word(), change.what, cause(&error));
            report.end(operation, entity, SeqNo::NONE, error.errno.into(), text)
        }
    }
}

/// Shows the changes, and reports the interfaces that the node would refuse to add.
fn show(backend: &dyn Backend, changes: Vec<Change>, report: &mut Report) -> ReturnCode {
    let mut rc = ReturnCode::OK;
    let mut items = Vec::with_capacity(changes.len());
    for change in changes {
        items.push(Value::map().with(change.verb.word(), change.what.as_str()));
        let (Verb::Add, Request::AddLocalNi(add)) = (change.verb, &change.request) else { continue };
        match backend.call(Request::CheckLocalNi(add.clone())) {
            Ok(_) => {}
            // It is removed before.
            Err(error) if error.errno == Errno::Exists => {}
            Err(error) => {
                let text = format!("cannot add {}: {}", change.what, cause(&error));
                rc = report.end(Operation::Add, change.entity(), SeqNo::NONE, error.errno.into(), text);
            }
        }
    }
    if !items.is_empty() {
        report.show("apply", items);
    }
    rc
}

#[cfg(test)]
mod tests;

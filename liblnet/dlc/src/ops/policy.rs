//! User-defined selection policy.

use crate::Rc;
use crate::report::{Report, SeqNo};
use crate::request::Backend;

/// What a rule shall do, if its author says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// What suits the rule: priority 0 for a rule about one side, else preference.
    Suited,
    /// A priority; `u32::MAX` is the lowest.
    Priority(u32),
    /// Preference.
    PreferredList,
}

/// Adds a rule; `None` and `NA` are no criterion; a negative index appends. `lustre_lnet_add_udsp`.
#[allow(clippy::too_many_arguments, reason = "the parameters of the C function")]
pub fn add(
    backend: &dyn Backend,
    src: Option<&str>,
    dst: Option<&str>,
    rte: Option<&str>,
    action: RuleAction,
    index: i32,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    todo!("{src:?} {dst:?} {rte:?} {action:?} {index} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Deletes the rule at this index; `None`: all. An unknown index is no error. `lustre_lnet_del_udsp`.
pub fn del(backend: &dyn Backend, index: Option<u32>, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{index:?} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Shows the rule at this index; negative: all (DLC sheet 2.11). `lustre_lnet_show_udsp`.
pub fn show(backend: &dyn Backend, index: i32, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{index} {seq_no:?} {report:?} {}", size_of_val(backend))
}

//! The node's counters.

use crate::Rc;
use crate::report::{Report, SeqNo};
use crate::request::Backend;

/// Shows them (DLC sheet 2.8). `lustre_lnet_show_stats`.
pub fn show(backend: &dyn Backend, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Sets them to 0. `lustre_lnet_reset_stats`.
pub fn reset(backend: &dyn Backend, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{seq_no:?} {report:?} {}", size_of_val(backend))
}

//! Forwarding for others.

use crate::Rc;
use crate::report::{Report, SeqNo};
use crate::request::Backend;

/// Switches forwarding on or off. `lustre_lnet_enable_routing`.
pub fn enable(backend: &dyn Backend, enable: bool, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{enable} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Sets how many router buffers there shall be: 0 for the default, -1 for as many as now.
/// `lustre_lnet_config_buffers`.
pub fn config_buffers(
    backend: &dyn Backend,
    tiny: i32,
    small: i32,
    large: i32,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    todo!("{tiny} {small} {large} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Shows the router buffers (DLC sheet 2.6); nothing until forwarding has been switched on once.
/// `lustre_lnet_show_routing`.
pub fn show(backend: &dyn Backend, seq_no: SeqNo, report: &mut Report, backup: bool) -> Rc {
    todo!("{seq_no:?} {report:?} {backup} {}", size_of_val(backend))
}

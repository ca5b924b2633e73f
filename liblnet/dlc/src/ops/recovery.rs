//! What is being recovered.

use crate::Rc;
use crate::report::{Report, SeqNo};
use crate::request::Backend;

/// Shows the interfaces being recovered. `lustre_lnet_show_local_ni_recovq`.
pub fn show_local(backend: &dyn Backend, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Shows the peer NIs being recovered. `lustre_lnet_show_peer_ni_recovq`.
pub fn show_peer(backend: &dyn Backend, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{seq_no:?} {report:?} {}", size_of_val(backend))
}

//! Bringing LNet up and down.

use crate::Rc;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Request};

/// Brings LNet up, with the nets configured for its start if `load_networks`; or takes it down.
/// Nothing to do is success. `lustre_lnet_config_ni_system`.
pub fn config_ni_system(
    backend: &dyn Backend,
    up: bool,
    load_networks: bool,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    let (operation, request) = match up {
        true => (Operation::Configure, Request::Configure(load_networks)),
        false => (Operation::Unconfigure, Request::Unconfigure),
    };
    match backend.tell(request) {
        Ok(()) => report.success(operation, "lnet", seq_no),
        Err(errno) => {
            let text = format!("cannot {} LNet: {}", operation.word(), errno.text());
            report.end(operation, "lnet", seq_no, errno.into(), text)
        }
    }
}

//! Health values, of the node's own interfaces and of other nodes'.

use super::error_text::error_text;
use crate::ReturnCode;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Request, SetHealth, SetHealthKind};

/// Sets the health value of one or, without a NID, of all. The node makes 1000 of what is outside 0..=1000.
/// A NID that it does not have changes nothing and is no failure; nor is a text that is no NID.
pub(super) fn set(
    backend: &dyn Backend,
    kind: SetHealthKind,
    value: i32,
    nid: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let entity = match kind {
        SetHealthKind::LocalNi => "ni healthv",
        SetHealthKind::PeerNi => "peer_ni healthv",
    };
    let Ok(nid) = nid.map(str::parse).transpose() else {
        return report.end(Operation::Add, entity, seq_no, ReturnCode::OK, "not a NID: nothing was changed");
    };
    match backend.tell(Request::SetHealth(SetHealth { kind, nid, value })) {
        Ok(()) => report.success(Operation::Add, entity, seq_no),
        Err(errno) => {
            let text = format!("cannot set the health value to {value}: {}", error_text(errno));
            report.end(Operation::Add, entity, seq_no, errno.into(), text)
        }
    }
}

//! Operations on health values, of interfaces of this node and of peers.

use super::error_text::{error_text, one_nid};
use crate::ReturnCode;
use crate::host_names::Names;
use crate::ranges::HEALTH;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Request, SetHealth, SetHealthKind};
use lnet_wire::Errno;

/// Sets the health value of one interface or, without a NID, of all; -1 stands for healthy, as in C.
/// [`ReturnCode::BAD_PARAM`] for any other value out of range and for a text that is not a NID; -2 for an unknown NID.
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
    let value = match value {
        -1 => HEALTH.most,
        value => match HEALTH.check(value.into()) {
            Ok(value) => value,
            Err(error) => {
                return report.end(Operation::Add, entity, seq_no, ReturnCode::BAD_PARAM, error);
            }
        },
    };
    let nid = match nid.map(|text| one_nid(text, &Names::new())).transpose() {
        Ok(nid) => nid,
        Err(text) => return report.end(Operation::Add, entity, seq_no, ReturnCode::BAD_PARAM, text),
    };
    let request = SetHealth { kind, nid, value: i32::try_from(value).unwrap_or(-1) };
    match backend.tell(Request::SetHealth(request)) {
        Ok(()) => report.success(Operation::Add, entity, seq_no),
        Err(errno) => {
            let remedy = match (errno, kind) {
                (Errno::NotFound, SetHealthKind::LocalNi) => NO_SUCH_NI,
                (Errno::NotFound, SetHealthKind::PeerNi) => "; no peer has this NID, see 'lnetctl peer show'",
                _ => "",
            };
            let text = format!("cannot set the health value to {value}: {}{remedy}", error_text(errno));
            report.end(Operation::Add, entity, seq_no, errno.into(), text)
        }
    }
}

/// The remedy if an interface is named by a NID that the node does not have.
pub(super) const NO_SUCH_NI: &str = "; the node does not have this NID, see 'lnetctl net show'";

//! Operations on interfaces of this node.

mod add;
mod existing;
mod lnd;
mod show;
mod waiting;

pub use add::{add, add_rule};
pub(crate) use add::{ensure, rehearse, request, rules_of};
pub(crate) use existing::{Adjustment, adjustment, named_nis};
pub(crate) use lnd::shown_lnd;
pub use show::{ni_value, show};

use super::error_text::{cause, error_text, one_nid, parse_net};
use super::health;
use crate::host_names::Names;
use crate::ranges::{CONNS_PER_PEER, OutOfRange};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, DelLocalNi, LndTunables, NiTunables, Request, SetConnsPerPeer, SetHealthKind};
use crate::{CptList, InterfaceSpec, ReturnCode};
use lnet_wire::{Errno, NetId};

/// The arguments of [`add()`].
#[derive(Clone, Debug, Default)]
pub struct NetConfig<'a> {
    /// The net's name; missing is an error unless there is `ip2net`.
    pub net: Option<&'a str>,
    /// The interfaces of the net; none is an error unless there is `ip2net`.
    pub interfaces: Vec<InterfaceSpec>,
    /// A rule in the legacy grammar (dlc 4.2), in place of net and interfaces.
    pub ip2net: Option<&'a str>,
    /// The tunables of every interface.
    pub tunables: NiTunables,
    /// The driver's tunables of every interface.
    pub lnd: LndTunables,
    /// The CPTs of interfaces that have none of their own.
    pub cpts: Option<CptList>,
}

/// Deletes the interfaces of a net; the whole net if none is named. All are tried; the last failure is
/// the result. `lustre_lnet_del_ni` (cfg-020).
///
/// [`ReturnCode::MISSING_PARAM`] without a net, [`ReturnCode::BAD_PARAM`] for a text that is not a net and for an interface
/// that the machine does not have; -2 for one that the node does not have. `lo` cannot be deleted, which is no error.
pub fn del(
    backend: &dyn Backend,
    net: Option<&str>,
    interfaces: &[InterfaceSpec],
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let Some(net) = net else {
        let text = "the net is missing; give --net";
        return report.end(Operation::Del, NET, seq_no, ReturnCode::MISSING_PARAM, text);
    };
    let net = match parse_net(net) {
        Ok(net) => net,
        Err((rc, text)) => return report.end(Operation::Del, NET, seq_no, rc, text),
    };
    let named = interfaces.iter().map(|spec| Some(spec.name.as_str()));
    let asked: Vec<Option<&str>> = match interfaces {
        _ if net == NetId::LOOPBACK => Vec::new(),
        [] => vec![None],
        _ => named.collect(),
    };
    if asked.is_empty()
        && let Err(errno) = backend.tell(Request::GetNode)
    {
        return report.end(Operation::Del, NET, seq_no, errno.into(), error_text(errno));
    }
    let mut rc = ReturnCode::OK;
    for interface in asked {
        let request = DelLocalNi { net, interface: interface.map(str::to_owned) };
        if let Err(error) = backend.call(Request::DelLocalNi(request)) {
            let code = match error.errno {
                Errno::NoDevice | Errno::AddressNotAvailable => ReturnCode::BAD_PARAM,
                errno => errno.into(),
            };
            let what = interface.map_or_else(|| net.to_string(), |name| format!("{name} of {net}"));
            let remedy = match error.errno {
                Errno::NotFound => "; the node does not have it, see 'lnetctl net show'",
                Errno::NoDevice | Errno::AddressNotAvailable => {
                    "; name the interface as 'lnetctl net show' does"
                }
                _ => "",
            };
            let text = format!("cannot delete {what}: {}{remedy}", cause(&error));
            rc = report.end(Operation::Del, NET, seq_no, code, text);
        }
    }
    if rc.is_ok() { report.success(Operation::Del, NET, seq_no) } else { rc }
}

/// Sets the health value of one interface or, without a NID, of all. `lustre_lnet_config_ni_healthv`.
/// -1 stands for 1000; [`ReturnCode::BAD_PARAM`] for a value outside 0..=1000, -2 for a NID that the node does not have.
pub fn set_health(
    backend: &dyn Backend,
    value: i32,
    nid: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    health::set(backend, SetHealthKind::LocalNi, value, nid, seq_no, report)
}

/// Sets the number of connections to each peer, for one interface or, without a NID, for all; -1 changes
/// nothing. `lustre_lnet_config_ni_conns_per_peer`. [`ReturnCode::BAD_PARAM`] for a value outside 0..=127, -2 for a NID that
/// the node does not have.
pub fn set_conns_per_peer(
    backend: &dyn Backend,
    value: i32,
    nid: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    const ENTITY: &str = "ni conns_per_peer";
    if value == -1 {
        return report.success(Operation::Add, ENTITY, seq_no);
    }
    let value = match conns_per_peer(value.into()) {
        Ok(value) => value,
        Err(error) => return report.end(Operation::Add, ENTITY, seq_no, ReturnCode::BAD_PARAM, error),
    };
    let nid = match nid.map(|text| one_nid(text, &Names::new())).transpose() {
        Ok(nid) => nid,
        Err(text) => return report.end(Operation::Add, ENTITY, seq_no, ReturnCode::BAD_PARAM, text),
    };
    match backend.tell(Request::SetConnsPerPeer(SetConnsPerPeer { nid, value })) {
        Ok(()) => report.success(Operation::Add, ENTITY, seq_no),
        Err(errno) => {
            let remedy = if errno == Errno::NotFound { health::NO_SUCH_NI } else { "" };
            let text = format!("cannot set conns_per_peer to {value}: {}{remedy}", error_text(errno));
            report.end(Operation::Add, ENTITY, seq_no, errno.into(), text)
        }
    }
}

/// The number of connections to each peer, in the type that requests have.
pub fn conns_per_peer(value: i64) -> Result<u16, OutOfRange> {
    let checked = CONNS_PER_PEER.check(value)?;
    u16::try_from(checked).map_err(|_| OutOfRange { range: CONNS_PER_PEER, value })
}

const NET: &str = "net";

#[cfg(test)]
#[path = "net/tests.rs"]
mod tests;

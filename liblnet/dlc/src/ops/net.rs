//! Interfaces of this node.

use crate::report::{Report, SeqNo};
use crate::request::{Backend, LndTunables, NiTunables};
use crate::{CptList, InterfaceSpec, Rc};

/// What [`add`] is told.
#[derive(Clone, Debug, Default)]
pub struct NetConfig<'a> {
    /// The net's name; missing is an error unless there is `ip2net`.
    pub net: Option<&'a str>,
    /// Its interfaces; none is an error unless there is `ip2net`.
    pub interfaces: Vec<InterfaceSpec>,
    /// A rule in the legacy grammar (DLC sheet 4.2), in place of net and interfaces.
    pub ip2net: Option<&'a str>,
    /// For every interface.
    pub tunables: NiTunables,
    /// For every interface.
    pub lnd: LndTunables,
    /// For interfaces that bring none of their own.
    pub cpts: Option<CptList>,
}

/// Adds interfaces in their order; the first that is refused ends it, those before stay.
/// `lustre_lnet_config_ni`.
pub fn add(backend: &dyn Backend, config: &NetConfig<'_>, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{config:?} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Takes away the interfaces of a net; all of it where none is named. All are tried; the last failure is
/// what is returned. `lustre_lnet_del_ni`.
pub fn del(
    backend: &dyn Backend,
    net: Option<&str>,
    interfaces: &[InterfaceSpec],
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    todo!("{net:?} {interfaces:?} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Shows the interfaces of one net or of all, at level `detail` of verbosity (DLC sheet 2.3); `backup`:
/// only what can be imported again. `lustre_lnet_show_net`.
pub fn show(
    backend: &dyn Backend,
    net: Option<&str>,
    detail: u32,
    seq_no: SeqNo,
    report: &mut Report,
    backup: bool,
) -> Rc {
    todo!("{net:?} {detail} {seq_no:?} {report:?} {backup} {}", size_of_val(backend))
}

/// Sets the health value of one interface or, without a NID, of all. `lustre_lnet_config_ni_healthv`.
pub fn set_health(
    backend: &dyn Backend,
    value: i32,
    nid: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    todo!("{value} {nid:?} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Sets the number of connections to each peer, of one interface or, without a NID, of all; -1 changes
/// nothing. `lustre_lnet_config_ni_conns_per_peer`.
pub fn set_conns_per_peer(
    backend: &dyn Backend,
    value: i32,
    nid: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    todo!("{value} {nid:?} {seq_no:?} {report:?} {}", size_of_val(backend))
}

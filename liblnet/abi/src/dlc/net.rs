//! Functions for interfaces of this node.

use super::types::{lnet_dlc_network_descr, lnet_ioctl_config_lnd_tunables};
use super::{OnFailure, call, descr, show, text, tunables};
use crate::backend;
use crate::cyaml::convert::TreeOut;
use crate::entry::{InString, helper};
use crate::types::{__u64, Flag, cfs_expr_list};
use lnet_dlc::host_names::Names;
use lnet_dlc::ops::net::{self, NetConfig};
use lnet_dlc::ops::service_id::service_id as service_id_of;
use lnet_dlc::{Operation, Report, ReturnCode, SeqNo};
use lnet_wire::NetId;
use std::ffi::{c_int, c_long};
use std::num::NonZeroUsize;

/// Adds the interfaces of nw_descr, in their order; the first that is refused ends the call, those before it stay.
///
/// global_cpts applies to interfaces without CPU partitions, and the caller still owns it; NULL for all.
/// ip2net, unless NULL, is a rule such as "tcp 10.0.0.*" in place of nw_descr. With tunables NULL, and a member
/// 0 or -1, the default is used; so it is with cpp -1, the connections to each peer. The interfaces of nw_descr
/// are removed from it and freed in any case.
///
/// Returns 0; LUSTRE_CFG_RC_BAD_PARAM, LUSTRE_CFG_RC_MISSING_PARAM; -EEXIST, -EINVAL and other errors of the
/// node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_config_ni(
    nw_descr: *mut lnet_dlc_network_descr,
    global_cpts: *mut cfs_expr_list,
    ip2net: InString<'_>,
    tunables: *mut lnet_ioctl_config_lnd_tunables,
    cpp: c_long,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    let seq_no = SeqNo::from_c(seq_no);
    // SAFETY: NULL or a descriptor of the program's, whose interfaces are `malloc`'s and the call's to free.
    let (net, interfaces) = unsafe { descr::take(nw_descr) };
    // SAFETY: NULL or a structure of the program's, unchanged during the call.
    let asked = unsafe { tunables.as_ref() };
    // SAFETY: NULL or an expression of the program's, unchanged during the call.
    let cpts = unsafe { descr::cpts(global_cpts) };
    call("lustre_lnet_config_ni", err_rc, |node, report| {
        let ip2net = text(ip2net);
        let kind = net.as_deref().and_then(|net| net.parse().ok()).map(NetId::kind);
        let lnd = match tunables::of_driver(kind, asked, cpp) {
            Ok(lnd) => lnd,
            Err(error) => return report.end(Operation::Add, "net", seq_no, ReturnCode::BAD_PARAM, error),
        };
        let config = NetConfig {
            net: net.as_deref(),
            interfaces,
            ip2net: ip2net.as_deref(),
            tunables: tunables::of_every_driver(asked),
            lnd,
            cpts,
        };
        net::add(node, &config, seq_no, report)
    })
}

/// Deletes the interfaces of nw, all of the net if it has none; all are tried. The interfaces are
/// removed from nw and freed in any case. Returns 0 or the last failure, such as -ENOENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_del_ni(
    nw: *mut lnet_dlc_network_descr,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    // SAFETY: NULL or a descriptor of the program's, whose interfaces are `malloc`'s and the call's to free.
    let (net, interfaces) = unsafe { descr::take(nw) };
    call("lustre_lnet_del_ni", err_rc, |node, report| {
        net::del(node, net.as_deref(), &interfaces, SeqNo::from_c(seq_no), report)
    })
}

/// Shows the interfaces of the net nw, or all if it is NULL, under net. detail is the level of
/// verbosity, 0 to 4; with backup, only what can be imported again is shown.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_show_net(
    nw: InString<'_>,
    detail: c_int,
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
    backup: Flag,
) -> c_int {
    show("lustre_lnet_show_net", show_rc, err_rc, OnFailure::Drop, |node, report| {
        let detail = u32::try_from(detail).unwrap_or(0);
        net::show(node, text(nw).as_deref(), detail, SeqNo::from_c(seq_no), report, backup != 0)
    })
}

/// Sets the health value of the interface ni_nid, or of all: 0 to 1000; -1 stands for 1000. LUSTRE_CFG_RC_BAD_PARAM for any
/// other value and for a text that is not a NID, -ENOENT for a NID that the node does not have, LUSTRE_CFG_RC_MISSING_PARAM
/// without ni_nid and all.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_config_ni_healthv(
    value: c_int,
    all: Flag,
    ni_nid: InString<'_>,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    let seq_no = SeqNo::from_c(seq_no);
    call("lustre_lnet_config_ni_healthv", err_rc, |node, report| {
        match one_or_all(all, ni_nid, "ni healthv", seq_no, report) {
            Ok(nid) => net::set_health(node, value, nid.as_deref(), seq_no, report),
            Err(rc) => rc,
        }
    })
}

/// Sets the number of connections to each peer, 0 to 127, of the interface ni_nid, or of all; -1 changes
/// nothing. Otherwise as lustre_lnet_config_ni_healthv.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_config_ni_conns_per_peer(
    value: c_int,
    all: Flag,
    ni_nid: InString<'_>,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    let seq_no = SeqNo::from_c(seq_no);
    call("lustre_lnet_config_ni_conns_per_peer", err_rc, |node, report| {
        match one_or_all(all, ni_nid, "ni conns_per_peer", seq_no, report) {
            Ok(nid) => net::set_conns_per_peer(node, value, nid.as_deref(), seq_no, report),
            Err(rc) => rc,
        }
    })
}

/// Does nothing and returns 0. Other implementations set up the host's routing tables for several interfaces on one net; this
/// library does not change the host's routing. SOCKLND_BIND_TO_DEVICE=1 makes connections leave by their interface.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_setup_mrrouting(err_rc: TreeOut) -> c_int {
    call("lustre_lnet_setup_mrrouting", err_rc, |_, report| {
        report.success(Operation::Manage, "setup-mrrouting", SeqNo::NONE)
    })
}

/// Stores the ID of the RDMA service of the node's o2ib interfaces in *service_id, in network byte order, and returns 0.
/// LUSTRE_CFG_RC_NO_MATCH without such an interface, and *service_id is 0 then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_calc_service_id(service_id: *mut __u64) -> c_int {
    helper(ReturnCode::GENERIC.0, || {
        let found = backend::dlc_backend().ok().and_then(|node| service_id_of(&*node).ok());
        if !service_id.is_null() {
            // SAFETY: checked for NULL above; the program's, which the call may write until it returns.
            unsafe { service_id.write(found.unwrap_or(0).to_be()) };
        }
        found.map_or(ReturnCode::NO_MATCH.0, |_| ReturnCode::OK.0)
    })
}

/// The CPU partition, of ncpts, that the NID nidc belongs to unless configured otherwise. Needs no network.
/// LUSTRE_CFG_RC_BAD_PARAM for a text that is not a NID, and unless ncpts is positive.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_calc_cpt_of_nid(nidc: InString<'_>, ncpts: c_long) -> c_int {
    helper(ReturnCode::GENERIC.0, || {
        let nid = text(nidc).and_then(|text| Names::new().nid(&text).ok());
        let partitions = usize::try_from(ncpts).ok().and_then(NonZeroUsize::new);
        let (Some(nid), Some(partitions)) = (nid, partitions) else { return ReturnCode::BAD_PARAM.0 };
        c_int::try_from(lnet_wire::nid::cpt_of_nid(nid, partitions)).unwrap_or(ReturnCode::OUT_OF_RANGE.0)
    })
}

/// The NID that a call applies to; `None` for all.
pub(super) fn one_or_all<'a>(
    all: Flag,
    nid: InString<'a>,
    entity: &str,
    seq_no: SeqNo,
    report: &mut Report,
) -> Result<Option<std::borrow::Cow<'a, str>>, ReturnCode> {
    if all != 0 {
        return Ok(None);
    }
    match text(nid) {
        Some(nid) => Ok(Some(nid)),
        None => Err(report.end(
            Operation::Add,
            entity,
            seq_no,
            ReturnCode::MISSING_PARAM,
            "no NID, and not for all",
        )),
    }
}

//! Functions for peers.

use super::net::one_or_all;
use super::{OnFailure, call, show, text};
use crate::cyaml::convert::TreeOut;
use crate::entry::{InString, helper};
use crate::nidstr::write_string;
use crate::types::{Flag, lnet_nid_t};
use lnet_dlc::host_names::Names;
use lnet_dlc::ops::peer::{self, Modify};
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use std::ffi::{c_char, c_int};

/// The commands `LNETCTL_ADD_CMD` and `LNETCTL_DEL_CMD` in C.
const ADD: c_int = 3;
const DEL: c_int = 4;
/// The number of bytes of `err_str` (`LNET_MAX_STR_LEN`).
const ERR_STR: usize = 128;

/// Creates the peer with the primary NID prim_nid or adds NIDs to it (cmd LNETCTL_ADD_CMD; is_mr: the peer is
/// multi-rail; force other than 0: discovery must not change its primary NID), or removes NIDs from it or
/// the peer (LNETCTL_DEL_CMD; force: even if its primary NID is locked). nids is a list of NIDs or ranges
/// of NIDs, at most 128; NULL for the peer itself. A refused NID ends the call, those before it stay.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_modify_peer(
    prim_nid: InString<'_>,
    nids: InString<'_>,
    is_mr: Flag,
    cmd: c_int,
    force: c_int,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    let seq_no = SeqNo::from_c(seq_no);
    call("lustre_lnet_modify_peer", err_rc, |node, report| {
        let what = match cmd {
            ADD => Modify::Add { multi_rail: is_mr != 0, lock_primary: force != 0 },
            DEL => Modify::Del { force: force != 0 },
            _ => {
                let text = format!("a peer can be added or deleted; {cmd} is neither");
                return report.end(Operation::Peer, "add", seq_no, ReturnCode::BAD_PARAM, text);
            }
        };
        peer::modify(node, text(prim_nid).as_deref(), text(nids).as_deref(), what, seq_no, report)
    })
}

/// Shows the peer with the NID knid, or all if it is NULL, under peer. detail is the level of verbosity,
/// 0 to 4; with backup, only what can be imported again is shown.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_show_peer(
    knid: InString<'_>,
    detail: c_int,
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
    backup: Flag,
) -> c_int {
    show("lustre_lnet_show_peer", show_rc, err_rc, OnFailure::Drop, |node, report| {
        let detail = u32::try_from(detail).unwrap_or(0);
        peer::show(node, text(knid).as_deref(), detail, SeqNo::from_c(seq_no), report, backup != 0)
    })
}

/// Shows at most max peers under peer, all if max is 0 or negative; detail as for lustre_lnet_show_peer. The name is that of
/// the Multi-Rail design; not in other implementations.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_show_peers(
    max: c_int,
    detail: c_int,
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
) -> c_int {
    show("lustre_lnet_show_peers", show_rc, err_rc, OnFailure::Drop, |node, report| {
        let max = usize::try_from(max).ok().filter(|max| *max > 0).unwrap_or(usize::MAX);
        let detail = u32::try_from(detail).unwrap_or(0);
        peer::show_at_most(node, max, detail, SeqNo::from_c(seq_no), report)
    })
}

/// Shows the primary NIDs of all peers under peer list.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_list_peer(seq_no: c_int, show_rc: TreeOut, err_rc: TreeOut) -> c_int {
    show("lustre_lnet_list_peer", show_rc, err_rc, OnFailure::Drop, |node, report| {
        peer::list(node, SeqNo::from_c(seq_no), report)
    })
}

/// Sets the health value of the peer's interface pni_nid, or of all; as lustre_lnet_config_ni_healthv.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_config_peer_ni_healthv(
    value: c_int,
    all: Flag,
    pni_nid: InString<'_>,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    let seq_no = SeqNo::from_c(seq_no);
    call("lustre_lnet_config_peer_ni_healthv", err_rc, |node, report| {
        match one_or_all(all, pni_nid, "peer_ni healthv", seq_no, report) {
            Ok(nid) => peer::set_health(node, value, nid.as_deref(), seq_no, report),
            Err(rc) => rc,
        }
    })
}

/// Overwrites the state word of the peer with the NID lpni_nid: for debugging.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_set_peer_state(
    state: c_int,
    lpni_nid: InString<'_>,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    call("lustre_lnet_set_peer_state", err_rc, |node, report| {
        let nid = text(lpni_nid);
        peer::set_state(node, state as u32, nid.as_deref(), SeqNo::from_c(seq_no), report)
    })
}

/// Stores every NID of a list of NIDs or ranges of NIDs, such as "10.0.0.[1-3]@tcp", in lnet_nidlist, which
/// has space for max_nids.
///
/// Returns the number of NIDs; a negative number if the text is not such a list, names no NID, or more than max_nids. The
/// error is then in err_str, of at least LNET_MAX_STR_LEN bytes, unless that is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_parse_nidstr(
    nidstr: InString<'_>,
    lnet_nidlist: *mut lnet_nid_t,
    max_nids: c_int,
    err_str: *mut c_char,
) -> c_int {
    helper(ReturnCode::GENERIC.0, || {
        let fail = |text: &str| {
            if !err_str.is_null() {
                // SAFETY: checked for NULL above; so many bytes of the program's, for this call to write (`lustre_lnet_parse_nidstr`).
                unsafe { write_string(err_str, ERR_STR, text) };
            }
            ReturnCode::BAD_PARAM.0
        };
        let Some(text) = text(nidstr) else { return fail("no NIDs") };
        let max = usize::try_from(max_nids).unwrap_or(0);
        let nids = match peer::parse_named_nids(&text, max, &Names::new()) {
            Ok(nids) => nids,
            Err(error) => return fail(&error.to_string()),
        };
        let numbers: Option<Vec<u64>> = nids.iter().map(|nid| nid.to_u64()).collect();
        let Some(numbers) = numbers.filter(|all| all.len() <= max && !lnet_nidlist.is_null()) else {
            return fail("no room for these NIDs");
        };
        // SAFETY: checked for NULL above; room of the program's for `max` NIDs, than which there are no more, for this call to write.
        unsafe { std::ptr::copy_nonoverlapping(numbers.as_ptr(), lnet_nidlist, numbers.len()) };
        c_int::try_from(numbers.len()).unwrap_or(c_int::MAX)
    })
}

//! Functions for the selection rules of the first design, by selection type. The design's own names are inline functions over
//! these, in `lnetconfig_hld.h`.

use super::{OnFailure, call, show, text};
use crate::cyaml::convert::TreeOut;
use crate::entry::InString;
use lnet_dlc::ops::policy::{RuleAction, RuleEffect};
use lnet_dlc::ops::selection::{self, SELECTION, Selection};
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use std::ffi::{c_int, c_uint};

/// Adds a selection rule of a selection_type, which is refused without the net, the NIDs or the pair of NIDs that the type
/// needs; for NIDs two rules are added, for those of this node and of peers. 0 is the highest priority, 255 the lowest. Not
/// in other implementations.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_selection_add(
    r#type: c_int,
    pattern1: InString<'_>,
    pattern2: InString<'_>,
    priority: c_uint,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    let seq_no = SeqNo::from_c(seq_no);
    call("lustre_lnet_selection_add", err_rc, |node, report| {
        let (first, second) = (text(pattern1), text(pattern2));
        let Some(about) = subject(r#type, first.as_deref(), second.as_deref()) else {
            return report.end(Operation::Add, SELECTION, seq_no, ReturnCode::BAD_PARAM, unknown(r#type));
        };
        selection::add(node, about, RuleEffect::of(RuleAction::Priority(priority)), seq_no, report)
    })
}

/// Deletes the selection rule with the index idx, which must be of this selection_type, or if that is negative the rules with
/// these criteria, each as for lustre_lnet_selection_add or NULL; if both are given they must mean one rule. Not in other
/// implementations.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_selection_del(
    r#type: c_int,
    pattern1: InString<'_>,
    pattern2: InString<'_>,
    idx: c_int,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    let seq_no = SeqNo::from_c(seq_no);
    call("lustre_lnet_selection_del", err_rc, |node, report| {
        let (first, second) = (text(pattern1), text(pattern2));
        let Some(about) = subject(r#type, first.as_deref(), second.as_deref()) else {
            return report.end(Operation::Del, SELECTION, seq_no, ReturnCode::BAD_PARAM, unknown(r#type));
        };
        selection::del(node, about, u32::try_from(idx).ok(), seq_no, report)
    })
}

/// Shows the selection rules of this selection_type, each with its index, under udsp. Not in other implementations.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_selection_show(
    r#type: c_int,
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
) -> c_int {
    let seq_no = SeqNo::from_c(seq_no);
    show("lustre_lnet_selection_show", show_rc, err_rc, OnFailure::Drop, |node, report| {
        match subject(r#type, None, None) {
            Some(about) => selection::show(node, about, seq_no, report),
            None => report.end(Operation::Show, SELECTION, seq_no, ReturnCode::BAD_PARAM, unknown(r#type)),
        }
    })
}

/// The criteria of rules of a `selection_type`.
fn subject<'a>(r#type: c_int, first: Option<&'a str>, second: Option<&'a str>) -> Option<Selection<'a>> {
    match r#type {
        0 => Some(Selection::Net(first)),
        1 => Some(Selection::Nid(first)),
        2 => Some(Selection::Peer(first, second)),
        _ => None,
    }
}

fn unknown(r#type: c_int) -> String {
    format!("{} is no selection_type: net is 0, nid 1, peer 2", r#type)
}

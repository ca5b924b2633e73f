//! Functions for the user-defined selection policy.

use super::types::{lnet_udsp_action, lnet_udsp_action_type};
use super::{OnFailure, call, show, text};
use crate::cyaml::convert::TreeOut;
use crate::entry::{InString, helper};
use lnet_dlc::ops::policy::{self, RuleAction, RuleEffect, RuleText};
use lnet_dlc::ranges::RULE_INDEX;
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use std::ffi::{c_int, c_uint};

/// Adds a selection rule: src for interfaces of this node, dst for those of peers, rte for routers, each NULL or such as
/// tcp[1-3] or 10.0.0.*@tcp. type is priority, with its value from 0 to 255 in *action, or pref, for which action may be
/// NULL; with NULL the type follows from the criteria. idx is the rule's index, -1 for the end. -EALREADY if the rule exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _lustre_lnet_add_udsp(
    src: InString<'_>,
    dst: InString<'_>,
    rte: InString<'_>,
    r#type: InString<'_>,
    action: *mut lnet_udsp_action,
    idx: c_int,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    let seq_no = SeqNo::from_c(seq_no);
    // SAFETY: NULL or an action of the program's, which is a number in any case, unchanged during the call.
    let priority = unsafe { action.as_ref().map_or(0, |action| action.udsp_priority) };
    call("lustre_lnet_add_udsp", err_rc, |node, report| {
        let word = text(r#type);
        let priority = policy::priority_of(priority.into());
        let rule = match word.as_deref() {
            None => RuleAction::Suited,
            Some(word) if word.starts_with("priority") => match priority {
                Ok(priority) => RuleAction::Priority(priority),
                Err(error) => {
                    return report.end(Operation::Add, "udsp", seq_no, ReturnCode::BAD_PARAM, error);
                }
            },
            Some(word) if word.starts_with("pref") => RuleAction::PreferredList,
            Some(word) => {
                let text = format!("'{word}' is no type of rule: priority or pref");
                return report.end(Operation::Add, "udsp", seq_no, ReturnCode::BAD_PARAM, text);
            }
        };
        let (src, dst, rte) = (text(src), text(dst), text(rte));
        let criteria = RuleText { src: src.as_deref(), dst: dst.as_deref(), rte: rte.as_deref() };
        let index = match idx {
            -1 => None,
            idx => match RULE_INDEX.count(idx.into()) {
                Ok(index) => Some(index),
                Err(error) => {
                    return report.end(Operation::Add, "udsp", seq_no, ReturnCode::BAD_PARAM, error);
                }
            },
        };
        let effect = RuleEffect { index, ..RuleEffect::of(rule) };
        policy::add(node, criteria, effect, seq_no, report)
    })
}

/// Deletes the selection rule with the index idx; all, if idx is (unsigned int)-1.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_del_udsp(idx: c_uint, seq_no: c_int, err_rc: TreeOut) -> c_int {
    let index = Some(idx).filter(|idx| *idx != c_uint::MAX);
    call("lustre_lnet_del_udsp", err_rc, |node, report| {
        policy::del(node, index, SeqNo::from_c(seq_no), report)
    })
}

/// Deletes the selection rule that has exactly these criteria, each as for lustre_lnet_add_udsp; if idx is not negative
/// the rule must have it as its index. Not in other implementations.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_del_same_udsp(
    src: InString<'_>,
    dst: InString<'_>,
    rte: InString<'_>,
    idx: c_int,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    call("lustre_lnet_del_same_udsp", err_rc, |node, report| {
        let (src, dst, rte) = (text(src), text(dst), text(rte));
        let criteria = RuleText { src: src.as_deref(), dst: dst.as_deref(), rte: rte.as_deref() };
        policy::del_same(node, criteria, u32::try_from(idx).ok(), SeqNo::from_c(seq_no), report)
    })
}

/// The type of selection rules with this name: `priority`, or `pref` for a list. The beginning of the word decides.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_udsp_str_to_action(action: InString<'_>) -> lnet_udsp_action_type {
    helper(lnet_udsp_action_type::EN_LNET_UDSP_ACTION_NONE, || match text(action).as_deref() {
        Some(word) if word.starts_with("priority") => lnet_udsp_action_type::EN_LNET_UDSP_ACTION_PRIORITY,
        Some(word) if word.starts_with("pref") => lnet_udsp_action_type::EN_LNET_UDSP_ACTION_PREFERRED_LIST,
        _ => lnet_udsp_action_type::EN_LNET_UDSP_ACTION_NONE,
    })
}

/// Shows the selection rule with the index idx, all if it is negative, under udsp.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_show_udsp(
    idx: c_int,
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
) -> c_int {
    show("lustre_lnet_show_udsp", show_rc, err_rc, OnFailure::Drop, |node, report| {
        policy::show(node, idx, SeqNo::from_c(seq_no), report)
    })
}

//! `lnetctl cpt-of-nid`

use super::others::error;
use super::{CommandOutcome, Context};
use crate::cli::CptOfNid;
use lnet_dlc::request::{LocalNi, Request};
use lnet_dlc::{ReturnCode, Value};
use lnet_wire::Errno;
use lnet_wire::nid::cpt_of_nid;
use std::num::NonZeroUsize;

pub(super) fn run(command: &CptOfNid, cx: &mut Context<'_>) -> CommandOutcome {
    let refuse = |cx: &mut Context<'_>, rc, text: &str| {
        cx.report.errors = error(text);
        CommandOutcome::show(rc)
    };
    let given = command.ncpt.map(|count| NonZeroUsize::new(count as usize));
    let partitions = match (given, command.nid) {
        (Some(Some(count)), _) => count,
        (Some(None), _) => {
            return refuse(cx, ReturnCode::BAD_PARAM, "--ncpt 0: there is at least one CPU partition");
        }
        (None, Some(_)) => {
            return refuse(cx, ReturnCode::BAD_PARAM, "the number of CPU partitions is missing; give --ncpt");
        }
        (None, None) if command.nids.is_empty() => {
            return refuse(cx, ReturnCode::BAD_PARAM, "the NID is missing; give --nid and --ncpt");
        }
        (None, None) => match of_node(cx) {
            Ok(count) => count,
            Err(errno) => {
                let reason = errno.text();
                let text = format!("cannot ask the node for its CPU partitions: {reason}; give --ncpt");
                return refuse(cx, errno.into(), &text);
            }
        },
    };
    let cpt = |nid| i64::try_from(cpt_of_nid(nid, partitions)).unwrap_or_default();
    match command.nid {
        Some(nid) => cx.report.show("cpt", Value::map().with("value", Value::Int(cpt(nid)))),
        None if command.nids.is_empty() => {
            return refuse(cx, ReturnCode::BAD_PARAM, "the NID is missing; give --nid");
        }
        None => {
            let items = command
                .nids
                .iter()
                .map(|&nid| Value::map().with("nid", nid.to_string()).with("cpt", Value::Int(cpt(nid))));
            cx.report.show("cpt-of-nid", items.collect::<Vec<_>>());
        }
    }
    CommandOutcome::show(ReturnCode::OK)
}

/// Returns the number of CPU partitions of the node: its loopback interface is bound to all of them.
fn of_node(cx: &Context<'_>) -> Result<NonZeroUsize, Errno> {
    let loopback: Box<LocalNi> = cx.node.ask(Request::GetLocalNi(0))?;
    Ok(NonZeroUsize::new(loopback.cpts.as_slice().len()).unwrap_or(NonZeroUsize::MIN))
}

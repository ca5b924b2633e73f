//! Output of the interfaces that wait for the host. They have no NID, so they are not among the NIs, whose readers count on one.

use super::lnd::shown_lnd;
use crate::Value;
use crate::request::{AddLocalNi, Backend, NiTunables, Request, WaitingNi};
use lnet_wire::NetId;

/// The block of the interfaces that wait.
pub(super) const WAITING: &str = "waiting interfaces";

/// The interfaces that wait on these nets, `None`: on all; none if the node does not know of such.
pub(super) fn listed(backend: &dyn Backend, only: Option<&[NetId]>) -> Vec<WaitingNi> {
    let mut all: Vec<WaitingNi> = backend.ask(Request::GetWaitingNis).unwrap_or_default();
    all.retain(|waiting| only.is_none_or(|only| only.contains(&waiting.ni.net)));
    all
}

/// The items of [`WAITING`], one for each net, as those of the block `net` are.
pub(super) fn items(mut waiting: Vec<WaitingNi>, detail: u32) -> Vec<Value> {
    let mut shown = Vec::new();
    while let Some(net) = waiting.first().map(|one| one.ni.net) {
        let nis: Vec<Value> =
            waiting.extract_if(.., |one| one.ni.net == net).map(|one| live_item(&one, detail)).collect();
        shown.push(Value::map().with("net type", net.to_string()).with("local NI(s)", nis));
    }
    shown
}

fn live_item(waiting: &WaitingNi, detail: u32) -> Value {
    let mut shown = Value::map();
    push_interface(&mut shown, &waiting.ni);
    shown.push("status", "down");
    shown.push("reason", Value::Quoted(waiting.reason.clone()));
    if detail >= 1 {
        push_given(&mut shown, &waiting.ni);
    }
    shown
}

/// Takes the interfaces that wait on a net, and returns their items among the NIs of the net in a backup. Those without a name are left
/// out: no file can have them.
pub(super) fn backup_items(waiting: &mut Vec<WaitingNi>, net: NetId, detail: u32) -> Vec<Value> {
    let its = waiting.extract_if(.., |one| one.ni.net == net);
    its.filter(|one| one.ni.interface.is_some()).map(|one| backup_item(&one.ni, detail)).collect()
}

fn backup_item(ni: &AddLocalNi, detail: u32) -> Value {
    let mut shown = Value::map();
    push_interface(&mut shown, ni);
    if detail >= 1 {
        push_given(&mut shown, ni);
    }
    shown
}

fn push_interface(shown: &mut Value, ni: &AddLocalNi) {
    if let Some(name) = &ni.interface {
        shown.push("interfaces", Value::map().with("0", Value::scalar(name)));
    }
}

/// Adds the values that were given; all others are decided when the interface is started.
fn push_given(shown: &mut Value, ni: &AddLocalNi) {
    let NiTunables { peer_timeout, peer_credits, peer_buffer_credits, credits } = ni.tunables;
    let mut tunables = Value::map();
    for (name, value) in [
        ("peer_timeout", peer_timeout),
        ("peer_credits", peer_credits),
        ("peer_buffer_credits", peer_buffer_credits),
        ("credits", credits),
    ] {
        if let Some(value) = value {
            tunables.push(name, value);
        }
    }
    for (name, values) in [("tunables", tunables), ("lnd tunables", shown_lnd(&ni.lnd))] {
        if !values.is_empty() {
            shown.push(name, values);
        }
    }
    if let Some(cpts) = ni.cpts.as_ref().filter(|cpts| !cpts.is_empty()) {
        shown.push("CPT", Value::Quoted(cpts.to_string()));
    }
}

//! Output of the node's interfaces (dlc 2.3).

use super::NET;
use super::lnd::shown_lnd;
use super::waiting::{self, WAITING};
use crate::ops::counters::{self, EXTRA_DETAIL};
use crate::ops::error_text::{error_text, parse_net};
use crate::ops::latency;
use crate::ops::udsp_info::{self, udsp_info};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, LocalHealth, LocalNi, NiState, NiStatus, Request};
use crate::{ReturnCode, Value};
use lnet_wire::nid::Address;
use lnet_wire::{Errno, NetId};

/// Shows the interfaces of one net, of several between commas, or of all, net by net (dlc 2.3; cfg-045, cfg-055, dbg-005 to
/// dbg-035, dbg-085, dbg-095). A net that the node is not on shows nothing. `lustre_lnet_show_net`.
///
/// | from level | is shown |
/// |---|---|
/// | 0 | NID, status, interface |
/// | 1 | message counts, tunables, CPTs |
/// | 2 | messages by kind, health |
/// | 4 | the effects of selection rules, delays |
/// | 5 | send credits, bytes, heat, the state in a word, and the net's state and sums |
///
/// Interfaces that wait for the host follow in a block of their own, at all levels with the reason.
///
/// `backup`: only what can be imported again, with the NIDs of IPv6 addresses; the interfaces that wait are among the others.
pub fn show(
    backend: &dyn Backend,
    net: Option<&str>,
    detail: u32,
    seq_no: SeqNo,
    report: &mut Report,
    backup: bool,
) -> ReturnCode {
    let only =
        net.map(|list| list.split(',').map(|net| parse_net(net.trim())).collect::<Result<Vec<_>, _>>());
    let only = match only.transpose() {
        Ok(only) => only,
        Err((rc, text)) => return report.end(Operation::Show, NET, seq_no, rc, text),
    };
    match nets(backend, only.as_deref(), detail, backup) {
        Ok(items) => {
            if !items.is_empty() {
                report.show(NET, items);
            }
            let waiting = if backup { Vec::new() } else { waiting::listed(backend, only.as_deref()) };
            if !waiting.is_empty() {
                report.show(WAITING, waiting::items(waiting, detail));
            }
            report.success(Operation::Show, NET, seq_no)
        }
        Err(errno) => {
            let text = format!("cannot read the nets: {}", error_text(errno));
            report.end(Operation::Show, NET, seq_no, errno.into(), text)
        }
    }
}

/// An item for each net, with its adjacent interfaces.
fn nets(
    backend: &dyn Backend,
    only: Option<&[NetId]>,
    detail: u32,
    backup: bool,
) -> Result<Vec<Value>, Errno> {
    let mut nis: Vec<Box<LocalNi>> = backend.list(Request::GetLocalNi)?;
    nis.retain(|ni| {
        let net = ni.nid.net();
        only.is_none_or(|only| only.contains(&net)) && !(backup && net == NetId::LOOPBACK)
    });
    let mut waiting = if backup { waiting::listed(backend, only) } else { Vec::new() };
    let of_net = |nis: &[Box<LocalNi>]| {
        let net = nis.first().map(|ni| ni.nid.net());
        let items = nis.iter().map(|ni| ni_to_value(Some(backend), ni, detail, backup));
        let mut items = items.collect::<Result<Vec<_>, _>>()?;
        items.extend(net.map(|net| waiting::backup_items(&mut waiting, net, detail)).unwrap_or_default());
        let net = net.map(|net| net.to_string()).unwrap_or_default();
        let mut shown = Value::map().with("net type", net).with("local NI(s)", items);
        if detail >= EXTRA_DETAIL && !backup {
            if let Some(state) = nis.first().and_then(|ni| ni.health.net_state) {
                shown.push("net state", state.text());
            }
            shown.push("net statistics", counters::sums(nis.iter().map(|ni| (ni.stats, ni.bytes))));
        }
        Ok::<_, Errno>(shown)
    };
    let mut shown = nis
        .chunk_by(|one, next| one.nid.net() == next.nid.net())
        .map(of_net)
        .collect::<Result<Vec<_>, _>>()?;
    // The nets on which every interface waits.
    while let Some(net) = waiting.first().map(|one| one.ni.net) {
        let items = waiting::backup_items(&mut waiting, net, detail);
        if !items.is_empty() {
            shown.push(Value::map().with("net type", net.to_string()).with("local NI(s)", items));
        }
    }
    Ok(shown)
}

/// The value of an interface, as [`show`] shows it on the highest level, without the effects of selection rules, which need
/// further requests.
pub fn ni_value(ni: &LocalNi) -> Value {
    ni_to_value(None, ni, EXTRA_DETAIL, false).unwrap_or(Value::Null)
}

/// `backend` is asked for the effects of selection rules; without it they are left out.
fn ni_to_value(
    backend: Option<&dyn Backend>,
    ni: &LocalNi,
    detail: u32,
    backup: bool,
) -> Result<Value, Errno> {
    let live = !backup;
    let mut shown = Value::map();
    // The name of an interface does not say which of its IPv6 addresses the NID has, nor whether it has one.
    if live || matches!(ni.nid.address(), Address::Long(_)) {
        shown.push("nid", ni.nid.to_string());
    }
    if live {
        let status = match ni.status {
            NiStatus::Up => "up",
            NiStatus::Down => "down",
        };
        shown.push("status", status);
    }
    if let Some(name) = &ni.interface {
        shown.push("interfaces", Value::map().with("0", Value::scalar(name)));
    }
    if live && detail >= 1 {
        shown.push("statistics", counters::statistics(ni.stats));
    }
    if let Some(backend) = backend.filter(|_| live && detail >= udsp_info::DETAIL) {
        shown.push("udsp info", udsp_info(backend, ni.nid, true)?);
    }
    if live && detail >= 2 {
        counters::push_messages(&mut shown, &ni.messages);
        shown.push("health stats", health(&ni.health));
    }
    if detail >= 1 {
        shown.push("tunables", counters::tunables(&ni.tunables));
        shown.push("lnd tunables", shown_lnd(&ni.lnd));
        if live {
            shown.push("dev cpt", ni.device_cpt);
        }
        if !ni.cpts.is_empty() {
            shown.push("CPT", Value::Quoted(ni.cpts.to_string()));
        }
    }
    if live && detail >= latency::DETAIL {
        latency::push(&mut shown, &ni.latencies);
    }
    if live && detail >= EXTRA_DETAIL {
        shown.push("available_tx_credits", ni.tx_credits);
        shown.push("min_tx_credits", ni.min_tx_credits);
        counters::push_activity(&mut shown, ni.bytes, ni.heat);
        counters::push_state(&mut shown, ni.health.state.map(NiState::text), ni.health.next_ping_in);
    }
    Ok(shown)
}

fn health(health: &LocalHealth) -> Value {
    Value::map()
        .with("fatal_error", u32::from(health.fatal_error))
        .with("health value", health.value)
        .with("interrupts", health.interrupts)
        .with("dropped", health.dropped)
        .with("aborted", health.aborted)
        .with("no route", health.no_route)
        .with("timeouts", health.timeouts)
        .with("error", health.error)
        .with("ping_count", health.ping_count)
        .with("next_ping", health.next_ping)
}

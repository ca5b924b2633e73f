//! `lnetctl net`

use super::{CommandOutcome, Context, unsupported};
use crate::cli::{Net, NetAdd, NetDel, NetSet};
use lnet_dlc::ops::net::{self, NetConfig};
use lnet_dlc::ranges::Range;
use lnet_dlc::request::{LndNumbers, LndTunables, NiTunables};
use lnet_dlc::{InterfaceSpec, Operation, ReturnCode, SeqNo, ranges};
use lnet_wire::Nid;

pub(super) fn run(command: &Net, cx: &mut Context<'_>) -> CommandOutcome {
    match command {
        Net::Add(command) => CommandOutcome::change(add(command, cx)),
        Net::Del(command) => CommandOutcome::change(del(command, cx)),
        Net::Set(command) => set(command, cx),
        Net::Show(command) => {
            let detail = command.verbosity.level();
            let net = command.net.as_deref();
            CommandOutcome::show(net::show(cx.node, net, detail, SeqNo::NONE, &mut cx.report, false))
        }
    }
}

fn add(command: &NetAdd, cx: &mut Context<'_>) -> ReturnCode {
    let Ok((net_name, interfaces)) = place(&command.net, &command.interfaces, command.nid, "add", cx) else {
        return ReturnCode::BAD_PARAM;
    };
    // The values have been checked against their ranges.
    let tunable = |range: Range, value: Option<i64>| range.or_default(value?).ok().flatten();
    let conns_per_peer = command.conns_per_peer.and_then(|value| net::conns_per_peer(value).ok());
    let given = command.tos.map(|tos| (ranges::TOS.name, tos));
    let config = NetConfig {
        net: net_name.as_deref(),
        interfaces,
        ip2net: command.ip2net.as_deref(),
        tunables: NiTunables {
            peer_timeout: tunable(ranges::PEER_TIMEOUT, command.peer_timeout),
            peer_credits: tunable(ranges::PEER_CREDITS, command.peer_credits),
            peer_buffer_credits: tunable(ranges::PEER_BUFFER_CREDITS, command.peer_buffer_credits),
            credits: tunable(ranges::CREDITS, command.credits),
        },
        lnd: LndTunables { conns_per_peer, numbers: LndNumbers::written_as(given) },
        cpts: command.cpt.clone(),
    };
    net::add(cx.node, &config, SeqNo::NONE, &mut cx.report)
}

fn del(command: &NetDel, cx: &mut Context<'_>) -> ReturnCode {
    match place(&command.net, &command.interfaces, command.nid, "del", cx) {
        Ok((net, interfaces)) => net::del(cx.node, net.as_deref(), &interfaces, SeqNo::NONE, &mut cx.report),
        Err(()) => ReturnCode::BAD_PARAM,
    }
}

/// Returns the net and the interfaces of a command, which are given by name or by a NID.
fn place(
    net: &Option<String>,
    interfaces: &Option<String>,
    nid: Option<Nid>,
    word: &str,
    cx: &mut Context<'_>,
) -> Result<(Option<String>, Vec<InterfaceSpec>), ()> {
    if let Some(nid) = nid {
        let text = nid.to_string();
        let address = text.split_once('@').map_or(text.as_str(), |(address, _)| address);
        return Ok((Some(nid.net().to_string()), vec![InterfaceSpec::named(address)]));
    }
    let list = interfaces.as_deref().map(InterfaceSpec::parse_list).transpose();
    list.map(|list| (net.clone(), list.unwrap_or_default())).map_err(|error| {
        let text = format!("--if: {error}; give names between commas, such as eth0,eth1[0,2]");
        // Word and entity are the other way round, as scripts know them.
        let _ = cx.report.end(Operation::Ni, word, SeqNo::NONE, ReturnCode::BAD_PARAM, text);
    })
}

fn set(command: &NetSet, cx: &mut Context<'_>) -> CommandOutcome {
    if command.lnd_timeout.is_some() {
        return unsupported(cx, Operation::Add, "lnd_timeout", "--lnd-timeout");
    }
    let nid = if command.all { None } else { command.nid.as_deref() };
    let health = command.health;
    if nid.is_none() && !command.all && (health.is_some() || command.conns_per_peer.is_some()) {
        let text = "which interface? give --nid NID or --all";
        return CommandOutcome::change(cx.report.end(
            Operation::Add,
            "ni",
            SeqNo::NONE,
            ReturnCode::MISSING_PARAM,
            text,
        ));
    }
    let mut rc = ReturnCode::OK;
    if let Some(value) = health {
        rc = net::set_health(cx.node, value, nid, SeqNo::NONE, &mut cx.report);
    }
    if let Some(value) = command.conns_per_peer {
        // For the operation, as for C, -1 means that no value is given.
        if let Err(error) = net::conns_per_peer(value.into()) {
            let entity = "ni conns_per_peer";
            let refused = cx.report.end(Operation::Add, entity, SeqNo::NONE, ReturnCode::BAD_PARAM, error);
            return CommandOutcome::change(refused);
        }
        rc = net::set_conns_per_peer(cx.node, value, nid, SeqNo::NONE, &mut cx.report).or(rc);
    }
    CommandOutcome::change(rc)
}

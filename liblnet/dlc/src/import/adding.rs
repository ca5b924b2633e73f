//! Adds the items of a file: `import --add`.

use super::{complete_peers, each};
use crate::model::{Block, Ip2netsItem, NetItem, NiItem, PeerItem, RouteItem, UdspItem};
use crate::ops::global::Setting;
use crate::ops::net::NetConfig;
use crate::ops::peer::{MAX_NIDS, Modify};
use crate::ops::policy::{RuleEffect, RuleText};
use crate::ops::route::RouteConfig;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Peer, Request, Route, Tunables};
use crate::{ReturnCode, ops};
use lnet_settings::ChangeTime;
use lnet_wire::{Errno, Nid};
use std::fmt::Display;

pub(super) fn add(backend: &dyn Backend, block: &Block, report: &mut Report) -> ReturnCode {
    match block {
        Block::Net(items) => each(items, |item, seq_no| net(backend, item, seq_no, report)),
        Block::Ip2nets(items) => each(items, |item, seq_no| ip2net(backend, item, seq_no, report)),
        Block::Route(items) => each(items, |item, seq_no| route(backend, item, seq_no, report)),
        Block::Peer(items) => each(items, |item, seq_no| match item.replace {
            true => complete_peers::add(backend, item, seq_no, report),
            false => peer(backend, item, seq_no, report),
        }),
        Block::Routing(item) => item
            .it
            .map_or(ReturnCode::OK, |enable| ops::routing::enable(backend, enable, item.seq_no, report)),
        Block::Buffers(item) => {
            let [tiny, small, large] = item.it.map(as_c);
            ops::routing::config_buffers(backend, tiny, small, large, item.seq_no, report)
        }
        Block::Global(item) => {
            let now = backend.ask::<Tunables>(Request::GetTunables).ok();
            in_order(now.as_ref(), &item.it).into_iter().fold(ReturnCode::OK, |before, (setting, value)| {
                ops::global::config(backend, setting, value, item.seq_no, report).or(before)
            })
        }
        Block::Udsp(items) => each(items, |rule, seq_no| {
            let [src, dst, rte] = [&rule.src, &rule.dst, &rule.rte].map(text);
            let text = RuleText { src: src.as_deref(), dst: dst.as_deref(), rte: rte.as_deref() };
            ops::policy::ensure(backend, text, effect(rule), seq_no, report)
        }),
        Block::Statistics(_) | Block::Ping(_) | Block::Discover(_) => ReturnCode::OK,
    }
}

/// The effect that a rule of the file asks for.
pub(crate) const fn effect(rule: &UdspItem) -> RuleEffect {
    RuleEffect { action: rule.action, messages: rule.messages, index: rule.index }
}

/// The number as the C API takes it: -1 for none.
pub(super) fn as_c(number: Option<u32>) -> i32 {
    number.map_or(-1, |number| i32::try_from(number).unwrap_or(i32::MAX))
}

/// The text as the operations take it.
pub(crate) fn text<T: Display>(it: &Option<T>) -> Option<String> {
    it.as_ref().map(T::to_string)
}

/// Adds each interface by itself, so that a refused one does not keep the others from being added.
fn net(backend: &dyn Backend, item: &NetItem, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let net = text(&item.net);
    let mut last = ReturnCode::OK;
    for NiItem { interface, tunables, lnd, cpts, .. } in &item.nis {
        let config = NetConfig {
            net: net.as_deref(),
            interfaces: interface.iter().cloned().collect(),
            ip2net: item.ip2net.as_deref(),
            tunables: *tunables,
            lnd: *lnd,
            cpts: cpts.clone(),
        };
        last = match item.ip2net {
            Some(_) => ops::net::add(backend, &config, seq_no, report),
            None => ops::net::ensure(backend, &config, seq_no, report),
        }
        .or(last);
        if item.ip2net.is_some() {
            // The rule takes the place of the interfaces: once is enough.
            break;
        }
    }
    last
}

/// Adds a rule. If the rule names interfaces that this machine lacks, it fails, and the others are added (dlc 4.1).
fn ip2net(backend: &dyn Backend, item: &Ip2netsItem, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let host = match lnet_os::interfaces::host_interfaces() {
        Ok(host) => host,
        Err(error) => {
            let text = format!("cannot list this machine's interfaces: {error}");
            return report.end(
                Operation::Add,
                "ip2nets",
                seq_no,
                ReturnCode::from(Errno::from(&error)),
                text,
            );
        }
    };
    let config =
        NetConfig { tunables: item.tunables, lnd: item.lnd, cpts: item.cpts.clone(), ..NetConfig::default() };
    ops::net::add_rule(backend, &item.rule, &host, &config, seq_no, report)
}

fn route(backend: &dyn Backend, item: &RouteItem, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let net = text(&item.net);
    let config = RouteConfig {
        net: net.as_deref(),
        gateways: item.gateway.as_deref(),
        hops: as_c(item.hops),
        priority: as_c(item.priority),
        sensitivity: as_c(item.sensitivity),
    };
    ops::route::add(backend, config, seq_no, report)
}

/// Adds a peer. A gateway is created by its route and cannot be changed; an export has it in both places, and must
/// be importable.
fn peer(backend: &dyn Backend, item: &PeerItem, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let primary = text(&item.primary);
    if item.primary.is_some_and(|nid| is_gateway(backend, nid)) {
        return report.success(Operation::Add, "peer_ni", seq_no);
    }
    let what = Modify::Add { multi_rail: item.multi_rail, lock_primary: false };
    let nids = item.nids.as_deref().unwrap_or_default();
    modify(backend, primary.as_deref(), nids, what, seq_no, report)
}

/// Changes a peer by NIDs, of which there may be more than one list may name. Ends at the first part of them that has an error.
pub(super) fn modify(
    backend: &dyn Backend,
    primary: Option<&str>,
    nids: &[Nid],
    what: Modify,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    if nids.is_empty() {
        return ops::peer::modify(backend, primary, None, what, seq_no, report);
    }
    let mut parts = nids.chunks(MAX_NIDS).map(list);
    parts
        .find_map(|part| {
            let rc = ops::peer::modify(backend, primary, Some(&part), what, seq_no, report);
            (!rc.is_ok()).then_some(rc)
        })
        .unwrap_or(ReturnCode::OK)
}

/// Whether the peer with this NID is a gateway. Whether a peer is alive is known only of gateways and of monitored peers,
/// so for all others the routes are not requested.
fn is_gateway(backend: &dyn Backend, nid: Nid) -> bool {
    let Ok(peer) = backend.ask::<Box<Peer>>(Request::GetPeerNi(nid)) else { return false };
    let routes = || backend.list::<Route>(Request::GetRoute).unwrap_or_default();
    peer.nis.iter().any(|ni| ni.alive.is_some())
        && routes().iter().any(|route| peer.nis.iter().any(|ni| ni.nid == route.gateway))
}

/// The NIDs as a list that [`ops::peer::parse_nids`] reads.
fn list(nids: &[Nid]) -> String {
    nids.iter().map(Nid::to_string).collect::<Vec<_>>().join(" ")
}

/// The settings in the order of lnetctl (dlc 2.7), which is that of the table except for the first, and for settings that
/// bound each other: if the new retry count does not fit the current values `now`, those that it depends on come first.
/// Settings that cannot be set are left out.
pub(crate) fn in_order(now: Option<&Tunables>, settings: &[(Setting, i64)]) -> Vec<(Setting, i64)> {
    let new = settings.iter().find(|(it, _)| *it == Setting::RetryCount).map(|(_, value)| *value);
    let needs_more = match (new, now) {
        (Some(retries), Some(now)) => {
            retries >= now.get(Setting::TransactionTimeout).into()
                || retries > 0 && now.get(Setting::HealthSensitivity) == 0
        }
        _ => false,
    };
    let rank = |setting: Setting| match setting {
        Setting::MaxInterfaces => None,
        Setting::RetryCount if needs_more => Some((Setting::HealthSensitivity, true)),
        _ => Some((setting, false)),
    };
    let can_change = |setting: Setting| matches!(setting.spec().change, ChangeTime::AnyTime);
    let mut ordered: Vec<_> = settings.iter().copied().filter(|(setting, _)| can_change(*setting)).collect();
    ordered.sort_by_key(|(setting, _)| rank(*setting));
    ordered
}

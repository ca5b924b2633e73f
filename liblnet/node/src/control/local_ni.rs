//! Requests about local NIs.

use super::stats::{self, NextPing};
use crate::ni_starter::find;
use crate::node::{Node, logged};
use lnet_core::MAX_HEALTH;
use lnet_core::health::{Cause, NiState};
use lnet_core::lnd::StartError;
use lnet_core::{Core, Errno, Ni};
use lnet_dlc::ops::net::conns_per_peer;
use lnet_dlc::request::{
    self, AddLocalNi, DelLocalNi, LndNumbers, LndTunables, LocalHealth, LocalNi, NiStatus, NiTunables,
    SetConnsPerPeer,
};
use lnet_dlc::{CptList, Reply, RequestError};
use lnet_wire::{NetId, Nid};
use std::sync::Arc;

/// Adds an interface; tunables that are not given are those of the node's start (cfg-020, cfg-025, cfg-035). Returns its NID, or
/// nothing if the interface waits, as one of the start configuration may.
pub(super) fn add(node: &Node, add: AddLocalNi, warnings: &mut Vec<String>) -> Result<Reply, RequestError> {
    let configured = node.starter.configured(add.clone());
    let error = match configured.and_then(|(nid, config)| node.start_ni(nid, config, warnings)) {
        Ok(nid) => {
            node.waiting.note_added(add.net, add.interface.as_deref());
            return Ok(Reply::Nid(nid));
        }
        Err(error) => error,
    };
    let waits = node.wait_for(add, error);
    waits.map(|()| Reply::Done).map_err(|error| refused(logged(error)))
}

/// The warnings about all interfaces, each once.
pub(super) fn warnings(node: &Node) -> Vec<String> {
    let mut all: Vec<String> =
        node.core().nets().nis().flat_map(|ni| node.starter.warnings_of(ni.nid())).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Checks whether adding the interface would fail, as far as that shows before its driver is started.
pub(super) fn check(node: &Node, add: AddLocalNi) -> Result<(), RequestError> {
    let checked =
        node.starter.configured(add).and_then(|(nid, config)| node.core().admin().check_ni(nid, config));
    checked.map_err(refused)
}

fn refused(error: StartError) -> RequestError {
    RequestError { errno: error.errno, text: Some(error.text) }
}

/// Removes an interface, one that waits too, or a net. An interface is found by the name under which it was added, in whatever state, or
/// else by its current address.
pub(super) fn delete(node: &Node, del: &DelLocalNi) -> Result<(), RequestError> {
    let nets = node.core().nets();
    let on_net = |net: NetId| nets.net(net).map_or(&[][..], |net| net.nis());
    let has_waited = node.waiting.remove(del.net, del.interface.as_deref());
    let nids: Vec<Nid> = match &del.interface {
        None => on_net(del.net).iter().map(|ni| ni.nid()).collect(),
        Some(name) => {
            let recorded = on_net(del.net).iter().find(|ni| ni.config().interface.as_ref() == Some(name));
            vec![match recorded {
                Some(ni) => ni.nid(),
                None if has_waited => return Ok(()),
                None => {
                    let driver = node.starter.drivers.for_net(del.net).map_err(refused)?;
                    find(driver, del.net, Some(name)).map_err(refused)?.nid
                }
            }]
        }
    };
    if nids.is_empty() && !has_waited {
        return Err(Errno::NotFound.into());
    }
    Ok(nids.into_iter().try_for_each(|nid| node.remove_ni(nid))?)
}

/// The report on the interface with this index (dbg-035, dbg-040).
pub(super) fn get(node: &Node, index: u32) -> Result<LocalNi, Errno> {
    let core = node.core();
    let nets = core.nets();
    let ni = nets.nis().nth(index as usize).ok_or(Errno::NotFound)?;
    Ok(LocalNi {
        nid: ni.nid(),
        status: if ni.is_reported_up() { NiStatus::Up } else { NiStatus::Down },
        interface: ni.config().interface.clone(),
        tunables: tunables(ni),
        lnd: LndTunables { conns_per_peer: ni.conns_per_peer(), numbers: LndNumbers::new(ni.lnd_numbers()) },
        device_cpt: device_cpt(ni),
        cpts: cpts(core, ni),
        stats: stats::element(ni.counters()),
        messages: stats::messages(ni.counters()),
        bytes: stats::bytes(ni.counters()),
        heat: node.heat.of_ni(node.now(), ni.nid(), ni.counters()),
        health: health(node, ni),
        tx_credits: ni.credits().0.into(),
        min_tx_credits: ni.min_credits().0.into(),
        latencies: ni.latencies().read(),
    })
}

/// The tunables of an interface for the report; zeros for the loopback, as in the kernel.
fn tunables(ni: &Ni) -> NiTunables {
    let its = ni.tunables();
    let shown = |value: u32| Some(if ni.nid().is_loopback() { 0 } else { value });
    NiTunables {
        peer_timeout: shown(its.peer_timeout),
        peer_credits: shown(its.peer_credits),
        peer_buffer_credits: shown(its.peer_buffer_credits),
        credits: shown(its.credits),
    }
}

/// The failure counters, under the kernel's names of the causes (dbg-020, dbg-030). The loopback has no health value;
/// the kernel reports 0.
fn health(node: &Node, ni: &Ni) -> LocalHealth {
    let failed = ni.failures().read();
    let NextPing { ping_count, at, seconds } = NextPing::new(node, ni.recovery());
    LocalHealth {
        fatal_error: ni.is_fatal(),
        value: if ni.nid().is_loopback() { 0 } else { ni.health().min(MAX_HEALTH) },
        interrupts: failed.of(Cause::LocalInterrupt),
        dropped: failed.of(Cause::LocalDropped),
        aborted: failed.of(Cause::LocalAborted),
        no_route: failed.of(Cause::LocalNoRoute),
        timeouts: failed.of(Cause::LocalTimeout),
        error: failed.of(Cause::LocalError),
        ping_count,
        next_ping: at,
        next_ping_in: seconds,
        state: Some(state(NiState::of(ni))),
        net_state: node.core().nets().net(ni.nid().net()).map(|net| state(NiState::of_net(net))),
    }
}

const fn state(state: NiState) -> request::NiState {
    match state {
        NiState::Active => request::NiState::Active,
        NiState::Degraded => request::NiState::Degraded,
        NiState::Failed => request::NiState::Failed,
    }
}

fn device_cpt(ni: &Ni) -> i32 {
    match ni.config().device_cpt {
        Some(cpt) => i32::try_from(cpt).unwrap_or(-1),
        None if ni.nid().is_loopback() => 0,
        None => -1,
    }
}

fn cpts(core: &Core, ni: &Ni) -> CptList {
    match &ni.config().cpts[..] {
        [] => CptList::new((0..core.cpts() as u32).collect()),
        bound => CptList::new(bound.to_vec()),
    }
}

/// Sets the number of connections of one interface, or of all that have connections. [`Errno::Invalid`] for a number out of
/// range, [`Errno::NotFound`] for a NID that is not local.
pub(super) fn set_conns_per_peer(core: &Core, set: SetConnsPerPeer) -> Result<(), Errno> {
    conns_per_peer(set.value.into()).map_err(|_| Errno::Invalid)?;
    let nets = core.nets();
    if set.nid.is_some_and(|nid| nets.ni(nid).is_none()) {
        return Err(Errno::NotFound);
    }
    let concerned = |ni: &&Arc<Ni>| set.nid.is_none_or(|nid| ni.nid() == nid);
    nets.nis().filter(concerned).for_each(|ni| ni.set_conns_per_peer(set.value));
    Ok(())
}

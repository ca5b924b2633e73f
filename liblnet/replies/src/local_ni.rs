//! Local NIs.

use crate::heat::HeatTable;
use crate::next_ping::NextPing;
use crate::stats;
use lnet_core::health::{Cause, NiState};
use lnet_core::{Core, Errno, MAX_HEALTH, Ni, Time};
use lnet_dlc::CptList;
use lnet_dlc::request::{self, LndNumbers, LndTunables, LocalHealth, LocalNi, NiStatus, NiTunables};

/// The report on the interface with this index (dbg-035, dbg-040).
pub fn local_ni(core: &Core, now: Time, heat: &HeatTable, index: u32) -> Result<LocalNi, Errno> {
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
        heat: heat.of_ni(now, ni.nid(), ni.counters()),
        health: health(core, now, ni),
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
fn health(core: &Core, now: Time, ni: &Ni) -> LocalHealth {
    let failed = ni.failures().read();
    let NextPing { ping_count, at, seconds } = NextPing::new(now, ni.recovery());
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
        net_state: core.nets().net(ni.nid().net()).map(|net| state(NiState::of_net(net))),
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

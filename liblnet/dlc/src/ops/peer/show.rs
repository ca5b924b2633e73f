//! Output of peers (dlc 2.5).

use crate::host_names::Names;
use crate::ops::counters::{self, EXTRA_DETAIL};
use crate::ops::discovery;
use crate::ops::error_text::error_text;
use crate::ops::latency;
use crate::ops::udsp_info::{self, udsp_info};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Peer, PeerHealth, PeerNi, PeerNiState, PeerReachability, Request};
use crate::{ReturnCode, Value, peer_state};
use lnet_wire::Reachability;
use lnet_wire::{Errno, Nid};

/// Shows the peer with this NID, or all (dlc 2.5; dbg-050 to dbg-065, dbg-090, dbg-100). -2 for an unknown
/// NID. `lustre_lnet_show_peer`.
///
/// | from level | is shown |
/// |---|---|
/// | 0 | NIDs, whether multi-rail, and states; not the states with `backup` |
/// | 1 | credits and message counts; whether the peer can be reached, and for how many seconds it has been so |
/// | 2 | messages by kind, health |
/// | 3 | the state word |
/// | 4 | the effects of selection rules, delays |
/// | 5 | bytes, heat, and the sums over its NIDs; states in words, unresponsive paths, the discovery state; how many of its paths can be used |
///
/// With `backup` nothing of levels 1 to 5 is shown, and only configured peers are: a peer that was created by a ping
/// or a message is created again by the next one, and would become a configured peer by an import.
pub fn show(
    backend: &dyn Backend,
    nid: Option<&str>,
    detail: u32,
    seq_no: SeqNo,
    report: &mut Report,
    backup: bool,
) -> ReturnCode {
    let found = match nid.map(|text| Names::new().nid(text)) {
        None => each(backend, 0, usize::MAX, detail, backup, |peer| !backup || is_configured(peer)),
        Some(Ok(nid)) => peer_of(backend, nid)
            .and_then(|peer| to_value(Some(backend), &peer, detail, backup))
            .map(|it| vec![it]),
        // A text that is not a NID is treated as an unknown NID.
        Some(Err(_)) => Err(Errno::NotFound),
    };
    shown(found, nid, seq_no, report)
}

/// Shows at most `max` peers, as [`show`] shows all (dbg-100). `lustre_lnet_show_peers`.
pub fn show_at_most(
    backend: &dyn Backend,
    max: usize,
    detail: u32,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    shown(page(backend, 0, max, detail, false), None, seq_no, report)
}

fn shown(
    found: Result<Vec<Value>, Errno>,
    nid: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    match found {
        Ok(items) => {
            if !items.is_empty() {
                report.show(PEER, items);
            }
            report.success(Operation::Show, PEER, seq_no)
        }
        Err(errno) => {
            let text = match nid {
                Some(nid) => format!("cannot read peer '{nid}': {}", error_text(errno)),
                None => format!("cannot read the peers: {}", error_text(errno)),
            };
            report.end(Operation::Show, PEER, seq_no, errno.into(), text)
        }
    }
}

/// The items that [`show`] shows, for at most `max` peers from number `first` on (dbg-100).
pub fn page(
    backend: &dyn Backend,
    first: usize,
    max: usize,
    detail: u32,
    backup: bool,
) -> Result<Vec<Value>, Errno> {
    each(backend, first, max, detail, backup, |_| true)
}

fn is_configured(peer: &Peer) -> bool {
    peer.state & peer_state::CONFIGURED != 0
}

/// The values of the peers for which `is_wanted` is true, among at most `max` of the node's peers from number `first` on.
fn each(
    backend: &dyn Backend,
    first: usize,
    max: usize,
    detail: u32,
    backup: bool,
    is_wanted: impl Fn(&Peer) -> bool,
) -> Result<Vec<Value>, Errno> {
    let primaries: Vec<Nid> = backend.ask(Request::GetPeerList)?;
    let mut items = Vec::with_capacity(primaries.len().min(max));
    for nid in primaries.into_iter().skip(first).take(max) {
        let shown = |peer: Box<Peer>| {
            is_wanted(&peer).then(|| to_value(Some(backend), &peer, detail, backup)).transpose()
        };
        match peer_of(backend, nid).and_then(shown) {
            Ok(item) => items.extend(item),
            // The peer was removed after the list was requested.
            Err(Errno::NotFound) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(items)
}

/// Shows the primary NIDs of all peers. `lustre_lnet_list_peer`.
pub fn list(backend: &dyn Backend, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    match backend.ask::<Vec<Nid>>(Request::GetPeerList) {
        Ok(nids) => {
            let items: Vec<_> = nids.iter().map(|nid| Value::map().with("nid", nid.to_string())).collect();
            if !items.is_empty() {
                report.show("peer list", items);
            }
            report.success(Operation::Show, PEER, seq_no)
        }
        Err(errno) => {
            let text = format!("cannot read the peers: {}", error_text(errno));
            report.end(Operation::Show, PEER, seq_no, errno.into(), text)
        }
    }
}

const PEER: &str = "peer";

fn peer_of(backend: &dyn Backend, nid: Nid) -> Result<Box<Peer>, Errno> {
    backend.ask(Request::GetPeerNi(nid))
}

/// The value of a peer, as [`show`] shows it on the highest level, without the effects of selection rules, which need further
/// requests.
pub fn peer_value(peer: &Peer) -> Value {
    to_value(None, peer, EXTRA_DETAIL, false).unwrap_or(Value::Null)
}

/// `backend` is asked for the effects of selection rules; without it they are left out.
fn to_value(backend: Option<&dyn Backend>, peer: &Peer, detail: u32, backup: bool) -> Result<Value, Errno> {
    let mut shown = Value::map()
        .with("primary nid", peer.primary.to_string())
        .with("Multi-Rail", if peer.multi_rail { "True" } else { "False" });
    if let Some(its) = peer.reachability.as_ref().filter(|_| detail >= 1 && !backup) {
        push_reachability(&mut shown, its, detail);
    }
    if detail >= 3 && !backup {
        shown.push("peer state", peer.state);
    }
    if let Some(its) = peer.discovery.as_ref().filter(|_| detail >= EXTRA_DETAIL && !backup) {
        shown.push("discovery", discovery::to_value(peer.state, its));
    }
    let nis = peer.nis.iter().map(|ni| match backup {
        true => Ok(Value::map().with("nid", ni.nid.to_string())),
        false => ni_to_value(backend, ni, detail),
    });
    shown.push("peer ni", nis.collect::<Result<Vec<_>, _>>()?);
    if detail >= EXTRA_DETAIL && !backup {
        shown.push("peer statistics", counters::sums(peer.nis.iter().map(|ni| (ni.stats, ni.bytes))));
    }
    Ok(shown)
}

/// Adds the reachability and its duration; on level 5 also the numbers of paths.
fn push_reachability(shown: &mut Value, its: &PeerReachability, detail: u32) {
    shown.push("reachability", its.state.text());
    if its.state != Reachability::Unknown {
        shown.push("reachability seconds", its.seconds);
    }
    if detail >= EXTRA_DETAIL {
        shown.push("paths", its.paths);
        shown.push("usable paths", its.usable_paths);
    }
}

fn ni_to_value(backend: Option<&dyn Backend>, ni: &PeerNi, detail: u32) -> Result<Value, Errno> {
    let mut shown = Value::map().with("nid", ni.nid.to_string());
    if let Some(backend) = backend.filter(|_| detail >= udsp_info::DETAIL) {
        shown.push("udsp info", udsp_info(backend, ni.nid, false)?);
    }
    let state = match ni.alive {
        None => "NA",
        Some(true) => "up",
        Some(false) => "down",
    };
    shown.push("state", state);
    if detail >= EXTRA_DETAIL {
        shown.push("reported status", if ni.reported_down { "down" } else { "up" });
    }
    if detail >= 1 {
        shown.push("max_ni_tx_credits", ni.max_tx_credits);
        shown.push("available_tx_credits", ni.tx_credits);
        shown.push("min_tx_credits", ni.min_tx_credits);
        shown.push("tx_q_num_of_buf", ni.tx_queued_bytes);
        shown.push("available_rtr_credits", ni.rtr_credits);
        shown.push("min_rtr_credits", ni.min_rtr_credits);
        shown.push("refcount", ni.refcount);
        shown.push("statistics", counters::statistics(ni.stats));
    }
    if detail >= 2 {
        counters::push_messages(&mut shown, &ni.messages);
        shown.push("health stats", health(&ni.health));
    }
    if detail >= latency::DETAIL {
        latency::push(&mut shown, &ni.latencies);
    }
    if detail >= EXTRA_DETAIL {
        counters::push_activity(&mut shown, ni.bytes, ni.heat);
        counters::push_state(&mut shown, ni.health.state.map(PeerNiState::text), ni.health.next_ping_in);
        if !ni.health.unresponsive_from.is_empty() {
            let local = ni.health.unresponsive_from.iter().map(|nid| Value::Text(nid.to_string()));
            shown.push("unresponsive from", local.collect::<Vec<_>>());
        }
    }
    Ok(shown)
}

fn health(health: &PeerHealth) -> Value {
    Value::map()
        .with("health value", health.value)
        .with("dropped", health.dropped)
        .with("timeout", health.timeout)
        .with("error", health.error)
        .with("network timeout", health.network_timeout)
        .with("ping_count", health.ping_count)
        .with("next_ping", health.next_ping)
}

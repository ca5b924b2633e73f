//! The block `peers` of the design document: each item lists all NIDs that its peer has (dlc 3.4: CONFLICT-5,
//! CONFLICT-6, CONFLICT-7). Any of them identifies the peer; a NID that is refused is reported and the rest is done.

use super::adding;
use crate::ReturnCode;
use crate::model::PeerItem;
use crate::ops::peer::{Modify, modify};
use crate::report::{Operation, Report, SeqNo};
use crate::request::{Backend, Peer, Request};
use lnet_wire::{Errno, Nid};

/// The changes after which a peer has exactly the listed NIDs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// The primary NID of the existing peer, which must be removed because that NID is not listed.
    pub forget: Option<Nid>,
    /// The primary NID that the peer has or gets.
    pub primary: Option<Nid>,
    /// NIDs to be added, the primary first if the peer is to be created.
    pub add: Vec<Nid>,
    /// NIDs to be removed.
    pub remove: Vec<Nid>,
}

/// Plans the changes. `now` is the peer that has one of the NIDs.
pub(super) fn plan(listed: &[Nid], now: Option<&Peer>) -> Plan {
    let first = listed.first().copied();
    let Some(now) = now else {
        return Plan { primary: first, add: listed.to_vec(), ..Plan::default() };
    };
    if !listed.contains(&now.primary) {
        return Plan { forget: Some(now.primary), primary: first, add: listed.to_vec(), remove: Vec::new() };
    }
    let has = |nid: &Nid| now.nis.iter().any(|ni| ni.nid == *nid);
    Plan {
        forget: None,
        primary: Some(now.primary),
        add: listed.iter().copied().filter(|nid| !has(nid)).collect(),
        remove: now.nis.iter().map(|ni| ni.nid).filter(|nid| !listed.contains(nid)).collect(),
    }
}

pub(super) fn add(backend: &dyn Backend, item: &PeerItem, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let listed = item.nids.as_deref().unwrap_or_default();
    let now = match owner(backend, listed) {
        Ok(now) => now,
        Err(errno) => return cannot_ask(Operation::Add, errno, seq_no, report),
    };
    let plan = plan(listed, now.as_deref());
    let mut last = ReturnCode::OK;
    if let Some(old) = plan.forget {
        let what = Modify::Del { force: false };
        last = modify(backend, Some(&old.to_string()), None, what, seq_no, report).or(last);
    }
    let Some(primary) = plan.primary.map(|nid| nid.to_string()) else { return last };
    // An existing peer keeps its multi-rail flag, which a node refuses to change.
    let multi_rail = match (&now, plan.forget) {
        (Some(now), None) => now.multi_rail,
        _ => item.multi_rail,
    };
    let what = Modify::Add { multi_rail, lock_primary: false };
    for nid in plan.add {
        last = modify(backend, Some(&primary), Some(&nid.to_string()), what, seq_no, report).or(last);
    }
    for nid in plan.remove {
        let what = Modify::Del { force: false };
        last = modify(backend, Some(&primary), Some(&nid.to_string()), what, seq_no, report).or(last);
    }
    last
}

pub(super) fn del(backend: &dyn Backend, item: &PeerItem, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let listed = item.nids.as_deref().unwrap_or_default();
    let peer = match owner(backend, listed) {
        Ok(Some(peer)) => peer,
        Ok(None) => return cannot_ask(Operation::Del, Errno::NotFound, seq_no, report),
        Err(errno) => return cannot_ask(Operation::Del, errno, seq_no, report),
    };
    let all = peer.nis.iter().all(|ni| listed.contains(&ni.nid));
    if !all && listed.contains(&peer.primary) {
        let text = format!(
            "{} is the primary NID of a peer with other NIDs; list them all to delete the peer",
            peer.primary
        );
        return report.end(Operation::Del, "peer_ni", seq_no, Errno::Busy.into(), text);
    }
    let nids = if all { &[][..] } else { listed };
    let what = Modify::Del { force: false };
    adding::modify(backend, Some(&peer.primary.to_string()), nids, what, seq_no, report)
}

/// The first peer that has any of the NIDs.
pub(super) fn owner(backend: &dyn Backend, nids: &[Nid]) -> Result<Option<Box<Peer>>, Errno> {
    for nid in nids {
        match backend.ask(Request::GetPeerNi(*nid)) {
            Ok(peer) => return Ok(Some(peer)),
            Err(Errno::NotFound) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(None)
}

fn cannot_ask(operation: Operation, errno: Errno, seq_no: SeqNo, report: &mut Report) -> ReturnCode {
    let text = format!("cannot find the peer: {}", errno.text());
    report.end(operation, "peer_ni", seq_no, errno.into(), text)
}

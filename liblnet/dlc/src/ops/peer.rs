//! Operations on peers.

mod show;

pub use show::{list, page, peer_value, show, show_at_most};

use super::error_text::{OpError, error_text, one_nid};
use super::health;
use crate::ReturnCode;
use crate::host_names::{Names, checked, is_named};
use crate::interface_spec::split_outside_brackets;
use crate::report::{Operation, Report, SeqNo};
use crate::request::{AddPeerNi, Backend, DelPeerNi, Request, SetHealthKind, SetPeerState};
use lnet_wire::text::Problem;
use lnet_wire::{Errno, Nid, NidList, TextError};

/// A change to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modify {
    /// Create the peer, or add NIDs to it.
    Add {
        /// Whether the peer is multi-rail.
        multi_rail: bool,
        /// Whether discovery must not change the primary NID of the peer.
        lock_primary: bool,
    },
    /// Remove NIDs of the peer, or the peer.
    Del {
        /// Whether the peer is removed even if its primary NID is locked.
        force: bool,
    },
}

/// The most NIDs that one list may name (`LNET_MAX_NIDS_PER_PEER`).
pub const MAX_NIDS: usize = 128;
/// The most NIDs that a peer in a file may have: as many as one message of ping information has room for.
pub const MAX_NIDS_OF_PEER: usize = lnet_wire::MAX_PAYLOAD as usize / 16;

/// Reads a list of NID ranges, with blanks or commas between; at least one NID, at most `max`, and no `*`.
/// `lustre_lnet_parse_nidstr`. NIDs come in the order of the list, those of one net together.
pub fn parse_nids(text: &str, max: usize) -> Result<Vec<Nid>, TextError> {
    let list: NidList =
        split_outside_brackets(text.trim()).map(str::trim).collect::<Vec<_>>().join(" ").parse()?;
    let too_many =
        |_| TextError { problem: Problem::OutOfBounds(1, u32::try_from(max).unwrap_or(u32::MAX)), at: 0 };
    match list.nids(max).map_err(too_many)? {
        nids if nids.is_empty() => Err(TextError { problem: Problem::Empty, at: 0 }),
        nids => nids.into_iter().map(checked).collect(),
    }
}

/// Reads the list like [`parse_nids`], but NIDs may have a host name as address. Waits for the resolver.
pub fn parse_named_nids(text: &str, max: usize, names: &Names) -> Result<Vec<Nid>, TextError> {
    let error = match parse_nids(text, max) {
        Ok(nids) => return Ok(nids),
        Err(error) => error,
    };
    let entries = split_outside_brackets(text).flat_map(str::split_ascii_whitespace);
    let mut has_name = false;
    let mut resolved = |entry: &str| match is_named(entry) {
        false => Ok(entry.to_owned()),
        true => {
            has_name = true;
            names.nid(entry).map(|nid| nid.to_string())
        }
    };
    let texts = entries.map(&mut resolved).collect::<Result<Vec<_>, _>>()?;
    if has_name { parse_nids(&texts.join(" "), max) } else { Err(error) }
}

/// The text of an error in a list of at most [`MAX_NIDS`] NIDs, and the remedy.
pub(crate) fn not_nids(what: &str, text: &str, error: &TextError) -> String {
    const NID_COUNT: Problem = Problem::OutOfBounds(1, MAX_NIDS as u32);
    match error.problem {
        NID_COUNT => {
            format!("{what} '{text}': these are more than {MAX_NIDS} NIDs; name them in several steps")
        }
        Problem::Empty => format!("{what} '{text}': there is no NID in this; a range goes up, as in [1-9]"),
        Problem::NoNetwork => format!("{what} '{text}': {error}; one is ADDRESS@NET, such as 192.0.2.1@tcp"),
        Problem::UnknownNetwork => {
            format!("{what} '{text}': {error}; a net is a kind and a number, such as tcp1 or o2ib")
        }
        _ => format!("{what} '{text}': {error}"),
    }
}

/// Creates, changes or removes a peer (cfg-070, cfg-075, cfg-080). `nids` is a list of ranges for
/// [`parse_nids`]. A refused NID ends the operation; those before it stay. `lustre_lnet_modify_peer`.
///
/// Adding creates the peer first and then adds each NID except the primary one; NIDs of the peer that are not in the list
/// stay. Deleting without a list, or with the primary NID in it, removes the peer.
pub fn modify(
    backend: &dyn Backend,
    primary: Option<&str>,
    nids: Option<&str>,
    what: Modify,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    let (operation, word) = match what {
        Modify::Add { .. } => (Operation::Add, "add"),
        Modify::Del { .. } => (Operation::Del, "del"),
    };
    let requests = match requests(primary, nids, what) {
        Ok(requests) => requests,
        Err(text) => return report.end(Operation::Peer, word, seq_no, ReturnCode::BAD_PARAM, text),
    };
    for (nid, request) in requests {
        if let Err(errno) = backend.tell(request) {
            let (rc, text) = refused(nid, what, errno);
            let rc = report.end(operation, PEER_NI, seq_no, rc, text);
            // C callers find the second item under swapped words (dlc 1.5).
            return report.end(Operation::Peer, word, seq_no, rc, format!("the operation ended at {nid}"));
        }
    }
    report.success(operation, PEER_NI, seq_no)
}

/// Sets the health value of one peer NI or, without a NID, of all; -1 stands for 1000.
/// `lustre_lnet_config_peer_ni_healthv`.
pub fn set_health(
    backend: &dyn Backend,
    value: i32,
    nid: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    health::set(backend, SetHealthKind::PeerNi, value, nid, seq_no, report)
}

/// Overwrites a peer's state word, for debugging. -2 for an unknown NID. `lustre_lnet_set_peer_state`.
pub fn set_state(
    backend: &dyn Backend,
    state: u32,
    nid: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> ReturnCode {
    const ENTITY: &str = "peer state";
    let Some(text) = nid else {
        let text = "the peer is missing; give --nid";
        return report.end(Operation::Add, ENTITY, seq_no, ReturnCode::MISSING_PARAM, text);
    };
    // A text that is not a NID is treated as an unknown NID.
    let told = Names::new().nid(text).map_err(|_| Errno::NotFound);
    match told.and_then(|nid| backend.tell(Request::SetPeer(SetPeerState { nid, state }))) {
        Ok(()) => report.success(Operation::Add, ENTITY, seq_no),
        Err(errno) => {
            let remedy = match errno {
                Errno::NotFound => "; no peer has this NID, see 'lnetctl peer show'",
                _ => "",
            };
            let text = format!("cannot set the state of peer '{text}': {}{remedy}", error_text(errno));
            report.end(Operation::Add, ENTITY, seq_no, errno.into(), text)
        }
    }
}

const PEER_NI: &str = "peer_ni";

/// The code and the text for a NID that the node refused.
pub(crate) fn refused(nid: Nid, what: Modify, errno: Errno) -> OpError {
    let word = if matches!(what, Modify::Add { .. }) { "add" } else { "del" };
    (errno.into(), format!("cannot {word} {nid}: {}{}", error_text(errno), remedy(what, errno)))
}

/// The requests to the node, each with its NID; or the text of the error in the arguments.
fn requests(primary: Option<&str>, nids: Option<&str>, what: Modify) -> Result<Vec<(Nid, Request)>, String> {
    let primary = primary.ok_or_else(|| match nids.and_then(|nids| split_outside_brackets(nids).next()) {
        None => "the primary NID is missing; give --prim_nid".to_owned(),
        Some(first) => {
            format!("the primary NID is missing; give --prim_nid, such as --prim_nid {}", first.trim())
        }
    })?;
    let names = Names::new();
    let primary = one_nid(primary, &names).map_err(|text| format!("primary NID {text}"))?;
    let nids = nids
        .map(|text| parse_named_nids(text, MAX_NIDS, &names).map_err(|error| not_nids("NIDs", text, &error)))
        .transpose()?;
    let others = nids.iter().flatten().copied().filter(|nid| *nid != primary);
    Ok(match what {
        Modify::Add { multi_rail, lock_primary } => {
            let add = |nid| Request::AddPeerNi(AddPeerNi { primary, nid, multi_rail, lock_primary });
            let make = (primary, add(None));
            std::iter::once(make).chain(others.map(|nid| (nid, add(Some(nid))))).collect()
        }
        Modify::Del { force } => {
            let del = |nid| Request::DelPeerNi(DelPeerNi { primary, nid, force });
            match nids.as_deref() {
                Some(nids) if !nids.contains(&primary) => others.map(|nid| (nid, del(Some(nid)))).collect(),
                _ => vec![(primary, del(None))],
            }
        }
    })
}

/// The remedy for an error, as the end of its text (dlc appendix A).
const fn remedy(what: Modify, errno: Errno) -> &'static str {
    match (what, errno) {
        (_, Errno::NoDevice) => "; --prim_nid must be the peer's primary NID, see 'lnetctl peer show'",
        (Modify::Add { .. }, Errno::Exists) => "; another peer has this NID, see 'lnetctl peer show'",
        (Modify::Add { .. }, Errno::Already) => "; it belongs to a peer whose primary NID is locked",
        (Modify::Add { .. }, Errno::NotPermitted) => "; the peer is there with the other setting of --non_mr",
        (Modify::Add { .. }, Errno::NotUnique) => "; a peer that is not multi-rail has one NID on a net",
        (Modify::Add { .. }, Errno::Busy) => {
            "; it is a gateway, which its route makes and which stays as it is"
        }
        (Modify::Add { .. }, Errno::NotFound) => "; there is no such peer to give a NID to",
        (Modify::Del { .. }, Errno::NotFound) => "; no peer has this NID, see 'lnetctl peer show'",
        (Modify::Del { .. }, Errno::Busy) => "; routes lead by this peer, delete them first",
        (Modify::Del { .. }, Errno::NoChild) => "; the peer does not have this NID",
        (Modify::Del { .. }, Errno::NotPermitted) => "; its primary NID is locked, use --force",
        _ => "",
    }
}

#[cfg(test)]
#[path = "peer/tests.rs"]
mod tests;

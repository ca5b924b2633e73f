//! The rules for changes of peers by operators (OM-27 to OM-30; dlc appendix A). This module decides; `configure`
//! carries the changes out.

use crate::model::{Peer, PeerState};
use lnet_wire::{Errno, Nid};

/// The decision about adding a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Making {
    /// The peer exists as requested.
    Unchanged,
    /// A new peer with this NID replaces the one that has it.
    Make,
}

/// Decides on adding a configured peer `primary`; `known` is the peer that has the NID now (OM-27).
pub(crate) fn make(
    known: Option<&Peer>,
    primary: Nid,
    multi_rail: bool,
    is_gateway: bool,
) -> Result<Making, Errno> {
    if primary.is_loopback() {
        return Err(Errno::Invalid);
    }
    let Some(known) = known else { return Ok(Making::Make) };
    let same = known.primary == primary;
    match known {
        _ if known.is_configured() && !same => Err(Errno::Exists),
        _ if known.is_configured() && known.is_multi_rail() != multi_rail => Err(Errno::NotPermitted),
        _ if known.is_configured() => Ok(Making::Unchanged),
        _ if is_gateway => Err(Errno::Busy),
        _ if known.state().contains(PeerState::LOCK_PRIMARY) => {
            Err(if same { Errno::Exists } else { Errno::Already })
        }
        _ => Ok(Making::Make),
    }
}

/// The decision about adding a NID to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Adding {
    /// The peer has the NID already.
    Unchanged,
    /// The peer gets the NID; its previous peer loses it.
    Attach,
    /// The peer gets the NID; the peer whose primary NID it was is removed.
    Replace,
}

/// Decides on adding `nid`, which belongs to `owner` now, to the peer `primary` (OM-28, OM-29).
pub(crate) fn add(
    peer: Option<&Peer>,
    primary: Nid,
    nid: Nid,
    multi_rail: bool,
    owner: Option<&Peer>,
    owner_is_gateway: bool,
) -> Result<Adding, Errno> {
    let peer = peer.ok_or(Errno::NotFound)?;
    if peer.primary != primary {
        return Err(Errno::NoDevice);
    }
    if !peer.is_configured() {
        return Err(Errno::NotFound);
    }
    if peer.is_multi_rail() != multi_rail {
        return Err(Errno::NotPermitted);
    }
    if peer.nids.contains(&nid) {
        return Ok(Adding::Unchanged);
    }
    if nid.is_loopback() {
        return Err(Errno::Invalid);
    }
    if owner.is_some_and(Peer::is_configured) {
        return Err(Errno::Exists);
    }
    if !multi_rail && peer.nids_on(nid.net()).next().is_some() {
        return Err(Errno::NotUnique);
    }
    match owner {
        Some(_) if owner_is_gateway => Err(Errno::Busy),
        Some(owner) if owner.primary == nid => Ok(Adding::Replace),
        _ => Ok(Adding::Attach),
    }
}

/// The decision about deleting a peer or one of its NIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deleting {
    /// The whole peer is removed.
    Peer,
    /// All NIDs but the primary one, which is locked, are removed.
    Secondaries,
    /// A NID is removed.
    Nid(Nid),
}

/// Decides on removing `nid` from the peer `primary`, or the whole peer. `nid_is_known`: whether any peer has that NID
/// (OM-24, OM-30).
pub(crate) fn delete(
    peer: Option<&Peer>,
    primary: Nid,
    nid: Option<Nid>,
    nid_is_known: bool,
    force: bool,
    is_gateway: bool,
) -> Result<Deleting, Errno> {
    let peer = peer.ok_or(Errno::NotFound)?;
    if peer.primary != primary {
        return Err(Errno::NoDevice);
    }
    if is_gateway {
        return Err(Errno::Busy);
    }
    match nid.filter(|nid| *nid != primary) {
        None if peer.state().contains(PeerState::LOCK_PRIMARY) && !force => Ok(Deleting::Secondaries),
        None => Ok(Deleting::Peer),
        Some(nid) if peer.nids.contains(&nid) => Ok(Deleting::Nid(nid)),
        Some(_) if nid_is_known => Err(Errno::NoChild),
        Some(_) => Err(Errno::NotFound),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const CONFIGURED: u32 = PeerState::CONFIGURED.0;
    const MULTI_RAIL: u32 = PeerState::MULTI_RAIL.0;
    const LOCKED: u32 = PeerState::LOCK_PRIMARY.0;

    fn nid(last: u8) -> Nid {
        format!("10.0.0.{last}@tcp").parse().unwrap()
    }

    fn peer(nids: &[u8], state: u32) -> Peer {
        let nids: Vec<Nid> = nids.iter().copied().map(nid).collect();
        let revision = crate::model::PeerRevision::default();
        let discovery = crate::model::DiscoveryState::new(0, nids[0], PeerState(state), revision);
        let discovery = std::sync::Arc::new(discovery);
        let (order, latest_use) = Default::default();
        Peer { primary: nids[0], nids, nets: Vec::new(), discovery, order, latest_use }
    }

    #[test]
    fn a_peer_is_created_or_rejected_by_the_owner_of_its_nid() {
        let table = [
            (None, true, Ok(Making::Make)),
            (Some(peer(&[1], CONFIGURED | MULTI_RAIL)), true, Ok(Making::Unchanged)),
            (Some(peer(&[1], CONFIGURED | MULTI_RAIL)), false, Err(Errno::NotPermitted)),
            (Some(peer(&[1], CONFIGURED)), false, Ok(Making::Unchanged)),
            (Some(peer(&[2, 1], CONFIGURED | MULTI_RAIL)), true, Err(Errno::Exists)),
            (Some(peer(&[1], LOCKED)), true, Err(Errno::Exists)),
            (Some(peer(&[2, 1], LOCKED)), true, Err(Errno::Already)),
            (Some(peer(&[1], 0)), true, Ok(Making::Make)),
            (Some(peer(&[2, 1], MULTI_RAIL)), true, Ok(Making::Make)),
        ];
        for (known, multi_rail, expected) in table {
            assert_eq!(make(known.as_ref(), nid(1), multi_rail, false), expected, "{known:?}");
        }
        assert_eq!(make(Some(&peer(&[1], 0)), nid(1), true, true), Err(Errno::Busy));
        assert_eq!(make(None, Nid::LOOPBACK, true, false), Err(Errno::Invalid));
    }

    #[test]
    fn a_nid_is_added_or_rejected_by_its_owner() {
        let multi = CONFIGURED | MULTI_RAIL;
        let table = [
            (None, true, None, Err(Errno::NotFound)),
            (Some(peer(&[9, 1], multi)), true, None, Err(Errno::NoDevice)),
            (Some(peer(&[1], MULTI_RAIL)), true, None, Err(Errno::NotFound)),
            (Some(peer(&[1], CONFIGURED)), true, None, Err(Errno::NotPermitted)),
            (Some(peer(&[1], multi)), false, None, Err(Errno::NotPermitted)),
            (Some(peer(&[1, 2], multi)), true, Some(peer(&[1, 2], multi)), Ok(Adding::Unchanged)),
            (Some(peer(&[1], multi)), true, Some(peer(&[3, 2], multi)), Err(Errno::Exists)),
            (Some(peer(&[1], multi)), true, Some(peer(&[3, 2], MULTI_RAIL)), Ok(Adding::Attach)),
            (Some(peer(&[1], multi)), true, Some(peer(&[2, 3], MULTI_RAIL)), Ok(Adding::Replace)),
            (Some(peer(&[1], multi)), true, None, Ok(Adding::Attach)),
            (Some(peer(&[1], CONFIGURED)), false, None, Err(Errno::NotUnique)),
        ];
        for (peer, multi_rail, owner, expected) in table {
            let found = add(peer.as_ref(), nid(1), nid(2), multi_rail, owner.as_ref(), false);
            assert_eq!(found, expected, "{peer:?} {owner:?}");
        }
    }

    #[test]
    fn peers_and_nids_are_deleted_as_asked() {
        let table = [
            (None, None, false, Err(Errno::NotFound)),
            (Some(peer(&[9, 1], 0)), None, false, Err(Errno::NoDevice)),
            (Some(peer(&[1, 2], 0)), None, false, Ok(Deleting::Peer)),
            (Some(peer(&[1, 2], 0)), Some(nid(1)), false, Ok(Deleting::Peer)),
            (Some(peer(&[1, 2], 0)), Some(nid(2)), false, Ok(Deleting::Nid(nid(2)))),
            (Some(peer(&[1, 2], 0)), Some(nid(3)), false, Err(Errno::NotFound)),
            (Some(peer(&[1, 2], 0)), Some(nid(4)), false, Err(Errno::NoChild)),
            (Some(peer(&[1, 2], LOCKED)), None, false, Ok(Deleting::Secondaries)),
            (Some(peer(&[1, 2], LOCKED)), None, true, Ok(Deleting::Peer)),
        ];
        for (peer, which, force, expected) in table {
            let known = which == Some(nid(4));
            assert_eq!(
                delete(peer.as_ref(), nid(1), which, known, force, false),
                expected,
                "{peer:?} {which:?}"
            );
        }
        assert_eq!(delete(Some(&peer(&[1], 0)), nid(1), None, false, true, true), Err(Errno::Busy));
    }
}

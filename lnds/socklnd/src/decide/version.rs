//! The version of a HELLO (wire-tcp 2.2). That of the connection request before it follows the NID that is connected to
//! ([`crate::proto::acceptor::encode_request`]), so that a request of version 1 may precede a HELLO of version 4.

use crate::proto::Version;
use lnet_wire::{Header, Nid};
use std::net::IpAddr;

/// Returns the version of the HELLO that the NI `local` sends to `peer`. `heard` is the version of the peer's connections, or the one that it
/// has offered; without any it is `usual`. `needed`: a message waits that does not fit in another version than 4, as from a router between
/// nets of both families.
///
/// A twenty-byte NID on either side needs version 4: no other version has the room for it. A peer with an IPv4 NID that has been heard
/// with version 4 gets version 4 as long as it has a connection, as from 2.17.0: all connections of a peer have one version.
pub(crate) fn version_to_propose(
    local: Nid,
    peer: Nid,
    heard: Option<Version>,
    needed: bool,
    usual: Version,
) -> Version {
    match fit_all_versions(local, peer) && !needed {
        true => heard.unwrap_or(usual),
        false => Version::V4,
    }
}

/// Whether the NIDs of two NIs fit in all versions.
pub(crate) fn fit_all_versions(local: Nid, peer: Nid) -> bool {
    fits_all_versions(local) && fits_all_versions(peer)
}

/// The NID of a message that only version 4 has room for, if there is one: the source first.
pub(crate) fn large_nid(header: &Header) -> Option<Nid> {
    [header.src_nid, header.dest_nid].into_iter().find(|nid| !fits_all_versions(*nid))
}

/// The version and incarnation of a peer, from its first connection. Later connections must have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerIncarnation {
    pub(crate) version: Version,
    pub(crate) incarnation: u64,
}

/// The relation of a HELLO to the peer's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The connection joins the others.
    Same,
    /// The connection, of version 4, replaces the others.
    Newer,
    /// It has an older version than they, which are of version 4, as if it had been sent before those.
    Older,
    /// The peer was restarted, or speaks another version: they are to end.
    Other,
}

impl PeerIncarnation {
    /// The relation of a HELLO of this incarnation to connections of the incarnation `known`, if there are any.
    pub(crate) fn relation_to(self, known: Option<Self>) -> Relation {
        let Some(known) = known.filter(|known| *known != self) else { return Relation::Same };
        match (self.incarnation == known.incarnation, self.version, known.version) {
            (true, Version::V4, _) => Relation::Newer,
            (true, _, Version::V4) => Relation::Older,
            _ => Relation::Other,
        }
    }
}

/// Returns the version of the answer to a HELLO of `version`, which is the same; `None` if the NID of the NI that was asked for does
/// not fit in that version, so that the answer is an offer of another one.
pub(crate) fn version_to_answer(local: Nid, version: Version) -> Option<Version> {
    (version == Version::V4 || fits_all_versions(local)).then_some(version)
}

/// Returns the version that a node offers where it does not answer in the version that it was asked in. Over IPv6, and for a NID that
/// needs it, that is version 4, as in 2.17.0; over IPv4 version 3, which every release knows.
pub(crate) fn version_to_offer(local: Nid, source: IpAddr) -> Version {
    if fits_all_versions(local) && source.is_ipv4() { Version::V3 } else { Version::V4 }
}

fn fits_all_versions(nid: Nid) -> bool {
    nid.to_u64().is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use Version::{V2, V3, V4};
    use lnet_wire::{Body, Pid};

    const SHORT: &str = "10.99.0.12@tcp";
    const LONG: &str = "fd99::11@tcp";

    #[test]
    fn a_hello_has_the_version_that_both_nids_and_the_peer_ask_for() {
        for (local, peer, heard, needed, usual, expected) in [
            (SHORT, SHORT, None, false, V3, V3),
            (SHORT, SHORT, None, false, V2, V2),
            (SHORT, SHORT, Some(V2), false, V3, V2),
            (SHORT, SHORT, Some(V4), false, V3, V4),
            (SHORT, SHORT, None, true, V3, V4),
            (SHORT, SHORT, None, true, V2, V4),
            (SHORT, SHORT, Some(V3), true, V3, V4),
            (SHORT, SHORT, Some(V4), true, V3, V4),
            (SHORT, LONG, None, false, V3, V4),
            (SHORT, LONG, Some(V3), false, V3, V4),
            (LONG, SHORT, None, false, V3, V4),
            (LONG, SHORT, Some(V3), false, V3, V4),
            (LONG, LONG, None, false, V3, V4),
            (LONG, LONG, None, true, V3, V4),
        ] {
            let (local_nid, peer_nid) = (local.parse().unwrap(), peer.parse().unwrap());
            let version = version_to_propose(local_nid, peer_nid, heard, needed, usual);
            assert_eq!(version, expected, "{local} to {peer}, heard {heard:?}, needed {needed}");
        }
    }

    #[test]
    fn a_message_needs_version_4_for_a_large_nid_at_either_end() {
        for (source, destination, large) in [
            (SHORT, SHORT, None),
            (SHORT, LONG, Some(LONG)),
            (LONG, SHORT, Some(LONG)),
            (LONG, LONG, Some(LONG)),
        ] {
            let header = Header {
                dest_nid: destination.parse().unwrap(),
                src_nid: source.parse().unwrap(),
                dest_pid: Pid::LUSTRE,
                src_pid: Pid::LUSTRE,
                payload_length: 0,
                body: Body::Put { ack: None, match_bits: 0, hdr_data: 0, portal: 0, offset: 0 },
            };
            assert_eq!(large_nid(&header), large.map(|nid| nid.parse().unwrap()), "{source} {destination}");
        }
    }

    #[test]
    fn a_hello_of_version_4_replaces_connections_of_the_same_incarnation_and_no_other_does() {
        let of = |(version, incarnation)| PeerIncarnation { version, incarnation };
        for (hello, known, relation) in [
            ((V3, 7), None, Relation::Same),
            ((V4, 7), None, Relation::Same),
            ((V3, 7), Some((V3, 7)), Relation::Same),
            ((V4, 7), Some((V4, 7)), Relation::Same),
            ((V4, 7), Some((V3, 7)), Relation::Newer),
            ((V4, 7), Some((V2, 7)), Relation::Newer),
            ((V3, 7), Some((V4, 7)), Relation::Older),
            ((V3, 7), Some((V2, 7)), Relation::Other),
            ((V2, 7), Some((V3, 7)), Relation::Other),
            ((V3, 8), Some((V3, 7)), Relation::Other),
            ((V4, 8), Some((V3, 7)), Relation::Other),
            ((V3, 8), Some((V4, 7)), Relation::Other),
        ] {
            assert_eq!(of(hello).relation_to(known.map(of)), relation, "{hello:?} {known:?}");
        }
    }

    #[test]
    fn a_hello_is_answered_in_its_version_unless_the_nid_does_not_fit_in_it() {
        for (local, version, source, answer, offer) in [
            (SHORT, V2, "10.99.0.11", Some(V2), V3),
            (SHORT, V3, "10.99.0.11", Some(V3), V3),
            (SHORT, V4, "10.99.0.11", Some(V4), V3),
            (SHORT, V3, "fd99::11", Some(V3), V4),
            (LONG, V3, "fd99::11", None, V4),
            (LONG, V3, "10.99.0.11", None, V4),
            (LONG, V4, "10.99.0.11", Some(V4), V4),
        ] {
            let local = local.parse().unwrap();
            assert_eq!(version_to_answer(local, version), answer, "{local} {version:?}");
            assert_eq!(version_to_offer(local, source.parse().unwrap()), offer, "{local} {source}");
        }
    }
}

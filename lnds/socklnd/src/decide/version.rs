//! The version of a HELLO (wire-tcp 2.2). That of the connection request before it follows the NID that is connected to
//! ([`crate::proto::acceptor::encode_request`]), so that a request of version 1 may precede a HELLO of version 4.

use crate::proto::Version;
use lnet_wire::Nid;
use std::net::IpAddr;

/// Returns the version of the HELLO that the NI `local` sends to `peer`. `heard` is the version of the peer's connections, or the one that it
/// has offered; without any it is `usual`.
///
/// A twenty-byte NID on either side needs version 4: no other version has the room for it. A peer with an IPv4 NID that has been heard
/// with version 4 gets version 4 as long as it has a connection, as from 2.17.0: all connections of a peer have one version.
pub(crate) fn version_to_propose(local: Nid, peer: Nid, heard: Option<Version>, usual: Version) -> Version {
    match fits_all_versions(local) && fits_all_versions(peer) {
        true => heard.unwrap_or(usual),
        false => Version::V4,
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

    const SHORT: &str = "10.99.0.12@tcp";
    const LONG: &str = "fd99::11@tcp";

    #[test]
    fn a_hello_has_the_version_that_both_nids_and_the_peer_ask_for() {
        for (local, peer, heard, expected) in [
            (SHORT, SHORT, None, V3),
            (SHORT, SHORT, Some(V2), V2),
            (SHORT, SHORT, Some(V4), V4),
            (SHORT, LONG, None, V4),
            (SHORT, LONG, Some(V3), V4),
            (LONG, SHORT, None, V4),
            (LONG, SHORT, Some(V3), V4),
            (LONG, LONG, None, V4),
        ] {
            let version = version_to_propose(local.parse().unwrap(), peer.parse().unwrap(), heard, V3);
            assert_eq!(version, expected, "{local} to {peer}, heard {heard:?}");
        }
        assert_eq!(version_to_propose(SHORT.parse().unwrap(), SHORT.parse().unwrap(), None, V2), V2);
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

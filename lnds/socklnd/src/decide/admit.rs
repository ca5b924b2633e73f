//! Decision about the HELLO of a connecting peer (wire-tcp 2.6, 2.8, 2.10, 2.11).

use super::version::{PeerIncarnation, Relation};
use crate::proto::{ConnectionType, Hello};
use lnet_wire::Nid;
use std::time::Duration;

/// Duration after which a connect of this node is stalled: it is then no reason to refuse the peer's connect, which has
/// arrived.
const STALLED_AFTER: Duration = Duration::from_secs(1);

/// State of this node towards a connecting peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerStatus {
    /// The peer's version and incarnation, while there are connections.
    pub(crate) peer_incarnation: Option<PeerIncarnation>,
    /// Duration of this node's own connect to the peer so far, if one is in progress.
    pub(crate) own_connect: Option<Duration>,
    /// The number of open connections of the same type and version between the same two addresses.
    pub(crate) same_type: usize,
    /// Whether the connecting process may end, or replace, the connections that there are.
    pub(crate) may_end: bool,
    /// Whether the connections, of version 4, have replaced older ones lately.
    pub(crate) replaced_lately: bool,
}

impl PeerStatus {
    /// Whether this node's own connect is stalled.
    pub(crate) fn own_connect_is_stalled(&self) -> bool {
        self.own_connect.is_some_and(|lasts| lasts > STALLED_AFTER)
    }
}

/// The decision about a connecting peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Answer with this type: the connection's type on this node.
    Accept(ConnectionType),
    /// Answer with type none.
    Refuse(Refusal),
    /// Close without a response: the connecting peer asks for no type of connection.
    Close,
}

/// The reason for the response "none" to a connecting peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The peer has another version or incarnation than its connections: these are all to be closed.
    #[error("it was restarted, or speaks another version, and its old connections are not closed yet")]
    OtherIncarnation,
    /// The HELLO was sent before the peer's connections of version 4.
    #[error("it has connections of version 4 since it began to connect")]
    OlderVersion,
    /// Both sides are connecting, and this side has the higher NID.
    #[error("this node is connecting to it, and has the higher NID")]
    ConnectionRace,
    /// There are enough connections of this type.
    #[error("it has all its connections of this type already")]
    Duplicate,
}

/// Decides about a HELLO. `limit` is the maximum number of connections of a type. `to_itself`: both ends have the same
/// address.
pub(crate) fn admit(
    hello: &Hello,
    peer_nid: Nid,
    local_nid: Nid,
    status: PeerStatus,
    limit: usize,
    to_itself: bool,
) -> Admission {
    let Some(kind) = hello.connection_type else { return Admission::Close };
    let peer_incarnation = PeerIncarnation { version: hello.version, incarnation: hello.src_incarnation };
    match peer_incarnation.relation_to(status.peer_incarnation) {
        Relation::Same => {}
        Relation::Newer if status.may_end => {}
        Relation::Older if status.replaced_lately => return Admission::Refuse(Refusal::OlderVersion),
        Relation::Newer | Relation::Older | Relation::Other => {
            return Admission::Refuse(Refusal::OtherIncarnation);
        }
    }
    if status.own_connect.is_some() && !status.own_connect_is_stalled() && peer_nid < local_nid {
        return Admission::Refuse(Refusal::ConnectionRace);
    }
    if status.same_type >= limit && !to_itself {
        return Admission::Refuse(Refusal::Duplicate);
    }
    Admission::Accept(kind.mirror())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::ConnectionType::{Any, BulkIn, BulkOut, Control};
    use crate::proto::Version;
    use lnet_wire::{NetId, NetType, Pid};

    #[test]
    fn a_hello_is_accepted_refused_or_closed_by_the_admission_table() {
        use Admission::{Accept, Close, Refuse};
        const NO: Option<Duration> = None;
        const NOW: Option<Duration> = Some(STALLED_AFTER);
        const LONG: Option<Duration> = Some(Duration::from_millis(1001));
        let nid = |address| Nid::new(NetId::new(NetType::TCP, 0), address);
        let (low, local_nid, high) = (nid(1), nid(2), nid(3));
        let peer_incarnation = |version, incarnation| Some(PeerIncarnation { version, incarnation });
        let same = peer_incarnation(Version::V3, 7);
        for (name, peer_nid, kind, peer_incarnation, own_connect, same_type, itself, want) in [
            ("first contact", low, Some(Control), None, NO, 0, false, Accept(Control)),
            ("any", low, Some(Any), None, NO, 0, false, Accept(Any)),
            ("bulk-in", low, Some(BulkIn), same, NO, 0, false, Accept(BulkOut)),
            ("bulk-out", low, Some(BulkOut), same, NO, 0, false, Accept(BulkIn)),
            ("none", low, None, None, NO, 0, false, Close),
            (
                "restarted",
                low,
                Some(Control),
                peer_incarnation(Version::V3, 6),
                NO,
                0,
                false,
                Refuse(Refusal::OtherIncarnation),
            ),
            (
                "other version",
                low,
                Some(Control),
                peer_incarnation(Version::V2, 7),
                NO,
                0,
                false,
                Refuse(Refusal::OtherIncarnation),
            ),
            (
                "race, the local NID is higher",
                low,
                Some(Control),
                None,
                NOW,
                0,
                false,
                Refuse(Refusal::ConnectionRace),
            ),
            ("race, the local NID is lower", high, Some(Control), None, NOW, 0, false, Accept(Control)),
            (
                "race, the local NID is higher, and its connect is stalled",
                low,
                Some(Control),
                None,
                LONG,
                0,
                false,
                Accept(Control),
            ),
            ("race with itself", local_nid, Some(Control), same, NOW, 0, true, Accept(Control)),
            ("one too many", high, Some(Control), same, NO, 1, false, Refuse(Refusal::Duplicate)),
            ("one too many, to itself", local_nid, Some(Control), same, NO, 1, true, Accept(Control)),
        ] {
            let hello = Hello {
                version: Version::V3,
                src_nid: peer_nid,
                dest_nid: Some(local_nid),
                src_pid: Pid::LUSTRE,
                dest_pid: Pid(0),
                src_incarnation: 7,
                dest_incarnation: 0,
                connection_type: kind,
                ips: vec![],
            };
            let status = PeerStatus {
                peer_incarnation,
                own_connect,
                same_type,
                may_end: true,
                replaced_lately: false,
            };
            assert_eq!(admit(&hello, peer_nid, local_nid, status, 1, itself), want, "{name}");
        }
    }

    #[test]
    fn a_hello_of_version_4_replaces_older_connections_and_a_late_one_of_version_3_ends_none() {
        use Admission::{Accept, Refuse};
        use Version::{V3, V4};
        for (version, known, may_end, replaced_lately, want) in [
            (V4, V3, true, false, Accept(Control)),
            // On a peer's host any process may claim its NID.
            (V4, V3, false, false, Refuse(Refusal::OtherIncarnation)),
            (V3, V4, true, true, Refuse(Refusal::OlderVersion)),
            (V3, V4, true, false, Refuse(Refusal::OtherIncarnation)),
            (V4, V4, true, true, Accept(Control)),
        ] {
            let nid = |address| Nid::new(NetId::new(NetType::TCP, 0), address);
            let hello = Hello {
                version,
                src_nid: nid(1),
                dest_nid: Some(nid(2)),
                src_pid: Pid::LUSTRE,
                dest_pid: Pid(0),
                src_incarnation: 7,
                dest_incarnation: 0,
                connection_type: Some(Control),
                ips: vec![],
            };
            let peer_incarnation = Some(PeerIncarnation { version: known, incarnation: 7 });
            let status =
                PeerStatus { peer_incarnation, own_connect: None, same_type: 0, may_end, replaced_lately };
            assert_eq!(admit(&hello, nid(1), nid(2), status, 1, false), want, "{version:?} {known:?}");
        }
    }
}

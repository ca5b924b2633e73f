//! What becomes of a HELLO from a connecting peer (wire-tcp 2.6, 2.8, 2.10, 2.11).

use crate::proto::{ConnectionType, Hello, Version};
use lnet_wire::Nid;
use std::time::Duration;

/// After so long this node's own connect is no reason to refuse the peer's: it hangs, and the peer's has arrived.
const HANGS: Duration = Duration::from_secs(1);

/// One life of a peer, as the first connection told it: later connections must tell the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerIncarnation {
    pub(crate) version: Version,
    pub(crate) incarnation: u64,
}

/// What is known here of the peer that connects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Its life, while there are connections.
    pub(crate) peer_incarnation: Option<PeerIncarnation>,
    /// For how long this node has itself been connecting to that peer, if it is.
    pub(crate) connecting: Option<Duration>,
    /// Open connections between the same two addresses of the type that this one would have.
    pub(crate) alike: usize,
}

impl Known {
    /// Whether this node's own connect hangs.
    pub(crate) fn hangs(&self) -> bool {
        self.connecting.is_some_and(|lasts| lasts > HANGS)
    }
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Answer with this type, which is the connection's type here.
    Accept(ConnectionType),
    /// Answer with type none.
    Refuse(Refusal),
    /// Close without an answer: the connecting peer asks for no type of connection.
    Close,
}

/// Why a connecting peer gets the answer "none".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// It has another version or incarnation than its connections: these are all to be closed.
    #[error("it was restarted, or speaks another version, and its old connections are not closed yet")]
    OtherIncarnation,
    /// Both sides are connecting, and this side has the higher NID.
    #[error("this node is connecting to it, and has the higher NID")]
    LostRace,
    /// There are enough connections of this type.
    #[error("it has all its connections of this type already")]
    Duplicate,
}

/// Decides. `limit` is how many connections of a type there may be; `to_itself` says that the connecting and the accepting
/// have the same address.
pub(crate) fn admit(
    hello: &Hello,
    caller: Nid,
    mine: Nid,
    known: Known,
    limit: usize,
    to_itself: bool,
) -> Admission {
    let Some(kind) = hello.connection_type else { return Admission::Close };
    let peer_incarnation = PeerIncarnation { version: hello.version, incarnation: hello.src_incarnation };
    if known.peer_incarnation.is_some_and(|recorded| recorded != peer_incarnation) {
        return Admission::Refuse(Refusal::OtherIncarnation);
    }
    if known.connecting.is_some() && !known.hangs() && caller < mine {
        return Admission::Refuse(Refusal::LostRace);
    }
    if known.alike >= limit && !to_itself {
        return Admission::Refuse(Refusal::Duplicate);
    }
    Admission::Accept(kind.mirror())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::ConnectionType::{Any, BulkIn, BulkOut, Control};
    use lnet_wire::{NetId, NetType, Pid};

    #[test]
    fn a_hello_is_accepted_refused_or_closed_by_the_admission_table() {
        use Admission::{Accept, Close, Refuse};
        const NO: Option<Duration> = None;
        const NOW: Option<Duration> = Some(HANGS);
        const LONG: Option<Duration> = Some(Duration::from_millis(1001));
        let nid = |address| Nid::new(NetId::new(NetType::TCP, 0), address);
        let (low, mine, high) = (nid(1), nid(2), nid(3));
        let peer_incarnation = |version, incarnation| Some(PeerIncarnation { version, incarnation });
        let same = peer_incarnation(Version::V3, 7);
        for (name, caller, kind, peer_incarnation, connecting, alike, itself, want) in [
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
            ("race, mine is higher", low, Some(Control), None, NOW, 0, false, Refuse(Refusal::LostRace)),
            ("race, mine is lower", high, Some(Control), None, NOW, 0, false, Accept(Control)),
            ("race, mine is higher, and hangs", low, Some(Control), None, LONG, 0, false, Accept(Control)),
            ("race with itself", mine, Some(Control), same, NOW, 0, true, Accept(Control)),
            ("one too many", high, Some(Control), same, NO, 1, false, Refuse(Refusal::Duplicate)),
            ("one too many, to itself", mine, Some(Control), same, NO, 1, true, Accept(Control)),
        ] {
            let hello = Hello {
                version: Version::V3,
                src_nid: caller,
                dest_nid: Some(mine),
                src_pid: Pid::LUSTRE,
                dest_pid: Pid(0),
                src_incarnation: 7,
                dest_incarnation: 0,
                connection_type: kind,
                ips: vec![],
            };
            let known = Known { peer_incarnation, connecting, alike };
            assert_eq!(admit(&hello, caller, mine, known, 1, itself), want, "{name}");
        }
    }
}

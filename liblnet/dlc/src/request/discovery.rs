//! Finding out who other nodes are.

use super::PingAnswer;
use lnet_wire::{Errno, Nid, ProcessId};
use serde::{Deserialize, Serialize};

/// Finds out a node's NIDs, even if they are known already, and remembers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discover {
    /// Whom.
    pub target: ProcessId,
    /// Whether to push to the peer even if it is up to date.
    pub force: bool,
    /// The maximum number of NIDs in the reply.
    pub max_nids: u32,
}

/// How a discovery ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discovered {
    /// The node has answered.
    Found {
        /// What is known of it now.
        answer: PingAnswer,
        /// What the peer's ping information contains and was not merged.
        #[serde(default)]
        differences: Vec<Difference>,
    },
    /// It has not.
    Failed(DiscoveryFailure),
}

/// What a node does to discover another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscoveryStep {
    /// Asking it for its NIDs.
    Ping,
    /// Telling it this node's.
    Push,
}

/// Which step of a discovery failed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryFailure {
    /// What was being done.
    pub step: DiscoveryStep,
    /// To which NID.
    pub nid: Nid,
    /// How it failed.
    #[serde(with = "errno_as_number")]
    pub errno: Errno,
    /// The seconds for all steps together (`discovery_timeout`), if these were over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A difference between the ping information of a peer and what is known of the peer (dyn-060).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// It has a NID that it is not known by.
    Extra(Nid),
    /// It does not have a NID that it is known by.
    Missing(Nid),
    /// It says that it is multi-rail (or not), and is known not to be (or to be).
    MultiRail(bool),
    /// Its primary NID is another.
    Primary(Nid),
    /// It has a NID that is known to be another peer's.
    Claimed(Nid),
}

/// How far the discovery of a peer is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerDiscovery {
    /// Whether messages go to it without waiting for a discovery.
    pub up_to_date: bool,
    /// The latest of the node's configurations that it is known to have received; 0: none.
    pub node_sequence: u32,
    /// The latest of its configurations that was received; 0: none.
    pub peer_sequence: u32,
    /// Messages that wait for the discovery.
    pub parked: u64,
    /// Why the last discovery failed, if it did.
    pub failure: Option<DiscoveryFailure>,
    /// What the peer's ping information contains and was not merged.
    pub differences: Vec<Difference>,
}

/// An errno as the negative number that goes over the control socket. One without a name is [`Errno::Io`].
mod errno_as_number {
    use lnet_wire::Errno;
    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn serialize<S: Serializer>(errno: &Errno, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(errno.to_c())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Errno, D::Error> {
        i32::deserialize(deserializer).map(Errno::from_c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_encoded_as_text_and_a_number() {
        let nid: Nid = "10.99.0.77@tcp".parse().unwrap();
        let failure =
            DiscoveryFailure { step: DiscoveryStep::Ping, nid, errno: Errno::HostUnreachable, limit: None };
        let text = serde_json::to_string(&Discovered::Failed(failure)).unwrap();
        assert_eq!(text, r#"{"failed":{"step":"ping","nid":"10.99.0.77@tcp","errno":-113}}"#);
        assert_eq!(serde_json::from_str::<Discovered>(&text).unwrap(), Discovered::Failed(failure));
    }
}

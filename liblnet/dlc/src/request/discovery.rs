//! Discovery: requests, results, and the differences that it finds.

use super::PingResponse;
use lnet_wire::{Errno, Nid, ProcessId};
use serde::{Deserialize, Serialize};

/// Discovers a node: asks it for its NIDs, even if they are known already, and remembers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discover {
    /// The node to discover.
    pub target: ProcessId,
    /// Whether to push to the peer even if it is up to date.
    pub force: bool,
    /// The maximum number of NIDs in the reply.
    pub max_nids: u32,
}

/// The result of a discovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discovered {
    /// The node has responded.
    Found {
        /// The peer as this node knows it after the discovery.
        // Programs of other versions know the key by this name.
        #[serde(rename = "answer")]
        response: PingResponse,
        /// Differences between the peer's ping information and what is known of the peer, which were not merged.
        #[serde(default)]
        differences: Vec<Difference>,
    },
    /// A step of the discovery has failed.
    Failed(DiscoveryFailure),
}

/// A step of a discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscoveryStep {
    /// A ping: asks the peer for its NIDs.
    Ping,
    /// A push: sends the peer this node's NIDs.
    Push,
}

/// The step of a discovery that failed, and its error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryFailure {
    /// The step that failed.
    pub step: DiscoveryStep,
    /// The NID of the peer to which the step sent its message.
    pub nid: Nid,
    /// The error of the step.
    #[serde(with = "errno_as_number")]
    pub errno: Errno,
    /// The timeout of the discovery as a whole (`discovery_timeout`, in seconds), if it has expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A difference between the ping information of a peer and what is known of the peer (dyn-060).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// A NID in the ping information that is not known as one of the peer's.
    Extra(Nid),
    /// A NID that is known as one of the peer's, and is not in the ping information.
    Missing(Nid),
    /// The multi-rail flag of the ping information, where it differs from the one that is known.
    MultiRail(bool),
    /// The primary NID of the ping information, where it differs from the one that is known.
    Primary(Nid),
    /// A NID in the ping information that is known as one of another peer.
    Claimed(Nid),
}

/// The state of the discovery of a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerDiscovery {
    /// Whether messages go to the peer without waiting for a discovery.
    pub up_to_date: bool,
    /// The latest of this node's configurations that the peer is known to have received; 0: none.
    pub node_sequence: u32,
    /// The latest of the peer's configurations that this node has received; 0: none.
    pub peer_sequence: u32,
    /// Messages that wait for the discovery.
    pub parked: u64,
    /// The step at which the last discovery failed, if it did.
    pub failure: Option<DiscoveryFailure>,
    /// Differences between the peer's ping information and what is known of the peer, which were not merged.
    pub differences: Vec<Difference>,
}

/// An errno as the negative number that goes over the control socket. A number that has no name is read as [`Errno::Io`].
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

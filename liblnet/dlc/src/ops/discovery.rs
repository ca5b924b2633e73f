//! Text for discovery results: failures, differences that were ignored, progress.

use crate::Value;
use crate::peer_state;
use crate::request::{Difference, DiscoveryFailure, DiscoveryStep, PeerDiscovery};

/// The text of a failure: `the ping to 192.0.2.1@tcp failed: No route to host`.
pub fn failure(failure: &DiscoveryFailure) -> String {
    let limit = failure.limit.map(|seconds| format!(" (discovery_timeout: {seconds} s)"));
    format!("{}: {}{}", step(failure), failure.errno.text(), limit.unwrap_or_default())
}

/// The text of the failed step, without the cause.
pub(super) fn step(failure: &DiscoveryFailure) -> String {
    let step = match failure.step {
        DiscoveryStep::Ping => "ping",
        DiscoveryStep::Push => "push",
    };
    format!("the {step} to {} failed", failure.nid)
}

/// The text of a difference, as the end of a sentence (dyn-060).
pub fn difference(difference: Difference) -> String {
    match difference {
        Difference::Extra(nid) => format!("it has {nid}, by which it is not known"),
        Difference::Missing(nid) => format!("it does not have {nid}, by which it is known"),
        Difference::MultiRail(true) => "it says that it is multi-rail, and is known not to be".to_owned(),
        Difference::MultiRail(false) => "it says that it is not multi-rail, and is known to be".to_owned(),
        Difference::Primary(nid) => format!("it says that its primary NID is {nid}"),
        Difference::Claimed(nid) => format!("it has {nid}, which is known to be another peer's"),
    }
}

/// The items of a key that lists differences.
pub(super) fn differences(all: &[Difference]) -> Vec<Value> {
    all.iter().map(|it| Value::Quoted(difference(*it))).collect()
}

/// The discovery state of a peer that `peer show` adds to the levels of the kernel.
pub(super) fn to_value(state: u32, discovery: &PeerDiscovery) -> Value {
    let mut shown = Value::map()
        .with("flags", peer_state::words(state).into_iter().map(Value::Text).collect::<Vec<_>>())
        .with("up to date", if discovery.up_to_date { "True" } else { "False" })
        .with("node sequence", discovery.node_sequence)
        .with("peer sequence", discovery.peer_sequence)
        .with("parked messages", discovery.parked);
    if let Some(it) = &discovery.failure {
        shown.push("last failure", Value::Quoted(failure(it)));
    }
    if !discovery.differences.is_empty() {
        shown.push("differences", differences(&discovery.differences));
    }
    shown
}

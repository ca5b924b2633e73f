//! Response tracking: MDs that wait for an ACK or REPLY beyond the transaction timeout (core-behaviour 4.5).
//!
//! Each MD stores its deadline and the NID it waits for; there is no list. The MDs are scanned twice in a transaction
//! timeout, and only if one has begun to wait since the last scan.

use super::Health;
use crate::environment::Environment;
use crate::md::{MissingResponse, ResponseKind};
use crate::memory::MdOptions;
use crate::model::{GatewayTerms, PeerNi, Reachability};
use crate::sync::lock;
use crate::topology::Topology;
use lnet_log::LogClass;
use std::sync::atomic::Ordering;

/// Whether the response to a request has a deadline (HE-40); `mode` is [`Settings::response_tracking`].
///
/// [`Settings::response_tracking`]: lnet_settings::Settings::response_tracking
pub(crate) const fn is_tracked(mode: u32, options: MdOptions, response: ResponseKind) -> bool {
    if options.has(MdOptions::NO_TRACK_RESPONSE) {
        return false;
    }
    if options.has(MdOptions::TRACK_RESPONSE) {
        return true;
    }
    matches!((mode, response), (1, ResponseKind::Reply) | (2, ResponseKind::Ack) | (3, _))
}

impl Health {
    /// Fails a request whose response has not come before the deadline.
    pub(crate) fn response_timed_out(
        &self,
        env: &Environment,
        topology: &Topology,
        missing: MissingResponse,
    ) {
        let MissingResponse { asked: nid, place, sent } = missing;
        self.response_timeouts.fetch_add(1, Ordering::Relaxed);
        let cause = match sent {
            true => {
                "the request was sent; if nothing matched it there, the log of its receiver says `dropped`"
            }
            false => "the request is still to be sent",
        };
        let peer_ni = topology.peer_ni(nid);
        env.log(
            timeout_class(peer_ni.as_deref()),
            nid,
            format_args!(
                "no response from {nid} in time ({place}: {cause}); the MD that waited for it is unlinked"
            ),
        );
        let Some(peer_ni) = peer_ni else { return };
        if topology.is_on_net(nid.net()) {
            self.lower_peer_ni(env, &peer_ni);
        } else if topology.has_usable_route(nid.net(), GatewayTerms::of(&env.settings())) {
            // A gateway has sent the request on, as far as is known: the node behind it does not respond.
            self.note_unresponsive_behind_gateways(&peer_ni);
        }
    }
}

/// The class of the line about a response that has not come. From a peer that is not reachable none was to be expected.
fn timeout_class(peer_ni: Option<&PeerNi>) -> LogClass {
    let state = peer_ni.map(|peer_ni| lock(&peer_ni.peer_now().discovery.reachability).settling.state());
    match state {
        Some(Reachability::Degraded | Reachability::Unreachable) => LogClass::ResponseLost,
        Some(Reachability::Reachable | Reachability::Unknown) | None => LogClass::ResponseTimeout,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// HE-40: fails if the options of an MD do not decide before the node's setting whether its response is tracked.
    #[test]
    fn the_md_decides_whether_its_response_is_tracked_and_otherwise_the_node() {
        let none = MdOptions(0);
        let table = [
            (0, none, false, false),
            (1, none, true, false),
            (2, none, false, true),
            (3, none, true, true),
            (0, MdOptions::TRACK_RESPONSE, true, true),
            (3, MdOptions::NO_TRACK_RESPONSE, false, false),
        ];
        for (response_tracking, options, reply, ack) in table {
            let tracked = |response| is_tracked(response_tracking, options, response);
            assert_eq!(
                (tracked(ResponseKind::Reply), tracked(ResponseKind::Ack)),
                (reply, ack),
                "{response_tracking} {options:?}"
            );
        }
    }
}

//! Export of the whole configuration: `lnetctl export`.

use crate::ReturnCode;
use crate::ops::route::RouteFilter;
use crate::ops::{global, net, peer, policy, route, routing};
use crate::report::{Report, SeqNo};
use crate::request::Backend;

/// Shows nets, routes, routing, buffers, peers, global settings and selection rules, in this order;
/// with `backup`, only what can be imported again. Forwarding that is off is left out. A block that cannot be read is
/// reported and left out; the last failure is the result.
pub fn export(backend: &dyn Backend, backup: bool, report: &mut Report) -> ReturnCode {
    let all = RouteFilter { net: None, gateway: None, hops: -1, priority: -1 };
    let ended = [
        net::show(backend, None, 2, SeqNo::NONE, report, backup),
        route::show(backend, all, 1, SeqNo::NONE, report, backup),
        routing::export(backend, SeqNo::NONE, report, backup),
        peer::show(backend, None, 2, SeqNo::NONE, report, backup),
        global::show_all(backend, report),
        policy::show(backend, -1, SeqNo::NONE, report),
    ];
    ended.into_iter().fold(ReturnCode::OK, |before, rc| rc.or(before))
}

//! The whole configuration, given out: `lnetctl export`.

use crate::ops::route::RouteFilter;
use crate::ops::{global, net, peer, policy, route, routing};
use crate::report::{Report, SeqNo};
use crate::request::Backend;

/// Shows nets, routes, routing, buffers, peers, global settings and selection rules, in this order;
/// `backup`: only what can be imported again. Forwarding that is off is left out. What fails is reported and left out.
pub fn export(backend: &dyn Backend, backup: bool, report: &mut Report) {
    let all = RouteFilter { net: None, gateway: None, hops: -1, priority: -1 };
    // Each has reported its failure; the export goes on and does not fail (dlc 1.6).
    let _ = net::show(backend, None, 2, SeqNo::NONE, report, backup);
    let _ = route::show(backend, all, 1, SeqNo::NONE, report, backup);
    let _ = routing::export(backend, SeqNo::NONE, report, backup);
    let _ = peer::show(backend, None, 2, SeqNo::NONE, report, backup);
    let _ = global::show_all(backend, report);
    let _ = policy::show(backend, -1, SeqNo::NONE, report);
}

//! The whole configuration, given out: `lnetctl export`.

use crate::report::Report;
use crate::request::Backend;

/// Shows nets, routes, routing, buffers, peers, global settings and selection rules, in this order;
/// `backup`: only what can be imported again. What fails is reported and left out.
pub fn export(backend: &dyn Backend, backup: bool, report: &mut Report) {
    todo!("{backup} {report:?} {}", size_of_val(backend))
}

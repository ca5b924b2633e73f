//! Routes.

use crate::Rc;
use crate::report::{Report, SeqNo};
use crate::request::Backend;

/// What [`add`] is told; -1 is "not said", as in C.
#[derive(Clone, Copy, Debug)]
pub struct RouteConfig<'a> {
    /// To which net.
    pub net: Option<&'a str>,
    /// By which nodes: a list of NID ranges.
    pub gateways: Option<&'a str>,
    /// Over how many nodes: 1 to 255, or -1.
    pub hops: i32,
    /// Smaller is preferred: from 0, or -1.
    pub priority: i32,
    /// The gateways' health sensitivity: from 1, or -1.
    pub sensitivity: i32,
}

/// Which routes [`show`] shows; -1 is "any", as in C.
#[derive(Clone, Copy, Debug)]
pub struct RouteFilter<'a> {
    /// To this net.
    pub net: Option<&'a str>,
    /// By this node.
    pub gateway: Option<&'a str>,
    /// Over so many nodes.
    pub hops: i32,
    /// With this priority.
    pub priority: i32,
}

/// Adds routes. One that is there already is no failure. `lustre_lnet_config_route`.
pub fn add(backend: &dyn Backend, config: RouteConfig<'_>, seq_no: SeqNo, report: &mut Report) -> Rc {
    todo!("{config:?} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Deletes routes. `lustre_lnet_del_route`.
pub fn del(
    backend: &dyn Backend,
    net: Option<&str>,
    gateways: Option<&str>,
    seq_no: SeqNo,
    report: &mut Report,
) -> Rc {
    todo!("{net:?} {gateways:?} {seq_no:?} {report:?} {}", size_of_val(backend))
}

/// Shows routes (DLC sheet 2.4). `lustre_lnet_show_route`.
pub fn show(
    backend: &dyn Backend,
    filter: RouteFilter<'_>,
    detail: u32,
    seq_no: SeqNo,
    report: &mut Report,
    backup: bool,
) -> Rc {
    todo!("{filter:?} {detail} {seq_no:?} {report:?} {backup} {}", size_of_val(backend))
}

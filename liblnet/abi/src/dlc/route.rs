//! Functions for routes.

use super::{OnFailure, call, show, text};
use crate::cyaml::convert::TreeOut;
use crate::entry::InString;
use crate::types::Flag;
use lnet_dlc::SeqNo;
use lnet_dlc::ops::route::{self, RouteConfig, RouteFilter};
use std::ffi::c_int;

/// Adds routes to the net nw over each gateway of the list gw (NIDs or ranges of NIDs). hops is from 1 to 255,
/// prio from 0 (smaller is preferred), sen from 1 (the gateways' health sensitivity); -1 leaves each open.
/// A route that exists already is no failure.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_config_route(
    nw: InString<'_>,
    gw: InString<'_>,
    hops: c_int,
    prio: c_int,
    sen: c_int,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    call("lustre_lnet_config_route", err_rc, |node, report| {
        let (net, gateways) = (text(nw), text(gw));
        let config = RouteConfig {
            net: net.as_deref(),
            gateways: gateways.as_deref(),
            hops,
            priority: prio,
            sensitivity: sen,
        };
        route::add(node, config, SeqNo::from_c(seq_no), report)
    })
}

/// Deletes the routes to the net nw over each gateway of the list gw.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_del_route(
    nw: InString<'_>,
    gw: InString<'_>,
    seq_no: c_int,
    err_rc: TreeOut,
) -> c_int {
    call("lustre_lnet_del_route", err_rc, |node, report| {
        route::del(node, text(nw).as_deref(), text(gw).as_deref(), SeqNo::from_c(seq_no), report)
    })
}

/// Shows routes under route: those to the net nw, over the gateway gw, with this number of hops and this priority;
/// NULL and -1 for any. If detail is above 0 all values of each are shown; with backup, only what can be imported.
#[unsafe(no_mangle)]
pub extern "C" fn _lustre_lnet_show_route(
    nw: InString<'_>,
    gw: InString<'_>,
    hops: c_int,
    prio: c_int,
    detail: c_int,
    seq_no: c_int,
    show_rc: TreeOut,
    err_rc: TreeOut,
    backup: Flag,
) -> c_int {
    show("lustre_lnet_show_route", show_rc, err_rc, OnFailure::Drop, |node, report| {
        let (net, gateway) = (text(nw), text(gw));
        let filter = RouteFilter { net: net.as_deref(), gateway: gateway.as_deref(), hops, priority: prio };
        let detail = u32::try_from(detail).unwrap_or(0);
        route::show(node, filter, detail, SeqNo::from_c(seq_no), report, backup != 0)
    })
}

//! `lnetctl route`

use super::{CommandOutcome, Context};
use crate::cli::Route;
use lnet_dlc::SeqNo;
use lnet_dlc::ops::route::{self, RouteConfig, RouteFilter, UNSAID};

pub(super) fn run(command: &Route, cx: &mut Context<'_>) -> CommandOutcome {
    match command {
        Route::Add(command) => {
            let config = RouteConfig {
                net: command.net.as_deref(),
                gateways: command.gateways.as_deref(),
                hops: command.hops.unwrap_or(UNSAID),
                priority: command.priority.unwrap_or(UNSAID),
                sensitivity: command.sensitivity.unwrap_or(UNSAID),
            };
            CommandOutcome::change(route::add(cx.node, config, SeqNo::NONE, &mut cx.report))
        }
        Route::Del(command) => {
            let (net, gateways) = (command.net.as_deref(), command.gateways.as_deref());
            CommandOutcome::change(route::del(cx.node, net, gateways, SeqNo::NONE, &mut cx.report))
        }
        Route::Show(command) => {
            let filter = RouteFilter {
                net: command.net.as_deref(),
                gateway: command.gateway.as_deref(),
                hops: command.hops.unwrap_or(UNSAID),
                priority: command.priority.unwrap_or(UNSAID),
            };
            let detail = command.verbosity.level();
            CommandOutcome::show(route::show(cx.node, filter, detail, SeqNo::NONE, &mut cx.report, false))
        }
    }
}

//! `lnetctl route`

use super::{Verbosity, number};
use clap::{Args, Subcommand};
use lnet_dlc::ranges::{HOPS, ROUTE_PRIORITY, ROUTE_SENSITIVITY};

/// Routes.
#[derive(Debug, Subcommand)]
pub enum Route {
    /// Add routes; one that is there already is no failure
    Add(RouteAdd),
    /// Delete routes
    Del(RouteDel),
    /// Show routes: those that all given options fit
    Show(RouteShow),
}

/// Options of `route add`.
#[derive(Debug, Args)]
pub struct RouteAdd {
    /// The net that the route leads to; mandatory
    #[arg(short, long)]
    pub net: Option<String>,
    /// NIDs of the gateways: ranges of NIDs between commas, at most 128 NIDs; mandatory
    #[arg(short, long = "gateway", value_name = "LIST")]
    pub gateways: Option<String>,
    /// Number of routers on the way: 1 to 255 [default: not known]
    #[arg(short = 'c', long = "hop-count", alias = "hop", value_name = "N", allow_negative_numbers = true, value_parser = number::int)]
    pub hops: Option<i32>,
    /// Priority of the route, from 0; a smaller number is preferred [default: 0]
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = number::int_within(ROUTE_PRIORITY))]
    pub priority: Option<i32>,
    /// Of releases before 2.17: kept and shown, but `set health_sensitivity` says how much a failure lowers the health of
    /// gateways, too; from 1 [default: 1]
    #[arg(long = "health_sensitivity", value_name = "N", allow_negative_numbers = true, value_parser = number::int_within(ROUTE_SENSITIVITY))]
    pub sensitivity: Option<i32>,
}

/// Options of `route del`.
#[derive(Debug, Args)]
pub struct RouteDel {
    /// The net that the route leads to; mandatory
    #[arg(short, long)]
    pub net: Option<String>,
    /// NIDs of the gateways: ranges of NIDs between commas; mandatory
    #[arg(short, long = "gateway", value_name = "LIST")]
    pub gateways: Option<String>,
}

/// Options of `route show`.
#[derive(Debug, Args)]
pub struct RouteShow {
    /// Routes to this net
    #[arg(short, long)]
    pub net: Option<String>,
    /// Routes by the gateway with this NID
    #[arg(short, long, value_name = "NID")]
    pub gateway: Option<String>,
    /// Routes with this number of hops
    #[arg(short = 'c', long = "hop-count", alias = "hop", value_name = "N", allow_negative_numbers = true, value_parser = number::int_within(HOPS))]
    pub hops: Option<i32>,
    /// Routes with this priority
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = number::int_within(ROUTE_PRIORITY))]
    pub priority: Option<i32>,
    #[command(flatten)]
    /// The amount of detail for each route.
    pub verbosity: Verbosity,
}

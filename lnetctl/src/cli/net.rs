//! `lnetctl net`

use super::{Verbosity, number};
use clap::{Args, Subcommand};
use lnet_dlc::CptList;
use lnet_dlc::ranges::{
    CONNS_PER_PEER, CREDITS, HEALTH, PEER_BUFFER_CREDITS, PEER_CREDITS, PEER_TIMEOUT, TOS,
};
use lnet_wire::Nid;

/// Nets and interfaces.
#[derive(Debug, Subcommand)]
pub enum Net {
    /// Add interfaces to a net; the first interface that is refused ends it, those before stay
    Add(NetAdd),
    /// Delete a net, or interfaces of it
    Del(NetDel),
    /// Show nets and their interfaces
    Show(NetShow),
    /// Change what can be changed of an interface
    Set(NetSet),
}

/// Options of `net add`.
#[derive(Debug, Args)]
pub struct NetAdd {
    /// The net, such as tcp or tcp1
    #[arg(short, long)]
    pub net: Option<String>,
    /// Interfaces between commas, by name or address, with their CPU partitions if they have any: eth0,eth1[0,2]; eth0[large]
    /// has its IPv6 address
    #[arg(short, long = "if", value_name = "LIST")]
    pub interfaces: Option<String>,
    /// Net and interface in one, in place of --net and --if
    #[arg(long, conflicts_with_all = ["net", "interfaces"], value_parser = number::nid)]
    pub nid: Option<Nid>,
    /// A rule by addresses, in place of --net and --if: "tcp(eth0) 10.0.*.*"; at most 127 characters
    #[arg(short = 'p', long, alias = "ip2nets", value_name = "RULE")]
    pub ip2net: Option<String>,
    /// Seconds without a message after which a peer counts as down; 0 is the default [default: 180]
    #[arg(short = 't', long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = number::within(PEER_TIMEOUT))]
    pub peer_timeout: Option<i64>,
    /// Messages under way to one peer; 0 is the default [default: 8]
    #[arg(short = 'c', long, value_name = "N", allow_negative_numbers = true, value_parser = number::within(PEER_CREDITS))]
    pub peer_credits: Option<i64>,
    /// Router buffers that one peer may occupy [default: 0, as many as --peer-credits]
    #[arg(short = 'b', long, value_name = "N", allow_negative_numbers = true, value_parser = number::within(PEER_BUFFER_CREDITS))]
    pub peer_buffer_credits: Option<i64>,
    /// Messages under way on the interface; 0 is the default [default: 256]
    #[arg(short = 'r', long, value_name = "N", allow_negative_numbers = true, value_parser = number::within(CREDITS))]
    pub credits: Option<i64>,
    /// CPU partitions for interfaces that name none: 0, [0,1], [0-3/2] [default: all]
    #[arg(short = 's', long, value_name = "CPTS")]
    pub cpt: Option<CptList>,
    /// Connections for bulk data in each direction to one peer: 1 to 127, or 0 for what suits the link
    /// [default: that of the environment, SOCKLND_CONNS_PER_PEER, or 1]
    #[arg(short = 'm', long, value_name = "N", allow_negative_numbers = true, value_parser = number::within(CONNS_PER_PEER))]
    pub conns_per_peer: Option<i64>,
    /// IP type of service of the packets of connections, of IPv6 the traffic class: 0 to 255, or -1 for the
    /// system's own; only TCP has it [default: that of the environment, SOCKLND_TOS]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::within(TOS))]
    pub tos: Option<i64>,
    /// Without effect: routing tables are never touched here; see setup-mrrouting
    #[arg(short = 'k', long)]
    pub skip_mr_route_setup: bool,
}

/// Options of `net del`.
#[derive(Debug, Args)]
pub struct NetDel {
    /// The net
    #[arg(short, long)]
    pub net: Option<String>,
    /// Only these interfaces of it, between commas; all are tried
    #[arg(short, long = "if", value_name = "LIST")]
    pub interfaces: Option<String>,
    /// The interface with this NID, in place of --net and --if
    #[arg(long, conflicts_with_all = ["net", "interfaces"], value_parser = number::nid)]
    pub nid: Option<Nid>,
}

/// Options of `net show`.
#[derive(Debug, Args)]
pub struct NetShow {
    /// Only this net; several between commas
    #[arg(short, long, value_name = "LIST")]
    pub net: Option<String>,
    #[command(flatten)]
    /// The amount of detail for each interface.
    pub verbosity: Verbosity,
}

/// Options of `net set`.
#[derive(Debug, Args)]
pub struct NetSet {
    /// The interface with this NID
    #[arg(short, long)]
    pub nid: Option<String>,
    /// All interfaces
    #[arg(short, long)]
    pub all: bool,
    /// Health: 0 to 1000, which is healthy
    #[arg(short = 't', long, value_name = "VALUE", allow_negative_numbers = true, value_parser = number::int_within(HEALTH))]
    pub health: Option<i32>,
    /// Connections to one peer, for connections to come: 0 to 127
    #[arg(short = 'm', long, value_name = "N", allow_negative_numbers = true, value_parser = number::int)]
    pub conns_per_peer: Option<i32>,
    /// For --lnd-timeout [not supported yet]
    #[arg(long, hide = true)]
    pub net: Option<String>,
    /// Seconds that the driver has for a message [not supported yet]
    #[arg(long, value_name = "SECONDS", value_parser = number::int)]
    pub lnd_timeout: Option<i32>,
}

//! `lnetctl peer`

use super::{OwnNode, Verbosity, number};
use clap::{Args, Subcommand};
use lnet_dlc::ranges::HEALTH;

/// Other nodes.
#[derive(Debug, Subcommand)]
pub enum Peer {
    /// Add a peer, or NIDs to a peer; the first NID that is refused ends the command, NIDs before it stay
    #[command(arg_required_else_help = true)]
    Add(PeerAdd),
    /// Delete a peer, or NIDs of a peer
    #[command(arg_required_else_help = true)]
    Del(PeerDel),
    /// Show peers
    Show(PeerShow),
    /// Show the primary NIDs of all peers
    List,
    /// Change the health or the state of a peer or of its interfaces
    Set(PeerSet),
    /// Show the path that the next message would take, and the reason against every other path; nothing is sent
    Explain(PeerExplain),
}

/// Options of `peer explain`.
#[derive(Debug, Args)]
pub struct PeerExplain {
    /// The NID that a program would send to
    #[arg(short, long, value_name = "NID")]
    pub to: String,
    /// The own NID that it would send by [default: LNet's choice]
    #[arg(short, long, value_name = "NID")]
    pub from: Option<String>,
    #[command(flatten)]
    /// The node that would send where none runs.
    pub own: OwnNode,
}

/// Options of `peer add`.
#[derive(Debug, Args)]
pub struct PeerAdd {
    /// The peer's primary NID; mandatory
    #[arg(short = 'k', long = "prim_nid", value_name = "NID")]
    pub primary: Option<String>,
    /// Its NIDs: ranges between commas, at most 128 NIDs: 10.0.0.[1-4]@tcp,10.1.0.1@tcp1
    #[arg(short = 'n', long = "nid", value_name = "LIST")]
    pub nids: Option<String>,
    /// Ranges of NIDs, each NID a peer of its own, in place of --prim_nid and --nid
    #[arg(long = "ip2nets", alias = "ip2net", value_name = "LIST", conflicts_with_all = ["primary", "nids"])]
    pub ip2nets: Option<String>,
    /// The peer is not multi-rail: it uses one NID a net
    #[arg(short = 'm', long = "non_mr")]
    pub non_mr: bool,
    /// Discovery may not change its primary NID
    #[arg(short = 'l', long = "lock_prim")]
    pub lock_primary: bool,
}

/// Options of `peer del`.
#[derive(Debug, Args)]
pub struct PeerDel {
    /// The peer's primary NID; mandatory
    #[arg(short = 'k', long = "prim_nid", value_name = "NID")]
    pub primary: Option<String>,
    /// Only these NIDs; the primary NID among them is the peer
    #[arg(short = 'n', long = "nid", value_name = "LIST")]
    pub nids: Option<String>,
    /// Ranges of NIDs, each NID a peer of its own, in place of --prim_nid and --nid
    #[arg(long = "ip2nets", alias = "ip2net", value_name = "LIST", conflicts_with_all = ["primary", "nids"])]
    pub ip2nets: Option<String>,
    /// Even if the primary NID is locked
    #[arg(short = 'f', long)]
    pub force: bool,
}

/// Options of `peer show`.
#[derive(Debug, Args)]
pub struct PeerShow {
    /// Only the peer with this NID, which may be any of its NIDs
    #[arg(short, long)]
    pub nid: Option<String>,
    #[command(flatten)]
    /// The amount of detail for each peer NI.
    pub verbosity: Verbosity,
}

/// Options of `peer set`.
#[derive(Debug, Args)]
pub struct PeerSet {
    /// The peer interface with this NID
    #[arg(short, long)]
    pub nid: Option<String>,
    /// All peers
    #[arg(short, long)]
    pub all: bool,
    /// Health: 0 to 1000, which is healthy [default: 1000]
    #[arg(short = 't', long, value_name = "VALUE", allow_negative_numbers = true, value_parser = number::int_within(HEALTH))]
    pub health: Option<i32>,
    /// Overwrite the peer's state word, for debugging; needs --nid
    #[arg(short = 's', long, value_name = "BITS", conflicts_with_all = ["health", "all"], value_parser = number::count)]
    pub state: Option<u32>,
}

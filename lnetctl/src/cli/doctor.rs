//! `lnetctl doctor`

use super::OwnNode;
use clap::Args;

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Also try the path to this NID, step by step; the name of a host may stand in place of its address
    #[arg(value_name = "NID")]
    pub nid: Option<String>,
    #[command(flatten)]
    /// The node that asks the other one where none runs.
    pub own: OwnNode,
}

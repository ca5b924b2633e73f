//! `lst add_group`, `del_group`, `update_group`, `list_group`

use clap::{ArgGroup, Args};

/// A group.
#[derive(Debug, Args)]
pub struct AddGroup {
    /// Name of the group
    pub group: String,
    /// NIDs, such as 192.0.2.[1-5,9,10-20/2]@tcp
    #[arg(required = true)]
    pub nids: Vec<String>,
}

/// A group.
#[derive(Debug, Args)]
pub struct DelGroup {
    /// Name of the group
    pub group: String,
}

/// A group changes.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("how").required(true).args(["refresh", "clean", "remove"]))]
pub struct UpdateGroup {
    /// Add those nodes of the group to the session that do not have it
    #[arg(short = 'f', long)]
    pub refresh: bool,
    /// Remove the nodes of the group in this state: active, busy, down, unknown, or invalid for all that are not active
    #[arg(short, long, value_name = "STATE")]
    pub clean: Option<String>,
    /// Remove these nodes from the group, and from the session
    #[arg(short, long, value_name = "NIDS")]
    pub remove: Option<String>,
    /// Name of the group
    pub group: String,
}

/// Groups are shown.
#[derive(Debug, Args)]
pub struct ListGroup {
    /// Show nodes that have the session
    #[arg(short, long)]
    pub active: bool,
    /// Show nodes that have another session
    #[arg(short, long)]
    pub busy: bool,
    /// Show nodes that did not answer in time
    #[arg(short, long)]
    pub down: bool,
    /// Show nodes of which nothing is known
    #[arg(short, long)]
    pub unknown: bool,
    /// Show all nodes
    #[arg(short = 'l', long)]
    pub all: bool,
    /// Names of the groups; without any the names of all groups are shown
    pub groups: Vec<String>,
}

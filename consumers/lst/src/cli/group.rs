//! `lst add_group`, `del_group`, `update_group`, `list_group`

use clap::{ArgGroup, Args};

/// A group.
#[derive(Debug, Args)]
pub struct AddGroup {
    /// Its name
    pub group: String,
    /// NIDs, such as 192.0.2.[1-5,9,10-20/2]@tcp
    #[arg(required = true)]
    pub nids: Vec<String>,
}

/// A group.
#[derive(Debug, Args)]
pub struct DelGroup {
    /// Its name
    pub group: String,
}

/// A group changes.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("how").required(true).args(["refresh", "clean", "remove"]))]
pub struct UpdateGroup {
    /// Give the session to those of its nodes that do not have it
    #[arg(short = 'f', long)]
    pub refresh: bool,
    /// Forget its nodes in this state: active, busy, down, unknown, or invalid for all that are not active
    #[arg(short, long, value_name = "STATE")]
    pub clean: Option<String>,
    /// Take the session from these of its nodes, and forget them
    #[arg(short, long, value_name = "NIDS")]
    pub remove: Option<String>,
    /// Its name
    pub group: String,
}

/// Groups are shown.
#[derive(Debug, Args)]
pub struct ListGroup {
    /// Show nodes that have the session
    #[arg(short, long)]
    pub active: bool,
    /// Show nodes that have another one
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
    /// Which; without any, the names of all
    pub groups: Vec<String>,
}

//! `lst new_session`

use super::number;
use clap::Args;

/// A session.
#[derive(Debug, Args)]
pub struct NewSession {
    /// Seconds without a command after which the session ends
    #[arg(short, long, value_name = "SECONDS", default_value = "300", value_parser = number::positive)]
    pub timeout: u32,
    /// Replace other sessions, of this console and on the nodes
    #[arg(short, long)]
    pub force: bool,
    /// Name of the session, of at most 31 bytes [default: USER@HOST]
    pub name: Option<String>,
}

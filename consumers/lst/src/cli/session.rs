//! `lst new_session`

use super::number;
use clap::Args;

/// A session.
#[derive(Debug, Args)]
pub struct NewSession {
    /// After so many seconds without a command the session ends
    #[arg(short, long, value_name = "SECONDS", default_value = "300", value_parser = number::positive)]
    pub timeout: u32,
    /// Take the place of other sessions, here and on nodes
    #[arg(short, long)]
    pub force: bool,
    /// Its name, of at most 31 bytes [default: USER@HOST]
    pub name: Option<String>,
}

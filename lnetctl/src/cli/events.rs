//! `lnetctl events`

use clap::Args;
use lnet_wire::Nid;
use std::time::{Duration, SystemTime};

/// Options of `events`.
#[derive(Debug, Args)]
pub struct Events {
    /// Go on with what happens from now on, until the command is ended
    #[arg(long)]
    pub follow: bool,
    /// Only what has happened since: a time (2026-11-28T01:30:00Z, in UTC), or how long ago (10m, 2h, 1day)
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<SystemTime>,
    /// Only what concerns the peer with this NID
    #[arg(long, value_name = "NID")]
    pub peer: Option<Nid>,
}

fn since(text: &str) -> Result<SystemTime, &'static str> {
    let ago = |ago: Duration| SystemTime::now().checked_sub(ago);
    let time = humantime::parse_duration(text).ok().and_then(ago);
    time.or_else(|| humantime::parse_rfc3339_weak(text).ok())
        .ok_or("wanted is a time such as 2026-11-28T01:30:00Z, or how long ago such as 10m")
}

//! `lnetctl fault`

use super::number;
use clap::{Args, Subcommand};
use std::time::Duration;

/// Lose or delay messages on purpose.
#[derive(Debug, Subcommand)]
pub enum Fault {
    /// Drop messages, or let their sending fail
    #[command(subcommand)]
    Drop(Drop),
    /// Delay messages, before they are sent and on arrival
    #[command(subcommand)]
    Delay(Delay),
}

/// Lose messages.
#[derive(Debug, Subcommand)]
pub enum Drop {
    /// Add a rule
    ///
    /// Without --health_error messages are lost on arrival, and their sender is not told. With it they fail on their way
    /// out of this node, as they would if the network were at fault: health suffers, and they may be sent again. The
    /// newest rule comes first, and of several that hit a message the first counts.
    #[command(arg_required_else_help = true)]
    Add(DropAdd),
    /// Delete rules: those with this source and destination, or all
    #[command(arg_required_else_help = true)]
    Del(FaultDel),
    /// Set the counts of all rules to 0, and begin their windows anew
    Reset,
    /// Show rules and what they have done
    Show(FaultShow),
}

/// Delay messages.
#[derive(Debug, Subcommand)]
pub enum Delay {
    /// Add a rule
    ///
    /// Messages wait before they leave this node, or before it looks for their memory; in the latter case what comes
    /// behind them on the same connection may wait too. The newest rule comes first, and of several that hit a message
    /// the first counts.
    #[command(arg_required_else_help = true)]
    Add(DelayAdd),
    /// Delete rules: those with this source and destination, or all; messages that they hold go on at once
    #[command(arg_required_else_help = true)]
    Del(FaultDel),
    /// Set the counts of all rules to 0, and begin their windows anew
    Reset,
    /// Show rules and what they have done
    Show(FaultShow),
}

/// The messages that a rule is for, and the part of them that it affects.
#[derive(Debug, Args)]
pub struct FaultFilter {
    /// Sources of the messages: a NID, ADDRESS/BITS@NET for a mask, *@NET for all of a net, or *; mandatory
    #[arg(short, long, value_name = "NID")]
    pub source: Option<String>,
    /// Destinations of the messages, in the same form; mandatory
    #[arg(short, long, value_name = "NID")]
    pub dest: Option<String>,
    /// One of each N messages; this or --interval
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole)]
    pub rate: Option<i64>,
    /// PUT, ACK, GET or REPLY; may be said more than once [default: all]
    #[arg(short, long = "message", value_name = "TYPE")]
    pub messages: Vec<String>,
    /// PUTs and GETs to this portal, 0 to 63; may be said more than once [default: all]
    #[arg(short, long = "portal", value_name = "N", allow_negative_numbers = true, value_parser = number::whole)]
    pub portals: Vec<i64>,
    /// Messages that leave or come in by this interface of the node [default: any]
    #[arg(short = 'o', long = "local_nid", value_name = "NID")]
    pub local: Option<String>,
}

/// Options of `fault drop add`.
#[derive(Debug, Args)]
pub struct DropAdd {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub filter: FaultFilter,
    /// One message in each SECONDS, at a random moment
    #[arg(short, long, value_name = "SECONDS", value_parser = number::seconds)]
    pub interval: Option<Duration>,
    /// Messages fail to be sent for this reason, one of several by chance: local_interrupt, local_dropped,
    /// local_aborted, local_no_route, local_error, local_timeout, remote_error, remote_dropped, remote_timeout,
    /// network_timeout, or random for any; may be said more than once
    #[arg(short = 'e', long = "health_error", value_name = "NAME")]
    pub errors: Vec<String>,
    /// With --interval: half of the messages, by chance
    #[arg(short = 'n', long)]
    pub random: bool,
    /// All messages, both on arrival and on their way out; without --health_error their sender is told that they were
    /// sent
    #[arg(short = 'x', long = "drop_all")]
    pub all: bool,
}

/// Options of `fault delay add`.
#[derive(Debug, Args)]
pub struct DelayAdd {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub filter: FaultFilter,
    /// One message in each SECONDS, at a random moment
    #[arg(long, value_name = "SECONDS", value_parser = number::seconds)]
    pub interval: Option<Duration>,
    /// Seconds by which messages are delayed; mandatory
    #[arg(short, long, value_name = "SECONDS", value_parser = number::seconds)]
    pub latency: Option<Duration>,
}

/// Options of `fault drop del` and `fault delay del`.
#[derive(Debug, Args)]
pub struct FaultDel {
    /// All rules of this kind
    #[arg(short, long, conflicts_with_all = ["source", "dest"])]
    pub all: bool,
    /// The source that the rule was given
    #[arg(short, long, value_name = "NID")]
    pub source: Option<String>,
    /// The destination that the rule was given
    #[arg(short, long, value_name = "NID")]
    pub dest: Option<String>,
}

/// Options of `fault drop show` and `fault delay show`.
#[derive(Clone, Copy, Debug, Args)]
pub struct FaultShow {
    /// Also what lnetctl of the kernel does not show: interfaces of this node, reasons, chance
    #[arg(short, long)]
    pub verbose: bool,
}

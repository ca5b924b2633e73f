//! `lnetctl udsp`

use super::number;
use clap::{ArgGroup, Args, Subcommand};
use lnet_dlc::ranges::{RULE_INDEX, RULE_MESSAGES};

/// Selection rules.
#[derive(Debug, Subcommand)]
pub enum Udsp {
    /// Add a rule
    ///
    /// A rule is about interfaces of this node (--src), other nodes (--dst), both (messages to --dst go by
    /// --src), or routers (messages to --dst go by --rte). Each is a net (tcp1) or addresses of it
    /// (10.0.0.[1-4]@tcp).
    Add(UdspAdd),
    /// Delete a rule; those behind it move up
    ///
    /// Either by its index, or by exactly what it is about; with both they must be of one rule.
    Del(UdspDel),
    /// Show rules in their order
    Show(UdspShow),
}

/// Options of `udsp add`.
#[derive(Debug, Args)]
pub struct UdspAdd {
    /// Interfaces of this node
    #[arg(short, long, value_name = "NIDS")]
    pub src: Option<String>,
    /// Other nodes
    #[arg(short, long, value_name = "NIDS")]
    pub dst: Option<String>,
    /// Routers
    #[arg(short, long, value_name = "NIDS")]
    pub rte: Option<String>,
    /// From 0, the most preferred, to 255. Without it, 0
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = number::rule_priority)]
    pub priority: Option<u32>,
    /// Number of messages in a row, after which the next candidate of equal priority has its turn
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = number::counted(RULE_MESSAGES))]
    pub messages: Option<u32>,
    /// Position of the rule, from 0 [default: the last]
    #[arg(short, long = "idx", value_name = "N", allow_negative_numbers = true, value_parser = number::counted(RULE_INDEX))]
    pub index: Option<u32>,
}

/// Options of `udsp del`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true).multiple(true).args(["index", "all", "src", "dst", "rte"])))]
pub struct UdspDel {
    /// Number of the rule; -1 for all
    #[arg(short, long = "idx", value_name = "N", allow_negative_numbers = true, value_parser = number::int)]
    pub index: Option<i32>,
    /// All rules
    #[arg(short, long, conflicts_with_all = ["index", "src", "dst", "rte"])]
    pub all: bool,
    /// Interfaces of this node, as they were given
    #[arg(short, long, value_name = "NIDS")]
    pub src: Option<String>,
    /// Other nodes
    #[arg(short, long, value_name = "NIDS")]
    pub dst: Option<String>,
    /// Routers
    #[arg(short, long, value_name = "NIDS")]
    pub rte: Option<String>,
}

/// Options of `udsp show`.
#[derive(Debug, Args)]
pub struct UdspShow {
    /// Which [default: all]
    #[arg(short, long = "idx", value_name = "N", allow_negative_numbers = true, value_parser = number::int)]
    pub index: Option<i32>,
}

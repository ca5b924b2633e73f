//! `lnetctl selection`: the rules of `udsp` as the first design had them.

use super::number;
use clap::{Args, Subcommand};

/// Selection rules by what they are about.
#[derive(Debug, Subcommand)]
pub enum Selection {
    /// Rules about nets of this node
    #[command(subcommand)]
    Net(NetRules),
    /// Rules about NIDs, this node's and others'
    #[command(subcommand)]
    Nid(NidRules),
    /// Rules about NIDs of this node for NIDs of others
    #[command(subcommand)]
    Peer(PeerRules),
}

/// `selection net`
#[derive(Debug, Subcommand)]
pub enum NetRules {
    /// Add a rule
    Add(Adding<OfNets>),
    /// Delete a rule
    Del(Deleting<SomeNets>),
    /// Show rules
    Show(SomeNets),
}

/// `selection nid`
#[derive(Debug, Subcommand)]
pub enum NidRules {
    /// Add a rule
    Add(Adding<OfNids>),
    /// Delete a rule
    Del(Deleting<SomeNids>),
    /// Show rules
    Show(SomeNids),
}

/// `selection peer`
#[derive(Debug, Subcommand)]
pub enum PeerRules {
    /// Add a rule
    Add(Adding<OfPairs>),
    /// Delete a rule
    Del(Deleting<SomePairs>),
    /// Show rules
    Show(SomePairs),
}

/// Options that add a rule.
#[derive(Debug, Args)]
pub struct Adding<About: Args> {
    #[command(flatten)]
    /// The nets or NIDs that the rule is about.
    pub about: About,
    /// From 0, the most preferred, to 255
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = number::rule_priority)]
    pub priority: u32,
}

/// Options that delete a rule.
#[derive(Debug, Args)]
pub struct Deleting<About: Args> {
    #[command(flatten)]
    /// The nets or NIDs that the rule is about.
    pub about: About,
    /// The index of the rule; if it is given with what the rule is about, they must be of one rule
    #[arg(short, long = "id", value_name = "N", value_parser = clap::value_parser!(u32))]
    pub index: Option<u32>,
}

/// Nets.
#[derive(Debug, Args)]
pub struct OfNets {
    /// Nets of this node, such as tcp1 or tcp[1-3]
    #[arg(short, long, value_name = "NETS")]
    pub net: String,
}

/// Nets, or all.
#[derive(Debug, Args)]
pub struct SomeNets {
    /// Nets of this node, as they were given
    #[arg(short, long, value_name = "NETS")]
    pub net: Option<String>,
}

/// NIDs.
#[derive(Debug, Args)]
pub struct OfNids {
    /// NIDs, such as 10.0.0.[1-4]@tcp
    #[arg(short, long, value_name = "NIDS")]
    pub nid: String,
}

/// NIDs, or all.
#[derive(Debug, Args)]
pub struct SomeNids {
    /// NIDs, as they were given
    #[arg(short, long, value_name = "NIDS")]
    pub nid: Option<String>,
}

/// Pairs of NIDs.
#[derive(Debug, Args)]
pub struct OfPairs {
    /// NIDs of this node
    #[arg(short, long, value_name = "NIDS")]
    pub local: String,
    /// NIDs of others
    #[arg(short, long, value_name = "NIDS")]
    pub remote: String,
}

/// Pairs of NIDs, or all.
#[derive(Debug, Args)]
pub struct SomePairs {
    /// NIDs of this node, as they were given
    #[arg(short, long, value_name = "NIDS")]
    pub local: Option<String>,
    /// NIDs of others, as they were given
    #[arg(short, long, value_name = "NIDS")]
    pub remote: Option<String>,
}

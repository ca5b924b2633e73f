//! `lnetctl import`, `lnetctl apply`, `lnetctl export`, `lnetctl convert`

use clap::{ArgGroup, Args};
use std::path::PathBuf;

/// Options of `import`: the source of the configuration, and what is done with it.
#[derive(Debug, Args)]
#[group(skip)]
#[command(group(ArgGroup::new("purpose").args(["add", "del", "show", "exec", "check"])))]
pub struct Import {
    /// The file; standard input without it
    pub file: Option<PathBuf>,
    /// Add what is in the file and carry out its pings and discoveries; this is the default
    #[arg(short, long)]
    pub add: bool,
    /// Delete what is in the file
    #[arg(short, long)]
    pub del: bool,
    /// Show what the node has of what is in the file
    #[arg(short, long)]
    pub show: bool,
    /// Carry out pings and discoveries only
    #[arg(short, long)]
    pub exec: bool,
    /// Show what --add would change, and change nothing; without a node, what it would do to an empty one; fails where --add would be
    /// refused, and for a file with nothing in it
    #[arg(long)]
    pub check: bool,
}

/// Options of `apply`: the file that says how the node shall be.
#[derive(Debug, Args)]
pub struct Apply {
    /// The file; standard input without it
    pub file: Option<PathBuf>,
    /// Show what would be changed, and change nothing; fails where the node would refuse an interface
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

/// Options of `export`: the target of the configuration, and the parts that it gets.
#[derive(Debug, Args)]
pub struct Export {
    /// The file, which is replaced; standard output without it
    pub file: Option<PathBuf>,
    /// Only what has been configured and can be imported again: no counters, no states, no peers that were only heard of
    #[arg(short, long)]
    pub backup: bool,
}

/// Options of `convert`: the files that have the options of kernel modules.
#[derive(Debug, Args)]
pub struct Convert {
    /// Files of modprobe.d(5), or directories of which those in .conf are read; standard input without any
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

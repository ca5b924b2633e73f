//! `lnetctl report`

use clap::Args;
use std::path::PathBuf;

/// Options of `report`.
#[derive(Debug, Args)]
pub struct Report {
    /// The archive, which must not exist yet [default: lnet-report-SECONDS.tar.gz in this directory]
    pub file: Option<PathBuf>,
}

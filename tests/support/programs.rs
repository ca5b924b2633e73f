//! The programs of other packages of this workspace.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the directory of `lnetctl` and `lnetd`, with their current builds. Cargo builds the programs of other packages only if the tests
/// of those run, too; they are built here if a source is newer.
pub fn programs() -> PathBuf {
    let test = env::current_exe().unwrap();
    let bin = test.parent().and_then(Path::parent).unwrap();
    let target = bin.parent().unwrap();
    let profile = match bin.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let is_built = |program: &&str| {
        let mut is_built = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/is-built"));
        is_built.arg(bin.join(program)).status().is_ok_and(|status| status.success())
    };
    if ["lnetctl", "lnetd"].iter().all(is_built) {
        return bin.to_owned();
    }
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "lnetctl", "--package", "lnetd", "--profile", profile])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "lnetctl and lnetd cannot be built");
    bin.to_owned()
}

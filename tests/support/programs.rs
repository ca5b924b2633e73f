//! The programs of other packages of this workspace.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Returns the directory of `lnetctl` and `lnetd`, with their current builds. Cargo builds the programs of other packages only if the tests
/// of those run, too; they are built here if one of their sources is newer. Where the variable `PROGRAMS_ARE_BUILT` is set, they have
/// been built with the tests.
pub fn programs() -> PathBuf {
    let test = env::current_exe().unwrap();
    let bin = test.parent().and_then(Path::parent).unwrap();
    let target = bin.parent().unwrap();
    let profile = match bin.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let are_built = || ["lnetctl", "lnetd"].iter().all(|program| is_built(&bin.join(program)));
    if env::var_os("PROGRAMS_ARE_BUILT").is_some() || are_built() {
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

/// Whether no source of a program is newer than the program. Cargo has their names in a file beside it. A build makes the libraries of
/// other tests anew, which run at the same time, so a file that is no source of the program does not count.
fn is_built(program: &Path) -> bool {
    let Ok(built) = modified(program) else { return false };
    let Ok(sources) = fs::read_to_string(program.with_extension("d")) else { return false };
    let Some((_, sources)) = sources.split_once(": ") else { return false };
    // A space in a name has a backslash before it.
    let sources = sources.trim_end().replace("\\ ", "\0");
    let mut sources = sources.split(' ').map(|source| PathBuf::from(source.replace('\0', " ")));
    let target = program.parent().unwrap();
    // What build scripts write has its own sources among the others.
    sources
        .all(|source| source.starts_with(target) || modified(&source).is_ok_and(|changed| changed <= built))
}

fn modified(file: &Path) -> std::io::Result<SystemTime> {
    fs::metadata(file)?.modified()
}

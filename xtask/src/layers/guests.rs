//! Checks that libraries which run inside applications make some system calls only by `lnet-os`. Clippy finds the calls
//! (`clippy.toml`) in libraries that enable its warning; this module checks that they enable it.

use crate::Result;
use cargo_metadata::{Package, Target};
use std::path::Path;

/// Libraries that are never part of another project's program, and the library that makes the calls.
const EXEMPT: [&str; 4] = ["lnet-command-line", "lnet-os", "lnet-sim", "test-support"];
/// Stands in the first file of each library.
const WARNS: &str = "warn(clippy::disallowed_methods, clippy::disallowed_macros)";
/// Socket types of the standard library. Programs reach nodes and consoles by the libraries instead.
const SOCKETS: [&str; 6] =
    ["TcpListener", "TcpStream", "UdpSocket", "UnixDatagram", "UnixListener", "UnixStream"];

/// Returns a line for each crate that violates the rule.
pub(crate) fn mistakes(packages: &[Package], shipped: &[&Package]) -> Result<Vec<String>> {
    let mut mistakes = Vec::new();
    for package in packages.iter().filter(|package| !EXEMPT.contains(&package.name.as_str())) {
        if package.targets.iter().any(Target::is_bin) {
            let folder = package.manifest_path.with_file_name("src");
            if folder.is_dir() && shipped.iter().any(|its| its.id == package.id) {
                sockets_in(folder.as_std_path(), &mut mistakes)?;
            }
            continue;
        }
        for target in package.targets.iter().filter(|target| target.is_lib() || target.is_cdylib()) {
            if !std::fs::read_to_string(&target.src_path)?.contains(WARNS) {
                mistakes.push(format!("{}: no `{WARNS}` in {}", package.name, target.src_path));
            }
        }
    }
    Ok(mistakes)
}

fn sockets_in(folder: &Path, mistakes: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sockets_in(&path, mistakes)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)?;
            let named = SOCKETS.into_iter().filter(|name| text.contains(name));
            mistakes.extend(named.map(|name| format!("{}: a program has no {name}", path.display())));
        }
    }
    Ok(())
}

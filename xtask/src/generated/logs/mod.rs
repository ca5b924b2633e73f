//! docs/logs.md: every line that the libraries can log, from their sources. A line of level error, warn or info without a class,
//! and a class without a line, are errors.

mod document;
mod lines;
mod tokens;

use super::sources_below;
use crate::Result;
use lines::LogLine;
use lnet_node::DriverConfigs;
use std::fs;
use std::path::Path;

/// The libraries but the drivers, and where their sources are. What lnetctl and lnetd print is for who calls them, and tests are no
/// libraries.
const LIBRARIES: [(&str, &str); 12] = [
    ("log", "liblnet/log/src/stderr"),
    ("wire", "liblnet/wire/src"),
    ("core", "liblnet/core/src"),
    ("dlc", "liblnet/dlc/src"),
    ("metrics", "liblnet/metrics/src"),
    ("node", "liblnet/node/src"),
    ("C API", "liblnet/abi/src"),
    ("drivers over IP", "lnds/common/src"),
    ("lolnd", "lnds/lolnd/src"),
    ("ptlrpc", "ptlrpc-shim/src"),
    ("m0net", "consumers/motr-net/src"),
    ("lnet_selftest", "consumers/selftest/src"),
];

/// Files of a library that are there only for its tests.
fn is_for_tests(path: &Path) -> bool {
    path.iter().filter_map(|name| name.to_str()).any(|name| {
        ["tests", "loom"].contains(&name) || ["tests.rs", "loom.rs"].iter().any(|end| name.ends_with(end))
    })
}

/// Returns docs/logs.md.
pub(super) fn document(root: &Path) -> Result<String> {
    let mut found = LogLine::default();
    let drivers = DriverConfigs::default();
    let libraries = LIBRARIES.map(|(library, folder)| (library, folder.to_owned()));
    let drivers = drivers.names().map(|driver| (driver, format!("lnds/{driver}/src")));
    for (library, folder) in libraries.into_iter().chain(drivers) {
        for file in sources_below(&root.join(folder))? {
            let name = file.strip_prefix(root)?;
            if !is_for_tests(name) {
                let name = name.display().to_string();
                lines::of_file(library, &name, &fs::read_to_string(&file)?, &mut found)
                    .map_err(|error| format!("{name}: {error}"))?;
            }
        }
    }
    found.mistakes.extend(found.classes_without_lines());
    match found.mistakes.is_empty() {
        true => Ok(document::write(&found)),
        false => Err(found.mistakes.join("\n").into()),
    }
}

//! Lists every line that the libraries can log: `log-lines FILE` writes the document, `log-lines --check FILE` fails where it
//! is not up to date. Both fail where a line of level error, warn or info has no class, or a class has no line.
//!
//! `make generated-files` writes docs/logs.md with it, `make lint` checks it.

mod document;
mod lines;
mod tokens;

use lines::Found;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The libraries, and where their sources are. What lnetctl and lnetd print is for who calls them, and tests are no
/// libraries.
const LIBRARIES: [(&str, &str); 12] = [
    ("log", "liblnet/log/src/stderr"),
    ("wire", "liblnet/wire/src"),
    ("core", "liblnet/core/src"),
    ("dlc", "liblnet/dlc/src"),
    ("node", "liblnet/node/src"),
    ("C API", "liblnet/abi/src"),
    ("drivers over IP", "lnds/common/src"),
    ("lolnd", "lnds/lolnd/src"),
    ("socklnd", "lnds/socklnd/src"),
    ("ptlrpc", "ptlrpc-shim/src"),
    ("m0net", "consumers/motr-net/src"),
    ("lnet_selftest", "consumers/selftest/src"),
];

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (check, file) = match arguments {
        [file] => (false, file),
        [flag, file] if flag == "--check" => (true, file),
        _ => return Err("log-lines [--check] FILE".into()),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Found::default();
    for (library, sources) in LIBRARIES {
        let mut files = Vec::new();
        sources_in(&root.join(sources), &mut files)?;
        files.sort();
        for file in files {
            let text =
                std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            let shown = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            lines::of_file(library, &shown, &text, &mut found)
                .map_err(|error| format!("{shown}: {error}"))?;
        }
    }
    found.mistakes.extend(found.classes_without_lines());
    if !found.mistakes.is_empty() {
        return Err(found.mistakes.join("\n").into());
    }
    let document = document::write(&found);
    if !check {
        return Ok(std::fs::write(file, document)?);
    }
    if std::fs::read_to_string(file).unwrap_or_default() == document {
        return Ok(());
    }
    Err(format!("{file} is not what the sources say: make generated-files").into())
}

/// The files of Rust below a folder that are not for tests only.
fn sources_in(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_for_tests = ["tests.rs", "_loom.rs", "loom.rs"].iter().any(|end| name.ends_with(end))
            || ["tests", "loom"].contains(&name.as_str());
        if is_for_tests {
            continue;
        }
        if path.is_dir() {
            sources_in(&path, files)?;
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    Ok(())
}

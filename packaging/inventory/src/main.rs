//! Lists the crates that are linked into what is shipped, for those who pass it on:
//!
//! - `lnet-inventory notices ROOT FILE PACKAGE...` writes the notices: each crate with its licence, and the licences' texts;
//! - `lnet-inventory sbom ROOT FILE PACKAGE...` writes a bill of materials in the format CycloneDX 1.5.
//!
//! `ROOT` is the directory of the workspace, and the packages are those of its crates that are shipped. Both files depend on
//! nothing but the sources, the toolchain and the target, so that two builds of one version write the same.

#![forbid(unsafe_code)]

mod crates;
mod notices;
mod sbom;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

const USAGE: &str = "usage: lnet-inventory notices|sbom ROOT FILE PACKAGE...";

/// The result of whatever reads or writes files.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lnet-inventory: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<()> {
    let [task, root, file, packages @ ..] = words else { return Err(USAGE.into()) };
    let write: fn(&crates::Inventory) -> Result<String> = match task.as_str() {
        "notices" => notices::text,
        "sbom" => sbom::json,
        _ => return Err(USAGE.into()),
    };
    if packages.is_empty() {
        return Err(USAGE.into());
    }
    let text = write(&crates::Inventory::read(Path::new(root), packages)?)?;
    fs::write(file, text).map_err(|error| format!("{file}: {error}").into())
}

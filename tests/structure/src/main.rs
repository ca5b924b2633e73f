//! Finds files that import each other in a circle, in each crate of the workspace, and fails where a circle has too many
//! files or leads from one folder to another. `make lint` runs it.
//!
//! An import is a `use`, or any other path that begins with `crate`, `super` or `self`; what only tests have does not
//! count. A name that a file only passes on (`pub use`) leads to the file that defines it.
//!
//! It also fails where a library does not warn of the calls that `clippy.toml` lists, or a program has a socket of its own.

mod circles;
mod guests;
mod modules;
mod paths;

use circles::Circle;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// The most files that a circle may have.
const MAX_FILES: usize = 5;

fn main() -> ExitCode {
    match check() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all is as it may be.
fn check() -> Result<bool, Box<dyn Error>> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let mut fine = true;
    for mistake in guests::mistakes(&metadata.packages)? {
        fine = false;
        println!("{mistake}");
    }
    for package in &metadata.packages {
        let mut circles = Vec::new();
        let programs =
            package.targets.iter().filter(|target| target.is_lib() || target.is_cdylib() || target.is_bin());
        for target in programs {
            let modules = modules::read(target.src_path.as_std_path())?;
            let all = circles::find(&modules).into_iter();
            circles.extend(all.filter(|circle| circle.files.len() > MAX_FILES || circle.folders > 1));
        }
        if !circles.is_empty() {
            fine = false;
            print!("{}", tell(&package.name, &circles, metadata.workspace_root.as_std_path())?);
        }
    }
    Ok(fine)
}

fn tell(package: &str, circles: &[Circle], root: &Path) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for Circle { files, folders } in circles {
        writeln!(
            text,
            "{package}: {} files in {folders} folders import each other in a circle:",
            files.len()
        )?;
        for file in files {
            writeln!(text, "    {}", file.strip_prefix(root).unwrap_or(file).display())?;
        }
    }
    Ok(text)
}

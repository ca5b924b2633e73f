//! Finds files that import each other in a circle, in each crate of the workspace, and fails where there are more than
//! are known. `make lint` runs it.
//!
//! An import is a `use`, or any other path that begins with `crate`, `super` or `self`; what only tests have does not
//! count. A name that a file only passes on (`pub use`) leads to the file that defines it.

mod circles;
mod modules;
mod paths;

use circles::Circle;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// The most files that a circle may have.
const MOST: usize = 5;

/// Circles that are larger than that, or lead from one folder to another: by crate, so many circles with so many files in
/// all. Neither number may grow; with the last of them this list goes.
const KNOWN: &[(&str, usize, usize)] = &[("socklnd", 1, 14)];

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
    for package in &metadata.packages {
        let mut circles = Vec::new();
        let programs =
            package.targets.iter().filter(|target| target.is_lib() || target.is_cdylib() || target.is_bin());
        for target in programs {
            let modules = modules::read(target.src_path.as_std_path())?;
            let all = circles::find(&modules).into_iter();
            circles.extend(all.filter(|circle| circle.files.len() > MOST || circle.folders > 1));
        }
        let files = circles.iter().map(|circle| circle.files.len()).sum();
        let known = KNOWN.iter().find(|(name, ..)| *name == package.name.as_str());
        let (_, most_circles, most_files) = *known.unwrap_or(&("", 0, 0));
        if circles.len() > most_circles || files > most_files {
            fine = false;
            print!("{}", tell(&package.name, &circles, metadata.workspace_root.as_std_path())?);
            println!(
                "  {} circles with {files} files; known are {most_circles} with {most_files}",
                circles.len()
            );
        } else if (circles.len(), files) != (most_circles, most_files) {
            fine = false;
            println!(
                "{}: {} circles with {files} files are left: note that in KNOWN",
                package.name,
                circles.len()
            );
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

//! Checks that crates and folders name only those that the tables in `layers.rs` put below them, and that ARCHITECTURE.md
//! shows the tables; `--write` writes them there. `make lint` runs this program.
//!
//! Within a folder, files may import each other in a circle of a few files; a larger circle, or one across folders, is an error.
//!
//! An import is a `use`, or any other path that begins with `crate`, `super` or `self`; imports of tests do not
//! count. A name that a file only re-exports (`pub use`) leads to the file that defines it.
//!
//! The check also fails if a library does not warn of the calls that `clippy.toml` lists, or if a program creates a socket
//! itself.

mod circles;
mod guests;
mod imports;
mod layers;
mod modules;
mod paths;
mod picture;

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

/// Whether all checks have passed.
fn check() -> Result<bool, Box<dyn Error>> {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec()?;
    let root = metadata.workspace_root.as_std_path();
    let mut mistakes = guests::mistakes(&metadata.packages)?;
    mistakes.extend(imports::between_crates(&metadata.packages));
    mistakes.extend(picture::update(
        &root.join("ARCHITECTURE.md"),
        std::env::args().any(|word| word == "--write"),
    )?);
    let mut fine = true;
    for package in &metadata.packages {
        let mut circles = Vec::new();
        let programs =
            package.targets.iter().filter(|target| target.is_lib() || target.is_cdylib() || target.is_bin());
        for target in programs {
            let first = target.src_path.as_std_path();
            let modules = modules::read(first)?;
            if let (Some((_, table)), Some(src), true) = (
                layers::FOLDERS.iter().find(|(name, _)| *name == package.name.as_str()),
                first.parent(),
                !target.is_bin(),
            ) {
                mistakes.extend(imports::between_folders(table, &package.name, &modules, src));
            }
            let all = circles::find(&modules).into_iter();
            circles.extend(all.filter(|circle| circle.files.len() > MAX_FILES || circle.folders > 1));
        }
        if !circles.is_empty() {
            fine = false;
            print!("{}", tell(&package.name, &circles, root)?);
        }
    }
    mistakes.iter().for_each(|mistake| println!("{mistake}"));
    Ok(fine && mistakes.is_empty())
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

//! Checks that crates and folders name only those that [`tables`] put below them.
//!
//! Within a folder, files may import each other in a circle of a few files; a larger circle, or one across folders, is an error.
//!
//! An import is a `use`, or any other path that begins with `crate`, `super` or `self`; imports of tests do not
//! count. A name that a file only re-exports (`pub use`) leads to the file that defines it.
//!
//! A library that does not warn of the calls that `clippy.toml` lists is an error, too, and so is a program that creates a socket itself.

mod circles;
mod guests;
mod imports;
mod modules;
mod paths;
pub(crate) mod tables;

use crate::Result;
use cargo_metadata::{Metadata, MetadataCommand, Package};
use circles::Circle;
use std::fmt::Write as _;
use std::path::Path;

/// The most files that a circle may have.
const MAX_FILES: usize = 5;

/// Returns a line, or several, for each thing that is not as it may be.
pub(crate) fn check() -> Result<Vec<String>> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let root = metadata.workspace_root.as_std_path();
    let shipped = shipped(&metadata);
    let mut mistakes = guests::mistakes(&metadata.packages, &shipped)?;
    mistakes.extend(imports::between_crates(&shipped));
    for package in &metadata.packages {
        let table = tables::FOLDERS.iter().find(|(name, _)| *name == package.name.as_str());
        let programs =
            package.targets.iter().filter(|target| target.is_lib() || target.is_cdylib() || target.is_bin());
        for target in programs {
            let first = target.src_path.as_std_path();
            let modules = modules::read(first)?;
            if let (Some((_, table)), Some(src), false) = (table, first.parent(), target.is_bin()) {
                mistakes.extend(imports::between_folders(table, &package.name, &modules, src));
            }
            let circles = circles::find(&modules).into_iter();
            let too_large = circles.filter(|circle| circle.files.len() > MAX_FILES || circle.folders > 1);
            mistakes.extend(too_large.map(|circle| tell(&package.name, &circle, root)));
        }
    }
    Ok(mistakes)
}

/// The crates that are no tests, measurements or tasks of this repository. Those may depend on any crate.
fn shipped(metadata: &Metadata) -> Vec<&Package> {
    let is_shipped = |package: &&Package| {
        let folder = package.manifest_path.strip_prefix(&metadata.workspace_root);
        let first = folder.ok().and_then(|folder| folder.iter().next());
        !matches!(first, Some("benches" | "tests" | "xtask"))
    };
    metadata.packages.iter().filter(is_shipped).collect()
}

fn tell(package: &str, Circle { files, folders }: &Circle, root: &Path) -> String {
    let mut text =
        format!("{package}: {} files in {folders} folders import each other in a circle:", files.len());
    for file in files {
        // A String takes everything.
        _ = write!(text, "\n    {}", file.strip_prefix(root).unwrap_or(file).display());
    }
    text
}

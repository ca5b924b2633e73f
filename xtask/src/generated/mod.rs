//! The files that are made from sources, and how each is made.

mod c_api_matrix;
mod cluster;
mod errors;
#[path = "../../../liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;
mod headers;
mod logs;
mod metrics;
mod pictures;
mod rail_failure;
mod rail_throughput;
mod requirements;
mod sections;
mod settings;
mod svg;

use crate::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A file, or all files of a folder, that are made from sources.
struct Generated {
    /// From the root of the repository.
    path: &'static str,
    make: Make,
}

/// The ways to generate a file. The function gets the root of the repository.
enum Make {
    /// A whole file.
    File(fn(&Path) -> Result<String>),
    /// The marked sections of a document: the function takes the text of the document and returns it with new sections.
    Sections(fn(&str) -> Result<String>),
    /// The same, of a document with parts of other files: the function gets the root of the repository, too.
    SectionsOf(fn(&Path, &str) -> Result<String>),
    /// All files of a folder, by their paths within it, except for those that begin with one of the names.
    Folder(fn(&Path) -> Result<Files>, &'static [&'static str]),
}

/// Texts by the paths of their files.
type Files = BTreeMap<PathBuf, String>;

const GENERATED: &[Generated] = &[
    Generated { path: "ARCHITECTURE.md", make: Make::Sections(pictures::update) },
    Generated { path: "docs/c-api-matrix.md", make: Make::File(c_api_matrix::document) },
    Generated { path: "docs/cluster-check.md", make: Make::SectionsOf(cluster::update) },
    Generated { path: "docs/configuration.md", make: Make::Sections(settings::update_configuration) },
    Generated { path: "docs/environment.md", make: Make::Sections(settings::update_environment) },
    Generated { path: "docs/errors.md", make: Make::File(errors::document) },
    Generated { path: "docs/logs.md", make: Make::File(logs::document) },
    Generated { path: "docs/pictures/cluster.svg", make: Make::File(cluster::picture) },
    Generated { path: "docs/pictures/rail-failure.svg", make: Make::File(rail_failure::picture) },
    Generated { path: "docs/pictures/rail-throughput.svg", make: Make::File(rail_throughput::picture) },
    Generated { path: "docs/metrics.md", make: Make::Sections(metrics::update) },
    Generated { path: "docs/requirements.md", make: Make::File(requirements::document) },
    Generated { path: "packaging/schema/lnet.conf.schema.json", make: Make::File(schema) },
    // The headers of other libraries are written by hand.
    Generated { path: "include", make: Make::Folder(headers::make, &["ptlrpc", "lnet/selftest.h"]) },
];

/// The JSON Schema of files of configuration.
fn schema(_: &Path) -> Result<String> {
    Ok(lnet_dlc::schema::text())
}

/// Writes the generated files that `paths` name; no path stands for all files.
pub(crate) fn write(root: &Path, paths: &[String]) -> Result<()> {
    for (path, text) in different(root, paths)? {
        match text {
            Some(text) => {
                fs::create_dir_all(path.parent().unwrap_or(root))?;
                fs::write(&path, text)?;
            }
            None => fs::remove_file(&path)?,
        }
        println!("{}", path.strip_prefix(root).unwrap_or(&path).display());
    }
    Ok(())
}

/// Returns a line for each generated file that is not what its sources say.
pub(crate) fn check(root: &Path, paths: &[String]) -> Result<Vec<String>> {
    let mistake = |(path, text): (PathBuf, Option<String>)| {
        let shown = path.strip_prefix(root).unwrap_or(&path).display();
        let Some(text) = text else { return format!("{shown}: no source says that there is this file") };
        let present = fs::read_to_string(&path).unwrap_or_default();
        let (line, wanted) = first_difference(&present, &text);
        format!("{shown}:{line} is not what its sources say; it would be: {wanted}")
    };
    let mut mistakes: Vec<String> = different(root, paths)?.into_iter().map(mistake).collect();
    if !mistakes.is_empty() {
        mistakes.push("`make generated-files` writes them".to_owned());
    }
    Ok(mistakes)
}

/// The number of the first line in which two texts differ, and that line of the second one.
fn first_difference<'a>(present: &str, wanted: &'a str) -> (usize, &'a str) {
    let same = present.lines().zip(wanted.lines()).take_while(|(its, other)| its == other).count();
    (same + 1, wanted.lines().nth(same).unwrap_or("nothing"))
}

/// The files whose texts differ from what their sources say, with the right text; `None` for a file that should not be there.
fn different(root: &Path, paths: &[String]) -> Result<BTreeMap<PathBuf, Option<String>>> {
    let mut different = BTreeMap::new();
    if let Some(unknown) = paths.iter().find(|path| GENERATED.iter().all(|its| its.path != path.as_str())) {
        let known: Vec<&str> = GENERATED.iter().map(|its| its.path).collect();
        return Err(format!("{unknown}: not among the generated files: {}", known.join(", ")).into());
    }
    let is_wanted = |its: &&Generated| paths.is_empty() || paths.iter().any(|path| path == its.path);
    for Generated { path, make } in GENERATED.iter().filter(is_wanted) {
        let path = root.join(path);
        let files = match make {
            Make::File(make) => Files::from([(path, make(root)?)]),
            Make::Sections(update) => {
                let text = update(&fs::read_to_string(&path)?)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                Files::from([(path, text)])
            }
            Make::SectionsOf(update) => {
                let text = update(root, &fs::read_to_string(&path)?)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                Files::from([(path, text)])
            }
            Make::Folder(make, by_hand) => {
                let made = make(root)?;
                let made: Files = made.into_iter().map(|(name, text)| (path.join(name), text)).collect();
                let is_by_hand =
                    |file: &PathBuf| by_hand.iter().any(|name| file.starts_with(path.join(name)));
                let present = files_below(&path)?.into_iter();
                let superfluous = present.filter(|file| !is_by_hand(file) && !made.contains_key(file));
                different.extend(superfluous.map(|file| (file, None)));
                made
            }
        };
        let stale =
            files.into_iter().filter(|(path, text)| fs::read_to_string(path).ok().as_ref() != Some(text));
        different.extend(stale.map(|(path, text)| (path, Some(text))));
    }
    Ok(different)
}

/// All files below a folder, in the order of their paths.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => files.extend(files_below(&path)?),
            false => files.push(path),
        }
    }
    files.sort();
    Ok(files)
}

/// The same, only files of Rust.
fn sources_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = files_below(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_by_its_first_line() {
        let table = [
            ("a\nb\n", "a\nc\n", (2, "c")),
            ("a\n", "a\nb\n", (2, "b")),
            ("a\nb\n", "a\n", (2, "nothing")),
            ("", "a\n", (1, "a")),
        ];
        for (present, wanted, expected) in table {
            assert_eq!(first_difference(present, wanted), expected, "{present} / {wanted}");
        }
    }
}

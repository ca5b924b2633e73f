//! Checks the names that a crate, or a folder of a crate, uses of others against the tables of [`tables`].

use super::circles::definer;
use super::modules::Modules;
use super::tables::{self, Layer};
use cargo_metadata::{DependencyKind, Package};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Each pair of folders of which the first names the second, with a file that does so.
type FolderImports = BTreeMap<(String, String), PathBuf>;

/// A line for each dependency of a crate of the workspace that the table does not allow, or that it allows without need.
pub(crate) fn between_crates(packages: &[&Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        let Some(allowed) = tables::allowed(tables::CRATES, &package.name) else {
            found.push(format!("{}: no line in CRATES, xtask/src/layers/tables.rs", package.name));
            continue;
        };
        let normal = package.dependencies.iter().filter(|its| its.kind == DependencyKind::Normal);
        let named: Vec<&str> = normal.filter(|its| its.path.is_some()).map(|its| its.name.as_str()).collect();
        found.extend(compare(&package.name, &named, allowed, |_| "its Cargo.toml".to_owned()));
    }
    found
}

/// Does the same for the folders of a crate, whose files are in `src`.
pub(crate) fn between_folders(
    table: &[Layer],
    crate_name: &str,
    modules: &Modules,
    src: &Path,
) -> Vec<String> {
    let imports = read(modules, src);
    let mut found = Vec::new();
    let named: Vec<&str> = imports.keys().map(|(from, _)| from.as_str()).collect();
    let unlisted = named.iter().filter(|from| tables::allowed(table, from).is_none());
    found.extend(
        unlisted
            .map(|from| format!("{crate_name}: no line for {from}/ in FOLDERS, xtask/src/layers/tables.rs")),
    );
    for (folder, allowed) in table {
        let named: Vec<&str> =
            imports.keys().filter(|(from, _)| from == folder).map(|(_, to)| to.as_str()).collect();
        let file = |to: &str| match imports.get(&((*folder).to_owned(), to.to_owned())) {
            Some(file) => file.strip_prefix(src).unwrap_or(file).display().to_string(),
            None => String::new(),
        };
        found.extend(compare(&format!("{crate_name}: {folder}/"), &named, allowed, file));
    }
    found
}

/// `place`: where a name stands.
fn compare(from: &str, named: &[&str], allowed: &[&str], place: impl Fn(&str) -> String) -> Vec<String> {
    let wrong = named.iter().filter(|to| !allowed.contains(to));
    let wrong = wrong.map(|to| format!("{from} names {to} ({}), which is not below it", place(to)));
    let in_vain = allowed.iter().filter(|to| !named.contains(to));
    let in_vain = in_vain.map(|to| format!("{from} may name {to} and does not: xtask/src/layers/tables.rs"));
    wrong.chain(in_vain).collect()
}

/// Reads the imports of the folders. The first file of the crate does not count, as it only lists the others and the exports;
/// nor do other files directly in `src`.
fn read(modules: &Modules, src: &Path) -> FolderImports {
    let mut found = FolderImports::new();
    for file in modules.files.iter().skip(1) {
        let Some(from) = folder(&file.path, src) else { continue };
        let imported = file.imports.iter().chain(file.passes_on.iter().map(|(_, path)| path));
        for to in imported.filter_map(|path| definer(modules, path, 0)) {
            if let Some(to) = folder(&modules.files[to].path, src)
                && to != from
            {
                found.entry((from.clone(), to)).or_insert_with(|| file.path.clone());
            }
        }
    }
    found
}

fn folder(file: &Path, src: &Path) -> Option<String> {
    let mut parts = file.strip_prefix(src).ok()?.components();
    let first = parts.next()?;
    parts.next().map(|_| first.as_os_str().to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The mistakes of a crate with the folders `a` and `b` and a file `c`, of which `b` may name `a`.
    fn mistakes(a: &str, b: &str, c: &str) -> Vec<String> {
        let src = tempfile::tempdir().unwrap();
        let files = [("lib.rs", "mod a; mod b; mod c;"), ("a/mod.rs", a), ("b/mod.rs", b), ("c.rs", c)];
        for (name, text) in files {
            std::fs::create_dir_all(src.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(src.path().join(name), text).unwrap();
        }
        let modules = crate::layers::modules::read(&src.path().join("lib.rs")).unwrap();
        between_folders(&[("a", &[]), ("b", &["a"])], "crate", &modules, src.path())
    }

    #[test]
    fn a_folder_names_those_that_its_line_has_and_all_of_them() {
        let upward = "crate: a/ names b (a/mod.rs), which is not below it";
        let in_vain = "crate: b/ may name a and does not: xtask/src/layers/tables.rs";
        let table: [(&str, &str, &str, &[&str]); 4] = [
            ("", "use crate::a::A;", "", &[]),
            ("use crate::b::B;", "use crate::a::A;", "", &[upward]),
            ("fn f() { crate::b::f() }", "", "", &[upward, in_vain]),
            ("use crate::c::C;", "use crate::a::A;", "use crate::b::B;", &[]),
        ];
        for (a, b, c, expected) in table {
            assert_eq!(mistakes(a, b, c), expected, "{a} / {b} / {c}");
        }
    }
}

//! Circles among the files of a crate.

use super::modules::Modules;
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A circle: files each of which leads, by imports, to each other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    pub(crate) files: Vec<PathBuf>,
    /// The number of folders that the circle spans.
    pub(crate) folders: usize,
}

/// All circles of two files or more.
pub(crate) fn find(modules: &Modules) -> Vec<Circle> {
    let mut graph = DiGraphMap::<usize, ()>::new();
    for (from, file) in modules.files.iter().enumerate() {
        for to in file.imports.iter().filter_map(|path| definer(modules, path, 0)) {
            if to != from {
                graph.add_edge(from, to, ());
            }
        }
    }
    let circles = tarjan_scc(&graph).into_iter().filter(|files| files.len() > 1).map(|files| {
        let mut files: Vec<PathBuf> =
            files.into_iter().map(|file| modules.files[file].path.clone()).collect();
        files.sort();
        let folders = files.iter().filter_map(|file| file.parent()).collect::<BTreeSet<_>>().len();
        Circle { files, folders }
    });
    circles.collect()
}

/// Maximum number of re-exports that are followed for a name; a file may re-export its own.
const MAX_DEPTH: usize = 16;

/// Returns the file that defines the item of a path; `None` if that is in another crate.
pub(crate) fn definer(modules: &Modules, path: &[String], depth: usize) -> Option<usize> {
    let known = (0..=path.len()).rev().find(|len| modules.by_name.contains_key(&path[..*len]))?;
    let file = modules.by_name[&path[..known]];
    let Some(name) = path.get(known) else { return Some(file) };
    if depth == MAX_DEPTH {
        return Some(file);
    }
    let passed_on = modules.files[file].passes_on.iter();
    let by_name = passed_on.clone().find(|(as_name, _)| as_name == name);
    if let Some((_, to)) = by_name {
        return definer(modules, to, depth + 1).or(Some(file));
    }
    Some(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The circles of a crate with these files, by their names.
    fn circles_of(files: &[(&str, &str)]) -> Vec<(Vec<String>, usize)> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let modules = crate::layers::modules::read(&folder.path().join("lib.rs")).unwrap();
        let name = |path: &PathBuf| path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
        let circles = find(&modules).into_iter();
        circles.map(|circle| (circle.files.iter().map(name).collect(), circle.folders)).collect()
    }

    #[test]
    fn files_that_lead_to_each_other_are_a_circle_however_they_name_each_other() {
        let a_and_b = [(vec!["a.rs".to_owned(), "b.rs".to_owned()], 1)];
        // (a.rs, b.rs, whether they are a circle)
        let table = [
            ("use crate::b::B;", "use crate::a::A;", true),
            ("use super::b::{self, B as C};", "use crate::{a::A};", true),
            ("fn f() { crate::b::g(); }", "type T = super::a::A;", true),
            ("fn f() { use crate::b::g; }", "mod inner { use super::super::a::A; }", true),
            ("use crate::b::*;", "pub fn g(_: crate::a::A) {}", true),
            ("use crate::b::B;", "", false),
            ("use crate::b::B;", "#[cfg(test)] mod tests { use crate::a::A; }", false),
            ("use crate::b::B;", "#[cfg(all(test, not(loom)))] use crate::a::A;", false),
            ("use crate::b::B;", "#[cfg(not(loom))] use crate::a::A;", true),
        ];
        for (a, b, is_circle) in table {
            let found = circles_of(&[
                ("lib.rs", "mod a; mod b; mod c;"),
                ("a.rs", a),
                ("b.rs", b),
                ("c.rs", "use crate::a::A;"),
            ]);
            let circles = if is_circle { &a_and_b[..] } else { &[] };
            assert_eq!(found, circles, "{a} / {b}");
        }
    }

    #[test]
    fn a_name_that_is_passed_on_leads_to_who_defines_it() {
        let files = |b| {
            let a = "pub use one::One; mod one; mod two;";
            let two = "use super::One; use crate::b::B;";
            [("lib.rs", "mod a; mod b;"), ("a/mod.rs", a), ("a/one.rs", ""), ("a/two.rs", two), ("b.rs", b)]
        };
        assert_eq!(circles_of(&files("use crate::a::One;")), []);
        let circle = (vec!["a/two.rs".to_owned(), "b.rs".to_owned()], 2);
        assert_eq!(circles_of(&files("use crate::a::two::Two;")), [circle]);
    }
}

//! The paths that an item names within its own crate.

use syn::visit::{self, Visit};
use syn::{Item, UseTree, Visibility};

/// A path from the root of the crate on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Import(Vec<String>),
    /// A re-export: its name, or `*`, and the path.
    PassedOn(String, Vec<String>),
}

/// Returns the paths that an item in the module of this name names.
pub(crate) fn of(item: &Item, module: &[String]) -> Vec<Named> {
    match item {
        Item::Use(item) => {
            let mut leaves = Vec::new();
            spread(&item.tree, &mut Vec::new(), &mut leaves);
            let passes_on = !matches!(item.vis, Visibility::Inherited);
            let named = leaves.into_iter().filter_map(|(path, name)| {
                let path = from_root(&path, module)?;
                Some(if passes_on { Named::PassedOn(name, path) } else { Named::Import(path) })
            });
            named.collect()
        }
        item => {
            let mut paths = Paths { module, found: Vec::new() };
            paths.visit_item(item);
            paths.found
        }
    }
}

/// All leaves of a `use`, with the names that they get.
fn spread(tree: &UseTree, so_far: &mut Vec<String>, leaves: &mut Vec<(Vec<String>, String)>) {
    match tree {
        UseTree::Path(path) => {
            so_far.push(path.ident.to_string());
            spread(&path.tree, so_far, leaves);
            so_far.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| spread(tree, so_far, leaves)),
        UseTree::Glob(_) => leaves.push((so_far.clone(), "*".into())),
        UseTree::Name(name) => leaf(so_far, &name.ident.to_string(), None, leaves),
        UseTree::Rename(name) => leaf(so_far, &name.ident.to_string(), Some(name.rename.to_string()), leaves),
    }
}

fn leaf(so_far: &[String], name: &str, renamed: Option<String>, leaves: &mut Vec<(Vec<String>, String)>) {
    let mut path = so_far.to_vec();
    // `a::{self}` is `a`.
    if name != "self" || path.is_empty() {
        path.push(name.to_owned());
    }
    let name = renamed.or_else(|| path.last().cloned()).unwrap_or_default();
    leaves.push((path, name));
}

/// Resolves a path from the crate's root on; `None` for a path into another crate. A path without any of the three words may
/// begin with a module within this one.
fn from_root(path: &[String], module: &[String]) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" => {
            let (_, parent) = module.split_last()?;
            match rest.first().is_some_and(|next| next == "super") {
                true => from_root(rest, parent),
                false => Some([parent, rest].concat()),
            }
        }
        _ => Some([module, path].concat()),
    }
}

struct Paths<'a> {
    module: &'a [String],
    found: Vec<Named>,
}

impl<'ast> Visit<'ast> for Paths<'_> {
    /// Adds the imports of a `use` within a function.
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.found.extend(of(&Item::Use(item.clone()), self.module));
    }

    /// Ignores the visibility of an item: its path is no dependency of the item.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let within = segments.first().is_some_and(|first| matches!(first.as_str(), "crate" | "super"));
        if within && let Some(path) = from_root(&segments, self.module) {
            self.found.push(Named::Import(path));
        }
        visit::visit_path(self, path);
    }
}

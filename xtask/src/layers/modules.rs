//! The files of a crate, found by its `mod` items, and the names that each uses of the others.

use super::paths::{self, Named};
use crate::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, ItemMod};

/// A file of a crate.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    /// The paths that the file imports, from the crate's root on.
    pub(crate) imports: Vec<Vec<String>>,
    /// The items that the file only re-exports: the name (`*` for all of a module), and the path from the root on.
    pub(crate) passes_on: Vec<(String, Vec<String>)>,
}

/// All modules of a crate by their paths from its root, which is empty; a module within a file belongs to that file.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    pub(crate) files: Vec<File>,
    pub(crate) by_name: BTreeMap<Vec<String>, usize>,
}

/// Reads a crate, beginning with its first file.
pub(crate) fn read(root: &Path) -> Result<Modules> {
    let mut modules = Modules::default();
    let folder = root.parent().unwrap_or(root);
    read_file(&mut modules, root, folder, Vec::new())?;
    Ok(modules)
}

fn read_file(modules: &mut Modules, path: &Path, folder: &Path, name: Vec<String>) -> Result<()> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let syntax = syn::parse_file(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let file = modules.files.len();
    modules.files.push(File { path: path.to_owned(), ..File::default() });
    read_items(modules, file, &syntax.items, folder, name)
}

fn read_items(
    modules: &mut Modules,
    file: usize,
    items: &[Item],
    folder: &Path,
    name: Vec<String>,
) -> Result<()> {
    modules.by_name.insert(name.clone(), file);
    for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
        if let Item::Mod(module) = item {
            read_module(modules, file, module, folder, &name)?;
            continue;
        }
        for named in paths::of(item, &name) {
            match named {
                Named::Import(path) => modules.files[file].imports.push(path),
                Named::PassedOn(as_name, path) => modules.files[file].passes_on.push((as_name, path)),
            }
        }
    }
    Ok(())
}

fn read_module(
    modules: &mut Modules,
    file: usize,
    module: &ItemMod,
    folder: &Path,
    parent: &[String],
) -> Result<()> {
    let ident = module.ident.to_string();
    let mut name = parent.to_vec();
    name.push(ident.clone());
    let inner = folder.join(&ident);
    if let Some((_, items)) = &module.content {
        return read_items(modules, file, items, &inner, name);
    }
    if let Some(path) = path_attribute(&module.attrs) {
        // The path is relative to the folder of the file with the `mod` item; the folder of the other file is that for its
        // own modules.
        let path = modules.files[file].path.parent().unwrap_or(folder).join(path);
        let folder = path.parent().unwrap_or(folder).to_owned();
        return read_file(modules, &path, &folder, name);
    }
    let beside = folder.join(format!("{ident}.rs"));
    let path = if beside.exists() { beside } else { inner.join("mod.rs") };
    read_file(modules, &path, &inner, name)
}

/// Returns the value of `#[path = "…"]`, if there is one.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("path")).find_map(|attribute| {
        match &attribute.meta.require_name_value().ok()?.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        }
    })
}

/// Whether the item exists only in tests, or in the model checker.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let Ok(list) = attribute.meta.require_list() else { return false };
        names_tests(list.tokens.clone())
    })
}

/// Whether `test` or `loom` is there without a `not` around it.
fn names_tests(tokens: proc_macro2::TokenStream) -> bool {
    use proc_macro2::TokenTree;
    let mut negated = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == "test" || ident == "loom" => return true,
            TokenTree::Ident(ident) => negated = ident == "not",
            TokenTree::Group(group) if !negated && names_tests(group.stream()) => return true,
            _ => {}
        }
    }
    false
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

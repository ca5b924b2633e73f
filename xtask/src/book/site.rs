//! The links between pages of HTML.

use super::links::resolved;
use crate::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a line for each link of a page below `directory` that leads to no file there, or to no place in it.
pub(crate) fn check(directory: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    for path in pages_below(directory)? {
        let name = path.strip_prefix(directory)?.to_string_lossy().into_owned();
        pages.insert(name, fs::read_to_string(&path)?);
    }
    let places: BTreeMap<&str, BTreeSet<&str>> =
        pages.iter().map(|(name, text)| (name.as_str(), values(text, "id").collect())).collect();
    let mut mistakes = Vec::new();
    // All chapters in one page: their links are those of the chapters. Pages of errors are shown in the place of any.
    for (name, text) in pages.iter().filter(|(name, _)| !["print.html", "404.html"].contains(&name.as_str()))
    {
        let links: BTreeSet<&str> = values(text, "href").chain(values(text, "src")).collect();
        for link in links.into_iter().filter(|link| is_within(link)) {
            let (path, anchor) = resolved(name, link);
            let anchor = anchor.trim_start_matches('#');
            match places.get(path.as_str()) {
                Some(ids) if !anchor.is_empty() && !ids.contains(anchor) => {
                    mistakes.push(format!("{name}: {link}: no such place"));
                }
                None if !directory.join(&path).exists() => {
                    mistakes.push(format!("{name}: {link}: no such file"))
                }
                _ => {}
            }
        }
    }
    Ok(mistakes)
}

fn is_within(link: &str) -> bool {
    !link.contains("://")
        && !["mailto:", "data:", "javascript:"].iter().any(|scheme| link.starts_with(scheme))
}

/// The values of an attribute.
fn values<'a>(text: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!(" {attribute}=\"");
    let length = begin.len();
    let places: Vec<usize> = text.match_indices(&begin).map(|(at, _)| at + length).collect();
    places.into_iter().filter_map(|at| text[at..].split('"').next())
}

fn pages_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        match path.is_dir() {
            true => pages.extend(pages_below(&path)?),
            false if path.extension().is_some_and(|extension| extension == "html") => pages.push(path),
            false => {}
        }
    }
    Ok(pages)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn links_without_an_end_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let page =
            "<a href=\"b.html#x\"></a><a href=\"b.html#y\"></a><img src=\"c.svg\"><a href=\"http://d\"></a>";
        fs::write(directory.path().join("a.html"), page).unwrap();
        fs::write(directory.path().join("b.html"), "<h1 id=\"x\"></h1>").unwrap();
        let expected = ["a.html: b.html#y: no such place", "a.html: c.svg: no such file"];
        assert_eq!(check(directory.path()).unwrap(), expected);
    }
}

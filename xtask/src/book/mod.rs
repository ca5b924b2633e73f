//! The site that mdBook makes from the documents: `xtask book TARGET` writes its sources, `xtask check-site DIRECTORY` checks the links of
//! the pages that mdBook has made of them.
//!
//! The chapters are those of `docs/SUMMARY.md`. A link to a chapter stays one; a link to another file of the repository leads to that file where
//! the repository is published, but pictures are copied.

mod links;
mod site;

pub(crate) use site::check as check_site;

use crate::Result;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SUMMARY: &str = "docs/SUMMARY.md";
/// Where the repository is published, for links to sources.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Writes the sources of the site to `target`, which is emptied.
pub(crate) fn write(root: &Path, target: &Path) -> Result<()> {
    let book = Book::read(root)?;
    let mistakes = book.mistakes(root)?;
    if !mistakes.is_empty() {
        return Err(mistakes.join("\n").into());
    }
    if target.exists() {
        fs::remove_dir_all(target)?;
    }
    let mut pictures = BTreeSet::new();
    for chapter in book.chapters.iter().map(String::as_str).chain([SUMMARY]) {
        let text = fs::read_to_string(root.join(chapter))?;
        let text = links::rewritten(&text, |link| book.link_of_site(root, chapter, link, &mut pictures));
        // mdBook shows Mermaid as text; the pages of the repository draw it.
        let drawn =
            format!("[Drawn]({REPOSITORY}/blob/main/{chapter}), this text is a picture:\n\n```text\n");
        write_new(&target.join(place(chapter)), text.replace("```mermaid\n", &drawn))?;
    }
    for picture in pictures {
        write_new(&target.join(place(&picture)), fs::read(root.join(&picture))?)?;
    }
    Ok(())
}

/// The mistakes in the list of chapters: documents that it lacks.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    Book::read(root)?.mistakes(root)
}

/// The chapters of the site, by their paths in the repository.
struct Book {
    chapters: BTreeSet<String>,
}

impl Book {
    fn read(root: &Path) -> Result<Self> {
        let text = fs::read_to_string(root.join(SUMMARY))?;
        let chapters = links::targets(&text).into_iter().map(|link| links::resolved(SUMMARY, &link).0);
        Ok(Self { chapters: chapters.collect() })
    }

    fn mistakes(&self, root: &Path) -> Result<Vec<String>> {
        let mut mistakes = Vec::new();
        for folder in ["docs", "docs/guides", "docs/protocol"] {
            for entry in fs::read_dir(root.join(folder))? {
                let name = entry?.file_name();
                let path = format!("{folder}/{}", name.to_string_lossy());
                if path.ends_with(".md") && path != SUMMARY && !self.chapters.contains(&path) {
                    mistakes.push(format!("{SUMMARY} does not have {path}"));
                }
            }
        }
        let missing = self.chapters.iter().filter(|chapter| !root.join(chapter).is_file());
        mistakes.extend(missing.map(|chapter| format!("{SUMMARY}: there is no {chapter}")));
        Ok(mistakes)
    }

    /// What stands in the place of a link of a chapter; pictures that the site needs are added to `pictures`.
    fn link_of_site(
        &self,
        root: &Path,
        chapter: &str,
        link: &str,
        pictures: &mut BTreeSet<String>,
    ) -> String {
        if link.contains("://") || link.starts_with("mailto:") || link.starts_with('#') {
            return link.to_owned();
        }
        let (path, anchor) = links::resolved(chapter, link);
        let is_picture = path.ends_with(".svg") || path.ends_with(".png");
        if is_picture {
            pictures.insert(path.clone());
        }
        if is_picture || self.chapters.contains(&path) {
            return format!("{}{anchor}", links::relative(&place(chapter), &place(&path)));
        }
        let kind = if root.join(&path).is_dir() { "tree" } else { "blob" };
        format!("{REPOSITORY}/{kind}/main/{path}{anchor}")
    }
}

/// The place of a file of the repository in the site's sources. mdBook makes `index.html` of `README.md`, and leaves links to it as they are.
fn place(path: &str) -> String {
    let path = path.strip_prefix("docs/").unwrap_or(path);
    path.strip_suffix("README.md").map_or_else(|| path.to_owned(), |folder| format!("{folder}index.md"))
}

fn write_new(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    Ok(fs::write(path, content)?)
}

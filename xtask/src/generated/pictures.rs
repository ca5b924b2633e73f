//! The tables of layers as pictures in ARCHITECTURE.md.

use super::sections;
use crate::Result;
use crate::layers::tables::{self, Layer};
use std::fmt::Write as _;

/// The crates, and the crate's folders whose picture the document has.
const PICTURES: [&str; 2] = ["crates", "lnet-core"];

/// Returns the document with the pictures in it.
pub(super) fn update(text: &str) -> Result<String> {
    PICTURES.into_iter().try_fold(text.to_owned(), |text, name| {
        sections::replace(&text, &format!("layers of {name}"), &draw(table(name)))
    })
}

fn table(name: &str) -> &'static [Layer] {
    let folders = tables::FOLDERS.iter().find(|(its, _)| *its == name);
    folders.map_or(tables::CRATES, |(_, table)| table)
}

/// A mermaid picture, with an arrow from each layer to those that it names and does not reach through another.
fn draw(table: &[Layer]) -> String {
    let mut text = String::from("```mermaid\nflowchart BT\n");
    for (name, below) in table {
        // Two that name each other are each shown.
        let above = |other: &str, to: &str| reaches(table, other, to, 0) && !reaches(table, to, other, 0);
        let direct = below.iter().filter(|to| !below.iter().any(|other| above(other, to)));
        let direct: Vec<&str> = direct.copied().collect();
        match direct.is_empty() {
            true => _ = writeln!(text, "    {name}"),
            false => _ = writeln!(text, "    {name} --> {}", direct.join(" & ")),
        }
    }
    text + "```\n"
}

/// Whether `from` names `to`, or a layer that reaches it. `depth` ends circles.
fn reaches(table: &[Layer], from: &str, to: &str, depth: usize) -> bool {
    depth < table.len()
        && tables::allowed(table, from).is_some_and(|below| {
            below.contains(&to) || below.iter().any(|next| reaches(table, next, to, depth + 1))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_no_arrow_that_follows_from_others() {
        let table: &[Layer] = &[("a", &["z"]), ("z", &["a"]), ("b", &["a", "z"]), ("c", &["a", "b"])];
        assert_eq!(
            draw(table),
            "```mermaid\nflowchart BT\n    a --> z\n    z --> a\n    b --> a & z\n    c --> b\n```\n"
        );
    }
}

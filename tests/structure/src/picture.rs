//! The tables of [`layers`](crate::layers) as pictures in ARCHITECTURE.md.

use crate::layers::{self, Layer};
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

/// The crates, and the crate's folders whose picture the document has.
const PICTURES: [&str; 2] = ["crates", "lnet-core"];

/// Compares the pictures of a document with the tables, or writes them; returns a line for each that differs or is missing.
pub(crate) fn update(document: &Path, write: bool) -> io::Result<Vec<String>> {
    let mut text = fs::read_to_string(document)?;
    let mut mistakes = Vec::new();
    for name in PICTURES {
        let (begin, end) =
            (format!("<!-- layers of {name} -->\n"), format!("<!-- end of layers of {name} -->\n"));
        let place = text.find(&begin).map(|at| at + begin.len()).zip(text.find(&end));
        let Some((from, to)) = place.filter(|(from, to)| from <= to) else {
            mistakes.push(format!(
                "{}: no picture between `{}` and its end",
                document.display(),
                begin.trim()
            ));
            continue;
        };
        let picture = draw(table(name));
        if text[from..to] == picture {
            continue;
        }
        match write {
            true => text.replace_range(from..to, &picture),
            false => mistakes.push(format!(
                "{}: the layers of {name} are not those of tests/structure/src/layers.rs: cargo run --package structure -- --write",
                document.display()
            )),
        }
    }
    if write {
        fs::write(document, text)?;
    }
    Ok(mistakes)
}

fn table(name: &str) -> &'static [Layer] {
    let folders = layers::FOLDERS.iter().find(|(its, _)| *its == name);
    folders.map_or(layers::CRATES, |(_, table)| table)
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
        && layers::allowed(table, from).is_some_and(|below| {
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

//! The findings about clusters in the documentation: from the table of findings, and the library of broken clusters of the tests.

use super::sections;
use crate::Result;
use lnet_cluster::checks::{self, FindingKind};
use lnet_cluster::input;
use lnet_cluster::report::picture::{self, Form};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The library of broken clusters: files that `liblnet/cluster/tests/library.rs` explains.
const LIBRARY: &str = "liblnet/cluster/tests/broken";

/// The cluster of the picture.
const EXAMPLE: &str = "liblnet/cluster/tests/picture/example";

/// Draws docs/pictures/cluster.svg.
pub(super) fn picture(root: &Path) -> Result<String> {
    let cluster = input::read(&[root.join(EXAMPLE)])
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    Ok(picture::draw(Form::Svg, &cluster, &checks::check(&cluster)))
}

/// Returns docs/cluster-check.md with the table of findings and the examples.
pub(super) fn update(root: &Path, text: &str) -> Result<String> {
    let text = sections::replace(text, "cluster findings", &table())?;
    sections::replace(&text, "cluster examples", &examples(&smallest(&root.join(LIBRARY))?)?)
}

fn table() -> String {
    let rows = FindingKind::ALL.iter().map(|kind| kind.row());
    let line = |row: &lnet_cluster::checks::Row| {
        let id = row.id;
        format!("| [`{id}`](#{id}) | {} | {} | {} |\n", row.severity.word(), row.title, row.cost)
    };
    format!("| kind | severity | finding | cost |\n|---|---|---|---|\n{}", rows.map(line).collect::<String>())
}

/// The shortest file of the library for each kind of finding, without its head.
fn smallest(library: &Path) -> Result<BTreeMap<String, (String, String)>> {
    let mut all: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut paths: Vec<_> = fs::read_dir(library)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths {
        let text = fs::read_to_string(&path)?;
        let (head, files) =
            text.split_once("\n=== ").ok_or_else(|| format!("{}: no files", path.display()))?;
        let value = |key: &str| {
            head.lines().find_map(|line| line.strip_prefix(key)).map(|text| text.trim().to_owned())
        };
        let (Some(kind), Some(about)) = (value("expect: "), value("# ")) else {
            return Err(format!("{}: no finding, or no text", path.display()).into());
        };
        let files = files.to_owned();
        match all.get(&kind) {
            Some((_, shorter)) if shorter.len() <= files.len() => {}
            _ => drop(all.insert(kind, (about, files))),
        }
    }
    Ok(all)
}

fn examples(smallest: &BTreeMap<String, (String, String)>) -> Result<String> {
    let mut text = String::new();
    for kind in FindingKind::ALL {
        let row = kind.row();
        let (about, files) = smallest.get(row.id).ok_or_else(|| format!("no example of {}", row.id))?;
        write!(text, "### {}\n\n{}. {} {}\n\n{about}:\n\n", row.id, row.title, row.why, row.mend)?;
        for (index, file) in files.split("\n=== ").enumerate() {
            let (name, lines) = file.split_once('\n').unwrap_or((file, ""));
            if index > 0 {
                text.push('\n');
            }
            writeln!(text, "    # {name}")?;
            for line in lines.trim_end().lines() {
                writeln!(text, "    {line}")?;
            }
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    Ok(text)
}

//! Conversion of YAML to the canonical model and back.
//!
//! [`tree`] makes a tree with places of the text, [`forms`] makes the model of a tree in any form that exists,
//! [`conflicts`] finds contradictions, [`write`](mod@write) writes the model in the form of 2.15.

mod conflicts;
mod fields;
mod forms;
mod scalars;
pub mod tree;
mod write;

pub(crate) use fields::SectionKeys;
pub(crate) use forms::{block_names, keys_in};

use crate::host_names::Names;
use crate::model::{Document, Place};
use crate::value::Value;
use crate::{ReturnCode, SeqNo};
use std::fmt;
use std::io::{self, Read};

/// An error in a file: its place, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line and column.
    pub at: Place,
    /// The block of the error, by its canonical name; in `global`, the setting. `None`: the file as a whole.
    pub block: Option<&'static str>,
    /// The `seq_no` of the item.
    pub seq_no: SeqNo,
    /// The return code of the DLC calls for the error.
    pub rc: ReturnCode,
    /// One line of text: the error, and the remedy.
    pub text: String,
}

impl Problem {
    /// A problem of the file as a whole.
    pub(crate) const fn of_file(at: Place, text: String) -> Self {
        Self { at, block: None, seq_no: SeqNo::NONE, rc: ReturnCode::BAD_PARAM, text }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.text)
    }
}

/// The purpose for which a file is read: it decides which keys an item needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The items are added.
    Add,
    /// The items are deleted.
    Del,
    /// The items select what is shown.
    Show,
    /// The items are carried out: pings and discoveries.
    Exec,
}

/// The most problems of a file that are listed: a large file in another format has one in every line.
const MAX_PROBLEMS: usize = 1000;

/// Reads a file of any form (dlc 2 and 3). All problems are reported in the order of the file, at most [`MAX_PROBLEMS`];
/// with a problem there is no document. An empty file is an empty document.
///
/// For [`Purpose::Exec`] only pings and discoveries are read: other blocks are skipped and not in the
/// document.
pub fn read(text: &str, purpose: Purpose) -> Result<Document, Vec<Problem>> {
    read_with(text, purpose, Names::new())
}

/// Reads a file as [`read`] does; `names` resolves the names of hosts in it.
pub fn read_with(text: &str, purpose: Purpose, names: Names) -> Result<Document, Vec<Problem>> {
    let entries = tree::entries(text).map_err(bounded)?;
    let (document, mut problems) = forms::document(&entries, purpose, names);
    if purpose == Purpose::Add {
        problems.extend(conflicts::conflicts(&document));
    }
    // The sort is stable: of two problems in one place, the one that was found first comes first.
    problems.sort_by_key(|problem| problem.at);
    if problems.is_empty() { Ok(document) } else { Err(bounded(problems)) }
}

/// The first [`MAX_PROBLEMS`] problems and, if there are more, one that says so.
fn bounded(mut problems: Vec<Problem>) -> Vec<Problem> {
    if let Some(next) = problems.get(MAX_PROBLEMS) {
        let more = Problem::of_file(next.at, "more is wrong from here on; it is not listed".to_owned());
        problems.truncate(MAX_PROBLEMS);
        problems.push(more);
    }
    problems
}

/// The text of a configuration file. Reading stops where [`read`] refuses the file as too long: the
/// path may name something without an end. [`std::io::ErrorKind::InvalidData`] for text that is not UTF-8.
pub fn text_of(file: impl io::Read) -> io::Result<String> {
    let mut text = String::new();
    file.take(tree::MAX_SIZE as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// The document in the form of `export --backup` of 2.15. Blocks that come several times are merged.
pub fn to_value(document: &Document) -> Value {
    write::document(document)
}

#[cfg(test)]
mod problem_tests;
#[cfg(test)]
mod round_trip_tests;

//! YAML to the canonical model and back.
//!
//! [`tree`]: text to a tree with places. [`forms`]: the tree, in any form that there has been, to the model.
//! [`conflicts`]: what cannot be true at once. [`write`](mod@write): the model to the form of 2.15.

mod conflicts;
mod fields;
mod forms;
mod scalars;
mod tree;
mod write;

use crate::model::{Document, Place};
use crate::value::Value;
use crate::{ReturnCode, SeqNo};
use std::fmt;
use std::io::{self, Read};

/// What is wrong with a file, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub at: Place,
    /// The block it is in, by its canonical name; of `global`, the setting. None for the file as such.
    pub block: Option<&'static str>,
    /// The item's `seq_no`.
    pub seq_no: SeqNo,
    /// What the DLC calls return for it.
    pub rc: ReturnCode,
    /// What is wrong, and the remedy: one line.
    pub text: String,
}

impl Problem {
    /// A problem of the file as such.
    pub(crate) const fn of_file(at: Place, text: String) -> Self {
        Self { at, block: None, seq_no: SeqNo::NONE, rc: ReturnCode::BAD_PARAM, text }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.text)
    }
}

/// What a file is read for: it decides which keys an item needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be added.
    Add,
    /// To be deleted.
    Del,
    /// To choose what is shown.
    Show,
    /// To be carried out: pings and discoveries.
    Exec,
}

/// So many problems of a file are listed: a large file that is none of ours has one in every line.
const MAX_PROBLEMS: usize = 1000;

/// Reads a file of any form (dlc 2 and 3). Every problem is found (of a thousand and more, so many), in
/// the order of the file; with one, there is no document. The empty file is an empty document.
///
/// To [`Purpose::Exec`] only pings and discoveries matter: other blocks are not looked into and not in the
/// document.
pub fn read(text: &str, purpose: Purpose) -> Result<Document, Vec<Problem>> {
    let entries = tree::entries(text).map_err(bounded)?;
    let (document, mut problems) = forms::document(&entries, purpose);
    if purpose == Purpose::Add {
        problems.extend(conflicts::conflicts(&document));
    }
    // Stable: of two problems in one place, the one that was found first.
    problems.sort_by_key(|problem| problem.at);
    if problems.is_empty() { Ok(document) } else { Err(bounded(problems)) }
}

/// The first [`MAX_PROBLEMS`] and, if there are more, one that says so.
fn bounded(mut problems: Vec<Problem>) -> Vec<Problem> {
    if let Some(next) = problems.get(MAX_PROBLEMS) {
        let more = Problem::of_file(next.at, "more is wrong from here on; it is not listed".to_owned());
        problems.truncate(MAX_PROBLEMS);
        problems.push(more);
    }
    problems
}

/// The text of a file of configuration. No more is read than makes [`read`] refuse it as too long: what is
/// named instead of a file may have no end. [`std::io::ErrorKind::InvalidData`] for what is not UTF-8.
pub fn text_of(file: impl io::Read) -> io::Result<String> {
    let mut text = String::new();
    file.take(tree::MAX_SIZE as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// The document in the form of 2.15 `export --backup`. Blocks that come several times become one.
pub fn to_value(document: &Document) -> Value {
    write::document(document)
}

#[cfg(test)]
mod problem_tests;
#[cfg(test)]
mod round_trip_tests;

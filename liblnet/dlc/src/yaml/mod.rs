//! YAML to the canonical model and back.

use crate::SeqNo;
use crate::model::{Document, Place};
use crate::value::Value;
use std::fmt;

/// What is wrong with a file, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub at: Place,
    /// The block it is in, by its canonical name; none for the file as such.
    pub block: Option<&'static str>,
    /// The item's `seq_no`.
    pub seq_no: SeqNo,
    /// What is wrong, and the remedy: one line.
    pub text: String,
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

/// Reads a file of any form (DLC sheet 2 and 3). Every problem is found, in the order of the file; with one,
/// there is no document. The empty file is an empty document.
pub fn read(text: &str, purpose: Purpose) -> Result<Document, Vec<Problem>> {
    todo!("{text} {purpose:?}")
}

/// The document in the form of 2.15 `export --backup`.
pub fn to_value(document: &Document) -> Value {
    todo!("{document:?}")
}

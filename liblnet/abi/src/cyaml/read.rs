//! Trees from YAML text, as [`lnet_dlc::yaml::tree`] reads it.
//!
//! Several documents become one. Scalars are typed as liblnetconfig types them (dlc 2.1).

use super::MAX_DEPTH;
use super::convert::TreeOut;
use super::file::{self, ReadError};
use super::node::{self, ARRAY, EnumCyamlType, FALSE, NULL, NUMBER, Node, OBJECT, STRING, TRUE, YamlNode};
use crate::entry::{InString, helper};
use crate::types::Flag;
use lnet_dlc::model::Place;
use lnet_dlc::yaml::Problem;
use lnet_dlc::yaml::tree::{self, NodeKind};
use lnet_dlc::{Operation, Report, ReturnCode, SeqNo};
use std::ffi::c_char;
use thiserror::Error;

/// Why there is no tree.
#[derive(Debug, Error)]
pub(crate) enum TreeError {
    /// The text cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The text is not YAML, or has something that is not read.
    #[error("{0}")]
    Yaml(Problem),
    /// Something else than a mapping.
    #[error("{at}: here is {what}; the file must be a mapping")]
    NotAMapping {
        /// The place of the document.
        at: Place,
        /// The kind of the part of the text.
        what: &'static str,
    },
    /// The C library has no memory for the tree.
    #[error("no memory is left for the tree")]
    NoMemory,
}

/// Reads YAML from a file up to its end. The caller frees the tree with cYAML_free_tree; an empty file is a
/// root without children. NULL if the text is not YAML or not a mapping; *err_rc then has the error and its place.
/// debug is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_load(file: *mut libc::FILE, err_rc: TreeOut, debug: Flag) -> YamlNode {
    let _ = debug;
    helper(None, || {
        let text = match file.is_null() {
            true => Err(ReadError::NoFile),
            // SAFETY: checked for NULL; an open file of the program's, which nobody closes during the call.
            false => unsafe { file::read_to_end(file) },
        };
        build(text, err_rc)
    })
}

/// Reads YAML: the file with the name path; without one, the yaml_blk_size bytes at yaml_blk; without both,
/// standard input. Otherwise as cYAML_load.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_build_tree(
    path: InString<'_>,
    yaml_blk: *const c_char,
    yaml_blk_size: usize,
    err_str: TreeOut,
    debug: Flag,
) -> YamlNode {
    let _ = debug;
    helper(None, || {
        let text = match path.get() {
            Some(path) => file::read_path(path.to_bytes()),
            None if yaml_blk.is_null() => file::read_standard_input(),
            None => {
                // SAFETY: checked for NULL; so many bytes of the program's, unchanged during the call.
                let block = unsafe { std::slice::from_raw_parts(yaml_blk.cast(), yaml_blk_size) };
                std::str::from_utf8(block).map(str::to_owned).map_err(ReadError::NotUtf8)
            }
        };
        build(text, err_str)
    })
}

fn build(text: Result<String, ReadError>, err_rc: TreeOut) -> YamlNode {
    let error = match text.map_err(TreeError::from).and_then(|text| parse(&text)) {
        Ok(tree) => return Some(tree.release()),
        Err(error) => error,
    };
    if !err_rc.is_null() {
        let mut report = Report::new();
        let _ = report.end(Operation::Yaml, "builder", SeqNo::NONE, ReturnCode::BAD_PARAM, error.to_string());
        err_rc.add(&report.errors);
    }
    None
}

/// A tree that is freed with its owner.
struct Tree(Node);

impl Tree {
    fn release(self) -> Node {
        let tree = self.0;
        std::mem::forget(self);
        tree
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // SAFETY: a tree that was made here, and that nobody else has.
        unsafe { node::_cYAML_free_tree(Some(self.0)) };
    }
}

/// The tree of a text.
fn parse(text: &str) -> Result<Tree, TreeError> {
    let root = Tree(allocated(OBJECT)?);
    let mut children = Children { parent: root.0, last: None };
    for document in tree::documents(text, MAX_DEPTH).map_err(TreeError::Yaml)? {
        let (at, what) = (document.at, document.what());
        match document.kind {
            NodeKind::Empty => {}
            NodeKind::Null(word) if word == "~" => {}
            NodeKind::Map(entries) => children.push_entries(&entries)?,
            NodeKind::Null(_) | NodeKind::Scalar(_) | NodeKind::Seq(_) => {
                return Err(TreeError::NotAMapping { at, what });
            }
        }
    }
    Ok(root)
}

/// The children of a node, to which others are appended.
struct Children {
    parent: Node,
    last: YamlNode,
}

impl Children {
    fn push_entries(&mut self, entries: &[tree::MapEntry]) -> Result<(), TreeError> {
        for entry in entries {
            let node = self.push(&entry.value)?;
            let key = copied(&entry.key)?;
            node.with(|node| node.cy_string = key);
        }
        Ok(())
    }

    /// Appends a new node with all that is below it: at most [`MAX_DEPTH`] levels.
    fn push(&mut self, read: &tree::Node) -> Result<Node, TreeError> {
        let node = match &read.kind {
            // What stands for nothing at all is an empty mapping.
            NodeKind::Empty | NodeKind::Map(_) => allocated(OBJECT)?,
            NodeKind::Seq(_) => allocated(ARRAY)?,
            NodeKind::Null(word) if word == "~" => allocated(OBJECT)?,
            NodeKind::Null(word) | NodeKind::Scalar(word) => scalar(word)?,
        };
        match self.last {
            None => self.parent.push(node),
            Some(last) => last.push_after(node),
        }
        self.last = Some(node);
        let mut below = Self { parent: node, last: None };
        match &read.kind {
            NodeKind::Map(entries) => below.push_entries(entries)?,
            NodeKind::Seq(items) => items.iter().try_for_each(|item| below.push(item).map(drop))?,
            NodeKind::Empty | NodeKind::Null(_) | NodeKind::Scalar(_) => {}
        }
        Ok(node)
    }
}

/// A new node with the type that a word has, and its text.
fn scalar(word: &str) -> Result<Node, TreeError> {
    let (kind, int, double) = match word {
        "null" => (NULL, 0, 0.0),
        "false" => (FALSE, 0, 0.0),
        "true" => (TRUE, 1, 1.0),
        _ => match number(word) {
            Some((int, double)) => (NUMBER, int, double),
            None => (STRING, 0, 0.0),
        },
    };
    let copy = copied(word)?;
    let node = Tree(allocated(kind)?);
    node.0.with(|node| {
        node.cy_valuestring = copy;
        node.cy_valueint = int;
        node.cy_valuedouble = double;
    });
    Ok(node.release())
}

/// Reads a decimal number with an optional fraction and exponent; leading zeros do not make it octal.
fn number(word: &str) -> Option<(i64, f64)> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let decimal = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || !digits.chars().all(decimal) {
        return None;
    }
    let double: f64 = word.parse().ok()?;
    Some((word.parse().unwrap_or(double as i64), double))
}

fn allocated(kind: EnumCyamlType) -> Result<Node, TreeError> {
    node::new(kind).ok_or(TreeError::NoMemory)
}

fn copied(text: &str) -> Result<*mut c_char, TreeError> {
    let copy = node::new_string(text.as_bytes());
    if copy.is_null() { Err(TreeError::NoMemory) } else { Ok(copy) }
}

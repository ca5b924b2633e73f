//! Trees from YAML text.
//!
//! Anchors and complex keys are not supported; several documents are joined. Scalars have the types that
//! liblnetconfig gives them (dlc 2.1).

use super::convert::TreeOut;
use super::node::{self, ARRAY, EnumCyamlType, FALSE, NULL, NUMBER, Node, OBJECT, STRING, TRUE, YamlNode};
use super::{MAX_DEPTH, file};
use crate::entry::{InString, helper};
use crate::types::Flag;
use lnet_dlc::{Operation, Report, ReturnCode, SeqNo};
use std::ffi::c_char;
use yaml_rust::parser::{Event, Parser};
use yaml_rust::scanner::{Marker, TScalarStyle};

/// Reads YAML from a file up to its end. The caller frees the tree with cYAML_free_tree; an empty file is a
/// root without children. NULL if the text is not YAML or not a mapping; *err_rc then has the error and its place.
/// debug is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _cYAML_load(file: *mut libc::FILE, err_rc: TreeOut, debug: Flag) -> YamlNode {
    let _ = debug;
    helper(None, || {
        let text = match file.is_null() {
            true => Err("no file".to_owned()),
            // SAFETY: checked for NULL; an open file of the program's, which nobody closes during the call.
            false => unsafe { file::read_to_end(file) },
        };
        tree(text, err_rc)
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
                std::str::from_utf8(block).map(str::to_owned).map_err(|error| error.to_string())
            }
        };
        tree(text, err_str)
    })
}

fn tree(text: Result<String, String>, err_rc: TreeOut) -> YamlNode {
    let error = match text.and_then(|text| parse(&text)) {
        Ok(tree) => return Some(tree.release()),
        Err(error) => error,
    };
    if !err_rc.is_null() {
        let mut report = Report::new();
        let _ = report.end(Operation::Yaml, "builder", SeqNo::NONE, ReturnCode::BAD_PARAM, error);
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

/// A mapping or sequence that is being read.
struct Open {
    node: Node,
    last: YamlNode,
    /// The key whose value comes next, in a mapping.
    key: Option<String>,
}

/// The tree of a text. The error is a line that begins with the place.
fn parse(text: &str) -> Result<Tree, String> {
    let root = Tree(allocated(OBJECT)?);
    let mut open: Vec<Open> = Vec::new();
    let mut parser = Parser::new_from_str(text);
    loop {
        let (event, at) = parser.next_token().map_err(|error| located(error.marker(), error.info()))?;
        let fail = |text: &str| Err(located(&at, text));
        match event {
            Event::StreamEnd => return Ok(root),
            Event::Nothing | Event::StreamStart | Event::DocumentStart | Event::DocumentEnd => {}
            Event::Alias(_) => return fail("anchors are not supported"),
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
            }
            Event::MappingStart(..) if open.is_empty() => {
                let last = root.0.children().last();
                open.push(Open { node: root.0, last, key: None });
            }
            Event::Scalar(word, TScalarStyle::Plain, ..) if open.is_empty() && matches!(&*word, "" | "~") => {
            }
            _ if open.is_empty() => return fail("the file must be a mapping"),
            _ if open.len() > MAX_DEPTH => return fail("too deep"),
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let kind = if matches!(event, Event::MappingStart(..)) { OBJECT } else { ARRAY };
                match open.last_mut() {
                    Some(parent) if parent.takes_value() => {
                        let node = parent.push(allocated(kind)?)?;
                        open.push(Open { node, last: None, key: None });
                    }
                    _ => return fail("a key must be one word or text"),
                }
            }
            Event::Scalar(word, style, ..) => {
                if let Some(parent) = open.last_mut() {
                    match parent.takes_value() {
                        true => parent.push(scalar(&word, style)?).map(drop)?,
                        false => parent.key = Some(word),
                    }
                }
            }
        }
    }
}

impl Open {
    fn takes_value(&self) -> bool {
        self.key.is_some() || self.node.kind() == ARRAY
    }

    /// Appends a new node, under the key that comes before it.
    fn push(&mut self, node: Node) -> Result<Node, String> {
        match self.last {
            None => self.node.push(node),
            Some(last) => last.push_after(node),
        }
        self.last = Some(node);
        if let Some(key) = self.key.take() {
            let key = copied(&key)?;
            node.with(|node| node.cy_string = key);
        }
        Ok(node)
    }
}

/// A new node with the type of a scalar, and its text.
fn scalar(word: &str, style: TScalarStyle) -> Result<Node, String> {
    // A document without content is an empty mapping; the parser reports it as `~`.
    if style == TScalarStyle::Plain && matches!(word, "" | "~") {
        return allocated(OBJECT);
    }
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

fn located(at: &Marker, text: &str) -> String {
    format!("{}:{}: {text}", at.line(), at.col() + 1)
}

fn allocated(kind: EnumCyamlType) -> Result<Node, String> {
    node::new(kind).ok_or_else(|| "no memory".to_owned())
}

fn copied(text: &str) -> Result<*mut c_char, String> {
    let copy = node::new_string(text.as_bytes());
    if copy.is_null() { Err("no memory".to_owned()) } else { Ok(copy) }
}

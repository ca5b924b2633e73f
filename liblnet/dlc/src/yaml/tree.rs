//! YAML as a tree of nodes with their places, in which every scalar is the text that was written. All YAML is read here: files of
//! configuration, and the text that C programs read as cYAML.
//!
//! Features that a configuration never needs are refused: anchors, aliases, tags, deep nesting, endless files. So a
//! file costs time and memory in proportion to its length, whoever wrote it.

use super::{MAX_PROBLEMS, Problem};
use crate::model::Place;
use yaml_rust::parser::{Event, Parser};
use yaml_rust::scanner::{Marker, ScanError, TScalarStyle};

/// The most bytes a file may have.
pub const MAX_SIZE: usize = 16 << 20;
/// The most mappings and sequences within each other in a file of configuration, which has 8.
const MAX_DEPTH: usize = 32;
/// The most values, mappings and sequences of a file: each takes far more memory than the two bytes that it may have in
/// the file. A configuration with this many has 50 000 peers.
const MAX_NODES: usize = 2_000_000;

/// One value of a file.
#[derive(Clone, Debug)]
pub struct Node {
    /// The place where the value begins.
    pub at: Place,
    /// The kind of the value, with its contents.
    pub kind: NodeKind,
}

/// The kind of a value of a file.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A key without a value.
    Empty,
    /// `~` or `null`, as written.
    Null(String),
    /// Text or a number: the text as written, without quotes.
    Scalar(String),
    /// The items of a sequence.
    Seq(Vec<Node>),
    /// The entries of a mapping, in their order.
    Map(Vec<MapEntry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct MapEntry {
    /// The text of the key.
    pub key: String,
    /// The place where the key begins.
    pub at: Place,
    /// The value of the key.
    pub value: Node,
}

impl Node {
    /// The items of a sequence. An empty value has none; any other value is one item.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.kind {
            NodeKind::Empty | NodeKind::Null(_) => &[],
            NodeKind::Seq(items) => items,
            NodeKind::Scalar(_) | NodeKind::Map(_) => std::slice::from_ref(self),
        }
    }

    /// Whether there is no value, in any of the ways to write that.
    pub(crate) const fn is_empty(&self) -> bool {
        match &self.kind {
            NodeKind::Empty | NodeKind::Null(_) => true,
            NodeKind::Seq(items) => items.is_empty(),
            NodeKind::Map(entries) => entries.is_empty(),
            NodeKind::Scalar(_) => false,
        }
    }

    /// The kind of the value as a message names it.
    pub const fn what(&self) -> &'static str {
        match self.kind {
            NodeKind::Empty | NodeKind::Null(_) => "nothing",
            NodeKind::Scalar(_) => "a single value",
            NodeKind::Seq(_) => "a sequence",
            NodeKind::Map(_) => "a mapping",
        }
    }
}

/// Reads the top-level entries of all documents in `text`.
pub(crate) fn entries(text: &str) -> Result<Vec<MapEntry>, Vec<Problem>> {
    let tabs = tabs(without_mark(text));
    if !tabs.is_empty() {
        return Err(tabs);
    }
    let mut all = Vec::new();
    for node in documents(text, MAX_DEPTH).map_err(|problem| vec![problem])? {
        match node.kind {
            NodeKind::Empty | NodeKind::Null(_) => {}
            NodeKind::Map(entries) if all.is_empty() => all = entries,
            NodeKind::Map(entries) => all.extend(entries),
            NodeKind::Scalar(_) | NodeKind::Seq(_) => {
                let said =
                    format!("here is {}, not a block such as 'net:' with its items below", node.what());
                return Err(vec![Problem::of_file(node.at, said)]);
            }
        }
    }
    Ok(all)
}

/// A problem for each line that is indented with a tab.
fn tabs(text: &str) -> Vec<Problem> {
    let told = |(index, line): (usize, &str)| {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        let rest = line[blank..].trim_end_matches('\r');
        let tab = line[..blank].find('\t').filter(|_| !rest.is_empty() && !rest.starts_with('#'))?;
        let said = "a tab in the indentation; YAML is indented with blanks".to_owned();
        Some(Problem::of_file(Place { line: number(index + 1), column: number(tab + 1) }, said))
    };
    text.split('\n').enumerate().filter_map(told).take(MAX_PROBLEMS + 1).collect()
}

/// A collection that is still open, and the key that has no value yet.
struct Open {
    node: Node,
    key: Option<(String, Place)>,
}

/// The text behind a byte order mark.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Reads all documents in `text`, with at most `max_depth` mappings and sequences within each other.
pub fn documents(text: &str, max_depth: usize) -> Result<Vec<Node>, Problem> {
    let text = without_mark(text);
    if text.len() > MAX_SIZE {
        let said = format!("the file has {} bytes; at most {MAX_SIZE} are read", text.len());
        return Err(Problem::of_file(Place { line: 1, column: 1 }, said));
    }
    let mut parser = Parser::new_from_str(text);
    let mut roots = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut nodes = 0;
    loop {
        let (event, marker) = parser.next_token().map_err(|error| syntax(&error, text))?;
        let at = place(&marker);
        let (done, anchor, tag) = match event {
            Event::StreamEnd => return Ok(roots),
            Event::Nothing | Event::StreamStart | Event::DocumentStart | Event::DocumentEnd => continue,
            Event::Alias(_) => return Err(Problem::of_file(at, NO_ALIAS.to_owned())),
            Event::Scalar(text, style, anchor, tag) => (Some(scalar(text, style, at)), anchor, tag),
            Event::SequenceStart(anchor, tag) => {
                open.push(Open { node: Node { at, kind: NodeKind::Seq(Vec::new()) }, key: None });
                (None, anchor, tag)
            }
            Event::MappingStart(anchor, tag) => {
                open.push(Open { node: Node { at, kind: NodeKind::Map(Vec::new()) }, key: None });
                (None, anchor, tag)
            }
            Event::SequenceEnd | Event::MappingEnd => (open.pop().map(|open| open.node), 0, None),
        };
        if anchor != 0 || tag.is_some() {
            let said = "anchors ('&') and tags ('!') are not read; write the value itself, in quotes if it \
                        begins so";
            return Err(Problem::of_file(at, said.to_owned()));
        }
        nodes += 1;
        if nodes > MAX_NODES {
            return Err(Problem::of_file(at, format!("more than {MAX_NODES} values in one file")));
        }
        if open.len() > max_depth {
            return Err(Problem::of_file(at, format!("more than {max_depth} levels within each other")));
        }
        if let Some(node) = done {
            match open.last_mut() {
                None => roots.push(node),
                Some(parent) => put(parent, node)?,
            }
        }
    }
}

const NO_ALIAS: &str = "aliases ('*NAME') are not read; a value that begins with '*' needs quotes";

/// Adds a finished node to its parent.
fn put(parent: &mut Open, node: Node) -> Result<(), Problem> {
    match (&mut parent.node.kind, parent.key.take()) {
        (NodeKind::Seq(items), _) => items.push(node),
        (NodeKind::Map(entries), Some((key, at))) => entries.push(MapEntry { key, at, value: node }),
        (_, _) => {
            // A key's text is what it is compared by; `null:` is a key too.
            let key = match node.kind {
                NodeKind::Scalar(text) => text,
                NodeKind::Null(_) => "null".to_owned(),
                NodeKind::Empty => String::new(),
                NodeKind::Seq(_) | NodeKind::Map(_) => {
                    let said = format!("here is {}, where a key must be", node.what());
                    return Err(Problem::of_file(node.at, said));
                }
            };
            // The parser reports the mapping of a block at the first colon.
            parent.node.at = parent.node.at.min(node.at);
            parent.key = Some((key, node.at));
        }
    }
    Ok(())
}

fn scalar(text: String, style: TScalarStyle, at: Place) -> Node {
    let kind = match (style, text.as_str()) {
        (TScalarStyle::Plain, "") => NodeKind::Empty,
        (TScalarStyle::Plain, "~" | "null" | "Null" | "NULL") => NodeKind::Null(text),
        _ => NodeKind::Scalar(text),
    };
    Node { at, kind }
}

/// The problem for an error of the YAML scanner, with a remedy for its usual causes.
fn syntax(error: &ScanError, text: &str) -> Problem {
    let at = place(error.marker());
    let line = text.lines().nth(at.line as usize - 1).unwrap_or_default();
    let value = line.split_once(": ").map_or(line, |(_, value)| value).trim_start_matches([' ', '-']);
    let remedy = match value.chars().next() {
        Some('*') => "; a value that begins with '*' needs quotes",
        Some('[') => "; a value that begins with '[' and is no list needs quotes",
        Some('@' | '`' | '%') => "; a value that begins so needs quotes",
        _ if error.info().contains("mapping values") => {
            "; a value with ': ' in it needs quotes, and the line above must end with its ':'"
        }
        _ if error.info().contains("did not find expected") => {
            "; the indentation of this line or of those above does not fit"
        }
        _ => "",
    };
    Problem::of_file(at, format!("this is not YAML: {}{remedy}", error.info()))
}

fn place(marker: &Marker) -> Place {
    // The library counts lines from 1 and columns from 0.
    Place { line: number(marker.line().max(1)), column: number(marker.col() + 1) }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(node: &Node) -> String {
        match &node.kind {
            NodeKind::Empty => "empty".into(),
            NodeKind::Null(_) => "null".into(),
            NodeKind::Scalar(text) => format!("{text:?}"),
            NodeKind::Seq(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
            NodeKind::Map(entries) => {
                let shown = |entry: &MapEntry| format!("{}@{}={}", entry.key, entry.at, shown(&entry.value));
                format!("{{{}}}", entries.iter().map(shown).collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[test]
    fn every_scalar_keeps_its_text_and_every_key_its_place() {
        let table = [
            ("", ""),
            ("# only this\n", ""),
            ("---\n...\n", ""),
            ("a: 010", "a@1:1=\"010\""),
            ("a: 'null'\nb:\nc: ~", "a@1:1=\"null\" b@2:1=empty c@3:1=null"),
            ("a:\n- b: 1\n  c: 2\n- b: 3", "a@1:1=[{b@2:3=\"1\" c@3:3=\"2\"} {b@4:3=\"3\"}]"),
            ("a: [1, {b: 2}]", "a@1:1=[\"1\" {b@1:9=\"2\"}]"),
            ("a: 1\n---\na: 2\n", "a@1:1=\"1\" a@3:1=\"2\""),
            ("\u{feff}a: 1\r\nb: 2\r\n", "a@1:1=\"1\" b@2:1=\"2\""),
            ("local NI(s): 10.0.0.[1-3]@tcp", "local NI(s)@1:1=\"10.0.0.[1-3]@tcp\""),
        ];
        for (text, expected) in table {
            let entries = entries(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
            let shown = entries.iter().map(|it| format!("{}@{}={}", it.key, it.at, shown(&it.value)));
            assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{text:?}");
        }
    }

    #[test]
    fn rejected_documents_name_the_position() {
        let deep = format!("a: {}{}", "[".repeat(100), "]".repeat(100));
        let table = [
            ("garbage\n", 1, 1),
            ("- a\n", 1, 1),
            ("net:\n\t- net type: tcp\n", 2, 1),
            ("net:\n  \tx: 1\n", 2, 3),
            ("a: &x 1\n", 1, 7),
            ("a: !int 1\n", 1, 9),
            ("a: *x\n", 1, 4),
            ("[a]: 1\n", 1, 1),
            (deep.as_str(), 1, 35),
        ];
        for (text, line, column) in table {
            let problems = entries(text).unwrap_err();
            assert_eq!(problems[0].at, Place { line, column }, "{text:?} {problems:?}");
            assert_eq!(problems[0].block, None);
        }
        assert!(entries("net:\n  - net type: tcp\n  local: [\n").is_err());
        assert!(entries(&" ".repeat(MAX_SIZE + 1)).is_err());
    }

    #[test]
    fn tabs_in_comments_and_behind_values_are_accepted() {
        assert!(entries("\t# comment\n\t\na: 1\t# comment\n").is_ok());
    }

    #[test]
    fn nesting_is_limited() {
        for text in
            ["- ".repeat(100_000), "[".repeat(1_000_000), "{a: ".repeat(300_000), "? ".repeat(100_000)]
        {
            assert!(entries(&text).is_err());
        }
    }

    #[test]
    fn a_file_with_too_many_values_is_rejected_early() {
        let problems = entries(&format!("a: [{}]", "a,".repeat(MAX_NODES))).unwrap_err();
        assert!(problems[0].text.starts_with("more than"), "{problems:?}");
    }
}

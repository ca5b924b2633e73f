//! The keys of one mapping: each is read by name, and each key that was not read is a problem.

use super::tree::{MapEntry, Node, NodeKind};
use super::{MAX_PROBLEMS, Problem, Purpose};
use crate::host_names::Names;
use crate::model::Place;
use crate::{ReturnCode, SeqNo, nearest};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The state of reading a file: the purpose, the problems so far, the block and item that are being read.
pub(super) struct Reader {
    /// The purpose for which the file is read.
    pub purpose: Purpose,
    /// The problems so far, at most one more than [`MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// The block that is being read.
    pub block: Option<&'static str>,
    /// The number of the item that is being read.
    pub seq_no: SeqNo,
    /// Resolves the host names in NIDs.
    pub names: Names,
    /// The keys of all mappings that were read, if they are wanted.
    pub keys: Option<Vec<SectionKeys>>,
}

/// The keys that one kind of mapping accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SectionKeys {
    /// The top-level key of the block that the mapping is in.
    pub(crate) block: &'static str,
    /// The name of the mapping, as messages have it.
    pub(crate) section: &'static str,
    /// The keys whose values are read.
    pub(crate) read: BTreeSet<&'static str>,
    /// The keys that are accepted, and whose values have no effect.
    pub(crate) ignored: BTreeSet<&'static str>,
}

impl Reader {
    /// A reader without problems, before the first block.
    pub(super) fn new(purpose: Purpose, names: Names) -> Self {
        let problems = Vec::new();
        Self { purpose, problems, block: None, seq_no: SeqNo::NONE, names, keys: None }
    }

    /// Records an error at `at`.
    pub(super) fn wrong(&mut self, at: Place, text: impl Into<String>) {
        self.wrong_with(at, ReturnCode::BAD_PARAM, text);
    }

    /// Records that an entry is missing from the part of the file that begins at `at`.
    pub(super) fn missing(&mut self, at: Place, text: impl Into<String>) {
        self.wrong_with(at, ReturnCode::MISSING_PARAM, text);
    }

    /// Records a problem with the return code `rc`.
    pub(super) fn wrong_with(&mut self, at: Place, rc: ReturnCode, text: impl Into<String>) {
        if self.problems.len() > MAX_PROBLEMS {
            return;
        }
        let (block, seq_no) = (self.block, self.seq_no);
        self.problems.push(Problem { at, block, seq_no, rc, text: text.into() });
    }
}

/// The entries of a mapping, and the names that have been read.
pub(super) struct Fields<'a> {
    /// The place where the mapping begins.
    pub at: Place,
    entries: &'a [MapEntry],
    /// The keys that have been read.
    known: Vec<&'static str>,
    /// The keys that are accepted without being read.
    ignored: Vec<&'static str>,
    /// The name of the mapping, for messages.
    of: &'static str,
}

impl<'a> Fields<'a> {
    /// The keys of `node`, which `of` describes in messages. An empty value is a mapping without keys; for
    /// any other value a problem is recorded. Keys that come twice are recorded too.
    pub(super) fn of(node: &'a Node, of: &'static str, reader: &mut Reader) -> Option<Self> {
        let entries = match &node.kind {
            NodeKind::Map(entries) => entries.as_slice(),
            NodeKind::Empty | NodeKind::Null(_) => &[],
            NodeKind::Scalar(_) | NodeKind::Seq(_) => {
                reader.wrong(
                    node.at,
                    format!("{of} must be a mapping of keys and values, not {}", node.what()),
                );
                return None;
            }
        };
        let mut first: HashMap<&str, Place> = HashMap::with_capacity(entries.len());
        for entry in entries {
            match first.get(entry.key.as_str()) {
                Some(at) => {
                    let said = format!("'{}' is said twice in {of}, first at {at}; keep one", entry.key);
                    reader.wrong(entry.at, said);
                }
                None => drop(first.insert(&entry.key, entry.at)),
            }
        }
        Some(Self { at: node.at, entries, known: Vec::new(), ignored: Vec::new(), of })
    }

    /// The value of `key`. For a key without a value a problem is recorded: what its author meant is not known.
    pub(super) fn get(&mut self, key: &'static str, reader: &mut Reader) -> Option<&'a Node> {
        let entry = self.entry(key)?;
        if entry.value.is_empty() {
            reader.wrong(entry.at, no_value(key));
            return None;
        }
        Some(&entry.value)
    }

    /// The value of a `key` whose own keys are all optional; `None` if it has none, as in exported files.
    pub(super) fn section(&mut self, key: &'static str) -> Option<&'a Node> {
        self.entry(key).map(|entry| &entry.value).filter(|value| !value.is_empty())
    }

    /// Whether `key` is present, with a value or without.
    pub(super) fn has(&mut self, key: &'static str) -> bool {
        self.entry(key).is_some()
    }

    /// The entry with this `key`.
    pub(super) fn entry(&mut self, key: &'static str) -> Option<&'a MapEntry> {
        self.known.push(key);
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Marks these keys as known without reading them: they appear in output only.
    pub(super) fn ignore(&mut self, keys: &[&'static str]) {
        self.ignored.extend_from_slice(keys);
    }

    /// The entries that have not been read, as key, place and value; of duplicate keys the first.
    pub(super) fn others(&self) -> Vec<(&'a str, Place, &'a Node)> {
        let mut seen = HashSet::new();
        let all = self.entries.iter().map(|it| (it.key.as_str(), it.at, &it.value));
        all.filter(|(key, ..)| !self.is_known(key) && seen.insert(*key)).collect()
    }

    fn is_known(&self, key: &str) -> bool {
        self.known.contains(&key) || self.ignored.contains(&key)
    }

    /// The values under keys that are mere labels, which are whole numbers.
    pub(super) fn numbered(&self) -> impl Iterator<Item = &'a Node> + use<'a> {
        self.entries.iter().filter(|entry| is_label(&entry.key)).map(|entry| &entry.value)
    }

    /// Records a problem for each key that was not read.
    pub(super) fn finish(self, reader: &mut Reader) {
        self.finish_but(|_| false, reader);
    }

    /// Records a problem for each key that was not read, except those for which `known` holds.
    pub(super) fn finish_but(self, known: fn(&str) -> bool, reader: &mut Reader) {
        if let Some(keys) = &mut reader.keys {
            let (read, ignored) = (self.known.iter().copied(), self.ignored.iter().copied());
            let (read, ignored) = (read.collect(), ignored.collect());
            keys.push(SectionKeys { block: "", section: self.of, read, ignored });
        }
        for entry in self.entries {
            if self.is_known(&entry.key) || known(&entry.key) {
                continue;
            }
            let remedy = match nearest(&entry.key, self.known.iter().chain(&self.ignored).copied()) {
                none if none.is_empty() => "; take it out".to_owned(),
                nearest => nearest,
            };
            reader.wrong(entry.at, format!("{} has no key '{}'{remedy}", self.of, entry.key));
        }
    }
}

/// The text of the problem that a key has no value.
pub(super) fn no_value(key: &str) -> String {
    format!("'{key}' has no value; give it one, or take the key out")
}

/// Whether a key is a whole number.
pub(super) fn is_label(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit())
}

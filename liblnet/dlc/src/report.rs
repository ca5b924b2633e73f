//! The results of DLC calls: the errors, and the values to be shown.

use crate::{ReturnCode, Value};
use std::fmt::Display;

/// The operation of a DLC call; the first level of the error tree (dlc 1.5). The unusual ones are those of `lnetctl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `add`
    Add,
    /// `del`
    Del,
    /// `show`
    Show,
    /// `dbg`
    Debug,
    /// `manage`
    Manage,
    /// `configure`
    Configure,
    /// `unconfigure`
    Unconfigure,
    /// `yaml`: the file itself.
    Yaml,
    /// `parser`: a number on the command line.
    Parser,
    /// `peer`, with `add` or `del` below it.
    Peer,
    /// `ni`, with `add` below it.
    Ni,
    /// `lnetctl`
    Lnetctl,
}

impl Operation {
    /// The operation's key in the YAML error tree.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Del => "del",
            Self::Show => "show",
            Self::Debug => "dbg",
            Self::Manage => "manage",
            Self::Configure => "configure",
            Self::Unconfigure => "unconfigure",
            Self::Yaml => "yaml",
            Self::Parser => "parser",
            Self::Peer => "peer",
            Self::Ni => "ni",
            Self::Lnetctl => "lnetctl",
        }
    }
}

/// The number that the author of a file gives an item, which errors of the item carry; none on the command line (dlc 2.14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeqNo(Option<u32>);

impl SeqNo {
    /// No number.
    pub const NONE: Self = Self(None);

    /// Converts the number from C, where a negative number means none.
    pub fn from_c(number: i32) -> Self {
        Self(u32::try_from(number).ok())
    }

    /// The number, if there is one.
    pub const fn number(self) -> Option<u32> {
        self.0
    }
}

/// The results of one or several DLC calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The errors: operation -> sequence of entity -> `seq_no`, `errno`, `descr`. Successes are included, with 0.
    pub errors: Value,
    /// The values to be shown; an empty mapping if there are none.
    pub shown: Value,
}

impl Default for Report {
    fn default() -> Self {
        Self { errors: Value::map(), shown: Value::map() }
    }
}

impl Report {
    /// A report without results.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records how `operation` on `entity` ended, and returns `rc`. `description` is one line.
    pub fn end(
        &mut self,
        operation: Operation,
        entity: &str,
        seq_no: SeqNo,
        rc: ReturnCode,
        description: impl Display,
    ) -> ReturnCode {
        let mut entry = Value::map();
        if let Some(number) = seq_no.0 {
            entry.push("seq_no", number);
        }
        entry.push("errno", rc.0);
        // A quote or a line feed in the text would end the scalar.
        let line = description.to_string().replace(['\n', '\r'], " ").replace('\\', "/").replace('"', "'");
        entry.push("descr", Value::Quoted(line));
        let item = Value::map().with(entity, entry);
        self.errors.merge(Value::map().with(operation.word(), vec![item]));
        rc
    }

    /// Records that `operation` on `entity` succeeded.
    pub fn success(&mut self, operation: Operation, entity: &str, seq_no: SeqNo) -> ReturnCode {
        self.end(operation, entity, seq_no, ReturnCode::OK, "success")
    }

    /// Shows `value` under the top-level key `key`; see [`Value::merge`].
    pub fn show(&mut self, key: &str, value: impl Into<Value>) {
        self.shown.merge(Value::map().with(key, value));
    }

    /// The errors as YAML.
    pub fn errors_to_yaml(&self) -> String {
        self.errors.to_yaml()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_one_operation_share_its_key() {
        let mut report = Report::new();
        let _ = report.end(Operation::Add, "net", SeqNo::from_c(7), ReturnCode(-17), "it \"is\"\nthere");
        let _ = report.success(Operation::Add, "route", SeqNo::NONE);
        let _ = report.end(Operation::Del, "peer_ni", SeqNo::from_c(-1), ReturnCode(-2), "no");
        let expected = "\
add:
    - net:
          seq_no: 7
          errno: -17
          descr: \"it 'is' there\"
    - route:
          errno: 0
          descr: \"success\"
del:
    - peer_ni:
          errno: -2
          descr: \"no\"
";
        assert_eq!(report.errors_to_yaml(), expected);
    }
}

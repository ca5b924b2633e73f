//! One row of the table.

use crate::access::Access;
use crate::range::Range;
use crate::values::{Unit, Value, Values};

/// One setting of a configuration `C`: what it is, and how its field is read and written.
#[derive(Clone, Copy, Debug)]
pub struct Row<C: 'static> {
    /// What it is.
    pub spec: Spec,
    /// How its field is read and written.
    pub access: Access<C>,
}

/// What a setting is, without its field: all that is listed, parsed, checked, shown and documented.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its name: in the code, in files, and as the word of `lnetctl set`. The name of the kernel's module parameter, if there is one.
    pub name: &'static str,
    /// The module that has it in the kernel: `lnet`, or a driver.
    pub module: &'static str,
    /// The sentence that explains it, without a full stop, for the command line and the documents.
    pub sentence: &'static str,
    /// Its valid values.
    pub values: Values,
    /// Their unit.
    pub unit: Unit,
    /// The meanings of the numbers from 0 on, where those are no words that could be written in their place.
    pub meanings: &'static [&'static str],
    /// The condition that other settings put on its value, for error texts.
    pub condition: &'static str,
    /// The default in words, where that is not simply the value; empty: it is not mentioned.
    pub default: Option<&'static str>,
    /// Its environment variables. Of several that are set the first one counts.
    pub variables: &'static [Variable],
    /// When it may change.
    pub change: Change,
    /// The number that the node takes in place of one that is not valid, as the kernel does; without it that is refused.
    pub replace: Option<fn(i64) -> i64>,
    /// Its key in the block `global` of files, in `lnetctl global show`, and the word of `lnetctl set`.
    pub global: Option<GlobalKey>,
    /// Its functions in the C API.
    pub c: Option<CFunctions>,
}

impl Spec {
    /// A setting of the node without anything that most settings do not have.
    pub const LNET: Self = Self {
        name: "",
        module: "lnet",
        sentence: "",
        values: Values::Text,
        unit: Unit::None,
        meanings: &[],
        condition: "",
        default: None,
        variables: &[],
        change: Change::AtStart,
        replace: None,
        global: None,
        c: None,
    };
}

/// An environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// The number that each number from 0 on stands for; empty: the variable takes the values of the setting.
    pub numbers: &'static [i64],
    /// What the documents say of it in place of the setting's sentence; empty: that.
    pub sentence: &'static str,
}

impl Variable {
    /// One that takes the values of the setting.
    pub const fn new(name: &'static str) -> Self {
        Self { name, numbers: &[], sentence: "" }
    }

    /// Reads the value of a setting with these values.
    pub(crate) fn parse(&self, values: Values, text: &str) -> Result<Value, String> {
        if self.numbers.is_empty() {
            return values.parse(text);
        }
        let own = Values::Numbers(0, self.numbers.len() as i64 - 1);
        match own.parse(text)? {
            Value::Number(number) => {
                let means = usize::try_from(number).ok().and_then(|index| self.numbers.get(index));
                means.map(|number| Value::Number(*number)).ok_or_else(|| own.wanted())
            }
            Value::Text(_) => Err(own.wanted()),
        }
    }
}

/// When a setting may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only at the start of the node.
    AtStart,
    /// At any time.
    AnyTime,
    /// Never: it follows from other settings. The text, which names them, is part of the error.
    Never(&'static str),
}

/// The key of a setting in the block `global`.
#[derive(Clone, Copy, Debug)]
pub struct GlobalKey {
    /// What DLC returns for a value that is not valid.
    pub refusal: Refusal,
    /// Whether `import --del` sets the default again (dlc 2.7); otherwise it leaves the value.
    pub reset_by_del: bool,
    /// Older keys that mean the same.
    pub old_keys: &'static [&'static str],
}

impl GlobalKey {
    /// One that the kernel's module judges (dlc 1.6).
    pub const JUDGED_BY_NODE: Self = Self { refusal: Refusal::Generic, reset_by_del: false, old_keys: &[] };
    /// One that liblnetconfig judges.
    pub const JUDGED_BY_LIBRARY: Self =
        Self { refusal: Refusal::BadParam, reset_by_del: false, old_keys: &[] };
}

/// The return codes of DLC for values that are not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `LUSTRE_CFG_RC_BAD_PARAM`.
    BadParam,
    /// `LUSTRE_CFG_RC_OUT_OF_RANGE_PARAM`.
    OutOfRange,
    /// `LUSTRE_CFG_RC_GENERIC_ERR`.
    Generic,
}

/// The functions of a setting in the C API.
#[derive(Clone, Copy, Debug)]
pub struct CFunctions {
    /// The function that sets it: `int NAME(int value, int seq_no, struct cYAML **err_rc)`; none for what never changes.
    pub set: Option<CFunction>,
    /// The function that shows it: `int NAME(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc)`.
    pub show: CFunction,
}

/// A function of the C API.
#[derive(Clone, Copy, Debug)]
pub struct CFunction {
    /// Its name in C.
    pub name: &'static str,
    /// Its documentation in the header.
    pub doc: &'static str,
}

impl<C> Row<C> {
    /// The value in `config`.
    pub fn read(&self, config: &C) -> Value {
        (self.access.read)(config)
    }

    /// Stores a value, which is not compared with other settings. The error names the valid values.
    pub fn write(&self, config: &mut C, value: &Value) -> Result<(), String> {
        match value {
            Value::Number(number) if !self.spec.values.contains(*number) => Err(self.spec.values.wanted()),
            _ => (self.access.write)(config, value),
        }
    }
}

impl Spec {
    /// The range of its numbers.
    pub const fn range(&self) -> Range {
        let (least, most) = self.values.bounds();
        Range { name: self.name, least, most }
    }
}

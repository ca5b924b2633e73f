//! One row of the table.

use crate::access::Access;
use crate::range::Range;
use crate::values::{InvalidValue, Unit, Value, Values};

/// One setting of a configuration `C`: its description, and the functions that read and write its field.
#[derive(Clone, Copy, Debug)]
pub struct Row<C: 'static> {
    /// The description.
    pub spec: Spec,
    /// The functions that read and write the field.
    pub access: Access<C>,
}

/// The description of a setting, without its field: everything that is listed, parsed, checked, shown and documented.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name in the code, in files, and as the word of `lnetctl set`. It is that of the kernel's module parameter, if
    /// there is one.
    pub name: &'static str,
    /// The module that has the setting in the kernel: `lnet`, or a driver.
    pub module: &'static str,
    /// The sentence that explains the setting, without a full stop, for the command line and the documents.
    pub sentence: &'static str,
    /// The valid values.
    pub values: Values,
    /// The unit of the values.
    pub unit: Unit,
    /// The meanings of the numbers from 0 on, where they are not words that are accepted in place of the numbers.
    pub meanings: &'static [&'static str],
    /// The condition on the value that depends on other settings, for error texts.
    pub condition: &'static str,
    /// The default in words, where that is not simply the value; empty: the default is not mentioned.
    pub default: Option<&'static str>,
    /// The environment variables. Of several that are set the first one is used.
    pub variables: &'static [Variable],
    /// The times at which the setting may change.
    pub change: ChangeTime,
    /// Returns the number that replaces an invalid one, as in the kernel; `None`: invalid numbers are refused.
    pub replace: Option<fn(i64) -> i64>,
    /// The key in the block `global` of files and in `lnetctl global show`, and the word of `lnetctl set`.
    pub global: Option<GlobalKey>,
    /// The functions in the C API.
    pub c: Option<CFunctions>,
}

impl Spec {
    /// A setting of the node with the common values of all fields.
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
        change: ChangeTime::AtStart,
        replace: None,
        global: None,
        c: None,
    };
}

/// An environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// The name of the variable.
    pub name: &'static str,
    /// The numbers that the variable's numbers from 0 on stand for; empty: the variable takes the values of the setting.
    pub numbers: &'static [i64],
    /// The text in the documents in place of the setting's sentence; empty: the sentence.
    pub sentence: &'static str,
}

impl Variable {
    /// A variable that takes the values of the setting.
    pub const fn new(name: &'static str) -> Self {
        Self { name, numbers: &[], sentence: "" }
    }

    /// Reads the text of the variable as a value of a setting with these values.
    pub(crate) fn parse(&self, values: Values, text: &str) -> Result<Value, InvalidValue> {
        if self.numbers.is_empty() {
            return values.parse(text);
        }
        let own = Values::Numbers(0, self.numbers.len() as i64 - 1);
        match own.parse(text)? {
            Value::Number(number) => {
                let means = usize::try_from(number).ok().and_then(|index| self.numbers.get(index));
                means.map(|number| Value::Number(*number)).ok_or(InvalidValue::NotOneOf(own))
            }
            Value::Text(_) => Err(InvalidValue::NotOneOf(own)),
        }
    }
}

/// The times at which a setting may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeTime {
    /// Only at the start of the node.
    AtStart,
    /// At any time.
    AnyTime,
    /// Never: the value follows from other settings. The text, which names them, is part of the error.
    Never(&'static str),
}

/// The key of a setting in the block `global`.
#[derive(Clone, Copy, Debug)]
pub struct GlobalKey {
    /// The return code of DLC for an invalid value.
    pub refusal: Refusal,
    /// Whether `import --del` restores the default (dlc 2.7); otherwise the value is kept.
    pub reset_by_del: bool,
    /// Older keys with the same meaning.
    pub old_keys: &'static [&'static str],
}

impl GlobalKey {
    /// The key of a setting that the kernel's module checks (dlc 1.6).
    pub const JUDGED_BY_NODE: Self = Self { refusal: Refusal::Generic, reset_by_del: false, old_keys: &[] };
    /// The key of a setting that liblnetconfig checks.
    pub const JUDGED_BY_LIBRARY: Self =
        Self { refusal: Refusal::BadParam, reset_by_del: false, old_keys: &[] };
}

/// The return codes of DLC for invalid values.
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
    /// The function that changes the setting: `int NAME(int value, int seq_no, struct cYAML **err_rc)`; `None` if it never
    /// changes.
    pub set: Option<CFunction>,
    /// The function that shows the setting: `int NAME(int seq_no, struct cYAML **show_rc, struct cYAML **err_rc)`.
    pub show: CFunction,
}

/// A function of the C API.
#[derive(Clone, Copy, Debug)]
pub struct CFunction {
    /// The name in C.
    pub name: &'static str,
    /// The documentation in the header.
    pub doc: &'static str,
}

impl<C> Row<C> {
    /// The value of the setting in `config`.
    pub fn read(&self, config: &C) -> Value {
        (self.access.read)(config)
    }

    /// Stores a value without comparing it with other settings. The error names the valid values.
    pub fn write(&self, config: &mut C, value: &Value) -> Result<(), InvalidValue> {
        match value {
            Value::Number(number) if !self.spec.values.contains(*number) => {
                Err(InvalidValue::NotOneOf(self.spec.values))
            }
            _ => (self.access.write)(config, value),
        }
    }
}

impl Spec {
    /// The range of the setting's numbers.
    pub const fn range(&self) -> Range {
        let (least, most) = self.values.bounds();
        Range { name: self.name, least, most }
    }
}

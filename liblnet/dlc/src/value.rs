//! The output of commands: a tree of ordered mappings, and its text.
//!
//! The text is made here and not by a library because scripts compare it: each level is indented by 4 blanks, items of a
//! sequence by 4 more than their key, an item's other keys by 2 more, and only [`Value::Quoted`] has quotes (dlc 2.2).

/// A piece of output.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value: the key stands alone.
    Null,
    /// A whole number, in plain decimal.
    Int(i64),
    /// A number with a fraction, with six decimals.
    Float(f64),
    /// Text as it is.
    Text(String),
    /// Text between double quotes (CPT lists, descriptions of errors); without them in JSON.
    Quoted(String),
    /// Items in order.
    Seq(Vec<Self>),
    /// Keys in the order of output. A key may come twice.
    Map(Vec<(String, Self)>),
}

impl Value {
    /// An empty mapping.
    pub const fn map() -> Self {
        Self::Map(Vec::new())
    }

    /// Text that YAML reads as this text: between quotes if it would otherwise be read as something else.
    pub fn scalar(text: &str) -> Self {
        let plain = text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '/')
            && !text.contains(": ")
            && !text.contains(" #")
            && !text.ends_with([':', ' '])
            && !text.chars().any(|letter| letter.is_control() || letter == '\\')
            && !["null", "true", "false", "yes", "no", "on", "off"]
                .contains(&text.to_ascii_lowercase().as_str());
        if plain {
            return Self::Text(text.to_owned());
        }
        let mut escaped = String::with_capacity(text.len());
        for letter in text.chars() {
            match letter {
                '"' | '\\' => escaped.extend(['\\', letter]),
                letter if letter.is_control() => escaped.push_str(&format!("\\U{:08x}", u32::from(letter))),
                letter => escaped.push(letter),
            }
        }
        Self::Quoted(escaped)
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Map(entries) => entries.is_empty(),
            Self::Seq(items) => items.is_empty(),
            _ => false,
        }
    }

    /// The value of the first entry of a mapping with this key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Adds a key at the end of a mapping. Does nothing to anything else.
    pub fn push(&mut self, key: impl Into<String>, value: impl Into<Self>) {
        if let Self::Map(entries) = self {
            entries.push((key.into(), value.into()));
        }
    }

    /// Adds a key as [`Value::push`] does, for building a mapping in a single expression.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Self>) -> Self {
        self.push(key, value);
        self
    }

    /// Merges another mapping into this one as outputs are merged: sequences and mappings under a key that
    /// both have are joined, other keys are appended.
    pub fn merge(&mut self, other: Self) {
        let (Self::Map(mine), Self::Map(theirs)) = (self, other) else { return };
        for (key, value) in theirs {
            match (mine.iter_mut().find(|(name, _)| *name == key).map(|(_, value)| value), value) {
                (Some(Self::Seq(items)), Self::Seq(more)) => items.extend(more),
                (Some(Self::Map(entries)), Self::Map(more)) => entries.extend(more),
                (_, value) => mine.push((key, value)),
            }
        }
    }

    /// The text as YAML, in the form of lnetctl 2.15. It ends with a line feed unless it is empty.
    pub fn to_yaml(&self) -> String {
        let mut text = String::new();
        match self {
            Self::Map(entries) => write_entries(&mut text, entries, 0, 4),
            Self::Seq(items) => write_items(&mut text, items, 0),
            scalar => {
                write_scalar(&mut text, scalar);
                text.push('\n');
            }
        }
        text
    }

    /// The value as JSON; of keys that come twice, the last.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Null => Json::Null,
            Self::Int(number) => Json::from(*number),
            Self::Float(number) => Json::from(*number),
            Self::Text(text) | Self::Quoted(text) => Json::from(text.as_str()),
            Self::Seq(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Self::Map(entries) => {
                Json::Object(entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect())
            }
        }
    }
}

/// Writes the entries of a mapping at column `column`, and the sequences under them at `items_at`.
fn write_entries(text: &mut String, entries: &[(String, Value)], column: usize, items_at: usize) {
    for (i, (key, value)) in entries.iter().enumerate() {
        // The first key of a sequence's item stands behind its dash.
        if i > 0 || column == 0 || text.ends_with('\n') {
            indent(text, column);
        }
        text.push_str(key);
        text.push(':');
        match value {
            Value::Map(entries) => {
                text.push('\n');
                write_entries(text, entries, column + 4, column + 8);
            }
            Value::Seq(items) => {
                text.push('\n');
                write_items(text, items, items_at);
            }
            Value::Null => text.push('\n'),
            scalar => {
                text.push(' ');
                write_scalar(text, scalar);
                text.push('\n');
            }
        }
    }
}

fn write_items(text: &mut String, items: &[Value], column: usize) {
    for item in items {
        indent(text, column);
        text.push_str("- ");
        match item {
            Value::Map(entries) if !entries.is_empty() => {
                write_entries(text, entries, column + 2, column + 4)
            }
            Value::Seq(items) => {
                text.push('\n');
                write_items(text, items, column + 4);
            }
            scalar => {
                write_scalar(text, scalar);
                text.push('\n');
            }
        }
    }
}

fn write_scalar(text: &mut String, value: &Value) {
    use std::fmt::Write;
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Int(number) => write!(text, "{number}"),
        Value::Float(number) => write!(text, "{number:.6}"),
        // Lines after the first stand under the value's first character.
        Value::Text(word) if word.contains('\n') => {
            let column = text.len() - text.rfind('\n').map_or(0, |end| end + 1);
            write!(text, "{}", word.replace('\n', &format!("\n{:column$}", "")))
        }
        Value::Text(word) => write!(text, "{word}"),
        Value::Quoted(word) => write!(text, "\"{word}\""),
        Value::Null | Value::Seq(_) | Value::Map(_) => Ok(()),
    };
}

fn indent(text: &mut String, column: usize) {
    text.extend(std::iter::repeat_n(' ', column));
}

macro_rules! from_number {
    ($($type:ty),*) => {$(
        impl From<$type> for Value {
            fn from(number: $type) -> Self {
                Self::Int(number.into())
            }
        }
    )*};
}

from_number!(i64, i32, u32, u16, u8);

/// Numbers beyond the largest one that can be shown become that one.
impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<Self>> for Value {
    fn from(items: Vec<Self>) -> Self {
        Self::Seq(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_the_layout_of_lnetctl_2_15() {
        let ni = Value::map()
            .with("nid", "192.0.2.10@tcp")
            .with("interfaces", Value::map().with("0", "eth0"))
            .with("lnd tunables", Value::Null)
            .with("CPT", Value::Quoted("[0,1]".into()));
        let net = Value::map().with("net type", "tcp").with("local NI(s)", vec![ni.clone(), ni]);
        let shown =
            Value::map().with("net", vec![net]).with("global", Value::map().with("numa_range", 0_u32));
        let expected = "\
net:
    - net type: tcp
      local NI(s):
        - nid: 192.0.2.10@tcp
          interfaces:
              0: eth0
          lnd tunables:
          CPT: \"[0,1]\"
        - nid: 192.0.2.10@tcp
          interfaces:
              0: eth0
          lnd tunables:
          CPT: \"[0,1]\"
global:
    numa_range: 0
";
        assert_eq!(shown.to_yaml(), expected);
        assert_eq!(Value::map().to_yaml(), "");
    }

    #[test]
    fn merging_extends_sequences_and_mappings_and_appends_the_rest() {
        let one = |n: i64| Value::map().with("net", vec![Value::Int(n)]);
        let mut shown = one(1);
        shown.merge(one(2));
        shown.merge(Value::map().with("global", Value::map().with("a", 1)));
        shown.merge(Value::map().with("global", Value::map().with("b", 2)));
        let global = Value::map().with("a", 1).with("b", 2);
        let expected = Value::map().with("net", vec![Value::Int(1), Value::Int(2)]).with("global", global);
        assert_eq!(shown, expected);
    }
}

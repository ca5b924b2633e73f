//! The values of settings, as numbers, words and texts.

use std::fmt;

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
pub enum Value {
    /// A number. 1 and 0 stand for on and off, and numbers from 0 on for words ([`Values::NumberedWords`]).
    Number(i64),
    /// A text; empty if there is none.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// The valid values of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// The whole numbers from the first to the second.
    Numbers(i64, i64),
    /// 0, and the whole numbers from the first to the second.
    ZeroOrNumbers(i64, i64),
    /// 0 for off, 1 for on.
    Switch,
    /// Words, each of which stands for its number from 0 on; the number is valid too.
    NumberedWords(&'static [&'static str]),
    /// Words only.
    Words(&'static [&'static str]),
    /// Any text.
    Text,
}

/// The error for a value that a setting does not take; its text names the valid values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidValue {
    /// The value is none of the setting's.
    #[error("{}", .0.wanted())]
    NotOneOf(Values),
    /// The value is a text.
    #[error("a number")]
    NotANumber,
    /// The number is larger than its field can hold.
    #[error("a smaller number")]
    TooLarge,
    /// The text does not have this form.
    #[error("{0}")]
    NotOfForm(&'static str),
    /// The setting follows from others.
    #[error("nothing")]
    NeverSet,
    /// The number stands for no word.
    #[error("one of the words")]
    NotAWord,
}

/// The words of a [`Values::Switch`].
const SWITCH: &[&str] = &["off", "on"];

impl Values {
    /// The smallest and the largest number.
    pub const fn bounds(self) -> (i64, i64) {
        match self {
            Self::Numbers(least, most) => (least, most),
            Self::ZeroOrNumbers(_, most) => (0, most),
            Self::Switch => (0, 1),
            Self::NumberedWords(words) | Self::Words(words) => (0, words.len() as i64 - 1),
            Self::Text => (0, 0),
        }
    }

    /// Whether the number is valid.
    pub fn contains(self, number: i64) -> bool {
        let (least, most) = self.bounds();
        match self {
            Self::ZeroOrNumbers(least, most) => number == 0 || (least..=most).contains(&number),
            _ => (least..=most).contains(&number),
        }
    }

    /// The words for the numbers from 0 on; none if the numbers do not stand for words.
    pub const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Switch => SWITCH,
            Self::NumberedWords(words) | Self::Words(words) => words,
            Self::Numbers(..) | Self::ZeroOrNumbers(..) | Self::Text => &[],
        }
    }

    /// The number for which `word` stands.
    pub fn number_of(self, word: &str) -> Option<i64> {
        self.words().iter().position(|its| *its == word).and_then(|index| i64::try_from(index).ok())
    }

    /// The value in the form for output: a number that stands for a word becomes the word.
    pub fn shown(self, value: Value) -> Value {
        match (self, &value) {
            (Self::Words(words), Value::Number(number)) => {
                let word = usize::try_from(*number).ok().and_then(|index| words.get(index));
                word.map_or(value, |word| Value::Text(word_or_nothing(word)))
            }
            _ => value,
        }
    }

    /// Reads a value. The error names the valid values.
    pub fn parse(self, text: &str) -> Result<Value, InvalidValue> {
        let number = || text.parse().ok().filter(|number| self.contains(*number));
        let read = match self {
            Self::Numbers(..) | Self::ZeroOrNumbers(..) | Self::Switch => number(),
            Self::NumberedWords(_) => self.number_of(text).or_else(number),
            Self::Words(_) => self.number_of(text),
            Self::Text => return Ok(Value::Text(text.to_owned())),
        };
        read.map(Value::Number).ok_or(InvalidValue::NotOneOf(self))
    }

    /// The valid values as text.
    pub fn wanted(self) -> String {
        match self {
            Self::Numbers(least, most) => format!("a number from {least} to {most}"),
            Self::ZeroOrNumbers(least, most) => format!("0, or a number from {least} to {most}"),
            Self::Switch => "a number from 0 to 1".to_owned(),
            Self::NumberedWords(words) => {
                either(words.iter().zip(0..).map(|(word, number)| format!("{number} ({word})")).collect())
            }
            Self::Words(words) => either(words.iter().map(|word| word_or_nothing(word)).collect()),
            Self::Text => "a text".to_owned(),
        }
    }
}

fn word_or_nothing(word: &str) -> String {
    if word.is_empty() { "nothing".to_owned() } else { word.to_owned() }
}

/// Joins texts: `a, b or c`.
pub fn either(mut all: Vec<String>) -> String {
    match all.pop() {
        Some(last) if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// The unit of a setting's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// A count, a choice, or a text.
    #[default]
    None,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Bytes.
    Bytes,
    /// Percent.
    Percent,
}

impl Unit {
    /// The name of the unit; empty for [`Unit::None`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Bytes => "bytes",
            Self::Percent => "percent",
        }
    }
}

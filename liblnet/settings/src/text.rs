//! Texts about settings: help, errors, documentation.

use crate::row::{ChangeTime, Spec, Variable};
use crate::values::Values;

impl Spec {
    /// The remark that an error adds to the range of a setting: unit, words, the condition.
    pub fn remark(&self) -> String {
        if let ChangeTime::Never(cause) = self.change {
            return format!("; {cause}");
        }
        let words = if self.meanings.is_empty() { self.values.words() } else { self.meanings };
        let unit = self.unit.name();
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        format!("{unit}{words}{}", self.condition)
    }

    /// The sentence with the default, for the help of the command line.
    pub fn help(&self, default: &str) -> String {
        match self.default.unwrap_or(default) {
            "" => self.sentence.to_owned(),
            default => format!("{} [default: {default}]", self.sentence),
        }
    }

    /// The row for the table of settings of `lnetctl set` and the block `global`.
    pub fn global_row(&self, default: &str) -> String {
        let default = self.default.unwrap_or(default);
        let values = match self.change {
            ChangeTime::Never(_) => "shown only".to_owned(),
            ChangeTime::AtStart | ChangeTime::AnyTime => self.values.listed(),
        };
        let variables: Vec<_> =
            self.variables.iter().map(|variable| format!("`{}`", variable.name)).collect();
        format!("| `{}` | {} | {values} | {default} | {} |\n", self.name, self.sentence, variables.join(", "))
    }

    /// The rows for the table of environment variables, one for each variable.
    pub fn variable_rows(&self, default: &str) -> String {
        let row = |variable: &Variable| {
            let sentence = if variable.sentence.is_empty() { self.sentence } else { variable.sentence };
            let values = match variable.numbers.len() {
                0 => self.values.listed(),
                count => Values::Numbers(0, count as i64 - 1).listed(),
            };
            let default = match self.default.unwrap_or(default) {
                "" => "-",
                _ if !variable.sentence.is_empty() => "",
                default => default,
            };
            format!("| `{}` | {sentence} | {values} | {default} |\n", variable.name)
        };
        self.variables.iter().map(row).collect()
    }
}

impl Values {
    /// The valid values, as they are listed in a table.
    pub fn listed(self) -> String {
        match self {
            Self::Numbers(least, most) => format!("{least} to {most}"),
            Self::ZeroOrNumbers(least, most) => format!("0, {least} to {most}"),
            Self::Switch => "0, 1".to_owned(),
            Self::Text => "text".to_owned(),
            Self::NumberedWords(_) | Self::Words(_) => self.wanted(),
        }
    }
}

//! What may stand anywhere on the line, and is taken from it before commands are looked for: so that `--f` stays
//! `--force`.

use clap::ValueEnum;

/// For every command.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Globals {
    /// The console of which node; needed only where several have a session on this machine
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// How to write what is shown: text (the default) or json
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
}

/// How something is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// In the form of the kernel's lst.
    #[default]
    Text,
    /// One JSON value a line.
    Json,
}

/// What is wrong with one of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobalsError {
    /// It is the last word.
    #[error("{0} needs a value behind it")]
    NoValue(&'static str),
    /// Not a format.
    #[error("--format '{0}': it takes text or json")]
    Format(String),
}

impl Globals {
    /// Takes them from the line; what is behind `--` stays. Their names cannot be shortened.
    pub fn take(words: &[String]) -> Result<(Self, Vec<String>), GlobalsError> {
        let mut globals = Self::default();
        let mut rest = Vec::with_capacity(words.len());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.as_str(), None),
            };
            let option = match name {
                "--node" => "--node",
                "--format" => "--format",
                _ => {
                    rest.push(word.clone());
                    if word == "--" {
                        rest.extend(words.by_ref().cloned());
                    }
                    continue;
                }
            };
            let value =
                attached.or_else(|| words.next().map(String::as_str)).ok_or(GlobalsError::NoValue(option))?;
            if option == "--node" {
                globals.node = Some(value.to_owned());
            } else {
                let format = Format::from_str(value, true);
                globals.format = Some(format.map_err(|_| GlobalsError::Format(value.to_owned()))?);
            }
        }
        Ok((globals, rest))
    }
}

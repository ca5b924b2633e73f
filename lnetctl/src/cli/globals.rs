//! What may stand anywhere on the line, and is taken from it before commands are looked for: so that
//! `--no` is `--non_mr` and not `--node`.

use clap::ValueEnum;

/// For every command.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Globals {
    /// Which node; needed only where several run on this machine
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// How to write what is shown: yaml (the default) or json
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
}

/// How something is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// In the form of lnetctl 2.15.
    #[default]
    Yaml,
    /// One value; {} for nothing, and errors too.
    Json,
}

/// What is wrong with one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GlobalsError {
    /// It is the last word.
    NoValue(&'static str),
    /// Not a format.
    Format(String),
}

impl std::fmt::Display for GlobalsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoValue(option) => write!(f, "{option} needs a value behind it"),
            Self::Format(text) => write!(f, "--format '{text}': it takes yaml or json"),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_options_are_taken_from_anywhere_before_two_dashes() {
        let take = |line: &str| Globals::take(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let json = |node: Option<&str>| Globals { node: node.map(str::to_owned), format: Some(Format::Json) };
        let table = [
            ("--node a net show --format json", Ok((json(Some("a")), "net show"))),
            ("net --format=JSON show", Ok((json(None), "net show"))),
            ("ping -- --node a", Ok((Globals::default(), "ping -- --node a"))),
            ("net show --node", Err(GlobalsError::NoValue("--node"))),
            ("net show --format xml", Err(GlobalsError::Format("xml".to_owned()))),
        ];
        for (line, expected) in table {
            assert_eq!(
                take(line).map(|(globals, rest)| (globals, rest.join(" "))),
                expected.map(|(globals, rest)| (globals, rest.to_owned())),
                "{line}"
            );
        }
    }
}

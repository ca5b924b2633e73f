//! `--node` and `--format`, which may stand anywhere on the line, and are taken from it before commands are looked for: so that
//! `--no` is `--non_mr` and not `--node`, and `--f` is `--force`.

use clap::ValueEnum;

/// The options that were given, of `--node` and `--format`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Globals<F> {
    /// The name of the node to work on.
    pub node: Option<String>,
    /// The form in which results are written.
    pub format: Option<F>,
}

/// The reason why one of the options cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobalsError {
    /// The option is the last word of the line.
    #[error("{0} needs a value behind it")]
    NoValue(&'static str),
    /// The value of `--format` is not a format.
    #[error("--format '{text}': it takes {formats}")]
    Format {
        /// The value that was given.
        text: String,
        /// The values that are accepted.
        formats: String,
    },
}

/// Takes the global options from the line; words after `--` stay. The names of these options cannot be abbreviated.
pub fn take<F: ValueEnum>(words: &[String]) -> Result<(Globals<F>, Vec<String>), GlobalsError> {
    let mut globals = Globals { node: None, format: None };
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
        match option {
            "--node" => globals.node = Some(value.to_owned()),
            _ => globals.format = Some(format(value)?),
        }
    }
    Ok((globals, rest))
}

fn format<F: ValueEnum>(text: &str) -> Result<F, GlobalsError> {
    F::from_str(text, true).map_err(|_| {
        let values = F::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        GlobalsError::Format { text: text.to_owned(), formats: names.join(" or ") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    enum Format {
        Yaml,
        Json,
    }

    #[test]
    fn global_options_are_taken_from_anywhere_before_two_dashes() {
        let take = |line: &str| take::<Format>(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let json = |node: Option<&str>| Globals { node: node.map(str::to_owned), format: Some(Format::Json) };
        let table = [
            ("--node a net show --format json", Ok((json(Some("a")), "net show"))),
            ("net --format=JSON show", Ok((json(None), "net show"))),
            ("ping -- --node a", Ok((Globals { node: None, format: None }, "ping -- --node a"))),
            ("net show --node", Err("--node needs a value behind it")),
            ("net show --format xml", Err("--format 'xml': it takes yaml or json")),
        ];
        for (line, expected) in table {
            let taken = take(line).map(|(globals, rest)| (globals, rest.join(" ")));
            assert_eq!(
                taken.map_err(|error| error.to_string()),
                expected.map(|(globals, rest)| (globals, rest.to_owned())).map_err(str::to_owned),
                "{line}"
            );
        }
    }
}

//! Completion in the shell, from the definition of the command line.

use crate::cli::Cli;
use clap::CommandFactory;
use rustyline::completion::Completer;
use rustyline::{Context, Helper, Highlighter, Hinter, Validator};

/// Completes commands and long options.
#[derive(Helper, Highlighter, Hinter, Validator)]
pub(super) struct Completion {
    definition: clap::Command,
}

impl Completion {
    pub(super) fn new() -> Self {
        let mut definition = Cli::command();
        definition.build();
        Self { definition }
    }

    /// Returns the position where the word at the end of `before` begins, and its completions.
    fn candidates(&self, before: &str) -> (usize, Vec<String>) {
        let start = before.rfind([' ', '\t']).map_or(0, |at| at + 1);
        let (words, last) = before.split_at(start);
        let mut command = &self.definition;
        for word in words.split_whitespace() {
            if let Some(next) = command.find_subcommand(word) {
                command = next;
            }
        }
        let options = command.get_arguments().filter(|it| !it.is_hide_set()).filter_map(|it| it.get_long());
        let options = options.map(|long| format!("--{long} "));
        let names = command.get_subcommands().filter(|it| !it.is_hide_set());
        let names = names.map(|it| format!("{} ", it.get_name()));
        let all: Vec<String> = if last.starts_with('-') { options.collect() } else { names.collect() };
        (start, all.into_iter().filter(|it| it.starts_with(last)).collect())
    }
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line.get(..at).unwrap_or(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_long_options_are_completed() {
        let table: [(&str, usize, &[&str]); 5] = [
            ("rou", 0, &["route ", "routing "]),
            ("net s", 4, &["show ", "set "]),
            ("net set --he", 8, &["--health ", "--help "]),
            ("peer add --nid x --l", 17, &["--lock_prim "]),
            ("set drop", 4, &["drop_asym_route "]),
        ];
        for (before, start, expected) in table {
            let expected = expected.iter().map(|&it| it.to_owned()).collect();
            assert_eq!(Completion::new().candidates(before), (start, expected), "{before}");
        }
    }
}

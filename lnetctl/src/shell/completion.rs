//! Completion in the shell, from the definition of the command line, the node and this machine.

use crate::cli::Cli;
use clap::{Arg, CommandFactory};
use lnet_dlc::Backend;
use lnet_dlc::request::{LocalNi, Request};
use lnet_wire::Nid;
use rustyline::completion::Completer;
use rustyline::{Context, Helper, Highlighter, Hinter, Validator};
use std::fs;

/// What an option or argument takes, as far as its values are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// NIDs of the node and of its peers.
    Nids,
    /// Nets of the node.
    Nets,
    /// Interfaces of this machine.
    Interfaces,
}

/// The options with known values, by their long name; arguments by the name of their value.
const VALUES: [(&str, Values); 12] = [
    ("NID", Values::Nids),
    ("nid", Values::Nids),
    ("prim_nid", Values::Nids),
    ("gateway", Values::Nids),
    ("source", Values::Nids),
    ("dest", Values::Nids),
    ("to", Values::Nids),
    ("from", Values::Nids),
    ("local", Values::Nids),
    ("remote", Values::Nids),
    ("net", Values::Nets),
    ("if", Values::Interfaces),
];

/// Completes commands, long options, and values that the node or this machine knows.
#[derive(Helper, Highlighter, Hinter, Validator)]
pub(super) struct Completion<'a> {
    definition: clap::Command,
    known: &'a dyn Fn(Values) -> Vec<String>,
}

impl<'a> Completion<'a> {
    /// A completion that calls `known` for the values that there are.
    pub(super) fn new(known: &'a dyn Fn(Values) -> Vec<String>) -> Self {
        let mut definition = Cli::command();
        definition.build();
        Self { definition, known }
    }

    /// The words that complete the last word of `before`, if it is a value of a known kind.
    fn words(&self, before: &str) -> Vec<String> {
        let Some((start, values)) = self.value(before) else { return Vec::new() };
        let (kept, begun) = (&before[last_word(before)..start], &before[start..]);
        let candidates = beginning_with(begun, (self.known)(values));
        candidates.into_iter().map(|candidate| format!("{kept}{candidate}")).collect()
    }

    /// Returns the position where the word at the end of `before` begins, and its completions.
    fn candidates(&self, before: &str) -> (usize, Vec<String>) {
        if let Some((start, values)) = self.value(before) {
            return (start, beginning_with(&before[start..], (self.known)(values)));
        }
        let start = last_word(before);
        let (words, last) = before.split_at(start);
        let command = self.command(words);
        let options = command.get_arguments().filter(|it| !it.is_hide_set()).filter_map(Arg::get_long);
        let options = options.map(|long| format!("--{long} "));
        let names = command.get_subcommands().filter(|it| !it.is_hide_set());
        let names = names.map(|it| format!("{} ", it.get_name()));
        let all = if last.starts_with('-') { options.collect() } else { names.collect() };
        (start, beginning_with(last, all))
    }

    /// The position where the value at the end of `before` begins, the last one of a list, and which values there are.
    fn value(&self, before: &str) -> Option<(usize, Values)> {
        let (words, last) = before.split_at(last_word(before));
        let (option, value) = match last.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (Some(option), value),
            _ => (words.split_whitespace().next_back(), last),
        };
        let values = values_of(self.command(words), option, last)?;
        let begun = value.rsplit_once(',').map_or(value, |(_, begun)| begun);
        Some((before.len() - begun.len(), values))
    }

    /// The command that these words name.
    fn command(&self, words: &str) -> &clap::Command {
        let words = words.split_whitespace();
        words.fold(&self.definition, |command, word| command.find_subcommand(word).unwrap_or(command))
    }
}

/// The position where the last word begins.
fn last_word(before: &str) -> usize {
    before.rfind([' ', '\t']).map_or(0, |at| at + 1)
}

fn beginning_with(word: &str, mut all: Vec<String>) -> Vec<String> {
    all.retain(|it| it.starts_with(word));
    all
}

/// What is a value of the option `option`, or else `last` of an argument of `command`.
fn values_of(command: &clap::Command, option: Option<&str>, last: &str) -> Option<Values> {
    let is_named = |argument: &&Arg| {
        let long = option.and_then(|word| word.strip_prefix("--"));
        let short = option.and_then(|word| word.strip_prefix('-')).filter(|it| it.chars().count() == 1);
        (long.is_some() && argument.get_long() == long)
            || (short.is_some() && argument.get_short().map(String::from).as_deref() == short)
    };
    let named = |name: &str| VALUES.iter().find(|(known, _)| *known == name).map(|(_, values)| *values);
    match command.get_arguments().find(is_named) {
        Some(option) if option.get_action().takes_values() => named(option.get_long()?),
        _ if last.starts_with('-') => None,
        _ => {
            let argument = command.get_positionals().next()?;
            named(argument.get_value_names()?.first()?.as_str())
        }
    }
}

/// The long options whose values are known.
pub(crate) fn options() -> Vec<&'static str> {
    let long = |name: &&str| name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    VALUES.iter().map(|(name, _)| *name).filter(long).collect()
}

/// The words that complete a command line without the name of the program, for the completions of other shells: values that the node or
/// this machine has. There are none where no node runs, or where another word is expected.
pub(crate) fn words(before: &str, node: &dyn Backend) -> Vec<String> {
    Completion::new(&|values| known(node, values)).words(before)
}

/// The values that the node and this machine have; none where they cannot be read.
pub(super) fn known(node: &dyn Backend, values: Values) -> Vec<String> {
    let nis = || node.list::<Box<LocalNi>>(Request::GetLocalNi).unwrap_or_default();
    let mut all: Vec<String> = match values {
        Values::Nids => {
            let peers: Vec<Nid> = node.ask(Request::GetPeerList).unwrap_or_default();
            nis().iter().map(|ni| ni.nid).chain(peers).map(|nid| nid.to_string()).collect()
        }
        Values::Nets => nis().iter().map(|ni| ni.nid.net().to_string()).collect(),
        Values::Interfaces => {
            let entries = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
        }
    };
    all.sort_unstable();
    all.dedup();
    all
}

impl Completer for Completion<'_> {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line.get(..at).unwrap_or(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_are(values: Values) -> Vec<String> {
        let all: &[&str] = match values {
            Values::Nids => &["192.0.2.1@tcp", "192.0.2.12@tcp", "198.51.100.1@tcp1"],
            Values::Nets => &["tcp", "tcp1"],
            Values::Interfaces => &["eth0", "eth1", "lo"],
        };
        all.iter().map(|&it| it.to_owned()).collect()
    }

    #[test]
    fn commands_long_options_and_known_values_are_completed() {
        let table: [(&str, usize, &[&str]); 15] = [
            ("rou", 0, &["route ", "routing "]),
            ("net s", 4, &["show ", "set "]),
            ("net set --he", 8, &["--health ", "--help "]),
            ("peer add --nid x --l", 17, &["--lock_prim "]),
            ("set drop", 4, &["drop_asym_route "]),
            ("ping 192", 5, &["192.0.2.1@tcp", "192.0.2.12@tcp"]),
            ("ping --ti", 5, &["--timeout "]),
            ("ping 192.0.2.1@tcp,198", 19, &["198.51.100.1@tcp1"]),
            ("peer del --prim_nid 198", 20, &["198.51.100.1@tcp1"]),
            ("peer explain -t 198", 16, &["198.51.100.1@tcp1"]),
            ("net add --net tcp --if eth0,e", 28, &["eth0", "eth1"]),
            ("net del --net ", 14, &["tcp", "tcp1"]),
            ("net add --net=tcp1 --if=eth0,e", 29, &["eth0", "eth1"]),
            ("net del --verbose=1", 8, &[]),
            ("ping 192.0.2.1@tcp --timeout 1", 29, &[]),
        ];
        for (before, start, expected) in table {
            let expected = expected.iter().map(|&it| it.to_owned()).collect();
            assert_eq!(Completion::new(&there_are).candidates(before), (start, expected), "{before}");
        }
    }

    #[test]
    fn other_shells_get_whole_words_and_only_values() {
        let table: [(&str, &[&str]); 8] = [
            ("", &[]),
            ("rou", &[]),
            ("ping --ti", &[]),
            ("ping 192.0.2.12@t", &["192.0.2.12@tcp"]),
            ("ping 192.0.2.1@tcp,198", &["192.0.2.1@tcp,198.51.100.1@tcp1"]),
            ("net add --net tcp --if eth0,e", &["eth0,eth0", "eth0,eth1"]),
            ("peer explain --to=198", &["--to=198.51.100.1@tcp1"]),
            ("ping 192.0.2.1@tcp --timeout 1", &[]),
        ];
        for (before, expected) in table {
            assert_eq!(Completion::new(&there_are).words(before), expected, "{before}");
        }
    }

    #[test]
    fn without_a_node_its_nids_are_no_completions() {
        let node = |_| Err(lnet_wire::Errno::NetworkDown.into());
        assert_eq!(known(&node, Values::Nids), [""; 0]);
        assert_eq!(known(&node, Values::Nets), [""; 0]);
    }
}

//! The manual pages and completions of the command line.
#![allow(clippy::unwrap_used, missing_docs)]

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use lnetctl::cli::Cli;
use lnetctl::generate;

/// doc-010: fails if a command or an option has no place in the manual pages.
#[test]
fn the_manual_describes_each_command_with_all_its_options() {
    let pages: Vec<(String, String)> = (generate::program().manual_pages().unwrap().into_iter())
        .map(|(name, text)| (name, String::from_utf8(text).unwrap().replace('\\', "")))
        .collect();
    let mut root = Cli::command();
    root.build();
    for command in root.get_subcommands().filter(|command| is_described(command)) {
        let name = format!("lnetctl-{}.8", command.get_name());
        let (_, page) = pages.iter().find(|(page, _)| *page == name).unwrap();
        assert_described(command, page);
    }
    let groups = root.get_subcommands().filter(|command| is_described(command)).count();
    assert_eq!(pages.len(), 1 + groups, "a page for the program and one for each group of commands");
}

fn assert_described(command: &Command, page: &str) {
    for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
        if let Some(long) = option.get_long() {
            assert!(page.contains(&format!("--{long}")), "{}: no --{long}", command.get_name());
        }
    }
    for part in command.get_subcommands().filter(|part| is_described(part)) {
        let name = part.get_bin_name().unwrap();
        assert!(part.has_subcommands() || page.contains(&format!(".SH \"{name}\"")), "no section {name}");
        assert_described(part, page);
    }
}

fn is_described(command: &Command) -> bool {
    !command.is_hide_set() && !["help", "exit", "quit"].contains(&command.get_name())
}

#[test]
fn each_shell_completes_each_command() {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let script = String::from_utf8(generate::program().completions(shell)).unwrap();
        for command in Cli::command().get_subcommands().filter(|command| is_described(command)) {
            assert!(script.contains(command.get_name()), "{shell}: no {}", command.get_name());
        }
    }
}

/// Fails if a page of a command has no example, or an example that the command line does not take.
#[test]
fn each_page_has_examples_that_the_command_line_takes() {
    let examples = generate::EXAMPLES;
    for command in Cli::command().get_subcommands().filter(|command| is_described(command)) {
        let heading = format!("\n## {}\n", command.get_name());
        assert!(examples.contains(&heading), "no example of {}", command.get_name());
    }
    let lines = examples.lines().filter_map(|line| line.trim_start().strip_prefix("$ "));
    for line in lines.filter_map(|line| line.find("lnetctl").map(|at| &line[at..])) {
        let words = line.split(' ').map(|word| word.trim_matches('\''));
        let parsed = Cli::command().try_get_matches_from(words);
        assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
    }
}

/// Fails if a page lacks a section that readers look for.
#[test]
fn each_page_has_its_sections() {
    for (name, text) in generate::program().manual_pages().unwrap() {
        let text = String::from_utf8(text).unwrap();
        for section in
            ["NAME", "SYNOPSIS", "DESCRIPTION", "\"EXIT STATUS\"", "EXAMPLES", "FILES", "\"SEE ALSO\""]
        {
            assert!(text.contains(&format!(".SH {section}\n")), "{name}: no {section}");
        }
        let references = text.split_once(".SH \"SEE ALSO\"\n").map(|(_, text)| text.trim().lines().count());
        assert!(references > Some(1), "{name}: SEE ALSO names too little");
    }
}

//! Finds the function of a command by its words, and calls it.

use super::table::{CommandEntry, Lookup, Table, find};
use super::{FAILED, first_table, help};
use crate::cyaml::file;
use crate::entry::bytes_of;
use std::ffi::{c_char, c_int};
use std::ptr;

unsafe extern "C" {
    /// The index of the argument at which `getopt` continues.
    static mut optind: c_int;
}

/// The treatment of a first word that is no command, or the beginning of several.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    IsAnError,
    IsToldOnly,
}

/// The commands that every first table has, unless it has its own command of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BuiltIn {
    Help,
    Quit,
    Version,
    ListCommands,
}

const BUILT_IN: [(&str, BuiltIn); 8] = [
    ("help", BuiltIn::Help),
    ("--help", BuiltIn::Help),
    ("-h", BuiltIn::Help),
    ("quit", BuiltIn::Quit),
    ("exit", BuiltIn::Quit),
    ("version", BuiltIn::Version),
    ("--version", BuiltIn::Version),
    ("--list-commands", BuiltIn::ListCommands),
];

/// Runs the command that the words name.
///
/// # Safety
/// `argv` is NULL or has `argc` elements, each NULL or a string, which may be replaced.
pub(super) unsafe fn run(
    mut argc: c_int,
    mut argv: *mut *mut c_char,
    mut table: Table,
    unknown: Unknown,
) -> c_int {
    let mut first = true;
    loop {
        let word = if argc > 0 && !argv.is_null() {
            // SAFETY: checked for NULL; `argc` elements of the calling program's array are left at `argv`, which goes on with each argument less.
            // The array and its strings are there until the C function returns.
            unsafe { bytes_of(*argv) }
        } else {
            None
        };
        let Some(word) = word else {
            list(table, "a command is missing");
            return FAILED;
        };
        let unknown = if first { unknown } else { Unknown::IsAnError };
        let command = match table.find(word) {
            Lookup::One(command) => command,
            Lookup::Several(commands) => {
                return ambiguous(word, commands.iter().map(CommandEntry::name), unknown);
            }
            Lookup::Nothing if first && first_table().is_none_or(|first| first == table) => {
                return match find(BUILT_IN.into_iter(), |(name, _)| name.as_bytes(), word) {
                    // SAFETY: `argc` elements of the calling program's array are left at `argv`; it and its strings are there until the C function
                    // returns.
                    Lookup::One((_, built_in)) => unsafe { run_built_in(built_in, argc, argv, table) },
                    Lookup::Several(several) => {
                        ambiguous(word, several.iter().map(|(name, _)| name.as_bytes()), unknown)
                    }
                    Lookup::Nothing => no_such(word, table, unknown),
                };
            }
            Lookup::Nothing => return no_such(word, table, unknown),
        };
        first = false;
        if command.name() != word {
            // SAFETY: checked for NULL above; an element of the calling program's array, which is there until the C function returns and may be
            // written.
            unsafe { *argv = command.0.pc_name };
        }

        if let Some(sub_commands) = command.sub_commands() {
            // SAFETY: with an `argc` above 1, a second element of the calling program's array, with a string or NULL; both are there until the C
            // function returns.
            let next = if argc > 1 { unsafe { bytes_of(*argv.add(1)) } } else { None };
            let descends = match (command.0.pc_func, next) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(_), Some(word)) => !matches!(sub_commands.find(word), Lookup::Nothing),
            };
            if descends {
                argc -= 1;
                // SAFETY: at most one behind the last.
                argv = unsafe { argv.add(1) };
                table = sub_commands;
                continue;
            }
        }
        let Some(function) = command.0.pc_func else { return FAILED };
        // SAFETY: `getopt` begins anew with 0, as the command's arguments do. The function is the program's, and gets
        // what it expects.
        return unsafe {
            (&raw mut optind).write(0);
            function(argc, argv)
        };
    }
}

/// The contract is that of [`run`].
/// The contract is that of [`run`].
unsafe fn run_built_in(built_in: BuiltIn, argc: c_int, argv: *mut *mut c_char, table: Table) -> c_int {
    // SAFETY: `argv` has `argc` elements of the calling program's, each NULL or a string, which are there until the C function returns.
    unsafe {
        match built_in {
            BuiltIn::Help => {
                let words = (1..usize::try_from(argc).unwrap_or(0)).map_while(|i| bytes_of(*argv.add(i)));
                help::help(Some(table), words);
                0
            }
            BuiltIn::Quit => super::_Parser_quit(argc, argv),
            BuiltIn::Version => help::_Parser_version(argc, argv),
            BuiltIn::ListCommands => {
                help::list_commands(table);
                0
            }
        }
    }
}

fn no_such(word: &[u8], table: Table, unknown: Unknown) -> c_int {
    let word = String::from_utf8_lossy(word);
    match unknown {
        Unknown::IsAnError => {
            list(table, &format!("'{word}' is no command"));
            FAILED
        }
        Unknown::IsToldOnly => {
            file::print_error(&format!("'{word}' is no command; 'help' shows what is\n"));
            0
        }
    }
}

/// Lists the commands on standard output.
fn list(table: Table, why: &str) {
    let mut text = format!("{why}; use one of:\n");
    for command in table.commands() {
        text.push_str(&format!("\"{}\"\n", String::from_utf8_lossy(command.name())));
    }
    file::print(&text);
}

fn ambiguous<'a>(word: &[u8], names: impl Iterator<Item = &'a [u8]>, unknown: Unknown) -> c_int {
    let names: Vec<_> = names.map(String::from_utf8_lossy).collect();
    let word = String::from_utf8_lossy(word);
    file::print_error(&format!("'{word}' is the beginning of several commands: {}\n", names.join(" ")));
    if unknown == Unknown::IsAnError { FAILED } else { 0 }
}

/// Reads the lines of C's standard input, so that a command may read the lines after its own.
pub(super) struct Lines {
    line: *mut c_char,
    room: usize,
}

impl Lines {
    pub(super) const fn new() -> Self {
        Self { line: ptr::null_mut(), room: 0 }
    }

    /// The words of the next line, none for an empty line or a comment; `None` at the end.
    pub(super) fn next_words(&mut self) -> Option<Words> {
        // SAFETY: `getline` makes and enlarges the buffer; standard input is open, or reading fails.
        let len = unsafe { libc::getline(&mut self.line, &mut self.room, file::standard_input()) };
        let len = usize::try_from(len).ok()?;
        // SAFETY: so many bytes have been read into it.
        let line = unsafe { std::slice::from_raw_parts(self.line.cast::<u8>(), len) };
        Some(Words::of(line))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // SAFETY: NULL or from `getline`, and nothing of it is in use: words are copies.
        unsafe { libc::free(self.line.cast()) };
    }
}

/// The words of a line, each terminated by a zero.
pub(super) struct Words(Vec<Vec<u8>>);

impl Words {
    fn of(line: &[u8]) -> Self {
        let words = line.split(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0));
        let mut words = words.filter(|word| !word.is_empty()).peekable();
        if words.peek().is_some_and(|word| word.starts_with(b"#")) {
            return Self(Vec::new());
        }
        Self(words.map(|word| [word, b"\0"].concat()).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn count(&self) -> c_int {
        c_int::try_from(self.0.len()).unwrap_or(c_int::MAX)
    }

    /// The words as C arguments, with a NULL after the last.
    pub(super) fn arguments(&mut self) -> Vec<*mut c_char> {
        self.0.iter_mut().map(|word| word.as_mut_ptr().cast()).chain([ptr::null_mut()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blanks_and_tabs_separate_words() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            (" \t\n", &[]),
            ("# a comment\n", &[]),
            ("  # another\n", &[]),
            ("a  b\tc\r\n", &["a", "b", "c"]),
            ("say \"two words\" #1", &["say", "\"two", "words\"", "#1"]),
        ];
        for (line, expected) in cases {
            let words = Words::of(line.as_bytes()).0;
            let words: Vec<&str> =
                words.iter().map(|word| std::str::from_utf8(&word[..word.len() - 1]).unwrap()).collect();
            assert_eq!(words, *expected, "{line:?}");
        }
    }
}

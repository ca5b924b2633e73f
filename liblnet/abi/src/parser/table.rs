//! Tables of commands, in which a command is found by its name or the beginning of it.
#![allow(non_camel_case_types)]

use crate::entry::bytes_of;
use std::ffi::{c_char, c_int};

/// A command of a table. A NULL pc_name ends the table.
// cbindgen does not know what `Self` means here.
#[allow(clippy::use_self)]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct parser_cmd {
    /// The name of the command.
    pub pc_name: *mut c_char,
    /// The function of the command; NULL if it has sub-commands only. Its result is that of the command.
    pub pc_func: Option<unsafe extern "C" fn(argc: c_int, argv: *mut *mut c_char) -> c_int>,
    /// The table of sub-commands; NULL for none.
    pub pc_sub_cmd: *mut parser_cmd,
    /// The usage and purpose of the command; NULL for none.
    pub pc_help: *mut c_char,
}

/// A table of the program, up to the entry that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table(*const parser_cmd);

impl Table {
    /// A table; `None` for NULL.
    ///
    /// # Safety
    /// `first` is NULL, or a table whose strings and tables of sub-commands live as long as the result and its entries.
    pub unsafe fn new(first: *const parser_cmd) -> Option<Self> {
        (!first.is_null()).then_some(Self(first))
    }

    /// The entries of the table, including headings.
    pub fn entries(self) -> impl Iterator<Item = CommandEntry> {
        (0..).map_while(move |i| {
            // SAFETY: the program's table has entries up to the one without a name, which ends this; it is there as long as a `Table` of it is used.
            let command = unsafe { *self.0.add(i) };
            (!command.pc_name.is_null()).then_some(CommandEntry(command))
        })
    }

    /// The commands in the table.
    pub fn commands(self) -> impl Iterator<Item = CommandEntry> {
        self.entries().filter(|entry| entry.0.pc_func.is_some() || entry.sub_commands().is_some())
    }

    /// The command that `word` names.
    pub fn find(self, word: &[u8]) -> Lookup<CommandEntry> {
        find(self.commands(), CommandEntry::name, word)
    }
}

/// A command of a table.
#[derive(Clone, Copy, Debug)]
pub struct CommandEntry(pub(super) parser_cmd);

impl CommandEntry {
    /// The name of the command.
    pub fn name(&self) -> &[u8] {
        // SAFETY: NULL, or a string of the program's table, which is there as long as its entries are used.
        unsafe { bytes_of(self.0.pc_name) }.unwrap_or_default()
    }

    /// The help of the command.
    pub fn help(&self) -> Option<&[u8]> {
        // SAFETY: NULL, or a string of the program's table, which is there as long as its entries are used.
        unsafe { bytes_of(self.0.pc_help) }
    }

    /// The table of sub-commands.
    pub fn sub_commands(&self) -> Option<Table> {
        // SAFETY: NULL, or a table of the program's, which is there as long as the table that refers to it.
        unsafe { Table::new(self.0.pc_sub_cmd) }
    }
}

/// The result of looking up a word.
#[derive(Debug, PartialEq, Eq)]
pub enum Lookup<T> {
    /// One entry.
    One(T),
    /// Several entries, whose names begin with the word.
    Several(Vec<T>),
    /// No entry.
    Nothing,
}

/// The entry of `all` whose name is `word`, or the only one whose name begins with it, in upper or lower case.
pub fn find<T>(all: impl Iterator<Item = T>, name: impl Fn(&T) -> &[u8], word: &[u8]) -> Lookup<T> {
    let mut beginnings = Vec::new();
    for one in all {
        let name = name(&one);
        if name == word {
            return Lookup::One(one);
        }
        if !word.is_empty() && name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)) {
            beginnings.push(one);
        }
    }
    match beginnings.len() {
        0 => Lookup::Nothing,
        1 => beginnings.pop().map_or(Lookup::Nothing, Lookup::One),
        _ => Lookup::Several(beginnings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_command_or_its_unique_prefix() {
        let names = ["show", "show_error", "Stat", "stop", "add_group", "-h"];
        let found = |word: &str| find(names.iter(), |name| name.as_bytes(), word.as_bytes());
        let cases: &[(&str, &[&str])] = &[
            ("show", &["show"]),
            ("show_", &["show_error"]),
            ("sho", &["show", "show_error"]),
            ("s", &["show", "show_error", "Stat", "stop"]),
            ("sT", &["Stat", "stop"]),
            ("STA", &["Stat"]),
            ("add", &["add_group"]),
            ("-h", &["-h"]),
            ("show_errors", &[]),
            ("x", &[]),
            ("", &[]),
        ];
        for (word, expected) in cases {
            let names: Vec<&&str> = match found(word) {
                Lookup::One(name) => vec![name],
                Lookup::Several(names) => names,
                Lookup::Nothing => Vec::new(),
            };
            assert_eq!(names, expected.iter().collect::<Vec<_>>(), "{word}");
        }
    }
}

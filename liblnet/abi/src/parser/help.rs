//! Help: lists of commands, and descriptions of single ones.

use super::first_table;
use super::table::{CommandEntry, Lookup, Table, parser_cmd};
use crate::cyaml::file;
use crate::entry::{bytes_of, helper};
use std::ffi::{c_char, c_int};
use std::sync::PoisonError;

/// The width of a cell of a list of commands, and the number of cells in a row.
const CELL: usize = 20;
const CELLS: usize = 4;
/// The depth to which tables of sub-commands are listed: a table may contain itself.
const MAX_DEPTH: usize = 8;

/// A command that shows help: alone, the commands of the first table on standard output; with words behind it, the help
/// of the command that they name, on standard error. Returns 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_help(argc: c_int, argv: *mut *mut c_char) -> c_int {
    helper(0, || {
        let count = if argv.is_null() { 0 } else { usize::try_from(argc).unwrap_or(0) };
        // SAFETY: checked for NULL; so many arguments of the program's, each NULL or a string, unchanged during the call.
        help(first_table(), (1..count).map_while(|i| unsafe { bytes_of(*argv.add(i)) }));
        0
    })
}

/// Shows the help of the command cmd of the first table, on standard error: for a command whose arguments are wrong.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_printhelp(cmd: *mut c_char) {
    // SAFETY: NULL, or a string of the program's, unchanged during the call.
    helper((), || help(first_table(), unsafe { bytes_of(cmd) }.into_iter()));
}

/// Shows how the program is called and the commands of the first table, on standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_qhelp(argc: c_int, argv: *mut *mut c_char) {
    let _ = (argc, argv);
    helper((), || help(first_table(), std::iter::empty()));
}

/// A command that shows the name of the program and its version (Parser_set_version); that of this library, in parentheses, if
/// the program has not set one. Returns 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_version(argc: c_int, argv: *mut *mut c_char) -> c_int {
    let _ = (argc, argv);
    helper(0, || {
        let version = super::VERSION.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let version = match version {
            Some(version) => String::from_utf8_lossy(&version).into_owned(),
            None => format!("(liblnet {})", env!("CARGO_PKG_VERSION")),
        };
        file::print(&format!("{} {version}\n", program()));
        0
    })
}

/// Shows the names of the commands of a table on standard output, in rows of col_num cells, and the names of sub-commands
/// behind those of their commands. buffer, of size bytes, holds a row, so that a cell is (size - 1) / col_num wide.
/// With a parent, which is written before each name, a row that is not full stays in buffer; at the time of the call it contains
/// col_start cells.
///
/// Returns the number of cells in buffer: 0 without a parent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_list_commands(
    cmds: *const parser_cmd,
    buffer: *mut c_char,
    size: usize,
    parent: *const c_char,
    col_start: c_int,
    col_num: c_int,
) -> c_int {
    helper(0, || {
        // SAFETY: NULL or a table, and NULL or a string, of the program's, unchanged during the call.
        let (table, parent) = unsafe { (Table::new(cmds), bytes_of(parent)) };
        let (Some(table), false, Ok(cells @ 1..)) = (table, buffer.is_null(), usize::try_from(col_num))
        else {
            return 0;
        };
        let width = size.saturating_sub(1) / cells;
        if width == 0 {
            return 0;
        }
        let mut rows = Rows { width, cells, used: 0, row: Vec::new() };
        if let Ok(used @ 1..) = usize::try_from(col_start) {
            // SAFETY: checked for NULL above; `size` bytes of the program's, with a row of an earlier call in them.
            let row = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), size) };
            rows.row.extend(row.iter().take_while(|byte| **byte != 0));
            rows.used = used.min(cells);
        }
        rows.add_table(table, parent.unwrap_or_default(), MAX_DEPTH);
        if parent.is_none() {
            rows.end();
        }
        let len = rows.row.len().min(size - 1);
        // SAFETY: checked for NULL above; `size` bytes of the program's, more than `len`, which the call may write.
        unsafe {
            std::ptr::copy_nonoverlapping(rows.row.as_ptr(), buffer.cast(), len);
            buffer.add(len).write(0);
        }
        c_int::try_from(rows.used).unwrap_or(c_int::MAX)
    })
}

/// Lists all names, in the cells that `lnetctl` has.
pub(super) fn list_commands(table: Table) {
    let mut rows = Rows { width: CELL, cells: CELLS, used: 0, row: Vec::new() };
    rows.add_table(table, b"", MAX_DEPTH);
    rows.end();
}

/// Shows the commands of a table, or the help of the command that `words` name.
pub(super) fn help<'a>(table: Option<Table>, words: impl Iterator<Item = &'a [u8]>) {
    let Some(mut table) = table else { return };
    let mut found: Option<CommandEntry> = None;
    for word in words {
        let shown = String::from_utf8_lossy(word);
        match table.find(word) {
            Lookup::One(command) => {
                let sub_commands = command.sub_commands();
                found = Some(command);
                match sub_commands {
                    Some(sub_commands) => table = sub_commands,
                    None => break,
                }
            }
            Lookup::Several(commands) => {
                let names: Vec<_> = commands.iter().map(|c| String::from_utf8_lossy(c.name())).collect();
                file::print_error(&format!(
                    "'{shown}' is the beginning of several commands: {}\n",
                    names.join(" ")
                ));
                return;
            }
            Lookup::Nothing => {
                file::print_error(&format!("'{shown}' is no command; 'help' shows what is\n"));
                return;
            }
        }
    }
    match found {
        Some(command) => help_of(command),
        None => {
            file::print(&format!("usage: {} [COMMAND [ARGUMENT]...]\n", program()));
            list_commands(table);
            file::print("'help COMMAND' shows what a command does.\n");
        }
    }
}

fn help_of(command: CommandEntry) {
    let name = String::from_utf8_lossy(command.name());
    match command.help() {
        Some(help) => file::print_error(&format!("{name}: {}\n", String::from_utf8_lossy(help).trim_end())),
        None => file::print_error(&format!("{name}: there is no help\n")),
    }
    for sub_command in command.sub_commands().into_iter().flat_map(Table::commands) {
        let sub_name = String::from_utf8_lossy(sub_command.name());
        let help = sub_command.help().map(String::from_utf8_lossy).unwrap_or_default();
        let line = help.lines().next().unwrap_or_default();
        file::print_error(&format!("  {name} {sub_name}: {line}\n"));
    }
}

/// The name by which the user has called the program.
fn program() -> String {
    let path = std::env::args_os().next().map(std::path::PathBuf::from);
    let name = path.as_deref().and_then(std::path::Path::file_name);
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Names in cells, printed row by row.
struct Rows {
    width: usize,
    cells: usize,
    /// The number of cells in `row`.
    used: usize,
    row: Vec<u8>,
}

impl Rows {
    fn add_table(&mut self, table: Table, parent: &[u8], depth: usize) {
        for command in table.commands() {
            let blank: &[u8] = if parent.is_empty() { b"" } else { b" " };
            let name = [parent, blank, command.name()].concat();
            match command.sub_commands().filter(|_| depth > 1) {
                Some(sub_commands) => {
                    if command.0.pc_func.is_some() {
                        self.add(&name);
                    }
                    self.add_table(sub_commands, &name, depth - 1);
                }
                None => self.add(&name),
            }
        }
    }

    /// Adds a name, which takes as many cells as it needs to have a blank behind it.
    fn add(&mut self, name: &[u8]) {
        let cells = (name.len() + 1).div_ceil(self.width);
        if self.used > 0 && self.used + cells > self.cells {
            self.end();
        }
        self.row.extend_from_slice(name);
        self.used += cells;
        self.row.resize(self.used * self.width, b' ');
        if self.used >= self.cells {
            self.end();
        }
    }

    fn end(&mut self) {
        if self.used > 0 {
            self.row.push(b'\n');
            file::print_bytes(&self.row);
            self.row.clear();
            self.used = 0;
        }
    }
}

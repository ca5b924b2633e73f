//! `Parser_*`: the command parser of `liblnetconfig` for programs such as `lnetctl` and `lst`.
//!
//! [`table`] finds commands in tables, [`run`](mod@run) runs them, [`help`] lists and explains them. Texts are written
//! through C's files, so that they keep their order with those of the program.

pub mod help;
pub mod table;

mod run;

use self::run::Unknown;
use self::table::{Table, parser_cmd};
use crate::cyaml::file;
use crate::entry::{bytes_of, helper};
use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// The table that was passed to `Parser_init`.
static FIRST: AtomicPtr<parser_cmd> = AtomicPtr::new(ptr::null_mut());
static PROMPT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// The version of the program, if the program has set it.
static VERSION: Mutex<Option<Vec<u8>>> = Mutex::new(None);
/// Whether `Parser_commands` is to end.
static ENDED: AtomicBool = AtomicBool::new(false);
static IGNORE_ERRORS: AtomicBool = AtomicBool::new(false);

const FAILED: c_int = -1;

/// The table that was passed to `Parser_init`, if it was called.
fn first_table() -> Option<Table> {
    // SAFETY: NULL, or the table that the program gave to `Parser_init`, where it must stay as it is.
    unsafe { Table::new(FIRST.load(Ordering::Acquire)) }
}

/// Sets the prompt of the interactive loop, which is copied, and the first table, which is not, and must stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_init(prompt: *mut c_char, cmds: *mut parser_cmd) {
    helper((), || {
        // SAFETY: NULL, or a string of the program's, unchanged during the call.
        let prompt = unsafe { bytes_of(prompt) }.unwrap_or_default().to_vec();
        *PROMPT.lock().unwrap_or_else(PoisonError::into_inner) = prompt;
        FIRST.store(cmds, Ordering::Release);
    });
}

/// Sets the version of the program for Parser_version: a string, which is copied; NULL if it is not known. Parser_init does this
/// for programs whose version is a macro, see above. Not in other implementations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_set_version(version: *const c_char) {
    helper((), || {
        // SAFETY: NULL, or a string of the program's, unchanged during the call.
        let version = unsafe { bytes_of(version) }.map(<[u8]>::to_vec);
        *VERSION.lock().unwrap_or_else(PoisonError::into_inner) = version;
    });
}

/// Runs the command that argv names, from the table cmds (NULL: the first one). Its function gets the arguments beginning
/// with its own name; an abbreviation in argv is replaced by the name.
///
/// Returns the result of the function; -1 if there is no such command, with the commands on standard output, or more than
/// one, which are named on standard error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_execarg(
    argc: c_int,
    argv: *mut *mut c_char,
    cmds: *mut parser_cmd,
) -> c_int {
    helper(FAILED, || {
        // SAFETY: NULL, or a table of the program's, unchanged during the call.
        let Some(table) = unsafe { Table::new(cmds) }.or_else(first_table) else { return FAILED };
        // SAFETY: NULL, or `argc` strings of the program's, which the call may replace until it returns.
        unsafe { run::run(argc, argv, table, Unknown::IsAnError) }
    })
}

/// Reads lines from standard input and runs the commands of the first table that they name, until the end of the input or
/// Parser_quit. Words are separated by blanks and tabs; empty lines, and lines that begin with #, are skipped. On a
/// terminal there is a prompt. Otherwise the first command that fails ends the loop, unless Parser_ignore_errors is set. A word
/// that is no command, or the beginning of several, is reported on standard error and is no failure.
///
/// Returns the result of the last command; 0 if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_commands() -> c_int {
    helper(FAILED, || {
        let Some(table) = first_table() else { return FAILED };
        ENDED.store(false, Ordering::Relaxed);
        // SAFETY: only asks what the descriptor is.
        let terminal = unsafe { libc::isatty(0) } == 1;
        let mut lines = run::Lines::new();
        let mut rc = 0;
        while !ENDED.load(Ordering::Relaxed) {
            if terminal {
                let prompt = PROMPT.lock().unwrap_or_else(PoisonError::into_inner).clone();
                file::print_bytes(&prompt);
                file::flush();
            }
            let Some(mut words) = lines.next_words() else {
                if terminal {
                    file::print("\n");
                }
                break;
            };
            if words.is_empty() {
                continue;
            }
            let mut arguments = words.arguments();
            // SAFETY: as many strings as there are words, which live until the next line.
            rc = unsafe { run::run(words.count(), arguments.as_mut_ptr(), table, Unknown::IsToldOnly) };
            if rc != 0 && !terminal && !IGNORE_ERRORS.load(Ordering::Relaxed) {
                break;
            }
        }
        file::flush();
        rc
    })
}

/// Sets whether Parser_commands continues after a command that failed, if standard input is no terminal; 0: it ends, which is
/// the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_ignore_errors(ignore: c_int) {
    IGNORE_ERRORS.store(ignore != 0, Ordering::Relaxed);
}

/// A command that ends Parser_commands. Returns 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_quit(argc: c_int, argv: *mut *mut c_char) -> c_int {
    let _ = (argc, argv);
    ENDED.store(true, Ordering::Relaxed);
    0
}

/// Does the same as Parser_quit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Parser_exit(argc: c_int, argv: *mut *mut c_char) {
    let _ = (argc, argv);
    ENDED.store(true, Ordering::Relaxed);
}

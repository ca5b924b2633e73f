//! `lst`: the console of LNet selftest.
//!
//! [`cli`]: what there is to say. [`commands`]: what it does. [`run`]: one line. [`shell`]: many lines. [`output`]: pieces
//! of what is written. [`live`]: the live view. [`console`]: where commands go to. [`local`]: the consoles of this machine.
//! [`resident`]: such a console itself. [`generate`]: manual page and completions.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

// Its functions are called by their C names.
use lnet as _;

pub mod cli;
pub mod commands;
pub mod console;
pub mod generate;
pub mod live;
pub mod local;
pub mod output;
pub mod resident;
pub mod run;
pub mod shell;

//! `lst`: the console of LNet selftest.
//!
//! [`cli`]: the definition of the command line. [`commands`]: the commands. [`context`]: the environment and the result of a command.
//! [`run`]: runs one line. [`shell`]: runs lines.
//! [`output`]: pieces of text that several commands print. [`live`]: the live view. [`console`]: the interface to consoles.
//! [`survey`]: the plan and the analysis of a survey.
//! [`local`]: the consoles of this machine. [`resident`]: a console as a process. [`generate`]: manual page and completions.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

// `lnet_selftest` calls LNet's functions by their C names.
use lnet as _;

pub mod cli;
pub mod commands;
pub mod console;
pub mod context;
pub mod generate;
pub mod live;
pub mod local;
pub mod output;
pub mod resident;
pub mod run;
pub mod shell;
pub mod survey;

//! `lnetctl`: configures and shows LNet nodes.
//!
//! [`cli`]: what there is to say. [`commands`]: what it does. [`run`]: one line. [`shell`]: many lines.
//! [`output`]: what is written. [`top`]: the live view. [`generate`]: manual pages and completions.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod cli;
pub mod commands;
pub mod generate;
pub mod output;
pub mod run;
pub mod shell;
pub mod top;

//! `lnetctl`: configures and shows LNet nodes.
//!
//! [`cli`]: the definition of the command line. [`commands`]: the commands. [`run`]: runs one line. [`shell`]: runs lines.
//! [`own_node`]: nodes of commands. [`cluster`]: checks of all nodes of a cluster. [`doctor`]: checks of the host, and of the path to another node. [`output`]: writes results.
//! [`archive`]: what is known, in one file. [`top`]: the live view. [`generate`]: manual pages and completions. [`lctl`]: the
//! older tool.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod archive;
pub mod cli;
pub mod cluster;
pub mod commands;
pub mod doctor;
pub mod generate;
pub mod lctl;
pub mod node;
pub mod output;
pub mod own_node;
pub mod run;
pub mod shell;
pub mod top;

//! Parts that the first programs share. The numbers are those of examples/first.h: programs in C and Rust understand each other.
#![allow(dead_code, unreachable_pub, reason = "not every program uses all of them")]

use liblnet::{Node, ProcessId};
use std::error::Error;
use std::process::ExitCode;

/// Requests come to a portal that client and server have agreed on, responses to another one. A request is a text, and its header data
/// holds the match bits with which its response must come; 0 means that no response is wanted.
pub const REQUEST_PORTAL: u32 = 10;
pub const REQUEST_BITS: u64 = 42;
pub const RESPONSE_PORTAL: u32 = 11;
pub const MAX_TEXT: usize = 256;

/// The result of a program.
pub type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Starts the node with the networks of `LNET_NETWORKS`, or attaches to that of lnetd. Returns its address, too.
pub fn start_node() -> Result<(Node, ProcessId)> {
    let node = Node::start().map_err(|errno| format!("starting the node: {errno}"))?;
    let id = node.id().map_err(|errno| format!("no network (is LNET_NETWORKS set?): {errno}"))?;
    Ok((node, id))
}

/// Converts text such as 127.0.1.2@tcp to the address of a program there.
pub fn address_of(nid: &str) -> Result<ProcessId> {
    Ok(ProcessId::lustre(nid.parse().map_err(|errno| format!("{nid}: {errno}"))?))
}

/// Runs a program: `run` gets its arguments, and returns whether it understands them.
pub fn main_with(usage: &str, run: impl FnOnce(&[&str]) -> Result<bool>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("usage: {usage}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

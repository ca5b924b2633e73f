//! Instructions that callgrind counts: in the core, by `message-path`, over the drivers for TCP and InfiniBand, by `tcp-path` and
//! `o2ib-path`, and between attached programs, by `attach-path`.
//!
//! The cost of an operation is the difference of two runs of which one has twice as many operations: the cost of a run before
//! and after the operations is the same in both.

use super::Cost;
use crate::error::{Error, context};
use std::path::Path;
use std::process::Command;

/// An operation to be run: see `benches/message-path`, `benches/tcp-path`, `benches/o2ib-path` and `benches/attach-path`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    /// The arguments, except the number of operations.
    arguments: &'static str,
    /// The function in which instructions are counted, if not in all.
    within: Option<&'static str>,
}

pub(super) const OPERATIONS: [Operation; 9] = [
    Operation { name: "instructions, header encoded and decoded", arguments: "header", within: None },
    Operation { name: "instructions, PUT of 8 B with ACK, 1 x 1", arguments: "put 1 1", within: None },
    Operation { name: "instructions, GET of 8 B with REPLY, 1 x 1", arguments: "get 1 1", within: None },
    Operation { name: "instructions, PUT of 8 B with ACK, 4 x 4", arguments: "put 4 4", within: None },
    Operation { name: "instructions, GET of 8 B with REPLY, 4 x 4", arguments: "get 4 4", within: None },
    Operation { name: "instructions, PUT of 8 B with ACK, 4 x 128", arguments: "put 4 128", within: None },
    Operation { name: "instructions, GET of 8 B with REPLY, 4 x 128", arguments: "get 4 128", within: None },
    Operation {
        name: "instructions, PUT of 8 B with ACK through a router",
        arguments: "routed-put",
        within: None,
    },
    Operation {
        name: "instructions, GET of 8 B with REPLY through a router",
        arguments: "routed-get",
        within: None,
    },
];

/// Of the thread that does the work of both nodes.
pub(super) const OVER_TCP: Operation = Operation {
    name: "instructions over TCP, PUT of 8 B with ACK",
    arguments: "",
    within: Some("tcp_path::run_one"),
};

/// With threads, which wake now and then while they wait, and with the work of the model of devices: no two runs have the same number.
pub(super) const OVER_O2IB: Operation =
    Operation { name: "instructions over o2ib, PUT of 8 B with ACK", arguments: "put 8", within: None };

/// The instructions that a PUT takes more between two attached programs than on the node itself. With threads, as `OVER_O2IB`.
pub(super) const BY_ATTACHMENT: &str = "instructions that attachment adds, PUT of 8 B with ACK";

/// Number of operations of the shorter run.
const COUNT: u32 = 1000;

pub(super) fn count(program: &Path, operation: Operation) -> Result<Cost, Error> {
    let run = |count: u32| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        command.args(operation.within.map(|function| format!("--toggle-collect={function}")));
        command.arg(program).args(operation.arguments.split_whitespace()).arg(count.to_string());
        let output = command.output().map_err(context("valgrind"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        match collected(&text).filter(|_| output.status.success()) {
            Some(instructions) => Ok(instructions),
            None => Err(format!("{}: valgrind: {}: {text}", operation.name, output.status)),
        }
    };
    let more = run(2 * COUNT)? - run(COUNT)?;
    Ok(Cost { name: operation.name.to_owned(), figure: more / f64::from(COUNT) })
}

/// The cost of [`BY_ATTACHMENT`], as `attach-path` has it.
pub(super) fn count_attachment(program: &Path) -> Result<Cost, Error> {
    let of = |arguments| {
        Ok::<f64, Error>(count(program, Operation { name: BY_ATTACHMENT, arguments, within: None })?.figure)
    };
    Ok(Cost { name: BY_ATTACHMENT.to_owned(), figure: of("attached")? - of("own")? })
}

/// Reads the number of instructions from the output of callgrind.
pub(super) fn collected(text: &str) -> Option<f64> {
    let (_, rest) = text.split_once("Collected : ")?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_instructions_is_read_from_what_callgrind_prints() {
        let text = "==7== Events    : Ir\n==7== Collected : 1108\n==7== \n==7== I   refs:      1,108\n";
        assert_eq!(collected(text), Some(1108.0));
        assert_eq!(collected("==7== Command: x\n"), None);
    }
}

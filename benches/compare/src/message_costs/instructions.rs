//! Instructions that callgrind counts: in the core, by `message-path`, over the drivers for TCP and InfiniBand, by `tcp-path` and
//! `o2ib-path`, between attached programs, by `attach-path`, and of RPCs, by `rpc-path`.
//!
//! The cost of an operation is the difference of two runs of which one has twice as many operations: the cost of a run before
//! and after the operations is the same in both.

use super::Cost;
use crate::error::{Error, context};
use std::path::Path;
use std::process::Command;

/// An operation to be run: see `benches/message-path`, and `tcp-path`, `o2ib-path`, `attach-path` and `rpc-path` beside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    /// The arguments, except the number of operations.
    pub(super) arguments: &'static str,
}

pub(super) const OPERATIONS: [Operation; 9] = [
    Operation { name: "instructions, header encoded and decoded", arguments: "header" },
    Operation { name: "instructions, PUT of 8 B with ACK, 1 x 1", arguments: "put 1 1" },
    Operation { name: "instructions, GET of 8 B with REPLY, 1 x 1", arguments: "get 1 1" },
    Operation { name: "instructions, PUT of 8 B with ACK, 4 x 4", arguments: "put 4 4" },
    Operation { name: "instructions, GET of 8 B with REPLY, 4 x 4", arguments: "get 4 4" },
    Operation { name: "instructions, PUT of 8 B with ACK, 4 x 128", arguments: "put 4 128" },
    Operation { name: "instructions, GET of 8 B with REPLY, 4 x 128", arguments: "get 4 128" },
    Operation { name: "instructions, PUT of 8 B with ACK through a router", arguments: "routed-put" },
    Operation { name: "instructions, GET of 8 B with REPLY through a router", arguments: "routed-get" },
];

/// The instructions of the thread that does the work of both nodes.
pub(super) const OVER_TCP: Operation =
    Operation { name: "instructions over TCP, PUT of 8 B with ACK", arguments: "" };

/// With threads, which wake now and then while they wait, and with the work of the model of devices: no two runs have the same number.
pub(super) const OVER_O2IB: Operation =
    Operation { name: "instructions over o2ib, PUT of 8 B with ACK", arguments: "put 8" };

/// The instructions that a PUT takes more between two attached programs than on the node itself. With threads, as `OVER_O2IB`.
pub(super) const BY_ATTACHMENT: &str = "instructions that attachment adds, PUT of 8 B with ACK";

/// The instructions of an RPC, and of the PUTs that it consists of. With threads, as `OVER_O2IB`.
pub(super) const OF_RPCS: [Operation; 2] = [
    Operation { name: "instructions, RPC of 8 B there and back", arguments: "rpc" },
    Operation { name: "instructions, PUT there and PUT back", arguments: "puts" },
];

/// The first of them divided by the second.
pub(super) const RPC_BY_PUTS: &str = "instructions of an RPC, divided by those of its PUTs";

/// The instructions of an RPC of LNet selftest. With threads, as `OVER_O2IB`.
pub(super) const OF_SELFTEST: [Operation; 2] = [
    Operation { name: "instructions, brw of 4 KiB that the server fetches, 8 in flight", arguments: "write" },
    Operation { name: "instructions, brw of 4 KiB that the server sends, 8 in flight", arguments: "read" },
];

/// Leaves out the function in which threads wait for events: how often they look in vain depends on time.
const WITHOUT_WAITS: [&str; 2] = ["--toggle-collect=_LNetEQPoll", "--collect-atstart=yes"];

/// Counts in the function that carries out one operation, and nothing of other threads.
pub(super) const OF_ONE_THREAD: [&str; 1] = ["--toggle-collect=tcp_path::run_one"];

/// Number of operations of the shorter run.
pub(super) const COUNT: u32 = 1000;

pub(super) fn count(program: &Path, operation: Operation) -> Result<Cost, Error> {
    count_with(&[], program, operation)
}

/// Counts with these options of callgrind.
fn count_with(options: &[&str], program: &Path, operation: Operation) -> Result<Cost, Error> {
    let run = |count: u32| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).args(options).arg(program);
        command.args(operation.arguments.split_whitespace()).arg(count.to_string());
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

/// The cost of [`OVER_TCP`].
pub(super) fn count_over_tcp(program: &Path) -> Result<Cost, Error> {
    count_with(&OF_ONE_THREAD, program, OVER_TCP)
}

/// The cost of [`BY_ATTACHMENT`], as `attach-path` has it.
pub(super) fn count_attachment(program: &Path) -> Result<Cost, Error> {
    let of =
        |arguments| Ok::<f64, Error>(count(program, Operation { name: BY_ATTACHMENT, arguments })?.figure);
    Ok(Cost { name: BY_ATTACHMENT.to_owned(), figure: of("attached")? - of("own")? })
}

/// The costs of [`OF_RPCS`], their ratio, and the costs of [`OF_SELFTEST`].
pub(super) fn count_rpcs(program: &Path) -> Result<Vec<Cost>, Error> {
    let [rpc, puts] = OF_RPCS;
    let rpc = count_with(&WITHOUT_WAITS, program, rpc)?;
    let puts = count_with(&WITHOUT_WAITS, program, puts)?;
    let ratio = Cost { name: RPC_BY_PUTS.to_owned(), figure: rpc.figure / puts.figure };
    let [fetched, sent] = OF_SELFTEST;
    let (fetched, sent) =
        (count_with(&WITHOUT_WAITS, program, fetched)?, count_with(&WITHOUT_WAITS, program, sent)?);
    Ok(vec![rpc, puts, ratio, fetched, sent])
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

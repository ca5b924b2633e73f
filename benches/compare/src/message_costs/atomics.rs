//! Atomic instructions: those that change memory which other threads may change at the same time. Each takes about as long as twenty
//! others, so that they are most of the time that a message takes in user space.
//!
//! callgrind says how often each instruction was executed, and objdump which are atomic: those with a `lock` prefix, and exchanges with
//! memory. Only those of the program itself count, which has the library in it.

use super::Cost;
use super::instructions::{COUNT, OF_ONE_THREAD, Operation};
use crate::error::{Error, context};
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Operations of `message-path`.
pub(super) const OPERATIONS: [Operation; 3] = [
    Operation { name: "atomic instructions, PUT of 8 B with ACK, 1 x 1", arguments: "put 1 1" },
    Operation { name: "atomic instructions, PUT of 8 B with ACK, 4 x 128", arguments: "put 4 128" },
    Operation { name: "atomic instructions, PUT of 8 B with ACK through a router", arguments: "routed-put" },
];

/// An operation of `tcp-path`.
pub(super) const OVER_TCP: Operation =
    Operation { name: "atomic instructions over TCP, PUT of 8 B with ACK", arguments: "" };

pub(super) fn count(program: &Path, operation: Operation) -> Result<Cost, Error> {
    count_with(&[], program, operation)
}

/// The cost of [`OVER_TCP`].
pub(super) fn count_over_tcp(program: &Path) -> Result<Cost, Error> {
    count_with(&OF_ONE_THREAD, program, OVER_TCP)
}

/// Counts with these options of callgrind: the difference of two runs, of which one has twice as many operations.
fn count_with(options: &[&str], program: &Path, operation: Operation) -> Result<Cost, Error> {
    let program = program.canonicalize().map_err(context("the program"))?;
    let atomic = atomic_instructions(&output(
        Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(&program),
    )?);
    let folder = tempfile::tempdir().map_err(context("a folder for callgrind"))?;
    let run = |count: u32| {
        let path = folder.path().join("callgrind.out");
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--dump-instr=yes", "--compress-pos=no", "--compress-strings=no"]);
        command.arg(format!("--callgrind-out-file={}", path.display())).args(options).arg(&program);
        output(command.args(operation.arguments.split_whitespace()).arg(count.to_string()))?;
        let text = fs::read_to_string(&path).map_err(context("the file of callgrind"))?;
        Ok::<u64, Error>(executed(&text, &program.display().to_string(), &atomic))
    };
    let more = run(2 * COUNT)?.saturating_sub(run(COUNT)?);
    Ok(Cost { name: operation.name.to_owned(), figure: more as f64 / f64::from(COUNT) })
}

/// Runs a command; returns what it has printed.
fn output(command: &mut Command) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(context(&name))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

/// The addresses of the atomic instructions in what objdump prints.
fn atomic_instructions(text: &str) -> HashSet<u64> {
    let address = |line: &str| {
        let (address, instruction) = line.trim_start().split_once(":\t")?;
        let exchanges = instruction.starts_with("xchg ") && instruction.contains('(');
        let is_atomic = instruction.starts_with("lock ") || exchanges;
        u64::from_str_radix(address, 16).ok().filter(|_| is_atomic)
    };
    text.lines().filter_map(address).collect()
}

/// The number of times that instructions of `object` at these addresses were executed, by a file of callgrind without compression.
fn executed(text: &str, object: &str, addresses: &HashSet<u64>) -> u64 {
    let (mut is_in_object, mut is_of_call, mut sum) = (false, false, 0);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            is_in_object = name == object;
        } else if line.starts_with("calls=") {
            // The next line has the cost of the function that was called.
            is_of_call = true;
        } else if let Some(rest) = line.strip_prefix("0x")
            && !std::mem::take(&mut is_of_call)
            && is_in_object
        {
            let mut fields = rest.split(' ');
            let address = fields.next().and_then(|field| u64::from_str_radix(field, 16).ok());
            if address.is_some_and(|address| addresses.contains(&address)) {
                sum += fields.nth(1).and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_with_a_lock_prefix_and_exchanges_with_memory_are_atomic() {
        let text = "\nprogram:     file format elf64-x86-64\n\n0000000000001000 <main>:\n    1000:\tlock incq (%rax)\n    1004:\tnop\n    \
                    1008:\txchg   %eax,(%rdx)\n    100c:\txchg   %ax,%ax\n    1010:\tmov    %eax,0x10(%rsp)\n";
        assert_eq!(atomic_instructions(text), HashSet::from([0x1000, 0x1008]));
    }

    /// Fails if instructions of other objects count, or those of functions that are called count twice.
    #[test]
    fn the_instructions_of_one_object_count_as_often_as_they_are_executed() {
        let text = "positions: instr line\nevents: Ir\n\nob=/a/program\nfl=m.c\nfn=main\n0x1000 5 3\n0x1004 5 7\ncob=/a/library\n\
                    cfn=f\ncalls=2 0x1000 9\n0x1000 6 100\n0x1008 6 2\nob=/a/library\nfn=f\n0x1000 9 50\n";
        assert_eq!(executed(text, "/a/program", &HashSet::from([0x1000, 0x1008])), 5);
    }
}

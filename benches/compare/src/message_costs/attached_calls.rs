//! System calls of an operation between attached programs, which strace lists for `attach-calls`: of the threads of both programs and of the
//! node's.
//!
//! Three kinds are left out, as their number depends on time: CPUs that are yielded between looks in vain, the sleeps of `attach-calls` itself,
//! and futexes: what wakes the thread that watches handlers, at most every tenth of a second, and locks for which `attach-calls` keeps a
//! thread waiting.
//!
//! A call counts when it returns. At either mark all threads are about to wait, and have begun to or not: by the time that they begin, the
//! waits of one operation more would count in some runs.

use super::Cost;
use crate::error::{Error, context};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The rows: the calls while all threads look for work, and while all sleep before each step.
pub(super) const NAMES: [&str; 2] = [AWAKE, ASLEEP];
const AWAKE: &str = "system calls, attached PUT of 8 B with ACK, all threads awake";
const ASLEEP: &str = "system calls, attached PUT of 8 B with ACK, all threads asleep";

const OPERATIONS: u32 = 100;
/// The marks of `attach-calls` around the operations.
const BEGIN: &str = "\"attach-calls: begin\"";
const END: &str = "\"attach-calls: end\"";
/// The beginnings of the names of the threads whose calls count: those of the programs, of the library in them, and of the node.
const THREADS: [&str; 4] = ["asking", "serving", "lnet_program_", "lnet_attach_"];
const YIELD: &str = "sched_yield";
const PAUSE: &str = "clock_nanosleep";
const LOCK: &str = "futex";
/// The call that marks, which may return after the line of its mark.
const MARK: &str = "statx";

/// Counts the calls of all rows.
pub(super) fn count(program: &Path) -> Result<Vec<Cost>, Error> {
    let modes = NAMES.into_iter().zip(["awake", "asleep"]);
    let cost = |(name, mode): (&str, &str)| {
        let figure = f64::from(calls(&listing(program, mode)?)?) / f64::from(OPERATIONS);
        Ok(Cost { name: name.to_owned(), figure })
    };
    modes.map(cost).collect()
}

/// Returns the calls of all threads, one a line with the number and the name of the thread.
fn listing(program: &Path, mode: &str) -> Result<String, Error> {
    let directory = tempfile::tempdir().map_err(context("a directory for what strace writes"))?;
    let file = directory.path().join("calls");
    let mut command = Command::new("strace");
    command.args(["-f", "-Y", "-e", "signal=none", "-o"]).arg(&file).arg(program);
    command.args([mode, &OPERATIONS.to_string()]);
    let output = command.output().map_err(context("strace"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("attach-calls {mode}: {}: {errors}", output.status));
    }
    fs::read_to_string(&file).map_err(context("what strace has written"))
}

/// Returns the number of calls between the marks, of those that count.
fn calls(listing: &str) -> Result<u32, Error> {
    let between = listing.split_once(BEGIN).and_then(|(_, rest)| Some(rest.split_once(END)?.0));
    let lines: Vec<&str> = between.ok_or("attach-calls has marked no operations")?.lines().collect();
    // The rest of the first line, and the last one up to its mark, are the calls that mark.
    let [_, lines @ .., _] = &lines[..] else { return Err("attach-calls has made no calls".into()) };
    let counted = lines.iter().filter_map(|line| call(line)).filter(|(thread, name)| {
        ![YIELD, PAUSE, LOCK, MARK].contains(name) && THREADS.iter().any(|begin| thread.starts_with(begin))
    });
    u32::try_from(counted.count()).map_err(context("the number of calls"))
}

/// Reads the names of the thread and of the call from a line such as `7<asking> write(5, "...", 8) = 8`, or, if the call returns in a later
/// line than it began in, `7<asking> <... write resumed>) = 8`. A line without a call that returns is the beginning of one, or the end of a
/// thread.
fn call(line: &str) -> Option<(&str, &str)> {
    let (thread, rest) = line.split_once('<')?.1.split_once("> ")?;
    let name = match rest.strip_prefix("<... ") {
        Some(rest) => rest.split_once(" resumed>")?.0,
        None if rest.ends_with(" <unfinished ...>") => return None,
        None => rest.split_once('(')?.0,
    };
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((thread, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = r#"7<asking> write(5, "\1\0\0\0\0\0\0\0", 8) = 8
7<asking> statx(AT_FDCWD, "attach-calls: begin", AT_STATX_SYNC_AS_STAT <unfinished ...>
8<lnet_attach_01> epoll_pwait(15,  <unfinished ...>
7<asking> <... statx resumed>, STATX_ALL, 0x7ff23b7f9c90) = -1 ENOENT (No such file or directory)
7<asking> write(5, "\1\0\0\0\0\0\0\0", 8 <unfinished ...>
8<lnet_attach_01> <... epoll_pwait resumed>[{events=EPOLLIN}], 3, -1, NULL, 0) = 1
7<asking> <... write resumed>) = 8
8<lnet_attach_01> sched_yield()     = 0
8<lnet_attach_01> recvmsg(20, {msg_namelen=0}, 0) = 8
9<lnet_program_00> futex(0x56, FUTEX_WAKE_PRIVATE, 1) = 1
8<lnet_attach_01> futex(0x56, FUTEX_WAKE_PRIVATE, 1) = 1
5<lnet_monitor> futex(0x57, FUTEX_WAIT_PRIVATE, 1) = 0
8<lnet_attach_01> epoll_pwait(15,  <unfinished ...>
7<asking> clock_nanosleep(CLOCK_MONOTONIC, 0, {tv_sec=0, tv_nsec=20000},  <unfinished ...>
7<asking> <... clock_nanosleep resumed>0x7ff23b7fa2a8) = 0
5<lnet_x> +++ exited with 0 +++
7<asking> statx(AT_FDCWD, "attach-calls: end", AT_STATX_SYNC_AS_STAT) = -1 ENOENT (No such file or directory)
8<lnet_attach_01> <... epoll_pwait resumed>[{events=EPOLLIN}], 3, -1, NULL, 0) = 1
7<asking> write(5, "\1\0\0\0\0\0\0\0", 8) = 8
"#;

    #[test]
    fn calls_that_return_between_the_marks_count_and_those_of_time_do_not() {
        assert_eq!(calls(LISTING), Ok(3));
        assert!(calls(&LISTING.replace("end", "END")).is_err());
    }
}

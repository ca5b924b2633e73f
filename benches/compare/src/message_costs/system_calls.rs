//! System calls of `lnet_perf`, which strace counts in both processes, or in the router between them.
//!
//! Only calls that moved bytes count: the number of polls in vain depends on the intervals between messages. Of a router the writes
//! count, too: its threads wake each other by them. Calls before and after the operations are counted with them; there are hundreds
//! of operations for each.

use super::Cost;
use crate::error::{Error, context};
use crate::lnet::{Lnet, PathKind, Side};
use crate::scenario::{MIB, Operation, Scenario};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The operations of `lnet_perf` in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    way: PathKind,
    scenario: Scenario,
    operations: u32,
    threads: Threads,
}

/// The number of threads that read and write the connections of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    /// One, unless it is set otherwise.
    Default,
    /// Two, of which each serves one of the router's two peers.
    Two,
}

const ROUND_TRIP: Scenario = Scenario::RoundTrip { size: 8 };
const SMALL_PUTS: Scenario = Scenario::Rate { operation: Operation::Put, size: 8, in_flight: 64 };
const LARGE_GET: Scenario = Scenario::Rate { operation: Operation::Get, size: MIB, in_flight: 1 };

pub(super) const WORK: [Work; 6] = [
    work(PathKind::Direct, ROUND_TRIP, 3_000, Threads::Default),
    work(PathKind::Direct, SMALL_PUTS, 20_000, Threads::Default),
    work(PathKind::ThroughRouter, ROUND_TRIP, 3_000, Threads::Default),
    work(PathKind::ThroughRouter, SMALL_PUTS, 20_000, Threads::Default),
    work(PathKind::ThroughRouter, SMALL_PUTS, 20_000, Threads::Two),
    work(PathKind::ThroughRouter, LARGE_GET, 1_000, Threads::Default),
];

const fn work(way: PathKind, scenario: Scenario, operations: u32, threads: Threads) -> Work {
    Work { way, scenario, operations, threads }
}

pub(super) const SENDS: [&str; 4] = ["sendmsg", "sendto", "sendmmsg", "writev"];
pub(super) const RECEIVES: [&str; 4] = ["recvmsg", "recvfrom", "recvmmsg", "readv"];
/// Sockets are not written with these, but eventfds.
const WAKE_UPS: [&str; 1] = ["write"];
/// Time limit for strace to write its counts, far beyond the need.
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(30);

impl Work {
    pub(super) fn names(self) -> Vec<String> {
        let messages = match self.way {
            PathKind::Direct | PathKind::SharedMemory => "each message",
            PathKind::ThroughRouter => "each message that a router forwards",
        };
        let threads = match self.threads {
            Threads::Default => "",
            Threads::Two => ", two threads",
        };
        let name =
            |(calls, _): &(&str, &[&str])| format!("{calls} for {messages}, {}{threads}", self.scenario);
        self.counted().iter().map(name).collect()
    }

    /// Returns what is counted: the name, and the calls.
    const fn counted(self) -> &'static [(&'static str, &'static [&'static str])] {
        match self.way {
            PathKind::Direct | PathKind::SharedMemory => &[("receives", &RECEIVES), ("sends", &SENDS)],
            PathKind::ThroughRouter => &[("receives", &RECEIVES), ("sends", &SENDS), ("wake-ups", &WAKE_UPS)],
        }
    }

    /// Returns the processes whose calls count.
    const fn traced(self) -> &'static [Side] {
        match self.way {
            PathKind::Direct | PathKind::SharedMemory => &[Side::Client, Side::Server],
            PathKind::ThroughRouter => &[Side::Router],
        }
    }
}

pub(super) fn count(program: &Path, work: Work) -> Result<Vec<Cost>, Error> {
    let lnet = Lnet::by(program, work.way);
    let directory = Directory::new()?;
    let calls: Vec<&str> = work.counted().iter().flat_map(|(_, calls)| calls.iter().copied()).collect();
    let tracer = |side| {
        if !work.traced().contains(&side) {
            return Vec::new();
        }
        let words = strace(&calls, &directory.summary(side));
        let threads: &[&str] = match work.threads {
            Threads::Default => &[],
            Threads::Two => &["-E", "SOCKLND_NSCHEDS=2"],
        };
        words.into_iter().chain(threads.iter().map(OsString::from)).collect()
    };
    let sent = lnet.messages_under(tracer, work.scenario, work.operations)?;
    let mut summaries = Vec::new();
    for &side in work.traced() {
        summaries.push(finished(&directory.summary(side))?);
    }
    let count = |calls: &[&str]| summaries.iter().map(|summary| successful(summary, calls)).sum::<u64>();
    if count(&RECEIVES) == 0 || count(&SENDS) == 0 {
        return Err(format!("{}: strace has seen no message sent or received", work.scenario));
    }
    let figures = work.counted().iter().map(|(_, calls)| count(calls) as f64 / sent);
    Ok(work.names().into_iter().zip(figures).map(|(name, figure)| Cost { name, figure }).collect())
}

/// Returns the words that start a program whose calls of these names are counted.
pub(super) fn strace(calls: &[&str], summary: &Path) -> Vec<OsString> {
    let traced = format!("trace={}", calls.join(","));
    // With -D the process that is started is lnet_perf, and strace its child: it ends when lnet_perf does.
    let words = ["strace", "-D", "-qq", "-f", "-c", "--seccomp-bpf", "-e", &traced, "-o"];
    words.into_iter().map(OsString::from).chain([summary.into()]).collect()
}

/// Reads the summary of strace, once it is complete.
pub(super) fn finished(path: &Path) -> Result<String, Error> {
    let deadline = Instant::now() + SUMMARY_TIMEOUT;
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if text.trim_end().ends_with("total") {
            return Ok(text);
        }
        if Instant::now() > deadline {
            return Err(format!("strace has not written its counts: {text}"));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the number of calls of these names that did not fail.
pub(super) fn successful(summary: &str, names: &[&str]) -> u64 {
    calls(summary, names).map(|(all, failed)| all.saturating_sub(failed)).sum()
}

/// Returns the number of calls of these names that failed.
pub(super) fn failed(summary: &str, names: &[&str]) -> u64 {
    calls(summary, names).map(|(_, failed)| failed).sum()
}

/// Returns for each of these names the number of calls, and of those that failed. The columns of a summary: share of the time,
/// seconds, microseconds for each call, calls, errors if there were any, name.
fn calls<'a>(summary: &'a str, names: &'a [&str]) -> impl Iterator<Item = (u64, u64)> + 'a {
    summary.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (calls, errors, name) = match columns[..] {
            [_, _, _, calls, name] => (calls, "0", name),
            [_, _, _, calls, errors, name] => (calls, errors, name),
            _ => return None,
        };
        let is_named = names.contains(&name);
        calls.parse().ok().zip(errors.parse().ok()).filter(|_| is_named)
    })
}

/// A directory that is removed when this is dropped.
pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn new() -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("message-costs-{}", std::process::id()));
        fs::create_dir(&path).map_err(context("a directory for what strace writes"))?;
        Ok(Self(path))
    }

    pub(super) fn summary(&self, side: Side) -> PathBuf {
        self.0.join(format!("{side:?}"))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A few lines of text are left.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 50.16    0.098783           4     19891      9873 recvmsg
 49.75    0.097974           9     10007           sendmsg
  0.07    0.000133          19         7           sendto
  0.02    0.000032           3         9         2 recvfrom
------ ----------- ----------- --------- --------- ----------------
100.00    0.196922           6     29914      9875 total
";

    #[test]
    fn calls_that_failed_are_counted_by_themselves() {
        assert_eq!(successful(SUMMARY, &RECEIVES), 10018 + 7);
        assert_eq!(successful(SUMMARY, &SENDS), 10014);
        assert_eq!(successful("", &SENDS), 0);
        assert_eq!(failed(SUMMARY, &RECEIVES), 9873 + 2);
    }
}

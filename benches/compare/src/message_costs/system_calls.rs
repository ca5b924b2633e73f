//! System calls of `lnet_perf`, which strace counts in both processes, or in the router between them.
//!
//! Only calls that moved bytes count: the number of polls in vain depends on the intervals between messages. Calls before
//! and after the operations are counted with them; there are hundreds of operations for each.

use super::Cost;
use crate::error::{Error, context};
use crate::lnet::{Lnet, PathKind, Side};
use crate::scenario::{Operation, Scenario};
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
}

const ROUND_TRIP: Scenario = Scenario::RoundTrip { size: 8 };
const SMALL_PUTS: Scenario = Scenario::Rate { operation: Operation::Put, size: 8, in_flight: 64 };

pub(super) const WORK: [Work; 4] = [
    Work { way: PathKind::Direct, scenario: ROUND_TRIP, operations: 3_000 },
    Work { way: PathKind::Direct, scenario: SMALL_PUTS, operations: 20_000 },
    Work { way: PathKind::ThroughRouter, scenario: ROUND_TRIP, operations: 3_000 },
    Work { way: PathKind::ThroughRouter, scenario: SMALL_PUTS, operations: 20_000 },
];

const SENDS: [&str; 4] = ["sendmsg", "sendto", "sendmmsg", "writev"];
const RECEIVES: [&str; 4] = ["recvmsg", "recvfrom", "recvmmsg", "readv"];
/// Time limit for strace to write its counts, far beyond the need.
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(30);

impl Work {
    pub(super) fn names(self) -> [String; 2] {
        let messages = match self.way {
            PathKind::Direct | PathKind::SharedMemory => "each message",
            PathKind::ThroughRouter => "each message that a router forwards",
        };
        ["receives", "sends"].map(|calls| format!("{calls} for {messages}, {}", self.scenario))
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
    let traced = format!("trace={}", [SENDS, RECEIVES].concat().join(","));
    // With -D the process that is started is lnet_perf, and strace its child: it ends when lnet_perf does.
    let tracer = |side| {
        if !work.traced().contains(&side) {
            return Vec::new();
        }
        let words = ["strace", "-D", "-qq", "-f", "-c", "--seccomp-bpf", "-e", &traced, "-o"];
        words.into_iter().map(OsString::from).chain([directory.summary(side).into()]).collect()
    };
    let sent = lnet.messages_under(tracer, work.scenario, work.operations)?;
    let (mut receives, mut sends) = (0, 0);
    for &side in work.traced() {
        let summary = finished(&directory.summary(side))?;
        receives += successful(&summary, &RECEIVES);
        sends += successful(&summary, &SENDS);
    }
    if receives == 0 || sends == 0 {
        return Err(format!("{}: strace has seen no message sent or received", work.scenario));
    }
    let costs = work.names().into_iter().zip([receives, sends]);
    Ok(costs.map(|(name, calls)| Cost { name, figure: calls as f64 / sent }).collect())
}

/// Reads the summary of strace, once it is complete.
fn finished(path: &Path) -> Result<String, Error> {
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

/// Returns the number of calls of these names that did not fail. The columns of a summary: share of the time, seconds,
/// microseconds for each call, calls, errors if there were any, name.
fn successful(summary: &str, names: &[&str]) -> u64 {
    let of_line = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (calls, errors, name) = match columns[..] {
            [_, _, _, calls, name] => (calls, "0", name),
            [_, _, _, calls, errors, name] => (calls, errors, name),
            _ => return None,
        };
        let count: u64 = calls.parse().ok()?;
        names.contains(&name).then_some(count.saturating_sub(errors.parse().ok()?))
    };
    summary.lines().filter_map(of_line).sum()
}

/// A directory that is removed when this is dropped.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("message-costs-{}", std::process::id()));
        fs::create_dir(&path).map_err(context("a directory for what strace writes"))?;
        Ok(Self(path))
    }

    fn summary(&self, side: Side) -> PathBuf {
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
    fn calls_that_failed_are_not_counted() {
        assert_eq!(successful(SUMMARY, &RECEIVES), 10018 + 7);
        assert_eq!(successful(SUMMARY, &SENDS), 10014);
        assert_eq!(successful("", &SENDS), 0);
    }
}

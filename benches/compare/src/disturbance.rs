//! Share of the machine that other programs use during a measurement.

use crate::error::{Error, context};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Maximum share that others may use before a sample is taken again.
const TOLERATED: f64 = 0.05;
/// Maximum number of times that a sample is taken before the least disturbed one counts.
const ATTEMPTS: u32 = 5;
/// Pause before a disturbed sample is taken again, in which other programs may finish.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Budget and counts of samples that others disturbed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disturbance {
    /// Time that is left for taking samples again, in all.
    repeat_limit: Duration,
    pub(crate) samples: u64,
    /// Number of samples that count although others used more than is tolerated.
    pub(crate) disturbed: u64,
}

impl Disturbance {
    /// Makes a budget of `repeat_limit` for samples that are taken again.
    pub(crate) fn new(repeat_limit: Duration) -> Self {
        Self { repeat_limit, samples: 0, disturbed: 0 }
    }

    /// Takes a sample, again and again while others use too much of the machine.
    pub(crate) fn undisturbed<T>(
        &mut self,
        mut sample: impl FnMut() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut best: Option<(T, f64)> = None;
        for attempt in 1..=ATTEMPTS {
            let begin = Instant::now();
            let before = Time::now()?;
            let value = sample()?;
            let others = Time::now()?.others_since(before);
            if best.as_ref().is_none_or(|(_, least)| others < *least) {
                best = Some((value, others));
            }
            let again = RETRY_PAUSE + begin.elapsed();
            if others <= TOLERATED || attempt == ATTEMPTS || again > self.repeat_limit {
                break;
            }
            self.repeat_limit -= again;
            thread::sleep(RETRY_PAUSE);
        }
        let (value, others) = best.ok_or("no sample")?;
        self.samples += 1;
        self.disturbed += u64::from(others > TOLERATED);
        Ok(value)
    }
}

/// Processor time since the start of the machine, in ticks of all processors together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Time {
    all: u64,
    /// Ticks in programs, or taken away by the host. Without interrupts: those are the network's, of this program too.
    used: u64,
    /// Ticks in this program and in the processes that it started and that have ended.
    own: u64,
}

impl Time {
    fn now() -> Result<Self, Error> {
        let machine = fs::read_to_string("/proc/stat").map_err(context("/proc/stat"))?;
        let program = fs::read_to_string("/proc/self/stat").map_err(context("/proc/self/stat"))?;
        Self::parse(&machine, &program).ok_or_else(|| "the times in /proc are not as expected".into())
    }

    fn parse(machine: &str, program: &str) -> Option<Self> {
        let line = machine.lines().next()?.strip_prefix("cpu ")?;
        let times: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; the other columns are contained in user and nice.
        let [user, nice, system, _, _, _, _, steal] = *times.first_chunk()?;
        // The name, in parentheses, may contain any character. It is followed by user and system time, then those of the
        // children.
        let (_, fields) = program.rsplit_once(')')?;
        let own = fields.split_whitespace().skip(11).take(4).map_while(|word| word.parse::<u64>().ok());
        let all = times.iter().take(8).sum();
        Some(Self { all, used: user + nice + system + steal, own: own.sum() })
    }

    /// Returns the share of the machine that others have used since `before`.
    fn others_since(self, before: Self) -> f64 {
        let used = self.used.saturating_sub(before.used);
        let own = self.own.saturating_sub(before.own);
        let all = self.all.saturating_sub(before.all).max(1);
        used.saturating_sub(own) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_proc() {
        let machine = "cpu  10 1 5 100 2 3 4 6 0 0\ncpu0 1 2 3\n";
        let program = "7 (a ) b) S 1 7 7 0 -1 4194560 100 0 0 0 3 4 5 6 20 0 1 0\n";
        let expected = Time { all: 131, used: 22, own: 18 };
        assert_eq!(Time::parse(machine, program), Some(expected));
        assert_eq!(Time::parse("cpu 1 2", program), None);
    }

    #[test]
    fn cpu_time_not_used_by_this_program_was_used_by_others() {
        let before = Time { all: 1000, used: 100, own: 10 };
        let after = Time { all: 1200, used: 180, own: 60 };
        assert!((after.others_since(before) - 0.15).abs() < 1e-9);
    }
}

//! CPU time of the processes of a contestant.

use crate::error::{Error, context};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::fs;

/// CPU time, and the messages that it was spent on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    pub(crate) messages: u64,
}

impl Cost {
    /// Returns the seconds for each message beyond those of a trial. Both runs start and end the same processes, so that
    /// only the cost of messages remains. `None` if that is too small to measure.
    pub(crate) fn of_message(self, trial: Self) -> Option<f64> {
        let messages = self.messages.checked_sub(trial.messages).filter(|messages| *messages > 0)?;
        let seconds = self.seconds - trial.seconds;
        (seconds > 0.0).then_some(seconds / messages as f64)
    }
}

/// Returns the CPU seconds of this program, and of the processes that it started and that have ended.
pub(crate) fn used() -> Result<f64, Error> {
    let mut seconds = 0.0;
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who).map_err(context("getrusage"))?;
        let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        seconds += microseconds as f64 / 1e6;
    }
    Ok(seconds)
}

/// Returns the CPU seconds of another, running process. More exact than the ticks in `/proc/PID/stat`.
pub(crate) fn of_process(id: u32) -> Result<f64, Error> {
    let tasks = format!("/proc/{id}/task");
    let mut nanoseconds = 0;
    for task in fs::read_dir(&tasks).map_err(context(&tasks))? {
        let path = task.map_err(context(&tasks))?.path().join("schedstat");
        let text = fs::read_to_string(&path).map_err(context("schedstat"))?;
        nanoseconds += nanoseconds_on_cpu(&text)?;
    }
    Ok(nanoseconds as f64 / 1e9)
}

/// Reads the first number of a `schedstat`.
fn nanoseconds_on_cpu(schedstat: &str) -> Result<u64, Error> {
    let number = schedstat.split_whitespace().next().ok_or("an empty schedstat")?;
    number.parse().map_err(context("schedstat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_on_the_cpu_is_the_first_number_of_schedstat() {
        assert_eq!(nanoseconds_on_cpu("12345 678 9\n"), Ok(12345));
        assert!(nanoseconds_on_cpu("").is_err());
    }

    #[test]
    fn what_a_message_costs_leaves_out_what_the_trial_cost_too() {
        let trial = Cost { seconds: 0.25, messages: 100 };
        for (seconds, messages, expected) in
            [(1.25, 1_000_100, Some(1e-6)), (0.2, 1100, None), (1.0, 100, None), (1.0, 50, None)]
        {
            assert_eq!(Cost { seconds, messages }.of_message(trial), expected, "{messages}");
        }
    }
}

//! Contestants of the comparison, and their interface.

use crate::delays::Percentiles;
use crate::error::Error;
use crate::scenario::Scenario;
use std::collections::HashMap;
use std::time::Duration;

/// The result of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// The measured value, in the scenario's unit.
    pub(crate) value: f64,
    /// Number of messages of the run, including the warm-up; a round trip is two.
    pub(crate) messages: u64,
    /// CPU seconds of the process between the two ends, if there is one.
    pub(crate) between: Option<f64>,
    /// The delays of single round trips, if the contestant says them.
    pub(crate) delays: Option<Percentiles>,
}

/// A network stack, used in one particular way.
pub(crate) trait Contestant {
    /// Returns the contestant's name in the report; no two contestants have the same.
    fn name(&self) -> &'static str;

    /// Whether the contestant can run the scenario.
    fn supports(&self, scenario: Scenario) -> bool;

    /// Runs the scenario as shortly as possible, before any other run of it. Most of its duration is the start of
    /// processes.
    fn trial(&mut self, scenario: Scenario) -> Result<Sample, Error>;

    /// Runs the scenario for about `duration`.
    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<Sample, Error>;
}

/// A test program whose argument is a number of iterations, not a duration.
pub(crate) trait IterationTest {
    fn name(&self) -> &'static str;

    fn supports(&self, scenario: Scenario) -> bool;

    /// Returns the number of messages of an iteration that follow one another.
    fn messages_of_iteration(&self, scenario: Scenario) -> u64;

    /// Runs `iterations` iterations, which take about `duration`.
    fn measure(&self, scenario: Scenario, iterations: u64, duration: Duration) -> Result<Sample, Error>;
}

/// Number of iterations of a trial.
const TRIAL_ITERATIONS: u64 = 100;

/// Makes a contestant of an [`IterationTest`]: determines the number of iterations for the time of a sample.
pub(crate) struct Timed<T> {
    test: T,
    /// The time that one iteration took in the last run, in microseconds.
    iteration_time: HashMap<Scenario, f64>,
}

impl<T: IterationTest> Timed<T> {
    pub(crate) fn new(test: T) -> Self {
        Self { test, iteration_time: HashMap::new() }
    }

    fn run(&mut self, scenario: Scenario, iterations: u64, duration: Duration) -> Result<Sample, Error> {
        let sample = self.test.measure(scenario, iterations, duration)?;
        let messages = self.test.messages_of_iteration(scenario) as f64;
        // The next run derives its count from this one: the trial may have been made on a busy machine.
        self.iteration_time.insert(scenario, messages * scenario.one_way_of_value(sample.value));
        Ok(sample)
    }
}

impl<T: IterationTest> Contestant for Timed<T> {
    fn name(&self) -> &'static str {
        self.test.name()
    }

    fn supports(&self, scenario: Scenario) -> bool {
        self.test.supports(scenario)
    }

    fn trial(&mut self, scenario: Scenario) -> Result<Sample, Error> {
        self.run(scenario, TRIAL_ITERATIONS, Duration::ZERO)
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<Sample, Error> {
        let time = self.iteration_time.get(&scenario).ok_or("it had no trial")?;
        let iterations = (duration.as_secs_f64() * 1e6 / time) as u64;
        self.run(scenario, iterations.max(TRIAL_ITERATIONS), duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// A test that takes 2 microseconds for a message, and records the numbers of iterations.
    struct Fake(RefCell<Vec<u64>>);

    impl IterationTest for &Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        fn supports(&self, _: Scenario) -> bool {
            true
        }

        fn messages_of_iteration(&self, scenario: Scenario) -> u64 {
            scenario.messages_of_operation()
        }

        fn measure(&self, scenario: Scenario, iterations: u64, _: Duration) -> Result<Sample, Error> {
            self.0.borrow_mut().push(iterations);
            Ok(Sample {
                value: scenario.value_of_one_way(2.0),
                messages: 2 * iterations,
                between: None,
                delays: None,
            })
        }
    }

    #[test]
    fn one_trial_tells_how_many_iterations_fill_the_time() {
        let fake = Fake(RefCell::default());
        let mut timed = Timed::new(&fake);
        let scenario = Scenario::RoundTrip { size: 8 };
        assert!(timed.measure(scenario, Duration::from_millis(20)).is_err());
        assert_eq!(timed.trial(scenario).map(|sample| sample.messages), Ok(2 * TRIAL_ITERATIONS));
        for _ in 0..2 {
            let sample = timed.measure(scenario, Duration::from_millis(20));
            assert_eq!(sample.map(|sample| sample.value), Ok(4.0));
        }
        assert_eq!(*fake.0.borrow(), [TRIAL_ITERATIONS, 5000, 5000]);
    }
}

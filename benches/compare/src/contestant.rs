//! What takes part in the comparison, and what it has to offer for that.

use crate::error::Error;
use crate::scenario::Scenario;
use std::collections::HashMap;
use std::time::Duration;

/// A network stack, used in one particular way.
pub(crate) trait Contestant {
    /// Its name in the report; no two contestants have the same.
    fn name(&self) -> &'static str;

    /// Whether it can do what the scenario asks for.
    fn supports(&self, scenario: Scenario) -> bool;

    /// One sample, in the scenario's unit, that takes about `duration`.
    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<f64, Error>;
}

/// A test program that is told how many iterations to run, not for how long.
pub(crate) trait IterationTest {
    fn name(&self) -> &'static str;

    fn supports(&self, scenario: Scenario) -> bool;

    /// One sample, in the scenario's unit, of so many iterations.
    fn measure(&self, scenario: Scenario, iterations: u64) -> Result<f64, Error>;
}

/// How many iterations the first run has, which tells how long one takes.
const TRIAL_ITERATIONS: u64 = 100;

/// Makes a contestant of an [`IterationTest`]: finds out how many iterations take the time that a sample should take.
pub(crate) struct Timed<T> {
    test: T,
    iterations: HashMap<Scenario, u64>,
}

impl<T> Timed<T> {
    pub(crate) fn new(test: T) -> Self {
        Self { test, iterations: HashMap::new() }
    }
}

impl<T: IterationTest> Contestant for Timed<T> {
    fn name(&self) -> &'static str {
        self.test.name()
    }

    fn supports(&self, scenario: Scenario) -> bool {
        self.test.supports(scenario)
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<f64, Error> {
        let enough = |value: f64| {
            let wanted = duration.as_secs_f64() * 1e6 / scenario.one_way_of_value(value);
            (wanted as u64).max(TRIAL_ITERATIONS)
        };
        let count = match self.iterations.get(&scenario) {
            Some(count) => *count,
            None => enough(self.test.measure(scenario, TRIAL_ITERATIONS)?),
        };
        let value = self.test.measure(scenario, count)?;
        // The next sample takes its count from this one: the trial may have met a busy machine.
        self.iterations.insert(scenario, enough(value));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::SCENARIOS;
    use std::cell::RefCell;

    /// Takes 2 microseconds for a message, and notes how many iterations were asked for.
    struct Fake(RefCell<Vec<u64>>);

    impl IterationTest for &Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        fn supports(&self, _: Scenario) -> bool {
            true
        }

        fn measure(&self, scenario: Scenario, iterations: u64) -> Result<f64, Error> {
            self.0.borrow_mut().push(iterations);
            Ok(scenario.value_of_one_way(2.0))
        }
    }

    #[test]
    fn one_trial_tells_how_many_iterations_fill_the_time() {
        let fake = Fake(RefCell::default());
        let mut timed = Timed::new(&fake);
        for _ in 0..2 {
            assert_eq!(timed.measure(SCENARIOS[0], Duration::from_millis(10)), Ok(4.0));
        }
        assert_eq!(*fake.0.borrow(), [TRIAL_ITERATIONS, 5000, 5000]);
    }
}

//! The rounds: every contestant once in each scenario, again and again.

use crate::contestant::Sample;
use crate::contestants::Entrant;
use crate::cpu::{self, Cost};
use crate::delays::Percentiles;
use crate::disturbance::Disturbance;
use crate::error::Error;
use crate::options::Options;
use crate::results::{Entry, Measured, Results, Row};
use crate::scenario::Scenario;
use crate::statistics::Summary;

/// Measures the scenarios with all contestants for which `takes_part` holds.
pub(crate) fn run(
    entrants: &mut [Entrant],
    scenarios: &[Scenario],
    takes_part: impl Fn(&str, Scenario) -> bool,
    options: &Options,
) -> Results {
    let mut disturbance = Disturbance::new(options.repeat_limit);
    let mut cells: Vec<Cell> = Vec::new();
    for &scenario in scenarios {
        for (index, entrant) in entrants.iter().enumerate() {
            let contestant = &entrant.contestant;
            if contestant.supports(scenario) && takes_part(contestant.name(), scenario) {
                cells.push(Cell::new(index, scenario, entrant.absent.clone()));
            }
        }
    }
    for round in 1..=options.rounds {
        for cell in &mut cells {
            if let Some(entrant) = entrants.get_mut(cell.entrant) {
                cell.sample(round, entrant, &mut disturbance, options);
            }
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for cell in cells {
        let Some(entrant) = entrants.get(cell.entrant) else { continue };
        let scenario = cell.scenario;
        let entry = Entry { name: entrant.contestant.name(), outcome: cell.outcome() };
        match rows.last_mut().filter(|row| row.scenario == scenario) {
            Some(row) => row.entries.push(entry),
            None => rows.push(Row { scenario, entries: vec![entry] }),
        }
    }
    Results { rows, disturbance }
}

/// The measurements of one contestant in one scenario.
struct Cell {
    entrant: usize,
    scenario: Scenario,
    /// The value and cost of the trial, once there was one.
    trial: Option<Metered>,
    values: Vec<f64>,
    cpu: Vec<f64>,
    between: Vec<f64>,
    delays: Vec<Percentiles>,
    failure: Option<Error>,
}

impl Cell {
    fn new(entrant: usize, scenario: Scenario, failure: Option<Error>) -> Self {
        let [values, cpu, between] = [Vec::new(), Vec::new(), Vec::new()];
        Self { entrant, scenario, trial: None, values, cpu, between, delays: Vec::new(), failure }
    }

    /// Takes a sample. A contestant that fails twice in a row is not measured again: each time may last until a time limit.
    fn sample(
        &mut self,
        round: usize,
        entrant: &mut Entrant,
        disturbance: &mut Disturbance,
        options: &Options,
    ) {
        if self.failure.is_some() {
            return;
        }
        let (scenario, name) = (self.scenario, entrant.contestant.name());
        let mut attempt = || self.attempt(entrant, disturbance, options);
        match attempt().or_else(|_| attempt()) {
            Ok(value) => eprintln!("round {round}: {scenario}: {name}: {}", scenario.show(value)),
            Err(error) => {
                eprintln!("round {round}: {scenario}: {name}: failed: {error}");
                self.failure = Some(error);
            }
        }
    }

    fn attempt(
        &mut self,
        entrant: &mut Entrant,
        disturbance: &mut Disturbance,
        options: &Options,
    ) -> Result<f64, Error> {
        let (scenario, contestant) = (self.scenario, &mut entrant.contestant);
        let trial = match self.trial {
            Some(trial) => trial,
            None => metered(|| contestant.trial(scenario))?,
        };
        self.trial = Some(trial);
        let found = disturbance.undisturbed(|| metered(|| contestant.measure(scenario, options.duration)))?;
        self.values.push(found.value);
        self.cpu.extend(found.all.of_message(trial.all));
        self.delays.extend(found.delays);
        let between = found.between.zip(trial.between);
        self.between.extend(between.and_then(|(cost, trial)| cost.of_message(trial)));
        Ok(found.value)
    }

    fn outcome(self) -> Result<Measured, Error> {
        match self.failure {
            Some(failure) => Err(failure),
            None => {
                let value = Summary::of(&self.values).ok_or("no rounds")?;
                let [cpu, between] =
                    [self.cpu, self.between].map(|costs| Summary::of(&costs).map(|costs| costs.median));
                Ok(Measured { value, cpu, between, delays: medians(&self.delays) })
            }
        }
    }
}

/// The median of the rounds for each rank; `None` without rounds.
fn medians(delays: &[Percentiles]) -> Option<Percentiles> {
    let mut ranks =
        (0..).map(|rank| delays.iter().filter_map(|its| its.0.get(rank).copied()).collect::<Vec<_>>());
    let mut next = || Some(Summary::of(&ranks.next()?)?.median);
    Some(Percentiles([next()?, next()?, next()?]))
}

/// The value and the cost of a sample.
#[derive(Clone, Copy)]
struct Metered {
    value: f64,
    all: Cost,
    between: Option<Cost>,
    delays: Option<Percentiles>,
}

fn metered(sample: impl FnOnce() -> Result<Sample, Error>) -> Result<Metered, Error> {
    let before = cpu::used()?;
    let Sample { value, messages, between, delays } = sample()?;
    let cost = |seconds| Cost { seconds, messages };
    Ok(Metered { value, all: cost(cpu::used()? - before), between: between.map(cost), delays })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestant::Contestant;
    use std::time::Duration;

    /// A contestant that fails in its first runs, and then succeeds.
    struct Fake {
        failures: u32,
    }

    impl Contestant for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        fn supports(&self, _: Scenario) -> bool {
            true
        }

        fn trial(&mut self, _: Scenario) -> Result<Sample, Error> {
            Ok(Sample { value: 1.0, messages: 1, between: None, delays: None })
        }

        fn measure(&mut self, _: Scenario, _: Duration) -> Result<Sample, Error> {
            if self.failures > 0 {
                self.failures -= 1;
                return Err("no luck".into());
            }
            Ok(Sample { value: 5.0, messages: 1000, between: None, delays: None })
        }
    }

    fn medians(failures: &[u32], absent: Option<&str>) -> Vec<Result<f64, Error>> {
        let entrant = |failures: &u32| Entrant {
            contestant: Box::new(Fake { failures: *failures }),
            absent: absent.map(str::to_owned),
        };
        let mut entrants: Vec<Entrant> = failures.iter().map(entrant).collect();
        let options = Options { rounds: 3, repeat_limit: Duration::ZERO, ..Options::default() };
        let results = run(&mut entrants, &[Scenario::RoundTrip { size: 8 }], |_, _| true, &options);
        let [row] = &results.rows[..] else { panic!("one row") };
        row.entries
            .iter()
            .map(|it| it.outcome.as_ref().map(|it| it.value.median).map_err(Clone::clone))
            .collect()
    }

    #[test]
    fn who_fails_twice_in_a_row_is_named_and_the_others_go_on() {
        assert_eq!(medians(&[0, 1, 2], None), [Ok(5.0), Ok(5.0), Err("no luck".into())]);
    }

    #[test]
    fn who_is_absent_says_why() {
        assert_eq!(medians(&[0], Some("not installed")), [Err("not installed".into())]);
    }
}

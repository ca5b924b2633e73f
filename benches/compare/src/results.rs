//! Results of the measurements.

use crate::delays::Percentiles;
use crate::disturbance::Disturbance;
use crate::error::Error;
use crate::scenario::Scenario;
use crate::statistics::Summary;

pub(crate) struct Results {
    pub(crate) rows: Vec<Row>,
    pub(crate) disturbance: Disturbance,
}

/// A scenario, and its contestants, in order.
pub(crate) struct Row {
    pub(crate) scenario: Scenario,
    pub(crate) entries: Vec<Entry>,
}

pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// The measured values, or the error.
    pub(crate) outcome: Result<Measured, Error>,
}

#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) value: Summary,
    /// CPU seconds of all processes for a message, the median of the rounds.
    pub(crate) cpu: Option<f64>,
    /// CPU seconds of the process between the two sides, if there is one.
    pub(crate) between: Option<f64>,
    /// The delays of single round trips: of each rank the median of the rounds.
    pub(crate) delays: Option<Percentiles>,
}

impl Row {
    pub(crate) fn of(&self, name: &str) -> Option<&Measured> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        entry.outcome.as_ref().ok()
    }
}

impl Results {
    /// Returns the median of one contestant in one scenario.
    pub(crate) fn median(&self, name: &str, scenario: Scenario) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.scenario == scenario)?;
        Some(row.of(name)?.value.median)
    }
}

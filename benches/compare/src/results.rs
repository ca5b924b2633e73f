//! What was measured.

use crate::disturbance::Disturbance;
use crate::scenario::Scenario;
use crate::statistics::Summary;

pub(crate) struct Results {
    /// For each scenario, in order, the contestants that took part, by name.
    pub(crate) scenarios: Vec<(Scenario, Vec<(&'static str, Summary)>)>,
    pub(crate) disturbance: Disturbance,
}

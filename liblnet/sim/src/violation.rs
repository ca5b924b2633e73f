//! Reports of violations of invariants.

use std::fmt;

/// A violated invariant, with the means to reproduce it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Description of the violation.
    pub what: String,
    /// The scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// The order of events that was chosen, if the caller chose it.
    pub path: Option<String>,
    /// The last events, oldest first.
    pub trace: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.scenario, self.what)?;
        writeln!(f, "what happened last:")?;
        self.trace.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        match &self.path {
            Some(path) => write!(f, "reproduce: LNET_SIM_PATH={path} cargo test -p lnet-sim THIS_TEST"),
            None => write!(f, "reproduce: LNET_SIM_SEED={} cargo test -p lnet-sim THIS_TEST", self.seed),
        }
    }
}

impl std::error::Error for Violation {}

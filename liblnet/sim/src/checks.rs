//! The checks of a world against its invariants.

use crate::invariants;
use crate::node::lock;
use crate::shown;
use crate::trace::NodeId;
use crate::violation::Violation;
use crate::world::World;

/// Minimum number of steps between two comparisons of a node's shown state with its selection, which take longer than the
/// other checks.
const COMPARE_EVERY: u32 = 50;

/// Invariants.
impl World {
    /// Notes a violation unless `holds`; `otherwise` describes it.
    pub fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.fail(otherwise());
        }
    }

    /// Whether there is no violation yet.
    pub const fn is_sound(&self) -> bool {
        self.violation.is_none()
    }

    /// The first violation, if there is one.
    pub fn finish(&mut self) -> Result<(), Box<Violation>> {
        match self.violation.take() {
            Some(broken) => Err(broken),
            None => Ok(()),
        }
    }

    /// Checks the invariants of a world with nothing under way: see [`invariants::quiet`].
    pub fn check_quiet(&mut self) {
        if let Err(what) = invariants::quiet(self) {
            self.fail(what);
        }
    }

    /// Checks that two nodes know each other's present state: see [`invariants::agreement`].
    pub fn check_agreement(&mut self, a: NodeId, b: NodeId) {
        if let Err(what) = invariants::agreement(self, a, b) {
            self.fail(what);
        }
    }

    /// Checks the invariants that hold for the node after every step.
    pub(crate) fn check(&mut self, node: NodeId) {
        let error = lock(&self.ledger).error.take();
        if let Some(error) = error {
            self.fail(error.0);
        }
        let wrong = self.network.lock().families.take_wrong();
        if let Some(wrong) = wrong {
            self.fail(wrong);
        }
        if self.config.check_operations
            && let Err(what) = self.check_ended_ops()
        {
            self.fail(what);
        }
        self.unchecked += 1;
        if self.config.check_every == 0 || self.unchecked < self.config.check_every {
            return;
        }
        self.unchecked = 0;
        let Some(core) = self.core(node) else { return };
        self.not_compared += self.config.check_every;
        let compares = self.not_compared >= COMPARE_EVERY;
        let mut checked = invariants::node(&core);
        if compares {
            self.not_compared = 0;
            checked = checked.and_then(|()| shown::agrees_with_selection(&core));
        }
        let peers = core.admin().peers().len();
        if let Some(it) = self.nodes.get_mut(node.0 as usize) {
            self.peers_joined += it.peers.saturating_sub(peers) as u64;
            it.peers = peers;
        }
        if let Err(what) = checked {
            self.fail(format!("{node}: {what}"));
        }
    }

    pub(crate) fn fail(&mut self, what: String) {
        if self.violation.is_some() {
            return;
        }
        let trace = self.network.lock().trace.lines().map(ToString::to_string).collect();
        let (scenario, seed) = (self.scenario.clone(), self.config.seed);
        self.violation = Some(Box::new(Violation { what, scenario, seed, path: None, trace }));
    }
}

//! The oracle checks the results of operations: none may fail while a path has been usable all the time, and
//! none may end late.

use crate::faults::FaultPoint;
use crate::ledger::{Op, OpKind};
use crate::match_bits::OpId;
use crate::node::lock;
use crate::trace::NodeId;
use crate::world::World;
use lnet_core::{Errno, Settings, Time};
use lnet_wire::Nid;
use std::time::Duration;

/// Maximum delay with which a node notices that a timeout has passed.
const NOTICE: Duration = Duration::from_secs(3);

impl World {
    /// Checks the operations that ended since the last call, without those of nodes that were frozen.
    pub(crate) fn check_ended_ops(&self) -> Result<(), String> {
        if !self.deduplicates() {
            return Ok(());
        }
        let ended: Vec<(OpId, Op)> = {
            let ledger = &mut *lock(&self.ledger);
            let ids = std::mem::take(&mut ledger.just_ended);
            ids.into_iter().filter_map(|id| Some((id, ledger.op(id)?.clone()))).collect()
        };
        ended.into_iter().try_for_each(|(id, op)| self.check_op(id, &op))
    }

    /// Whether nothing of an operation was ever sent: it failed with the discovery of its peer.
    pub(crate) fn was_never_sent(&self, id: OpId) -> bool {
        !self.network.lock().attempted.contains(&id)
    }

    fn check_op(&self, id: OpId, op: &Op) -> Result<(), String> {
        if op.given_up {
            return Ok(());
        }
        let Some(settings) = self.core(op.node).map(|core| core.settings()) else { return Ok(()) };
        let took = op.end.unwrap_or(Time::START).since(op.started);
        let most = longest(&settings);
        if took > most && !self.stood_still_since(op.node, op.started) {
            return Err(format!("operation {} of {} ends after {took:?}, more than {most:?}", id.0, op.node));
        }
        if op.succeeded() {
            return Ok(());
        }
        let breaks_always = self.network.lock().config.breaks_one_in == 1;
        if settings.retry_count == 0 || breaks_always {
            return Ok(());
        }
        // An operation that waits for a discovery without a response fails with it.
        let was_not_discovered = self.was_never_sent(id) && took + NOTICE >= discovery(&settings);
        if took + NOTICE < transaction(&settings) && !was_not_discovered && !self.was_down(op) {
            return Err(format!(
                "operation {} of {} to {} fails ({}) after {took:?}, long before its timeout",
                id.0,
                op.node,
                op.target,
                op.failure()
            ));
        }
        let Some((own, other)) = self.healthy_path(op) else { return Ok(()) };
        Err(format!(
            "operation {} of {} to {} fails ({}), and {own} -> {other} was usable all the time",
            id.0,
            op.node,
            op.target,
            op.failure()
        ))
    }

    /// Returns a path that has been usable since before the operation began.
    fn healthy_path(&self, op: &Op) -> Option<(Nid, Nid)> {
        let living = |(own, other): &&(Nid, Nid)| {
            self.healthy_since(*own, *other).is_some_and(|since| since <= op.started)
        };
        op.paths.iter().find(living).copied()
    }

    /// Whether the peer, or the node itself, was down at any time since an operation began.
    fn was_down(&self, op: &Op) -> bool {
        let owns = |node: &NodeId| self.nids(*node).contains(&op.target);
        let owner = self.node_ids().find(owns);
        let faults = &self.network.lock().faults;
        let was_down = |node| faults.broken_since(FaultPoint::Down(node), op.started);
        was_down(op.node) || owner.is_none_or(was_down)
    }
}

impl Op {
    /// Returns the result; [`Errno::TimedOut`] for an operation without a response.
    pub fn outcome(&self) -> Result<(), Errno> {
        match (self.sent, self.answered, self.ask) {
            (Some(Err(errno)), ..) | (_, Some(Err(errno)), _) => Err(errno),
            (Some(Ok(())), Some(Ok(())), _) | (Some(Ok(())), None, OpKind::Put) => Ok(()),
            _ => Err(Errno::TimedOut),
        }
    }

    fn failure(&self) -> &'static str {
        self.outcome().map_or_else(|errno| errno.text(), |()| "no answer")
    }
}

fn transaction(settings: &Settings) -> Duration {
    Duration::from_secs(settings.transaction_timeout.into())
}

fn discovery(settings: &Settings) -> Duration {
    Duration::from_secs(settings.discovery_timeout.into())
}

/// Maximum time that an operation may take, with all resends (HE-41).
pub(crate) fn longest(settings: &Settings) -> Duration {
    let timeout = transaction(settings);
    timeout + timeout / 2 + NOTICE
}

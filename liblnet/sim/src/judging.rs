//! Whether an operation may have ended as it did: none fails while a pair of interfaces is well, and none ends late.

use crate::faults::Spot;
use crate::ledger::{Ask, Op};
use crate::match_bits::OpId;
use crate::node::lock;
use crate::trace::NodeId;
use crate::world::World;
use lnet_core::{Errno, Settings, Time};
use lnet_wire::Nid;
use std::time::Duration;

/// What a node may need to notice that the time is over.
const NOTICE: Duration = Duration::from_secs(3);

impl World {
    /// What has ended since the last time. Nothing is said of operations of nodes that stood still.
    pub(crate) fn judge_ended(&self) -> Result<(), String> {
        if !self.knows_again() {
            return Ok(());
        }
        let ended: Vec<(OpId, Op)> = {
            let ledger = &mut *lock(&self.ledger);
            let ids = std::mem::take(&mut ledger.just_ended);
            ids.into_iter().filter_map(|id| Some((id, ledger.op(id)?.clone()))).collect()
        };
        ended.into_iter().try_for_each(|(id, op)| self.judge(id, &op))
    }

    /// Whether nothing of an operation was ever sent: it failed with the discovery of its peer.
    pub(crate) fn was_never_sent(&self, id: OpId) -> bool {
        !self.network.lock().attempted.contains(&id)
    }

    fn judge(&self, id: OpId, op: &Op) -> Result<(), String> {
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
        if took + NOTICE < transaction(&settings) && !self.was_gone(op) {
            return Err(format!(
                "operation {} of {} to {} fails ({}) after {took:?}, long before its time is over",
                id.0,
                op.node,
                op.target,
                op.failure()
            ));
        }
        let Some((own, other)) = self.living_way(op) else { return Ok(()) };
        Err(format!(
            "operation {} of {} to {} fails ({}), and {own} -> {other} was well all the time",
            id.0,
            op.node,
            op.target,
            op.failure()
        ))
    }

    /// A pair of interfaces that has been well since before the operation began.
    fn living_way(&self, op: &Op) -> Option<(Nid, Nid)> {
        let living = |(own, other): &&(Nid, Nid)| {
            self.well_since(*own, *other).is_some_and(|since| since <= op.started)
        };
        op.ways.iter().find(living).copied()
    }

    /// Whether the peer, or the node itself, was down at any time since an operation began.
    fn was_gone(&self, op: &Op) -> bool {
        let owns = |node: &NodeId| self.nids(*node).contains(&op.target);
        let owner = self.node_ids().find(owns);
        let faults = &self.network.lock().faults;
        let was_down = |node| faults.broken_since(Spot::Down(node), op.started);
        was_down(op.node) || owner.is_none_or(was_down)
    }
}

impl Op {
    /// How it ended, in a word; an error also for one that was not answered.
    pub fn outcome(&self) -> Result<(), Errno> {
        match (self.sent, self.answered, self.ask) {
            (Some(Err(errno)), ..) | (_, Some(Err(errno)), _) => Err(errno),
            (Some(Ok(())), Some(Ok(())), _) | (Some(Ok(())), None, Ask::Put) => Ok(()),
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

/// The longest that an operation may take, all told (HE-41).
pub(crate) fn longest(settings: &Settings) -> Duration {
    let timeout = transaction(settings);
    timeout + timeout / 2 + NOTICE
}

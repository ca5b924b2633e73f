//! The end of a chaos world: all faults are repaired, and then all operations must end, and credits, health and recovery
//! queues return to their initial values.

use super::*;
use crate::invariants;

/// Time after which every operation must have ended.
const UNTIL_ALL_HAS_ENDED: Duration = Duration::from_secs(160);
/// Maximum number of rounds of operations until everything is as before, and the time between them.
const ROUNDS: usize = 40;
const BETWEEN_ROUNDS: Duration = Duration::from_secs(60);

impl Chaos {
    pub(super) fn recover(&mut self) {
        self.world.set_breaks(0);
        self.heal_all();
        for node in self.world.node_ids() {
            self.world.start(node);
        }
        self.pass(UNTIL_ALL_HAS_ENDED);
        self.all_must_have_ended();
        let mut wrong = Ok(());
        for round in 0..ROUNDS {
            if !self.world.is_sound() {
                return;
            }
            self.all_to_all(6);
            self.pass(BETWEEN_ROUNDS);
            self.all_must_have_ended();
            wrong = self.all_is_as_it_was();
            if wrong.is_ok() {
                self.stats.minutes_to_recover = self.stats.minutes_to_recover.max(round as u64 + 1);
                break;
            }
        }
        self.world.expect(wrong.is_ok(), || wrong.err().unwrap_or_default());
        self.all_rails_must_be_used();
    }

    fn all_must_have_ended(&mut self) {
        let open = self.world.open_ops();
        let which = self.world.ops().iter().position(|op| !op.ended && !op.orphaned);
        self.world
            .expect(open == 0, || format!("{open} operations do not end, operation {which:?} among them"));
    }

    /// Checks that every interface is healthy, no message is in flight, and every credit has been returned.
    fn all_is_as_it_was(&self) -> Result<(), String> {
        self.world.node_ids().try_for_each(|node| {
            let Some(core) = self.world.core(node) else { return Ok(()) };
            let wrong = |what: String| format!("{node} after all faults were repaired: {what}");
            invariants::nothing_kept(&core).and_then(|()| invariants::healthy(&core)).map_err(wrong)
        })
    }

    /// Checks that each interface of each node with a peer sends; one with an IPv6 NID if another node has one.
    fn all_rails_must_be_used(&mut self) {
        let before = self.sent();
        for _ in 0..4 {
            self.all_to_all(6);
            self.pass(Duration::from_secs(10));
        }
        let after = self.sent();
        let is_ipv6 = |nid: &Nid| AddressFamily::of(*nid) == AddressFamily::Long;
        let has_ipv6 = |node: &NodeId| self.world.nids(*node).iter().any(is_ipv6);
        let only_one_has = self.world.node_ids().filter(has_ipv6).count() < 2;
        let may_idle = |nid: Nid| only_one_has && is_ipv6(&nid);
        let is_idle =
            |((nid, before), (_, after)): &(&(Nid, u64), &(Nid, u64))| before == after && !may_idle(*nid);
        let idle = before.iter().zip(&after).find(is_idle).map(|(idle, _)| idle.0);
        self.world.expect(idle.is_none(), || format!("{idle:?} is not used any more"));
        let failed = self.world.ops().iter().rev().take(6).position(|op| !op.succeeded());
        self.world
            .expect(failed.is_none(), || "operations fail although nothing is broken any more".to_owned());
    }

    /// Returns the number of messages that each interface has sent.
    fn sent(&self) -> Vec<(Nid, u64)> {
        let cores = self.world.node_ids().filter_map(|node| self.world.core(node));
        let nets = cores.map(|core| core.nets());
        let sent = nets.flat_map(|nets| {
            let nis = nets.nis().filter(|ni| !ni.nid().is_loopback());
            nis.map(|ni| (ni.nid(), ni.counters().read_all().sent.messages())).collect::<Vec<_>>()
        });
        sent.collect()
    }
}

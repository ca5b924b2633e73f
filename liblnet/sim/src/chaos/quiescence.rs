//! The end of a chaos world: all faults are repaired, and then all operations must end, and credits, health and recovery
//! queues return to their initial values.

use super::*;
use lnet_core::MAX_HEALTH;
use lnet_core::health::NiKind;

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
            let wrong = |what: String| Err(format!("{node} after all faults were repaired: {what}"));
            for ni in core.nets().nis().filter(|ni| !ni.nid().is_loopback()) {
                let (health, credits) = (ni.health(), ni.credits().0);
                let whole = ni.tunables().credits as i32;
                if health < MAX_HEALTH || ni.is_fatal() {
                    return wrong(format!("{} has health {health}, fatal: {}", ni.nid(), ni.is_fatal()));
                }
                if credits != whole {
                    return wrong(format!("{} has {credits} credits of {whole}", ni.nid()));
                }
            }
            for peer_ni in core.peer_nis() {
                let (nid, health, credits) = (peer_ni.nid(), peer_ni.health(), peer_ni.credits().0);
                if health < MAX_HEALTH {
                    return wrong(format!("its peer NI {nid} has health {health}"));
                }
                if credits != peer_ni.max_credits() as i32 || peer_ni.queued_bytes() > 0 {
                    return wrong(format!("its peer NI {nid} has {credits} credits"));
                }
                if !peer_ni.unresponsive_from().is_empty() {
                    return wrong(format!("its peer NI {nid} has an unresponsive path"));
                }
            }
            for side in [NiKind::Local, NiKind::Peer] {
                let unhealthy = core.admin().recovery_queue(side);
                if !unhealthy.is_empty() {
                    return wrong(format!("{unhealthy:?} are still in recovery"));
                }
            }
            match core.message_counts().msgs_alloc {
                0 => Ok(()),
                alive => wrong(format!("{alive} messages are still allocated")),
            }
        })
    }

    /// Checks that each interface of each node with a peer sends.
    fn all_rails_must_be_used(&mut self) {
        let before = self.sent();
        for _ in 0..4 {
            self.all_to_all(6);
            self.pass(Duration::from_secs(10));
        }
        let after = self.sent();
        let idle =
            before.iter().zip(&after).find(|(before, after)| before.1 == after.1).map(|(idle, _)| idle.0);
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

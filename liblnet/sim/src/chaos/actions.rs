//! The actions on a chaos world. Each action follows from the seed and its number, so that it is the same without the others.

use super::*;
use fastrand::Rng;

/// Performs the actions.
impl Chaos {
    pub(super) fn act(&mut self, number: usize) {
        let random = &mut Rng::with_seed(self.seed.wrapping_mul(1_000_003) ^ number as u64);
        self.world.note(NodeId(0), || format!("action {number}"));
        match random.u32(0..100) {
            0..=7 => {
                let rail = self.any_rail(random);
                self.world.kill_rail(rail);
                self.stats.rails_killed += 1;
            }
            8..=17 => self.heal(random),
            18..=23 => self.kill_interface(random),
            24..=26 => self.half_kill(random),
            27..=28 => self.cut_pair(random),
            29..=31 => {
                let (rail, delay) = (self.any_rail(random), Duration::from_millis(random.u64(0..300)));
                self.world.delay_rail(rail, delay);
            }
            32..=36 => {
                let (a, b) = (self.any_node(random), self.any_node(random));
                self.world.break_between(a, b);
                self.stats.resets += 1;
            }
            37..=40 => {
                let node = self.any_node(random);
                self.world.freeze(node);
                self.stats.freezes += 1;
                self.pass(Duration::from_millis(random.u64(100..8000)));
                self.world.thaw(node);
            }
            41..=43 => self.restart(random),
            _ => self.start_ops(random),
        }
        let pause = match random.u32(0..20) {
            0 => Duration::from_secs(random.u64(5..90)),
            1..=4 => Duration::from_millis(random.u64(500..4000)),
            5..=12 => Duration::from_micros(random.u64(0..5000)),
            _ => Duration::from_millis(random.u64(1..300)),
        };
        self.pass(pause);
    }

    fn any_node(&self, random: &mut Rng) -> NodeId {
        NodeId(random.u32(0..self.world.node_ids().count() as u32))
    }

    fn any_rail(&self, random: &mut Rng) -> Rail {
        Rail(random.u16(0..self.rails))
    }

    fn any_nid(&self, random: &mut Rng) -> Option<(NodeId, Nid)> {
        let node = self.any_node(random);
        let nids = self.world.spec(node)?.nids.clone();
        random.choice(nids).map(|nid| (node, nid))
    }

    fn start_ops(&mut self, random: &mut Rng) {
        let Some((other, to)) = self.any_nid(random) else { return };
        let node = self.any_node(random);
        for _ in 0..random.u32(1..=24) {
            let ask = [OpKind::Put, OpKind::PutWithAck, OpKind::Get][random.usize(0..3)];
            let bytes = random.u32(0..64);
            if node != other && self.world.nids_reached(node, other).contains(&to) {
                self.world.start_op_with(node, to, OpSpec { ask, bytes, ..OpSpec::default() });
            }
        }
    }

    /// Kills an interface. Its machine reports that to the node, or does not.
    fn kill_interface(&mut self, random: &mut Rng) {
        let Some((node, nid)) = self.any_nid(random) else { return };
        self.world.kill_interface(nid);
        if random.bool() {
            self.world.set_link_state(node, nid, false);
        }
        self.stats.interfaces_killed += 1;
    }

    fn half_kill(&mut self, random: &mut Rng) {
        let Some((_, nid)) = self.any_nid(random) else { return };
        if random.bool() {
            self.world.block_tx(nid);
        } else {
            self.world.block_rx(nid);
        }
        self.stats.interfaces_killed += 1;
    }

    fn cut_pair(&mut self, random: &mut Rng) {
        let (Some((_, a)), Some((_, b))) = (self.any_nid(random), self.any_nid(random)) else { return };
        self.world.cut_pair(a, b);
        self.stats.pairs_cut += 1;
    }

    /// Heals one rail and its interfaces, or all.
    fn heal(&mut self, random: &mut Rng) {
        let rail = self.any_rail(random);
        if random.u8(0..4) == 0 {
            self.heal_all();
            return;
        }
        self.world.heal_rail(rail);
        for node in self.world.node_ids() {
            let nids = self.world.spec(node).map(|spec| spec.nids.clone()).unwrap_or_default();
            for nid in nids {
                if self.world.rail_of(nid) == Some(rail) {
                    self.heal_interface(node, nid);
                }
            }
        }
    }

    pub(super) fn heal_all(&mut self) {
        self.world.heal();
        for node in self.world.node_ids() {
            let nids = self.world.spec(node).map(|spec| spec.nids.clone()).unwrap_or_default();
            nids.into_iter().for_each(|nid| self.heal_interface(node, nid));
        }
    }

    fn heal_interface(&mut self, node: NodeId, nid: Nid) {
        self.world.heal_interface(nid);
        self.world.set_link_state(node, nid, true);
    }

    fn restart(&mut self, random: &mut Rng) {
        let node = self.any_node(random);
        self.world.crash(node);
        self.pass(Duration::from_millis(random.u64(1..4000)));
        self.world.start(node);
        self.stats.restarts += 1;
    }
}

/// Runs the same world with as few actions as suffice to break it; returns the violation.
pub(super) fn fewest(
    seed: u64,
    families: Families,
    actions: usize,
    mut broken: Box<Violation>,
) -> Box<Violation> {
    let mut without = BTreeSet::new();
    let mut piece = actions.div_ceil(2);
    while piece > 0 {
        for first in (0..actions).step_by(piece) {
            let more: BTreeSet<usize> = (first..actions.min(first + piece)).collect();
            if more.is_subset(&without) {
                continue;
            }
            let tried: BTreeSet<usize> = without.union(&more).copied().collect();
            if let Err(still) = Chaos::new(seed, families, tried.clone()).run() {
                (without, broken) = (tried, still);
            }
        }
        piece = if piece == 1 { 0 } else { piece.div_ceil(2) };
    }
    let kept = actions - without.len();
    broken.scenario = format!("a world in which rails fail, with {kept} of its {actions} actions");
    broken
}

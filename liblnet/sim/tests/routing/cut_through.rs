//! Large messages that routers send on while they arrive.

use super::*;
use lnet_sim::{OpSpec, Parts, invariants};

/// Number of bytes of a large message, and of its parts.
pub(super) const LARGE: u32 = 256 << 10;
const PART: usize = 32 << 10;

/// A network in which large messages arrive in eight parts within a millisecond, if their senders do not pause.
pub(super) fn in_parts(pauses_one_in: u32) -> NetworkConfig {
    let parts = Parts {
        size: PART,
        every: Duration::from_micros(100),
        pauses_one_in,
        longest_pause: Duration::from_secs(3),
    };
    NetworkConfig { parts: Some(parts), ..network() }
}

fn serving(spec: NodeSpec) -> NodeSpec {
    NodeSpec { serves: LARGE, ..spec }
}

/// A client, a server, and routers in a row of `hops`, two for each hop if `width` is 2.
struct Site {
    world: World,
    hops: u16,
    width: u32,
    clients: Vec<NodeId>,
    ops: Vec<OpId>,
}

fn hop(on: u16, hop: u16, number: u32) -> Nid {
    nid(on, 100 + 10 * u32::from(hop) + number)
}

impl Site {
    fn new(
        name: &str,
        network: NetworkConfig,
        (hops, width): (u16, u32),
        change: &dyn Fn(&mut NodeSpec),
    ) -> Self {
        let config = WorldConfig {
            seed: many::number("LNET_SIM_SEED").unwrap_or(1),
            network,
            trace: 3000,
            check_every: 20,
            ..WorldConfig::default()
        };
        let mut world = World::new(name, config);
        let gateways =
            |on: u16, at: u16| -> Vec<Nid> { (0..width).map(|number| hop(on, at, number)).collect() };
        for at in 0..hops {
            for number in 0..width {
                let mut router = spec(&[hop(at, at, number), hop(at + 1, at, number)]).router();
                if at + 1 < hops {
                    router = router.with_routes(net(hops), &gateways(at + 1, at + 1));
                }
                if at > 0 {
                    router = router.with_routes(net(0), &gateways(at, at - 1));
                }
                change(&mut router);
                world.add_node(router);
            }
        }
        let clients = [1, 2].map(|number| {
            let client = spec(&[nid(0, number)]).with_routes(net(hops), &gateways(0, 0));
            world.add_node(serving(client))
        });
        let server = spec(&[nid(hops, 1)]).with_routes(net(0), &gateways(hops, hops - 1));
        world.add_node(serving(server));
        meet(&mut world);
        Self { world, hops, width, clients: clients.to_vec(), ops: Vec::new() }
    }

    fn router(&self, at: u16, number: u32) -> NodeId {
        NodeId(u32::from(at) * self.width + number)
    }

    fn ask(&mut self, client: usize, ask: OpKind, bytes: u32) -> Option<OpId> {
        let (from, to) = (self.clients[client], nid(self.hops, 1));
        let op = self.world.start_op_with(from, to, OpSpec { ask, bytes, ..OpSpec::default() });
        self.ops.extend(op);
        op
    }

    /// Sends large messages in turn with small ones of both clients, which makes the routers know all as quick.
    fn load(&mut self, seconds: f64) {
        let until = self.world.now() + Duration::from_secs_f64(seconds);
        let mut turn = 0;
        while self.world.now() < until && self.world.is_sound() {
            for client in 0..2 {
                self.ask(client, ASKS[turn % 3], LARGE);
                self.ask(client, ASKS[(turn + 1) % 3], 8);
            }
            turn += 1;
            pass(&mut self.world, 0.02);
        }
    }

    /// Waits until all operations have ended; returns how many have failed.
    fn end(&mut self) -> usize {
        let at_last = self.world.now() + Duration::from_secs(120);
        while self.world.open_ops() > 0 && self.world.now() < at_last && self.world.is_sound() {
            pass(&mut self.world, 0.5);
        }
        pass(&mut self.world, 5.0);
        self.finish_if_broken();
        let failed = self.ops.iter().filter(|id| !self.world.op(**id).unwrap().succeeded());
        let failed = failed.count();
        assert_eq!(self.world.open_ops(), 0);
        assert!(self.world.served() <= self.ops.len() as u64, "none arrives twice");
        assert!(self.world.served() + failed as u64 >= self.ops.len() as u64, "each arrives, or has failed");
        self.nothing_is_kept();
        failed
    }

    fn finish_if_broken(&mut self) {
        if !self.world.is_sound() {
            self.world.finish().unwrap_or_else(|broken| panic!("{broken}"));
        }
    }

    fn nothing_is_kept(&mut self) {
        nothing_is_kept(&mut self.world).unwrap_or_else(|what| {
            let trace: Vec<String> = self.world.trace().iter().map(ToString::to_string).collect();
            panic!("{what}\n{}", trace.join("\n"))
        });
    }

    /// Checks that no interface of any node has lost health.
    fn all_are_healthy(&self) {
        for node in self.world.node_ids() {
            let Some(core) = self.world.core(node) else { continue };
            invariants::healthy(&core).unwrap_or_else(|what| panic!("{node}: {what}"));
        }
    }

    /// The duration of the slowest operation of those with this length, in seconds.
    fn slowest(&self, is_large: bool, client: usize) -> f64 {
        let node = self.clients[client];
        let ops = self.ops.iter().map(|id| self.world.op(*id).unwrap());
        let ops = ops.filter(|op| op.node == node && (op.bytes == LARGE) == is_large);
        ops.filter_map(|op| Some(op.end?.since(op.started).as_secs_f64())).fold(0.0, f64::max)
    }
}

/// Checks that no node keeps anything of any message. What has arrived in part is kept until nobody would send it again, and gateways are
/// asked now and then.
pub(super) fn nothing_is_kept(world: &mut World) -> Result<(), String> {
    let mut kept = Ok(());
    for _ in 0..200 {
        let mut cores = world.node_ids().filter_map(|node| Some((node, world.core(node)?)));
        kept = cores.try_for_each(|(node, core)| {
            invariants::nothing_kept(&core).map_err(|what| format!("{node}: {what}"))
        });
        if kept.is_ok() {
            break;
        }
        pass(world, 0.7);
    }
    kept
}

#[test]
fn large_messages_are_sent_on_while_they_arrive_by_one_router_and_by_two_in_a_row() {
    for hops in [1, 2] {
        let mut site = Site::new("quick senders", in_parts(0), (hops, 1), &|_| {});
        site.load(2.0);
        assert_eq!(site.end(), 0);
        site.all_are_healthy();
        let counts = site.world.counts();
        assert!(counts.begun_early > 20 * u64::from(hops), "{counts:?}");
        assert_eq!(counts.abandoned, 0);
    }
}

#[test]
fn nothing_is_begun_early_by_a_router_with_cut_through_off() {
    let off = |spec: &mut NodeSpec| spec.settings.cut_through = false;
    let mut site = Site::new("switched off", in_parts(5), (1, 1), &off);
    site.load(2.0);
    assert_eq!(site.end(), 0);
    assert_eq!(site.world.counts().begun_early, 0);
}

/// Fails if a message of a sender that pauses keeps what others send to the same node, lowers health, or is lost.
#[test]
fn senders_that_pause_cost_others_no_more_than_the_bound_and_nobody_any_health() {
    for hops in [1, 2] {
        let mut site = Site::new("slow senders", in_parts(40), (hops, 1), &|_| {});
        for _ in 0..12 {
            site.load(0.5);
            site.all_are_healthy();
            // What has paused is trusted again.
            pass(&mut site.world, 62.0);
            site.all_are_healthy();
        }
        assert_eq!(site.end(), 0);
        let counts = site.world.counts();
        assert!(counts.begun_early > 100 && counts.abandoned > 0, "{counts:?}");
    }
}

/// Fails if what another client sends to the same server waits for a client that stands still for longer than the bound.
#[test]
fn a_sender_that_stands_still_in_the_middle_delays_the_large_messages_of_others_by_the_bound_and_no_small_one()
 {
    let mut abandoned = 0;
    for step in 0..8 {
        let mut site = Site::new("a sender stands still", in_parts(0), (1, 1), &|_| {});
        site.load(0.3);
        pass(&mut site.world, 1.0);
        site.ops.clear();
        let before = site.world.served();
        for _ in 0..3 {
            site.ask(0, OpKind::PutWithAck, LARGE);
        }
        pass(&mut site.world, 0.0003 + 0.0001 * f64::from(step));
        site.world.freeze(site.clients[0]);
        for _ in 0..20 {
            site.ask(1, OpKind::PutWithAck, 8);
            site.ask(1, OpKind::Put, 8);
            pass(&mut site.world, 0.01);
        }
        for _ in 0..3 {
            site.ask(1, OpKind::PutWithAck, LARGE);
        }
        pass(&mut site.world, 1.0);
        let (small, large) = (site.slowest(false, 1), site.slowest(true, 1));
        assert!(small < 0.02, "{step}: small {small}");
        assert!(large < 0.7, "{step}: large {large}");
        let done = site.ops.iter().filter(|id| site.world.op(**id).unwrap().succeeded()).count();
        assert!(done >= 43, "{step}: {done} are done");
        // The path to the client may be slow to answer, but nothing else is to blame for anything.
        site.world.thaw(site.clients[0]);
        pass(&mut site.world, 20.0);
        site.all_are_healthy();
        pass(&mut site.world, 100.0);
        site.finish_if_broken();
        assert!(site.ops.iter().all(|id| site.world.op(*id).unwrap().succeeded()));
        assert_eq!(site.world.served() - before, 46, "each arrives once");
        site.nothing_is_kept();
        abandoned += site.world.counts().abandoned;
    }
    assert!(abandoned > 0, "the client stands still in the middle of a message");
}

#[test]
fn a_sender_that_dies_in_the_middle_leaves_nothing_behind() {
    for step in 0..12 {
        let mut site = Site::new("a sender dies", in_parts(0), (1, 1), &|_| {});
        site.load(0.3);
        pass(&mut site.world, 1.0);
        for _ in 0..4 {
            site.ask(0, OpKind::Put, LARGE);
            site.ask(1, OpKind::Put, LARGE);
        }
        pass(&mut site.world, 0.0002 + 0.0003 * f64::from(step));
        site.world.crash(site.clients[0]);
        pass(&mut site.world, 5.0);
        let after = site.ops.len();
        site.load(0.3);
        pass(&mut site.world, 20.0);
        site.finish_if_broken();
        let of_second = |op: &OpId| site.world.op(*op).unwrap();
        let failed =
            site.ops.iter().map(of_second).filter(|op| op.node == site.clients[1] && !op.succeeded());
        assert_eq!(failed.count(), 0, "{step}");
        assert!(site.ops.len() > after);
        site.nothing_is_kept();
    }
}

#[test]
fn a_router_with_one_credit_and_few_buffers_delivers_everything() {
    for (hops, buffers, credits) in
        [(1, 0, 1), (1, 1, 1), (1, 2, 8), (2, 0, 1), (2, 1, 8), (2, 1, 1), (2, 2, 8), (2, 2, 1)]
    {
        let few = move |spec: &mut NodeSpec| {
            (spec.tunables.peer_credits, spec.forwards) = (credits, Some([buffers; 3]));
        };
        let mut site = Site::new("few credits", in_parts(200), (hops, 1), &few);
        site.load(2.0);
        assert_eq!(site.end(), 0, "{hops} hops, {buffers} buffers, {credits} credits");
    }
}

/// The next hop dies, or stands still, or cannot be reached, while it receives.
#[test]
fn a_next_hop_that_ends_in_the_middle_costs_nothing_but_its_own_messages() {
    for step in 0..12 {
        for fault in 0..4 {
            let mut site = Site::new("a next hop ends", in_parts(0), (2, 2), &|_| {});
            site.load(0.3);
            pass(&mut site.world, 1.0);
            for _ in 0..4 {
                site.ask(0, OpKind::PutWithAck, LARGE);
                site.ask(1, OpKind::Get, LARGE);
            }
            pass(&mut site.world, 0.0002 + 0.0003 * f64::from(step));
            let router = site.router(1, 0);
            match fault {
                0 => site.world.crash(router),
                1 => site.world.freeze(router),
                2 => site.world.kill_interface(hop(1, 1, 0)),
                _ => {
                    site.world.with_core(router, |core| {
                        core.admin().change_router(|router| router.switched(false).stopped())
                    });
                }
            }
            site.load(0.5);
            pass(&mut site.world, 10.0);
            match fault {
                0 => site.world.start(router),
                1 => site.world.thaw(router),
                2 => site.world.heal_interface(hop(1, 1, 0)),
                _ => {
                    site.world.with_core(router, |core| {
                        core.admin().change_router(|router| router.switched(true).with_buffers([Some(0); 3]))
                    });
                }
            }
            assert_eq!(site.end(), 0, "{step} {fault}");
        }
    }
}

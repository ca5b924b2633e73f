//! Random sites of many kinds with random faults of their routers.

use super::cut_through::{LARGE as LARGE_MESSAGE, in_parts, nothing_is_kept};
use super::*;
use lnet_core::topology::Route;
use lnet_sim::OpSpec;
use std::thread;
use std::time::Instant;

/// The parameters of a site.
#[derive(Clone, Copy, Debug)]
struct Plan {
    clients: u32,
    servers: u32,
    /// Number of routers in a row, and of routers of each hop.
    hops: u16,
    width: u32,
    /// Interfaces of the ends and of the routers on each net.
    end_rails: u32,
    router_rails: u32,
    /// Router buffers of each size; 0: the default.
    buffers: u32,
    /// The number of operations of which one is large, and arrives in parts; 0: none is.
    large_one_in: u32,
    seconds: f64,
    /// Number of operations begun at a time, and the seconds between.
    asks: u32,
    pause: f64,
    /// Maximum time in milliseconds from one fault to the next.
    fault_every: u64,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Dies,
    StandsStill,
    /// No message reaches the router, and none comes from it.
    IsCutOff,
    /// No message reaches one of its interfaces, and none comes from it.
    LosesAnInterface,
    /// One direction of one of its interfaces is dead: no message reaches it, or none comes from it.
    IsDeaf,
    IsDumb,
    /// Routing is switched off as operators do, with an announcement.
    StopsRouting,
    /// Routing stops at once.
    DropsAll,
    /// A node at one end deletes its route over the router.
    IsNoGateway,
}

const KINDS: [Kind; 9] = [
    Kind::Dies,
    Kind::StandsStill,
    Kind::IsCutOff,
    Kind::LosesAnInterface,
    Kind::IsDeaf,
    Kind::IsDumb,
    Kind::StopsRouting,
    Kind::DropsAll,
    Kind::IsNoGateway,
];

/// A fault under way.
#[derive(Clone, Copy, Debug)]
struct Fault {
    kind: Kind,
    until: Time,
    /// The router: its hop, and its number there.
    at: (u16, u32),
    /// The interface of the router that the fault is in.
    nid: Nid,
    /// The end that deletes its route.
    end: (NodeId, u16),
}

struct Site {
    plan: Plan,
    world: World,
    clients: Vec<(NodeId, Nid)>,
    servers: Vec<(NodeId, Nid)>,
    faults: Vec<Fault>,
}

fn router_nid(on: u16, (hop, number): (u16, u32), rail: u32) -> Nid {
    nid(on, 100 + 100 * u32::from(hop) + 10 * number + rail)
}

impl Plan {
    /// Makes a small site: a thousand of them take a minute.
    fn small(random: &mut fastrand::Rng) -> Self {
        let hops = if random.u32(0..3) == 0 { 2 } else { 1 };
        Self {
            clients: 3,
            servers: 2,
            hops,
            width: if hops == 1 { random.u32(2..=4) } else { 2 },
            end_rails: random.u32(1..=2),
            router_rails: random.u32(1..=2),
            buffers: if random.u32(0..3) == 0 { 4 } else { 0 },
            large_one_in: if random.u32(0..4) == 0 { 24 } else { 0 },
            seconds: 12.0,
            asks: 4,
            pause: 0.01,
            fault_every: 3000,
        }
    }

    /// Makes a tiny site: some hundred of them take a second.
    fn tiny(random: &mut fastrand::Rng) -> Self {
        Self {
            clients: 1,
            servers: 1,
            hops: 1,
            width: 2,
            end_rails: 1,
            router_rails: 1,
            buffers: if random.u32(0..3) == 0 { 4 } else { 0 },
            large_one_in: if random.u32(0..3) == 0 { 2 } else { 0 },
            seconds: 2.0,
            asks: 1,
            pause: 0.05,
            fault_every: 800,
        }
    }

    /// Makes a site with a hundred clients.
    const fn large() -> Self {
        Self {
            clients: 100,
            servers: 20,
            hops: 1,
            width: 4,
            end_rails: 1,
            router_rails: 1,
            buffers: 0,
            large_one_in: 0,
            seconds: 3.0,
            asks: 4,
            pause: 0.01,
            fault_every: 3000,
        }
    }

    /// The net of the servers.
    const fn far(self) -> u16 {
        self.hops
    }

    /// Returns the NIDs of a router on the net before its hop and on the net behind it.
    fn nids_of_router(self, at: (u16, u32)) -> Vec<Nid> {
        let on = |net: u16| (0..self.router_rails).map(move |rail| router_nid(net, at, rail));
        on(at.0).chain(on(at.0 + 1)).collect()
    }

    fn node_of_router(self, (hop, number): (u16, u32)) -> NodeId {
        NodeId(u32::from(hop) * self.width + number)
    }

    /// Returns the routers of a hop as gateways on one of their nets.
    fn gateways(self, hop: u16, on: u16) -> Vec<Nid> {
        (0..self.width).map(|number| router_nid(on, (hop, number), 0)).collect()
    }

    fn router(self, at: (u16, u32)) -> NodeSpec {
        let mut spec = spec(&self.nids_of_router(at));
        if at.0 + 1 < self.hops {
            spec = spec.with_routes(net(self.far()), &self.gateways(at.0 + 1, at.0 + 1));
        }
        if at.0 > 0 {
            spec = spec.with_routes(net(0), &self.gateways(at.0 - 1, at.0));
        }
        NodeSpec { forwards: Some([self.buffers; 3]), ..spec }
    }

    /// Makes the specification of a client (net 0) or a server.
    fn end(self, on: u16, number: u32) -> NodeSpec {
        let nids: Vec<Nid> = (0..self.end_rails).map(|rail| nid(on, 1000 + 10 * number + rail)).collect();
        let (other, hop) = if on == 0 { (self.far(), 0) } else { (0, self.hops - 1) };
        let spec = spec(&nids).with_routes(net(other), &self.gateways(hop, on));
        if self.large_one_in > 0 { NodeSpec { serves: LARGE_MESSAGE, ..spec } } else { spec }
    }
}

impl Site {
    fn new(plan: Plan, seed: u64, random: &mut fastrand::Rng) -> Self {
        let network = NetworkConfig {
            connections: random.u8(1..=3),
            breaks_one_in: if random.bool() { 0 } else { 200 },
            ..if plan.large_one_in == 0 { network() } else { in_parts(random.u32(0..100)) }
        };
        let trace = if std::env::var_os("LNET_SIM_TRACE").is_some() { 1_000_000 } else { 2000 };
        let config = WorldConfig { seed, network, trace, check_every: 500, ..WorldConfig::default() };
        let mut world = World::new("routers come and go", config);
        for hop in 0..plan.hops {
            for number in 0..plan.width {
                let node = world.add_node(plan.router((hop, number)));
                assert_eq!(node, plan.node_of_router((hop, number)));
            }
        }
        let mut ends = |on: u16, count: u32| -> Vec<(NodeId, Nid)> {
            let specs = (0..count).map(|number| plan.end(on, number));
            specs.map(|spec| (world.add_node(spec.clone()), spec.nids[0])).collect()
        };
        let (clients, servers) = (ends(0, plan.clients), ends(plan.far(), plan.servers));
        meet(&mut world);
        Self { plan, world, clients, servers, faults: Vec::new() }
    }

    /// Begins another fault, if a working router of its hop remains.
    fn break_one(&mut self, random: &mut fastrand::Rng) {
        let plan = self.plan;
        let at = (random.u16(0..plan.hops), random.u32(0..plan.width));
        let in_hop = self.faults.iter().filter(|fault| fault.at.0 == at.0);
        if in_hop.clone().any(|fault| fault.at == at) || in_hop.count() as u32 + 1 >= plan.width {
            return;
        }
        let nids = plan.nids_of_router(at);
        let kind = KINDS[random.usize(0..KINDS.len())];
        let ends = if random.bool() { &self.clients } else { &self.servers };
        let (end, end_nid) = ends[random.usize(0..ends.len())];
        let on = if end_nid.net() == net(0) { 0 } else { plan.far() };
        let is_its_gateway = if on == 0 { at.0 == 0 } else { at.0 + 1 == plan.hops };
        if kind == Kind::IsNoGateway && !is_its_gateway {
            return;
        }
        let until = self.world.now() + Duration::from_millis(random.u64(100..8000));
        let fault = Fault { kind, until, at, nid: nids[random.usize(0..nids.len())], end: (end, on) };
        self.faults.push(fault);
        self.set(fault, true);
    }

    /// Lets a fault begin or end.
    fn set(&mut self, fault: Fault, begins: bool) {
        let Fault { kind, at, nid, end: (end, on), .. } = fault;
        let (plan, world) = (self.plan, &mut self.world);
        let node = plan.node_of_router(at);
        let route = |gateway| {
            let other = if on == 0 { plan.far() } else { 0 };
            Route { net: net(other), gateway, hops: None, priority: 0, health_sensitivity: 1 }
        };
        let switch = |world: &mut World, on: bool, at_once: bool| {
            world.with_core(node, |core| {
                core.admin().change_router(|router| match (on, at_once) {
                    (true, _) => router.switched(true).with_buffers([Some(plan.buffers); 3]),
                    (false, true) => router.switched(false).stopped(),
                    (false, false) => router.switched(false),
                })
            });
        };
        match (kind, begins) {
            (Kind::Dies, true) => world.crash(node),
            (Kind::Dies, false) => world.start(node),
            (Kind::StandsStill, true) => world.freeze(node),
            (Kind::StandsStill, false) => world.thaw(node),
            (Kind::IsCutOff, true) => {
                plan.nids_of_router(at).into_iter().for_each(|nid| world.kill_interface(nid));
            }
            (Kind::IsCutOff, false) => {
                plan.nids_of_router(at).into_iter().for_each(|nid| world.heal_interface(nid));
            }
            (Kind::LosesAnInterface, true) => world.kill_interface(nid),
            (Kind::IsDeaf, true) => world.block_rx(nid),
            (Kind::IsDumb, true) => world.block_tx(nid),
            (Kind::LosesAnInterface | Kind::IsDeaf | Kind::IsDumb, false) => world.heal_interface(nid),
            (Kind::StopsRouting | Kind::DropsAll, false) => switch(world, true, false),
            (Kind::StopsRouting, true) => switch(world, false, false),
            (Kind::DropsAll, true) => switch(world, false, true),
            (Kind::IsNoGateway, true) => {
                let gateway = router_nid(on, at, 0);
                world.with_core(end, |core| {
                    core.admin().delete_routes(Some(route(gateway).net), Some(gateway))
                });
            }
            (Kind::IsNoGateway, false) => {
                world.with_core(end, |core| core.admin().add_route(route(router_nid(on, at, 0))));
            }
        }
    }

    /// Ends the faults that have lasted long enough, or all of them.
    fn mend(&mut self, all: bool) {
        let now = self.world.now();
        let over: Vec<Fault> = self.faults.extract_if(.., |fault| all || fault.until <= now).collect();
        over.into_iter().for_each(|fault| self.set(fault, false));
    }

    /// Starts an operation of a client to a server, or the other way round.
    fn ask(&mut self, random: &mut fastrand::Rng) -> Option<OpId> {
        let client = self.clients[random.usize(0..self.clients.len())];
        let server = self.servers[random.usize(0..self.servers.len())];
        let ((from, _), (_, to)) = if random.u32(0..4) > 0 { (client, server) } else { (server, client) };
        let ask = ASKS[random.usize(0..3)];
        let is_large = self.plan.large_one_in > 0 && random.u32(0..self.plan.large_one_in) == 0;
        let bytes = if is_large { LARGE_MESSAGE } else { OpSpec::default().bytes };
        self.world.start_op_with(from, to, OpSpec { ask, bytes, ..OpSpec::default() })
    }
}

/// Runs a site; returns the number of operations.
fn run(plan: Plan, seed: u64, mut random: fastrand::Rng) -> usize {
    let mut site = Site::new(plan, seed, &mut random);
    let mut ops = Vec::new();
    let end = site.world.now() + Duration::from_secs_f64(plan.seconds);
    let mut next_fault = site.world.now() + Duration::from_millis(plan.fault_every / 6);
    while site.world.now() < end && site.world.is_sound() {
        for _ in 0..plan.asks {
            ops.extend(site.ask(&mut random));
        }
        if site.world.now() >= next_fault {
            site.break_one(&mut random);
            let pause = random.u64(plan.fault_every / 15..plan.fault_every);
            next_fault = site.world.now() + Duration::from_millis(pause);
        }
        site.mend(false);
        pass(&mut site.world, plan.pause);
    }
    site.mend(true);
    let mut world = site.world;
    let at_last = world.now() + Duration::from_secs(120);
    while world.open_ops() > 0 && world.now() < at_last && world.is_sound() {
        pass(&mut world, 0.5);
    }
    // Duplicates arrive soon.
    pass(&mut world, 5.0);
    if !world.is_sound() {
        world.finish().unwrap_or_else(|broken| panic!("seed {seed}, {plan:?}: {broken}"));
    }
    let failed: Vec<Op> = ops.iter().map(|id| world.op(*id).unwrap()).filter(|op| !op.succeeded()).collect();
    if std::env::var_os("LNET_SIM_TRACE").is_some() {
        world.trace().iter().for_each(|line| println!("{line}"));
    }
    assert!(
        failed.is_empty(),
        "seed {seed}, {plan:?}: {} of {} fail, first {:?}",
        failed.len(),
        ops.len(),
        failed[0]
    );
    assert_eq!(world.served(), ops.len() as u64, "seed {seed}, {plan:?}: each arrives once");
    let kept = nothing_is_kept(&mut world);
    assert_eq!(kept, Ok(()), "seed {seed}, {plan:?}");
    world.finish().unwrap_or_else(|broken| panic!("seed {seed}, {plan:?}: {broken}"));
    ops.len()
}

/// The kinds of sites. The seed determines the rest.
const PLANS: [fn(&mut fastrand::Rng) -> Plan; 3] = [Plan::tiny, Plan::small, |_| Plan::large()];
const TINY: usize = 0;
const SMALL: usize = 1;
const LARGE: usize = 2;

fn run_seed(plan: usize, seed: u64) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let plan = PLANS[plan](&mut random);
    run(plan, seed, random)
}

pub(super) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Runs that number of seeds; with `LNET_SIM_SEED` just that one.
fn seeds(plan: usize, usual: u64) {
    let one = number("LNET_SIM_SEED");
    let first = one.unwrap_or(1);
    let count = if one.is_some() { 1 } else { usual };
    (first..first + count).for_each(|seed| assert!(run_seed(plan, seed) > 0));
}

#[test]
fn a_hundred_clients_and_twenty_servers_lose_nothing_while_four_routers_flap() {
    seeds(LARGE, 1);
}

#[test]
fn small_sites_lose_nothing_whatever_happens_to_their_routers_and_whatever_the_seed() {
    seeds(SMALL, 20);
}

#[test]
fn tiny_sites_lose_nothing_whatever_happens_to_their_routers_and_whatever_the_seed() {
    seeds(TINY, 200);
}

/// Runs all kinds, on each processor, for `SOAK_MINUTES` from the seed `SOAK_SEED` on. A seed that breaks is repeated by the
/// test of its kind, with `LNET_SIM_SEED`.
#[test]
#[ignore = "takes as long as it is told to: make soak-routing"]
fn soak() {
    /// Number of sites of each kind in a round: the others take as long as hundreds of tiny ones.
    const ROUND: [u64; 3] = [10_000, 10, 1];
    let began = Instant::now();
    let time = Duration::from_secs(60 * number("SOAK_MINUTES").unwrap_or(1));
    let first = number("SOAK_SEED").unwrap_or(1);
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let worker = |number: u64| {
        let (mut done, mut ops) = ([0_u64; 3], 0);
        loop {
            for (plan, count) in ROUND.into_iter().enumerate() {
                for _ in 0..count {
                    if began.elapsed() >= time {
                        return (done, ops);
                    }
                    ops += run_seed(plan, first + number + threads * done[plan]);
                    done[plan] += 1;
                }
            }
        }
    };
    let all: Vec<([u64; 3], usize)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|number| scope.spawn(move || worker(number))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let total = |plan: usize| all.iter().map(|(done, _)| done[plan]).sum::<u64>();
    let [tiny, small, large] = [TINY, SMALL, LARGE].map(total);
    let ops: usize = all.iter().map(|(_, ops)| ops).sum();
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "seeds from {first} on, {seconds:.0} s on {threads} processors: {tiny} tiny sites, {small} small ones, \
         {large} of a hundred clients, {ops} operations, none lost, doubled or failed"
    );
    assert!(tiny > 0);
}

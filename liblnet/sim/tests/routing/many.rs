//! Many clients and servers, and routers that come and go, by seeds.

use super::*;

const CLIENTS: u32 = 100;
const SERVERS: u32 = 20;
const FOUR: u32 = 4;

/// A world of this seed; how many operations there were.
fn flaps(seed: u64, clients: u32, servers: u32, seconds: f64) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let network = NetworkConfig {
        connections: random.u8(1..=3),
        breaks_one_in: if random.bool() { 0 } else { 200 },
        ..network()
    };
    let config = WorldConfig { seed, network, trace: 2000, check_every: 500 };
    let mut world = World::new("routers flap", config);
    let gateways = |on: u16| -> Vec<Nid> { (0..FOUR).map(|number| router(on, number)).collect() };
    let routers: Vec<NodeId> = (0..FOUR)
        .map(|number| world.add_node(spec(&[router(0, number), router(1, number)]).router()))
        .collect();
    let clients: Vec<NodeId> = (0..clients)
        .map(|number| world.add_node(spec(&[nid(0, 1000 + number)]).with_routes(net(1), &gateways(0))))
        .collect();
    let servers: Vec<(NodeId, Nid)> = (0..servers)
        .map(|number| {
            let its = nid(1, 1000 + number);
            (world.add_node(spec(&[its]).with_routes(net(0), &gateways(1))), its)
        })
        .collect();
    meet(&mut world);
    let mut ops = Vec::new();
    let end = world.now() + Duration::from_secs_f64(seconds);
    let mut next_fault = world.now() + Duration::from_millis(500);
    let mut broken: Vec<(Time, usize, u32)> = Vec::new();
    while world.now() < end && world.is_sound() {
        for _ in 0..4 {
            let client = clients[random.usize(0..clients.len())];
            let (_, server) = servers[random.usize(0..servers.len())];
            ops.extend(world.start_op(client, server, ASKS[random.usize(0..3)]));
        }
        let now = world.now();
        // One router always works, and has for a while.
        if now >= next_fault && broken.len() < routers.len() - 1 {
            let at = random.usize(0..routers.len());
            if broken.iter().all(|(_, other, _)| *other != at) {
                let kind = random.u32(0..3);
                match kind {
                    0 => world.crash(routers[at]),
                    1 => world.freeze(routers[at]),
                    _ => (0..2).for_each(|on| world.kill_interface(router(on, at as u32))),
                }
                broken.push((now + Duration::from_millis(random.u64(100..8000)), at, kind));
            }
            next_fault = now + Duration::from_millis(random.u64(200..3000));
        }
        let over: Vec<(Time, usize, u32)> = broken.extract_if(.., |(until, ..)| *until <= now).collect();
        for (_, at, kind) in over {
            mend(&mut world, &routers, at, kind);
        }
        pass(&mut world, 0.01);
    }
    for (_, at, kind) in broken {
        mend(&mut world, &routers, at, kind);
    }
    pass(&mut world, 120.0);
    if !world.is_sound() {
        world.finish().unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    }
    let failed: Vec<Op> = ops.iter().map(|id| world.op(*id).unwrap()).filter(|op| !op.succeeded()).collect();
    assert!(failed.is_empty(), "seed {seed}: {} of {} fail, first {:?}", failed.len(), ops.len(), failed[0]);
    assert_eq!(world.served(), ops.len() as u64, "seed {seed}: each arrives once");
    world.finish().unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
    ops.len()
}

fn mend(world: &mut World, routers: &[NodeId], at: usize, kind: u32) {
    match kind {
        0 => world.start(routers[at]),
        1 => world.thaw(routers[at]),
        _ => (0..2).for_each(|on| world.heal_interface(router(on, at as u32))),
    }
}

#[test]
fn a_hundred_clients_and_twenty_servers_lose_nothing_while_four_routers_flap() {
    let ops = flaps(1, CLIENTS, SERVERS, 3.0);
    assert!(ops > 1000, "{ops}");
}

/// `LNET_SIM_SEED` has just that one made, `LNET_SIM_SEEDS` so many from there on.
#[test]
fn small_sites_lose_nothing_while_their_routers_flap_whatever_the_seed() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("LNET_SIM_SEED").unwrap_or(1);
    let usual = if number("LNET_SIM_SEED").is_some() { 1 } else { 20 };
    let count = number("LNET_SIM_SEEDS").unwrap_or(usual);
    for seed in first..first + count {
        flaps(seed, 3, 2, 15.0);
    }
}

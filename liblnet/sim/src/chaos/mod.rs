//! Worlds in which rails die: small ones made by chance, under load, in which everything breaks that can and all of it
//! gets well again. Every operation ends, once, in time, and well as long as there is a way; afterwards everything is as
//! it was.

mod aftermath;
mod book;
mod deeds;

pub use book::Book;

use crate::broken::Broken;
use crate::faults::Rail;
use crate::ledger::{Ask, Asking};
use crate::network::{Delivery, NetworkConfig};
use crate::node::{NodeSpec, nid};
use crate::trace::NodeId;
use crate::world::{World, WorldConfig};
use lnet_core::{Settings, Time};
use lnet_wire::Nid;
use std::collections::BTreeSet;
use std::time::Duration;

/// More steps than anything that passes between two deeds takes.
const STORM: usize = 300_000;
/// Seconds that a message and its answer may take, in one of these worlds.
const TIMEOUTS: [u32; 3] = [10, 50, 50];

/// Makes the world of this seed, lets it live, and says what happened in it. What breaks is told with as few deeds as it
/// takes.
pub fn run_seed(seed: u64) -> Result<Book, Box<Broken>> {
    let mut chaos = Chaos::new(seed, BTreeSet::new());
    let deeds = chaos.deeds;
    let broken = match chaos.run() {
        Ok(book) => return Ok(book),
        Err(broken) => broken,
    };
    Err(deeds::fewest(seed, deeds, broken))
}

/// One world, and what is done to it.
struct Chaos {
    seed: u64,
    world: World,
    book: Book,
    rails: u16,
    /// How many deeds there are; those that are left out.
    deeds: usize,
    without: BTreeSet<usize>,
    /// The network of a chaotic world, without the chance of breaking connections.
    calm: bool,
}

impl Chaos {
    fn new(seed: u64, without: BTreeSet<usize>) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0xc4a05);
        let network = network(&mut random);
        let lines = std::env::var("LNET_SIM_TRACE").ok().and_then(|lines| lines.parse().ok());
        let trace = lines.unwrap_or_else(|| WorldConfig::default().trace);
        let config = WorldConfig { seed, network, trace, check_every: 50 };
        let world = World::new("a world in which rails die", config);
        let (rails, timeout) = (random.u16(2..=3), TIMEOUTS[random.usize(0..TIMEOUTS.len())]);
        let calm = random.bool();
        let deeds = random.usize(10..60);
        let mut chaos = Self { seed, world, book: Book::default(), rails, deeds, without, calm };
        for node in 0..random.u32(2..=4) {
            let spec = chaos.spec(&mut random, node, timeout);
            chaos.world.add_node(spec);
        }
        chaos
    }

    /// A node with one interface on each of some rails, or more.
    fn spec(&mut self, random: &mut fastrand::Rng, node: u32, timeout: u32) -> NodeSpec {
        let most = if random.u8(0..6) == 0 { 1 } else { self.rails };
        let nids: Vec<Nid> = (0..most)
            .flat_map(|rail| (0..random.u16(1..=5) / 5 + 1).map(move |which| (rail, which)))
            .map(|(rail, which)| {
                let nid = nid(0, (node + 1) << 8 | u32::from(rail * 4 + which + 1));
                self.world.hang_on(nid, Rail(rail));
                nid
            })
            .collect();
        let settings = Settings { transaction_timeout: timeout, ..Settings::default() };
        NodeSpec { settings, ..NodeSpec::new(&nids) }
    }

    fn run(&mut self) -> Result<Book, Box<Broken>> {
        self.get_acquainted();
        for number in 0..self.deeds {
            if !self.without.contains(&number) && self.world.is_sound() {
                self.act(number);
            }
        }
        self.get_well();
        self.book.worlds = 1;
        self.book.add(&self.world);
        self.world.finish().map(|()| std::mem::take(&mut self.book))
    }

    /// All nodes find each other before anything happens.
    fn get_acquainted(&mut self) {
        for _ in 0..3 {
            self.all_ask(1);
            self.pass(Duration::from_secs(5));
        }
        if !self.calm {
            self.world.set_breaks(300);
        }
    }

    /// Each node asks each other something, so often.
    fn all_ask(&mut self, times: usize) {
        let nodes: Vec<NodeId> = self.world.node_ids().collect();
        for (node, other) in nodes.iter().flat_map(|node| nodes.iter().map(move |other| (*node, *other))) {
            let Some(to) = self.world.spec(other).and_then(|spec| spec.nids.first().copied()) else {
                continue;
            };
            for time in (0..times).filter(|_| node != other) {
                let ask = [Ask::PutWithAck, Ask::Get, Ask::Put][time % 3];
                self.world.ask_as(node, to, Asking { ask, ..Asking::default() });
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let then: Time = self.world.now() + time;
        self.world.run_until_within(then, STORM);
    }
}

fn network(random: &mut fastrand::Rng) -> NetworkConfig {
    NetworkConfig {
        latency: Duration::from_micros(random.u64(1..50)),
        jitter: Duration::from_micros(random.u64(1..3000)),
        slow_one_in: if random.bool() { 0 } else { random.u32(20..200) },
        connections: random.u8(1..=3),
        delivery: Delivery::Receipts,
        ..NetworkConfig::default()
    }
}

//! Cost of discovery in large networks: messages, memory and time for each pair of nodes that discover each other, and the
//! time that a node with many peers needs for a change of its NIDs.
//!
//! `scale` measures several sizes, which shows whether the cost grows with the number of pairs; `scale small`
//! does so in a few seconds. Figures of memory are differences of the process's resident memory, so each
//! measurement runs in its own process.
#![allow(missing_docs)]

use lnet_sim::{Completion, NetworkConfig, NodeId, NodeSpec, OpKind, Purpose, World, WorldConfig, nid};
use lnet_wire::Nid;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// Number of NIs of every node; clients of servers have one.
const RAILS: u32 = 4;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
    match (words.first().map(String::as_str), number(1), number(2)) {
        (None, ..) => all(&[
            "mesh 125",
            "mesh 250",
            "mesh 500",
            "mesh 1000",
            "servers 1250 100",
            "servers 2500 100",
            "servers 5000 100",
            "servers 10000 100",
            "change 1000",
            "change 10000",
        ]),
        (Some("small"), ..) => all(&["mesh 30", "mesh 60", "servers 300 10", "servers 600 10", "change 300"]),
        (Some("mesh"), Some(nodes), _) => mesh(nodes),
        (Some("servers"), Some(nodes), Some(servers)) => with_servers(nodes, servers),
        (Some("change"), Some(peers), _) => change(peers),
        _ => {
            eprintln!("usage: scale [small | mesh NODES | servers NODES SERVERS | change PEERS]");
            ExitCode::from(2)
        }
    }
}

fn all(runs: &[&str]) -> ExitCode {
    println!(
        "| what | pairs | messages a pair | of which discovery's | bytes a peer | wall time | CPU time | CPU a pair |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let Ok(myself) = std::env::current_exe() else { return ExitCode::FAILURE };
    for run in runs {
        let done = Command::new(&myself).args(run.split(' ')).status();
        if !done.is_ok_and(|status| status.success()) {
            eprintln!("{run} failed");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn fast_world() -> World {
    let network =
        NetworkConfig { jitter: Duration::ZERO, completion: Completion::AtOnce, ..NetworkConfig::default() };
    World::new("scale", WorldConfig { seed: 1, network, trace: 0, check_every: 0, ..WorldConfig::default() })
}

/// Returns the NIDs of a node, one on each rail.
fn rails_of(node: u32, rails: u32) -> Vec<Nid> {
    (0..rails).map(|rail| nid(0, node * RAILS + rail + 1)).collect()
}

/// Measures a mesh: every node sends to every other, beginning with its neighbour.
fn mesh(nodes: u32) -> ExitCode {
    let mut world = fast_world();
    let ids: Vec<NodeId> =
        (0..nodes).map(|node| world.add_node(NodeSpec::new(&rails_of(node, RAILS)))).collect();
    let contacts = (1..nodes).map(|step| ids.iter().map(move |id| (*id, (id.0 + step) % nodes)));
    let pairs = u64::from(nodes) * u64::from(nodes - 1) / 2;
    meet(&mut world, &format!("{nodes} nodes of {RAILS} NIs, all to all"), pairs, contacts)
}

/// Measures clients that each have one NI and send to every server; the servers have four NIs.
fn with_servers(nodes: u32, servers: u32) -> ExitCode {
    let mut world = fast_world();
    for node in 0..nodes {
        let rails = if node < servers { RAILS } else { 1 };
        world.add_node(NodeSpec::new(&rails_of(node, rails)));
    }
    let clients = nodes - servers;
    let contacts = (0..servers)
        .map(|step| (servers..nodes).map(move |client| (NodeId(client), (client + step) % servers)));
    let what = format!("{clients} clients of 1 NI, each to {servers} servers of {RAILS} NIs");
    meet(&mut world, &what, u64::from(clients) * u64::from(servers), contacts)
}

/// Runs the rounds, and prints their cost.
fn meet<Round: Iterator<Item = (NodeId, u32)>>(
    world: &mut World,
    what: &str,
    pairs: u64,
    rounds: impl Iterator<Item = Round>,
) -> ExitCode {
    let (before, began, cpu_before) = (resident(), Instant::now(), cpu_time());
    for round in rounds {
        for (node, other) in round {
            world.start_op(node, rails_of(other, 1)[0], OpKind::Put);
        }
        world.run_until_quiet(usize::MAX);
    }
    let (took, cpu) = (began.elapsed(), cpu_time().saturating_sub(cpu_before));
    world.forget_ended_ops();
    let bytes = resident().saturating_sub(before);
    if let Err(broken) = world.finish() {
        eprintln!("{broken}");
        return ExitCode::FAILURE;
    }
    let asked = world.served();
    let counts = world.counts();
    let discovered = world.node_ids().all(|id| knows_all(world, id));
    let per_pair = |number: u64| number as f64 / pairs as f64;
    println!(
        "| {what} | {pairs} | {:.2} | {:.2} | {} | {:.1} s | {:.1} s | {:.0} us |",
        per_pair(counts.messages()),
        per_pair(counts.messages() - asked),
        bytes / (2 * pairs),
        took.as_secs_f64(),
        cpu.as_secs_f64(),
        cpu.as_secs_f64() * 1e6 / pairs as f64,
    );
    if discovered { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn knows_all(world: &World, id: NodeId) -> bool {
    let Some(core) = world.core(id) else { return false };
    core.admin().peers().iter().all(|peer| {
        core.admin()
            .discovery_of(peer.primary)
            .is_some_and(|standing| standing.up_to_date && standing.parked == 0)
    })
}

/// Measures the change of a node with many peers, all of which it has met: it gets another NI while it sends.
fn change(peers: u32) -> ExitCode {
    let mut world = fast_world();
    let hub = world.add_node(NodeSpec::new(&rails_of(0, RAILS - 1)));
    for peer in 1..=peers {
        let id = world.add_node(NodeSpec::new(&rails_of(peer, 1)));
        world.start_op(id, nid(0, 1), OpKind::Put);
    }
    world.run_until_quiet(usize::MAX);
    world.measure_discovery(thread_time);
    let pushes = world.counts().of(Purpose::Push);
    let began = thread_time();
    let first = world.ops().len();
    world.add_ni(hub, nid(0, RAILS));
    let adding = thread_time().saturating_sub(began);
    // A request to another peer every 100 us for as long as pushes are under way.
    let mut asked = 0;
    let start = world.now();
    let (mut then, mut told) = (start, Duration::ZERO);
    while asked < 1000 || world.counts().of(Purpose::Push) < pushes + u64::from(peers) {
        let peer = 1 + asked * 7919 % peers;
        world.start_op(hub, rails_of(peer, 1)[0], OpKind::Put);
        then += Duration::from_micros(100);
        world.run_until(then);
        asked += 1;
        if told.is_zero() && world.counts().of(Purpose::Push) >= pushes + u64::from(peers) {
            told = then.since(start);
        }
        if then.since(start) > Duration::from_secs(600) || asked > 10_000_000 {
            break;
        }
    }
    world.run_until_quiet(usize::MAX);
    let wait = |op: &lnet_sim::Op| op.left.map_or(Duration::MAX, |left| left.since(op.started));
    let longest = world.ops().iter().skip(first).map(wait).max().unwrap_or_default();
    let pushed = world.counts().of(Purpose::Push) - pushes;
    println!(
        "{peers} peers are told of a new NI: {pushed} pushes, the last {:.3} s of virtual time later; {asked} requests \
         meanwhile, the longest wait of one {:.3} ms; the longest turn of discovery {:.3} ms of processor \
         time, adding the NI {:.3} ms",
        told.as_secs_f64(),
        longest.as_secs_f64() * 1e3,
        world.slowest_discovery().as_secs_f64() * 1e3,
        adding.as_secs_f64() * 1e3,
    );
    match world.finish() {
        Ok(()) => ExitCode::SUCCESS,
        Err(broken) => {
            eprintln!("{broken}");
            ExitCode::FAILURE
        }
    }
}

/// Processor time of this process: unlike wall time, much the same on a busy machine.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // User and system time, in hundredths of a second.
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Processor time of this thread, in nanoseconds' resolution.
fn thread_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split_whitespace().next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

//! Cost of selecting a path: this node's interfaces times the peer's, all equal, so that every criterion is
//! compared; and cost of finding a peer among many.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use lnet_core::cpt::{Hardware, Layout, NumaNode, Pattern};
use lnet_core::lnd::{Driver, LndNi, SendOutcome, StartError, Upcalls};
use lnet_core::policy::{Action, Rule};
use lnet_core::topology::Route;
use lnet_core::{
    Core, CoreConfig, CptTable, Errno, Ni, NiConfig, NiTunables, OutgoingMessage, Placement, Pooled,
};
use lnet_wire::{NetId, NetType, Nid, Pid};
use std::hint::black_box;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A driver that sends nothing.
struct Idle;

impl Driver for Idle {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, _: &Arc<Ni>, _: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError> {
        Ok(Arc::new(Self))
    }
}

impl LndNi for Idle {
    fn send(&self, message: Pooled<OutgoingMessage>) -> SendOutcome {
        SendOutcome::Done(message, Err(Errno::HostUnreachable.into()))
    }

    fn shutdown(&self) {}
}

fn nid(address: u32) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 0), address)
}

fn node(interfaces: u32) -> Arc<Core> {
    let core = Core::new(CoreConfig::new(Pid::LUSTRE, 1).without_discovery());
    for i in 0..interfaces {
        core.admin().add_ni(nid(0x0a00_0001 + i), NiTunables::default(), &Idle).unwrap();
    }
    core
}

/// A machine whose threads run on the second of four NUMA nodes.
#[derive(Debug)]
struct SecondNode;

impl Placement for SecondNode {
    fn node_of_memory(&self, _: usize) -> Option<u32> {
        Some(1)
    }

    fn cpu_of_this_thread(&self) -> Option<u32> {
        Some(1)
    }
}

/// Makes the core of a machine of four NUMA nodes with an interface on each.
fn numa_node() -> Arc<Core> {
    let distances = |id| (0..4).map(|other| if other == id { 10 } else { 21 }).collect();
    let nodes = (0..4).map(|id| NumaNode { id, cpus: vec![id], distances: distances(id) }).collect();
    let hardware = Hardware { nodes, threads_per_core: NonZeroUsize::MIN };
    let core = Core::new(CoreConfig {
        cpts: CptTable::new(&hardware, &Layout::Pattern(Pattern::EachNode)).unwrap(),
        placement: Some(Arc::new(SecondNode)),
        ..CoreConfig::new(Pid::LUSTRE, 1).without_discovery()
    });
    for i in 0..4 {
        let config = NiConfig { device_cpt: Some(i), ..NiConfig::default() };
        core.admin().add_ni(nid(0x0a00_0001 + i), config, &Idle).unwrap();
    }
    core
}

/// Adds a peer with `nids` NIDs from `first` on.
fn peer(core: &Core, first: u32, nids: u32) {
    core.admin().make_peer(nid(first), true, false).unwrap();
    for i in 1..nids {
        core.admin().add_peer_nid(nid(first), nid(first + i), true).unwrap();
    }
}

fn choice(c: &mut Criterion) {
    let mut group = c.benchmark_group("choosing a path, own NIs x peer NIs");
    for interfaces in [1, 4, 16] {
        for nids in [1, 16, 128] {
            let core = node(interfaces);
            peer(&core, 0x0b00_0001, nids);
            group.bench_function(BenchmarkId::from_parameter(format!("{interfaces} x {nids}")), |b| {
                b.iter(|| core.data_path().select_path(None, black_box(nid(0x0b00_0001))).unwrap());
            });
            core.admin().shutdown();
        }
    }
    let core = node(4);
    peer(&core, 0x0b00_0001, 4);
    group.bench_function("4 x 4", |b| {
        b.iter(|| core.data_path().select_path(None, black_box(nid(0x0b00_0001))).unwrap())
    });
    let on_numa = numa_node();
    peer(&on_numa, 0x0b00_0001, 4);
    group.bench_function("4 x 4, by distance", |b| {
        b.iter(|| on_numa.data_path().select_path(None, black_box(nid(0x0b00_0001))).unwrap());
    });
    group.bench_function("4 x 4, source given", |b| {
        b.iter(|| core.data_path().select_path(Some(nid(0x0a00_0001)), black_box(nid(0x0b00_0001))).unwrap());
    });
    group.finish();
}

fn many_peers(c: &mut Criterion) {
    let mut group = c.benchmark_group("choosing a path, 4 NIs x 4, among so many peers");
    for peers in [1_u32, 100, 10_000] {
        let core = node(4);
        for i in 0..peers {
            peer(&core, 0x0b00_0001 + i * 4, 4);
        }
        let mut which = 0;
        group.bench_function(BenchmarkId::from_parameter(peers), |b| {
            b.iter(|| {
                which = (which + 7919) % peers;
                core.data_path().select_path(None, black_box(nid(0x0b00_0001 + which * 4))).unwrap()
            });
        });
        // The rest of the difference when the memory has been read before: look-ups take the same steps.
        group.bench_function(BenchmarkId::new("the same one each time", peers), |b| {
            b.iter(|| core.data_path().select_path(None, black_box(nid(0x0b00_0001))).unwrap());
        });
        core.admin().shutdown();
    }
    group.finish();
}

/// Prints the memory of 10 000 peers of 4 NIDs. Not a timed benchmark.
fn memory(_: &mut Criterion) {
    let resident = || {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let core = node(4);
    let before = resident();
    for i in 0..10_000 {
        peer(&core, 0x0b00_0001 + i * 4, 4);
    }
    let taken = resident() - before;
    println!(
        "10 000 peers of 4 NIDs: {:.1} MiB resident, {} bytes a NID",
        taken as f64 / f64::from(1 << 20),
        taken / 40_000
    );
    core.admin().shutdown();
}

/// Returns a rule about peers; the kinds take turns, and no two rules are equal. No rule is about 11.0.0.0.
fn rule(number: u32) -> Rule {
    let (high, low) = (number >> 8 & 255, number & 255);
    let text = |side: String| Some(side.parse().unwrap());
    let action = Action::Priority(number % 256);
    match number % 4 {
        0 => Rule::new(None, text(format!("12.{high}.[{low}-255].*@tcp")), None, action),
        1 => Rule::new(text(format!("10.{high}.0.[1-{low}]@tcp7")), None, None, action),
        2 => Rule::new(text("10.0.0.[1-2]@tcp".into()), text(format!("12.{high}.{low}.*@tcp")), None, action),
        _ => Rule::new(None, text(format!("12.{high}.{low}.*@tcp1")), text("10.0.0.9@tcp".into()), action),
    }
}

/// Returns a rule about every peer NI, of one kind, each another.
fn about_all(kind: &str, number: u32) -> Rule {
    let (high, low) = (number >> 8 & 255, number & 255);
    let text = |side: String| Some(side.parse().unwrap());
    let all = || text(format!("[12,{}].*.[0-255,{low}].[0-255,{high}]@tcp", 100 + number % 100));
    let own = || text(format!("10.0.0.{}@tcp", number % 4 + 1));
    match kind {
        "NIDs" => Rule::new(None, all(), None, Action::Priority(number % 256)),
        "pairs with priorities" => Rule::new(own(), all(), None, Action::Priority(number % 256)),
        _ => Rule::new(own(), all(), None, Action::PreferredList),
    }
}

fn with_rules(core: &Core, rules: impl Iterator<Item = Rule>) {
    rules.for_each(|rule| core.admin().add_rule(rule, None).unwrap());
}

/// UD-10: a send does not check the rules. The effects on this peer are compared, however many others there are.
fn selection_rules(c: &mut Criterion) {
    let mut group = c.benchmark_group("choosing a path, 4 x 4, with so many selection rules");
    let peer_nis = "11.0.0.[1-2]@tcp";
    let counting = NonZeroU32::new(3);
    let text = |text: &str| Some(text.parse().unwrap());
    let abouts: [(&str, Option<Rule>); 4] = [
        ("others", None),
        ("this peer", Some(Rule::new(None, text(peer_nis), None, Action::Priority(1)))),
        ("this pair", Some(Rule::new(text("10.0.0.[1-2]@tcp"), text(peer_nis), None, Action::PreferredList))),
        (
            "this peer, counting",
            Some(Rule { messages: counting, ..Rule::new(None, text(peer_nis), None, Action::Priority(1)) }),
        ),
    ];
    for (about, its) in &abouts {
        for rules in [0, 1000] {
            let core = node(4);
            peer(&core, 0x0b00_0001, 4);
            with_rules(&core, (0..rules).map(rule).chain(its.clone()));
            group.bench_function(BenchmarkId::new(*about, rules), |b| {
                b.iter(|| core.data_path().select_path(None, black_box(nid(0x0b00_0001))).unwrap());
            });
            core.admin().shutdown();
        }
    }
    // A node behind gateways, one of which a rule prefers.
    for rules in [0, 1000] {
        let core = node(4);
        let far = NetId::new(NetType::TCP, 1);
        for gateway in [0x0d00_0001, 0x0d00_0002] {
            let route =
                Route { net: far, gateway: nid(gateway), hops: None, priority: 0, health_sensitivity: 1 };
            core.admin().add_route(route).unwrap();
        }
        let its = Rule::new(None, text("tcp1"), text("13.0.0.2@tcp"), Action::PreferredList);
        with_rules(&core, (0..rules).map(rule).chain([its]));
        let behind = Nid::new(far, 0x0b00_0001);
        core.admin().make_peer(behind, false, false).unwrap();
        group.bench_function(BenchmarkId::new("this router", rules), |b| {
            b.iter(|| core.data_path().select_path(None, black_box(behind)).unwrap());
        });
        core.admin().shutdown();
    }
    group.finish();
}

/// The cost of changes while a thread selects paths to a peer.
struct Changed {
    took: Duration,
    /// The part of `took` on a CPU: other programs may want it, too.
    cpu: Duration,
    choices: u64,
    /// The longest selection, and the longest of those during which the thread did not lose its CPU.
    longest: Duration,
    longest_on_cpu: Duration,
}

/// Returns this thread's time on a CPU, and how often it has waited for one.
fn of_this_thread() -> (Duration, u64) {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let numbers: Vec<u64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    (Duration::from_nanos(numbers[0]), numbers[2])
}

fn while_choosing(core: &Core, change: impl FnOnce()) -> Changed {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let (mut longest, mut longest_on_cpu, mut choices) = (Duration::ZERO, Duration::ZERO, 0_u64);
            let mut slices = of_this_thread().1;
            while !done.load(Ordering::Relaxed) {
                let start = Instant::now();
                core.data_path().select_path(None, black_box(nid(0x0c00_0000))).unwrap();
                let took = start.elapsed();
                longest = longest.max(took);
                if took > longest_on_cpu {
                    let now = of_this_thread().1;
                    longest_on_cpu = if now == slices { took } else { longest_on_cpu };
                    slices = now;
                }
                choices += 1;
            }
            (choices, longest, longest_on_cpu)
        });
        let (start, cpu) = (Instant::now(), of_this_thread().0);
        change();
        let (took, cpu) = (start.elapsed(), of_this_thread().0 - cpu);
        done.store(true, Ordering::Relaxed);
        let (choices, longest, longest_on_cpu) = sender.join().unwrap();
        Changed { took, cpu, choices, longest, longest_on_cpu }
    })
}

/// Prints the cost of adding 1 000 rules, one by one, on 10 000 peer NIs, and the longest wait of a send meanwhile. Not a
/// criterion benchmark.
fn adding_rules(_: &mut Criterion) {
    let core = node(4);
    (0..10_000).for_each(|i| peer(&core, 0x0c00_0000 + i * 16, 1));
    let say = |what: &str, Changed { took, cpu, choices, longest, longest_on_cpu }: Changed| {
        println!(
            "{what}: {took:.2?}, {cpu:.2?} of it on a CPU; of {choices} choices meanwhile the longest: {longest:.2?}, without losing \
             the CPU {longest_on_cpu:.2?}"
        );
    };
    let clear = || core.admin().delete_rule(None).unwrap();
    say(
        "1 000 rules, one by one, on 10 000 peer NIs",
        while_choosing(&core, || with_rules(&core, (0..1000).map(rule))),
    );
    say("all of them deleted at once", while_choosing(&core, clear));
    for kind in ["NIDs", "pairs with priorities", "pairs"] {
        let all = (0..1000).map(|number| about_all(kind, number));
        say(
            &format!("1 000 rules about {kind}, each about all 10 000 peer NIs"),
            while_choosing(&core, || with_rules(&core, all)),
        );
        clear();
    }
    let everywhere =
        |priority| Rule::new(None, Some("12.*.*.*@tcp".parse().unwrap()), None, Action::Priority(priority));
    with_rules(&core, (0..999).map(rule));
    say(
        "one rule about all of them, before 999 others",
        while_choosing(&core, || core.admin().add_rule(everywhere(1), Some(0)).unwrap()),
    );
    core.admin().shutdown();
}

criterion_group!(benches, memory, adding_rules, choice, selection_rules, many_peers);
criterion_main!(benches);

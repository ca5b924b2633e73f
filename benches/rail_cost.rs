//! Cost of several rails for each message: nodes of one rail and of four, over loopback, with nothing to gain from
//! more rails. Every round runs each contestant once, so that a slow spell of the machine hits all. Printed as a
//! table.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "shared with tests")]
#[path = "../tests/support/machines.rs"]
mod machines;
#[allow(dead_code, reason = "shared with tests")]
#[path = "../tests/support/netns.rs"]
mod netns;
#[allow(dead_code, reason = "shared with tests")]
#[path = "../tests/support/rails.rs"]
mod rails;

use lnet_core::{
    EqHandle, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions, MdSpec, Target,
};
use lnet_node::Node;
use lnet_wire::{Nid, Pid};
use rails::{Rails, nids};
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: usize = 25;
const PORTAL: u32 = 9;
/// Time limit of any step, far beyond the need: only a hang reaches it.
const FOR_EVER: Duration = Duration::from_secs(60);
const RAILS: usize = 4;

/// The configurations that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contestant {
    /// One rail on each side.
    One,
    /// Four rails each, one peer: LNet chooses.
    Four,
    /// The same rails and connections as four, but the program selects the path: each pair of rails in turn, by source and
    /// destination.
    FourByHand,
}

const CONTESTANTS: [(Contestant, &str); 3] = [
    (Contestant::One, "1 x 1"),
    (Contestant::Four, "4 x 4"),
    (Contestant::FourByHand, "4 x 4, pairs named by the program"),
];

/// The work that is measured: messages of `size` bytes.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// A PUT there, a PUT back, no acknowledgements.
    RoundTrip { size: usize },
    /// Acknowledged PUTs, `in_flight` of them under way at once.
    Put { size: usize, in_flight: usize },
}

const WORK: [(Work, usize, &str); 2] = [
    (Work::RoundTrip { size: 8 }, 8_000, "round trip, 8 B"),
    (Work::Put { size: 4096, in_flight: 8 }, 16_000, "PUT 4 KiB, 8 in flight"),
];

fn main() {
    let pairs = CONTESTANTS.map(|(contestant, _)| Pair::start(contestant));
    for (work, messages, name) in WORK {
        let mut samples = vec![Vec::new(); pairs.len()];
        // The first round makes the connections.
        for round in 0..=ROUNDS {
            for (pair, samples) in pairs.iter().zip(&mut samples) {
                let sample = pair.measure(work, messages);
                if round > 0 {
                    samples.push(sample);
                }
            }
        }
        println!("{name}, ns a message, median of {ROUNDS} rounds");
        for ((_, who), of_this) in CONTESTANTS.iter().zip(&samples) {
            let more: Vec<f64> = of_this.iter().zip(&samples[0]).map(|(this, one)| this - one).collect();
            let ratio: Vec<f64> = of_this.iter().zip(&samples[0]).map(|(this, one)| this / one).collect();
            let [low, middle, high] = quartiles(more);
            println!(
                "  {who:34} {:7.0}; over 1 x 1 {middle:+6.0} ({low:+.0} to {high:+.0}), ratio {:.3}",
                quartiles(of_this.clone())[1],
                quartiles(ratio)[1],
            );
        }
    }
    pairs.into_iter().for_each(|pair| pair.rails.shutdown());
}

/// Returns the first, second and third quartile of the samples.
fn quartiles(mut samples: Vec<f64>) -> [f64; 3] {
    samples.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| samples[samples.len() * quarter / 4])
}

/// Two nodes, and the paths by which they send.
struct Pair {
    rails: Rails,
    near: End,
    far: End,
}

/// A node, with its paths to the other node.
struct End {
    eq: EqHandle,
    /// Pairs of source and destination, used in turn.
    ways: Vec<(Option<Nid>, Nid)>,
}

impl Pair {
    fn start(contestant: Contestant) -> Self {
        let net = contestant as usize;
        let networks = |machine: usize, rails| {
            let addresses: Vec<_> =
                (1..=rails).map(|rail| format!("127.0.{}.{rail}", 100 + net * 2 + machine)).collect();
            format!("tcp({})", addresses.join(","))
        };
        let rails = match contestant {
            Contestant::One => Rails::on_loopback(&networks(0, 1), &networks(1, 1)),
            Contestant::Four => Rails::on_loopback(&networks(0, RAILS), &networks(1, RAILS)),
            Contestant::FourByHand => {
                Rails::undiscovered_on_loopback(&networks(0, RAILS), &networks(1, RAILS))
            }
        };
        let end = |from: &Node, to: &Node| {
            let ways = match contestant {
                Contestant::One | Contestant::Four => vec![(None, nids(to)[0])],
                Contestant::FourByHand => nids(from).into_iter().map(Some).zip(nids(to)).collect(),
            };
            End { eq: from.core().data_path().eq_alloc(4096, None).unwrap(), ways }
        };
        let (near, far) = (end(&rails.near, &rails.far), end(&rails.far, &rails.near));
        near.offer(&rails.near);
        far.offer(&rails.far);
        Self { rails, near, far }
    }

    /// Returns the nanoseconds for each message.
    fn measure(&self, work: Work, messages: usize) -> f64 {
        let (near, far) = (&self.rails.near, &self.rails.far);
        let start = Instant::now();
        match work {
            Work::RoundTrip { size } => {
                let echo = |node: &Node, end: &End, begins: bool| {
                    let md = bind(node, end.eq, size);
                    for message in 0..messages {
                        if begins {
                            end.put(node, md, message, false);
                        }
                        end.await_one(node, EventKind::Put);
                        if !begins {
                            end.put(node, md, message, false);
                        }
                    }
                    node.core().data_path().md_unlink(md).unwrap();
                };
                thread::scope(|threads| {
                    threads.spawn(|| echo(far, &self.far, false));
                    echo(near, &self.near, true);
                });
                start.elapsed().as_nanos() as f64 / (2 * messages) as f64
            }
            Work::Put { size, in_flight } => {
                thread::scope(|threads| {
                    threads.spawn(|| {
                        for _ in 0..messages {
                            self.far.await_one(far, EventKind::Put);
                        }
                    });
                    let md = bind(near, self.near.eq, size);
                    for message in 0..messages + in_flight {
                        if message >= in_flight {
                            self.near.await_one(near, EventKind::Ack);
                        }
                        if message < messages {
                            self.near.put(near, md, message, true);
                        }
                    }
                    near.core().data_path().md_unlink(md).unwrap();
                });
                start.elapsed().as_nanos() as f64 / messages as f64
            }
        }
    }
}

impl End {
    /// Offers memory for PUTs from any node.
    fn offer(&self, node: &Node) {
        let core = node.core();
        let me = core
            .data_path()
            .me_attach(PORTAL, MatchId::ANY, 0, u64::MAX, true, InsertPosition::After)
            .unwrap();
        let options = MdOptions(MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
        let (spec, memory) = spec(4096, options, self.eq);
        core.data_path().md_attach(me, spec, memory, false, &mut |_| ()).unwrap();
    }

    fn put(&self, node: &Node, md: MdHandle, message: usize, ack: bool) {
        let (source, to) = self.ways[message % self.ways.len()];
        let target = Target { nid: Some(to), pid: Pid::LUSTRE, portal: PORTAL, match_bits: 0, offset: 0 };
        node.core().data_path().put(source, md, ack, target, 0).unwrap();
    }

    fn await_one(&self, node: &Node, kind: EventKind) {
        loop {
            let (_, polled) = node.eq_poll(&[self.eq], Some(FOR_EVER)).unwrap().expect("an event in time");
            assert_eq!(polled.event.status, Ok(()));
            if polled.event.kind == kind {
                return;
            }
        }
    }
}

fn bind(node: &Node, eq: EqHandle, size: usize) -> MdHandle {
    let (spec, memory) = spec(size, MdOptions(0), eq);
    node.core().data_path().md_bind(spec, memory, false).unwrap()
}

/// Describes an MD whose memory lives as long as the process.
fn spec(size: usize, options: MdOptions, eq: EqHandle) -> (MdSpec, MdMemory) {
    let (start, length) = (Vec::leak(vec![7_u8; size]).as_mut_ptr() as usize, size as u32);
    let spec = MdSpec { start, length, threshold: -1, max_size: 0, options, user_ptr: 0, eq: Some(eq) };
    (spec, MdMemory::contiguous(start, length))
}

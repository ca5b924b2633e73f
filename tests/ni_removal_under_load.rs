//! Interfaces, nets and peers' NIDs that are removed and added again while PUTs and GETs run: operations on a removed object
//! end with an error or stay without a response (until the descriptor is unlinked), no other operation fails, and every
//! operation ends exactly once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use lnet_core::stats::MessageOutcome;
use lnet_core::topology::PeerNi;
use lnet_core::{
    Core, EqHandle, Errno, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions, MdSpec,
    Ni, Target,
};
use lnet_wire::{Nid, Pid};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use support::rails::{Rails, nids};

const PORTAL: u32 = 9;
const ROUNDS: usize = 12;
/// The number of operations that end in each phase before the next begins.
const PHASE: u64 = 60;
/// Operations in flight at once: more than a peer has credits, so that some wait.
const IN_FLIGHT: u64 = 24;
const LARGEST: u32 = 1 << 16;
/// The timeout of every wait: far longer than a step takes. Only a failing test reaches it.
const TIMEOUT: Duration = Duration::from_secs(100);

/// The events of an operation so far.
#[derive(Clone, Debug, Default)]
struct Operation {
    md: Option<MdHandle>,
    sends: u32,
    failed: Option<Errno>,
    responses: u32,
    last_events: u32,
    /// Whether the operation is no longer counted as in flight, because the interface that it may have used was removed.
    written_off: bool,
}

/// The operations of the near node, each with its own descriptor.
struct Traffic {
    core: Arc<Core>,
    eq: EqHandle,
    to: Nid,
    operations: Arc<Mutex<Vec<Operation>>>,
    under_way: Arc<AtomicU64>,
    ended: Arc<AtomicU64>,
    over: AtomicBool,
}

impl Traffic {
    /// Starts traffic from the near node to the far one, which accepts every PUT and GET.
    fn over(rails: &Rails) -> Self {
        let far = rails.far.core();
        let me = far.data_path().me_attach(PORTAL, MatchId::ANY, 1, 0, true, InsertPosition::After).unwrap();
        let options = MdOptions(MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0);
        let (spec, memory) = spec(LARGEST, -1, options, 0, None);
        far.data_path().md_attach(me, spec, memory, false, &mut |_| ()).unwrap();
        let core = Arc::clone(rails.near.core());
        let operations = Arc::new(Mutex::new(Vec::<Operation>::new()));
        let (under_way, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let told = (Arc::clone(&operations), Arc::clone(&under_way), Arc::clone(&ended));
        let handler = move |event: &Event| {
            let mut operations = told.0.lock().unwrap();
            let operation = &mut operations[event.md.user_ptr];
            match event.kind {
                EventKind::Send => {
                    operation.sends += 1;
                    operation.failed = event.status.err();
                    if operation.failed.is_some() && !operation.written_off {
                        operation.written_off = true;
                        told.1.fetch_sub(1, Ordering::SeqCst);
                    }
                }
                EventKind::Ack | EventKind::Reply => operation.responses += u32::from(event.status.is_ok()),
                _ => {}
            }
            if event.unlinked {
                operation.last_events += 1;
                told.2.fetch_add(1, Ordering::SeqCst);
                if !operation.written_off {
                    told.1.fetch_sub(1, Ordering::SeqCst);
                }
            }
        };
        let eq = core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
        let to = nids(&rails.far)[0];
        Self { core, eq, to, operations, under_way, ended, over: AtomicBool::new(false) }
    }

    /// Sends PUTs with ACK and GETs of all sizes in turn, until the traffic is ended.
    fn run(&self) {
        for i in 0_u32.. {
            while self.under_way.load(Ordering::SeqCst) >= IN_FLIGHT {
                if self.over.load(Ordering::SeqCst) {
                    return;
                }
                thread::yield_now();
            }
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            let number = {
                let mut operations = self.operations.lock().unwrap();
                operations.push(Operation::default());
                operations.len() - 1
            };
            self.under_way.fetch_add(1, Ordering::SeqCst);
            // One operation for the SEND event, one for the response.
            let (spec, memory) = spec((i * 4099) % LARGEST, 2, MdOptions(0), number, Some(self.eq));
            let md = self.core.data_path().md_bind(spec, memory, true).unwrap();
            self.operations.lock().unwrap()[number].md = Some(md);
            let target =
                Target { nid: Some(self.to), pid: Pid::LUSTRE, portal: PORTAL, match_bits: 1, offset: 0 };
            match i % 2 {
                0 => self.core.data_path().put(None, md, true, target, 0).unwrap(),
                _ => self.core.data_path().get(None, md, target).unwrap(),
            }
        }
    }

    /// Waits until this number of further operations have ended.
    fn await_more(&self, more: u64) {
        let enough = self.ended.load(Ordering::SeqCst) + more;
        await_until("operations to end", || self.ended.load(Ordering::SeqCst) >= enough);
    }

    /// Stops counting the operations in flight, so that they do not delay new ones.
    fn write_off(&self) {
        let mut operations = self.operations.lock().unwrap();
        let open = operations.iter_mut().filter(|operation| operation.last_events == 0);
        for operation in open.filter(|operation| !operation.written_off) {
            operation.written_off = true;
            self.under_way.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Waits for all operations that must have a response, without those that were written off. Then ends the others, and returns
    /// all operations.
    fn settle(&self) -> Vec<Operation> {
        await_until("the answers", || self.under_way.load(Ordering::SeqCst) == 0);
        await_until("the SEND events", || self.operations().iter().all(|operation| operation.sends > 0));
        let open = self.operations().into_iter().filter(|operation| operation.last_events == 0);
        open.filter_map(|operation| operation.md).for_each(|md| {
            let _ = self.core.data_path().md_unlink(md);
        });
        await_until("the last events", || self.operations().iter().all(|op| op.last_events > 0));
        self.operations()
    }

    fn operations(&self) -> Vec<Operation> {
        self.operations.lock().unwrap().clone()
    }
}

/// Ends the traffic when dropped, so that a test that fails ends too.
struct Over<'a>(&'a Traffic);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
    }
}

fn spec(
    length: u32,
    threshold: i32,
    options: MdOptions,
    number: usize,
    eq: Option<EqHandle>,
) -> (MdSpec, MdMemory) {
    // Lives as long as the process: a message may outlast its node. What is in it does not matter.
    static MEMORY: [AtomicBool; LARGEST as usize] = [const { AtomicBool::new(false) }; LARGEST as usize];
    let start = MEMORY.as_ptr() as usize;
    let spec = MdSpec { start, length, threshold, max_size: 0, options, user_ptr: number, eq };
    (spec, MdMemory::contiguous(start, length))
}

fn await_until(what: &str, come: impl Fn() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !come() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        thread::yield_now();
    }
}

/// Requests that left by an interface, answers that came by it, and requests that failed on it.
fn counts(ni: &Ni) -> [u64; 3] {
    let [sent, received, dropped] = [MessageOutcome::Sent, MessageOutcome::Received, MessageOutcome::Dropped]
        .map(|it| ni.counters().read(it));
    [sent.put + sent.get, received.ack + received.reply, dropped.put + dropped.get]
}

fn ni(rails: &Rails, nid: Nid) -> Arc<Ni> {
    Arc::clone(rails.near.core().nets().ni(nid).unwrap())
}

/// Removes an interface from the near node, and returns it.
fn taken_away(rails: &Rails, nid: Nid) -> Arc<Ni> {
    let ni = ni(rails, nid);
    rails.near.remove_ni(nid).unwrap();
    ni
}

/// Changes the configuration under traffic. `go` removes something, and returns the near node's interface that is removed with
/// it; `come` adds it again.
///
/// Fails if an operation on a removed interface does not go on by another or end once, with or without error, or if any other
/// operation fails.
fn under_traffic(rails: Rails, go: impl Fn(&Rails) -> Option<Arc<Ni>>, come: impl Fn(&Rails)) {
    let traffic = Traffic::over(&rails);
    let mut gone = Vec::new();
    thread::scope(|threads| {
        let over = Over(&traffic);
        for _ in 0..2 {
            threads.spawn(|| traffic.run());
        }
        for _ in 0..ROUNDS {
            traffic.await_more(PHASE);
            gone.extend(go(&rails));
            traffic.write_off();
            traffic.await_more(PHASE);
            come(&rails);
        }
        traffic.await_more(PHASE);
        drop(over);
    });
    let operations = traffic.settle();
    for operation in &operations {
        let Operation { sends, responses, last_events, failed, .. } = operation;
        assert_eq!((*sends, *last_events), (1, 1), "{operation:?}");
        assert!(*responses <= u32::from(failed.is_none()), "{operation:?}");
        assert!(matches!(failed, None | Some(Errno::Shutdown)), "{operation:?}");
    }
    // A response may arrive late, by an interface that was added again, and messages that could not use a removed one may have
    // used another, so the operations without a response are counted over all of them.
    gone.extend(rails.near.core().nets().nis().filter(|ni| !ni.nid().is_loopback()).cloned());
    let sum = gone.iter().map(|ni| counts(ni)).fold([0; 3], |[a, b, c], [x, y, z]| [a + x, b + y, c + z]);
    let count = |which: fn(&Operation) -> bool| operations.iter().filter(|op| which(op)).count() as u64;
    let (failed, unanswered) =
        (count(|op| op.failed.is_some()), count(|op| op.failed.is_none() && op.responses == 0));
    assert_eq!([sum[0] - sum[1], sum[2]], [unanswered, failed]);
    // Events come before credits are returned and messages put away.
    let core = rails.near.core();
    let idle = |peer_ni: &PeerNi| peer_ni.credits().0.unsigned_abs() == peer_ni.max_credits();
    await_until("the credits", || core.peer_nis().iter().all(|peer_ni| idle(peer_ni)));
    await_until("the messages", || core.message_counts().msgs_alloc == 0);
    rails.shutdown();
}

/// OM-33; the design's edge case of an interface that is removed while it is in use.
#[test]
fn removing_an_interface_in_use_fails_only_operations_bound_to_it() {
    let rails = Rails::on_loopback("tcp(127.0.41.1,127.0.41.2)", "tcp(127.0.42.1,127.0.42.2)");
    let goes = nids(&rails.near)[1];
    under_traffic(
        rails,
        |rails| Some(taken_away(rails, goes)),
        |rails| {
            rails.near.add_nid(goes).unwrap();
        },
    );
}

/// OM-33, OM-6; the design's edge case of a net.
#[test]
fn removing_a_net_in_use_fails_only_operations_bound_to_it() {
    let rails = Rails::on_loopback("tcp(127.0.43.1),tcp1(127.0.44.1)", "tcp(127.0.43.2),tcp1(127.0.44.2)");
    let goes = nids(&rails.near)[1];
    let [far, far_too] = nids(&rails.far)[..] else { panic!() };
    under_traffic(
        rails,
        |rails| Some(taken_away(rails, goes)),
        |rails| {
            // The peer's NID on it went with the net, and is first known again on a net that is not there.
            rails.near.core().admin().add_peer_nid(far, far_too, true).unwrap();
            rails.near.add_nid(goes).unwrap();
        },
    );
}

/// The design's edge case of a peer NI: operations in flight to it end as if it were still known.
#[test]
fn deleting_a_peer_nid_in_use_fails_no_operation() {
    let rails = Rails::on_loopback("tcp(127.0.45.1)", "tcp(127.0.46.1,127.0.46.2)");
    let [far, goes] = nids(&rails.far)[..] else { panic!() };
    under_traffic(
        rails,
        |rails| {
            // A message from the NID makes it known again, as a peer of its own (OM-21).
            match rails.near.core().admin().delete_peer(far, Some(goes), false) {
                Ok(()) | Err(Errno::NoChild) => None,
                Err(errno) => panic!("{errno}"),
            }
        },
        |rails| rails.near.core().admin().add_peer_nid(far, goes, true).unwrap(),
    );
}

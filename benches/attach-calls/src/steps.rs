//! Keeps the threads of the programs and of the node in step, at the steps of `lnet_os::stop_point`.
//!
//! The node's thread writes an event only when both programs have read all that was written before, and wait: by looking again and again,
//! or asleep. The program sends an operation only when, beside that, the node's thread waits in the same way. With [`Mode::Awake`] that
//! thread is kept where it has found no operation, as it sleeps after some looks.
//!
//! A thread that is kept here sleeps by `clock_nanosleep`, which the library does not call.

use lnet_os::stop_point;
use std::cell::Cell;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Awake,
    Asleep,
}

/// The programs' threads that read reports.
pub(crate) const ASKING: usize = 0;
pub(crate) const SERVING: usize = 1;

/// The time for which a thread is kept at once, and the time after which the process ends: then the threads wait for each other.
const PAUSE: Duration = Duration::from_micros(20);
const LIMIT: Duration = Duration::from_secs(60);

/// The phases of a run. Up to `LEARNING` all threads run freely.
const FREE: u8 = 0;
const LEARNING: u8 = 1;
const LEARNED: u8 = 2;
const IN_STEP: u8 = 3;
const ENDING: u8 = 4;

static IS_AWAKE: AtomicBool = AtomicBool::new(false);
static PHASE: AtomicU8 = AtomicU8::new(FREE);
/// Reports that the node has written, and that the programs have read.
static REPORTS_SENT: AtomicU32 = AtomicU32::new(0);
static REPORTS_READ: AtomicU32 = AtomicU32::new(0);
/// Operations of both programs from `LEARNING` on: a PUT, and that the event of a PUT has been handled.
static OPERATIONS_SENT: AtomicU32 = AtomicU32::new(0);
static OPERATIONS_READ: AtomicU32 = AtomicU32::new(0);
/// Whether the node's thread of the program that asks waits for an operation.
static NODE_WAITS: AtomicBool = AtomicBool::new(false);
/// Whether a thread of each program waits for reports, and has read all before. It is set again after each report.
static PROGRAM_WAITS: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
/// The number of the node's threads that sleep, of the two that carry out operations.
static NODE_SLEEPERS: AtomicU32 = AtomicU32::new(0);
/// The number of threads of the library that have slept: one for each program.
static SLEEPERS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The program whose reports this thread reads.
    static PROGRAM: Cell<Option<usize>> = const { Cell::new(None) };
    /// Whether this is the node's thread for that program.
    static CARRIES_OUT: Cell<bool> = const { Cell::new(false) };
    /// Whether this is a thread of the node that sleeps, or has not looked since.
    static SLEEPS: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn begin(mode: Mode) {
    IS_AWAKE.store(mode == Mode::Awake, SeqCst);
    stop_point::observe(reached);
}

/// Says which program the calling thread is of.
pub(crate) fn this_thread_is(program: usize) {
    if IS_AWAKE.load(SeqCst) {
        PROGRAM.set(Some(program));
    }
}

/// The node's thread that carries out the next operation is the one that is kept in step: that of the program that asks.
pub(crate) fn learn_node_thread() {
    PHASE.store(LEARNING, SeqCst);
}

/// Keeps all threads in step, once the node's other thread sleeps too: it has nothing to do any more.
pub(crate) fn keep_in_step() {
    keep_until(node_threads_sleep);
    PHASE.store(IN_STEP, SeqCst);
}

pub(crate) fn end() {
    PHASE.store(ENDING, SeqCst);
}

/// Waits until all others wait, for the thread that sends operations.
pub(crate) fn wait_until_quiet() {
    keep_until(|| {
        OPERATIONS_READ.load(SeqCst) == OPERATIONS_SENT.load(SeqCst)
            && NODE_WAITS.load(SeqCst)
            && node_threads_sleep()
            && programs_wait(PROGRAM.get())
    });
}

/// Whether the node's threads sleep, but for the one that is kept awake.
fn node_threads_sleep() -> bool {
    let sleepers = if IS_AWAKE.load(SeqCst) { 1 } else { 2 };
    NODE_SLEEPERS.load(SeqCst) == sleepers
}

/// Whether all reports have been read, and the programs wait for more; `but` does not count.
fn programs_wait(but: Option<usize>) -> bool {
    REPORTS_READ.load(SeqCst) == REPORTS_SENT.load(SeqCst)
        && PROGRAM_WAITS.iter().enumerate().all(|(program, waits)| but == Some(program) || waits.load(SeqCst))
}

fn keep_until(is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > LIMIT {
            eprintln!("attach-calls: the threads wait for each other");
            process::exit(1);
        }
        thread::sleep(PAUSE);
    }
}

fn reached(step: &str) {
    let (phase, is_awake) = (PHASE.load(SeqCst), IS_AWAKE.load(SeqCst));
    match step {
        "program: operation sent" if phase >= LEARNING => {
            OPERATIONS_SENT.fetch_add(1, SeqCst);
        }
        "node: operation read" if phase >= LEARNING => {
            note_awake();
            if PHASE.compare_exchange(LEARNING, LEARNED, SeqCst, SeqCst).is_ok() {
                CARRIES_OUT.set(true);
            }
            if CARRIES_OUT.get() {
                NODE_WAITS.store(false, SeqCst);
            }
            OPERATIONS_READ.fetch_add(1, SeqCst);
        }
        "node: operation read" => note_awake(),
        "node: event" | "node: handling wanted" if phase == IN_STEP => keep_until(|| programs_wait(None)),
        "node: report sent" => _ = REPORTS_SENT.fetch_add(1, SeqCst),
        "node: no operation" => {
            note_awake();
            if !is_awake || !CARRIES_OUT.get() {
                return;
            }
            NODE_WAITS.store(true, SeqCst);
            let is_there = || OPERATIONS_SENT.load(SeqCst) > OPERATIONS_READ.load(SeqCst);
            keep_until(|| is_there() || PHASE.load(SeqCst) == ENDING);
        }
        "node: sleeps" => {
            SLEEPS.set(true);
            NODE_SLEEPERS.fetch_add(1, SeqCst);
            if CARRIES_OUT.get() {
                NODE_WAITS.store(true, SeqCst);
            }
        }
        "program: report read" => {
            if let Some(waits) = PROGRAM.get().and_then(|program| PROGRAM_WAITS.get(program)) {
                waits.store(false, SeqCst);
            }
            // After it: who finds all reports read finds nobody waiting who has not looked again.
            REPORTS_READ.fetch_add(1, SeqCst);
        }
        "program: no report" if is_awake => waits(),
        "program: sleeps" if !is_awake => {
            if PROGRAM.get().is_none() {
                PROGRAM.set(Some(SLEEPERS.fetch_add(1, SeqCst) as usize));
            }
            waits();
        }
        _ => {}
    }
}

fn note_awake() {
    if SLEEPS.replace(false) {
        NODE_SLEEPERS.fetch_sub(1, SeqCst);
    }
}

fn waits() {
    if let Some(waits) = PROGRAM.get().and_then(|program| PROGRAM_WAITS.get(program)) {
        waits.store(true, SeqCst);
    }
}

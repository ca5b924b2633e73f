//! The thread of a domain that fills receive queues when a pool is no longer empty, so that neither the callback of the pool
//! nor the thread that returns a buffer accesses transfer machines (motr-net 5.2).
//!
//! The thread that returns the buffer has the lock of the pool and waits, so that the queues are filled when it goes on;
//! meanwhile the domain's thread counts as the owner of the lock.

use super::types::{m0_net_buffer_pool, m0_net_domain};
use crate::contract::require;
use crate::object::Object;
use crate::sync::{Condvar, Mutex, MutexGuard, lock};
use lnet_os::thread::JoinHandle;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::thread;

/// The provisioning of a pool whose lock the requesting thread has.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) pool: Object<m0_net_buffer_pool>,
    /// Whether the pool needs the job.
    pub(super) is_needed: fn(Object<m0_net_buffer_pool>) -> bool,
    pub(super) run: fn(Object<m0_net_buffer_pool>),
}

// SAFETY: the thread that hands a job over has the lock of its pool, leaves that to the one that runs the job, and waits until it is done.
unsafe impl Send for Job {}

thread_local! {
    /// The number of nested callbacks of pools that this thread is running.
    static PUTTING: Cell<u32> = const { Cell::new(0) };
    /// The job that the innermost callback has requested.
    static PENDING: Cell<Option<Job>> = const { Cell::new(None) };
    /// Whether this thread is a provisioning thread.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Runs the callback of a pool, then the job that it has requested. This may happen within the callback of another pool,
/// which has returned a buffer to this one.
pub(super) fn while_putting(callback: impl FnOnce()) {
    let of_outer = PENDING.take();
    PUTTING.set(PUTTING.get() + 1);
    callback();
    PUTTING.set(PUTTING.get() - 1);
    if let Some(job) = PENDING.replace(of_outer) {
        hand_over(job);
    }
}

/// Requests a job, which is run after the callback that is running, or at once.
pub(super) fn request(job: Job) {
    if PUTTING.get() > 0 {
        PENDING.set(Some(job));
    } else {
        hand_over(job);
    }
}

/// Ends the provisioning thread of a domain whose last pool in use is gone.
pub(super) fn end(dom: Object<m0_net_domain>) {
    let worker = lock(&WORKERS).remove(&dom.as_ptr().addr());
    if let Some(worker) = worker {
        lock(&worker.shared.state).ends = true;
        worker.shared.changed.notify_all();
        if let Some(thread) = lock(&worker.thread).take() {
            let _ = thread.join();
        }
    }
}

/// The provisioning threads, by the address of the domain.
static WORKERS: LazyLock<Mutex<HashMap<usize, Arc<Worker>>>> = LazyLock::new(Mutex::default);

struct Worker {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Held by the thread that waits for its job.
    caller: Mutex<()>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<ProvisionState>,
    changed: Condvar,
}

#[derive(Default)]
struct ProvisionState {
    job: Option<Job>,
    is_done: bool,
    ends: bool,
}

/// Passes a job to the thread of its domain, and waits until it is done. The calling thread has the lock of the pool.
fn hand_over(job: Job) {
    let has_lock = job.pool.nbp_mutex.is_locked();
    require!("m0_net_buffer_pool_put", has_lock, "this thread does not have the lock of the pool");
    if !(job.is_needed)(job.pool) {
        return;
    }
    let worker = if IS_WORKER.get() { None } else { worker_of(job.pool.nbp_ndom.get()) };
    let Some(worker) = worker else {
        (job.run)(job.pool);
        return;
    };
    let _caller = lock(&worker.caller);
    let mut state = lock(&worker.shared.state);
    state.job = Some(job);
    state.is_done = false;
    worker.shared.changed.notify_all();
    while !state.is_done {
        state = wait(&worker.shared.changed, state);
    }
    drop(state);
    job.pool.nbp_mutex.take_over();
}

/// The provisioning thread of a domain, started if necessary; `None` if that fails.
fn worker_of(dom: Object<m0_net_domain>) -> Option<Arc<Worker>> {
    let mut workers = lock(&WORKERS);
    if let Some(worker) = workers.get(&dom.as_ptr().addr()) {
        return Some(Arc::clone(worker));
    }
    let shared = Arc::<Shared>::default();
    let of_thread = Arc::clone(&shared);
    let thread = thread::Builder::new().name("m0_net_provision".into());
    let thread = lnet_os::thread::spawn(thread, move || work(&of_thread)).ok()?;
    let worker = Arc::new(Worker { shared, thread: Mutex::new(Some(thread)), caller: Mutex::default() });
    workers.insert(dom.as_ptr().addr(), Arc::clone(&worker));
    Some(worker)
}

fn work(shared: &Shared) {
    IS_WORKER.set(true);
    let mut state = lock(&shared.state);
    loop {
        if let Some(job) = state.job.take() {
            drop(state);
            job.pool.nbp_mutex.take_over();
            (job.run)(job.pool);
            state = lock(&shared.state);
            state.is_done = true;
            shared.changed.notify_all();
        } else if state.ends {
            return;
        } else {
            state = wait(&shared.changed, state);
        }
    }
}

fn wait<'a>(condvar: &Condvar, guard: MutexGuard<'a, ProvisionState>) -> MutexGuard<'a, ProvisionState> {
    condvar.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
}

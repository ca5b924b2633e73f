//! The one node behind the C API: the only singleton of the project.
//!
//! Everything in this crate reaches the node through [`core`] and [`node`], so that another backend can
//! take its place here (a node in another process, say).

use arc_swap::ArcSwapOption;
use lnet_core::event::in_handler;
use lnet_core::{Core, Errno};
use lnet_dlc::client::Client;
use lnet_dlc::runtime_dir::NodeName;
use lnet_log::{LogClass, write_line};
use lnet_node::{ControlServer, Node, SharedBackend, StartConfig};
use lnet_wire::Pid;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Once, PoisonError};

static NODE: ArcSwapOption<Node> = ArcSwapOption::const_empty();
/// This process is a child of `fork`: what `NODE` has is its parent's, without the threads.
static INHERITED: AtomicBool = AtomicBool::new(false);
/// Has `INHERITED` set in children.
static WATCH_FORKS: Once = Once::new();
/// Held while the node comes up and goes down.
static USERS: Mutex<Users> = Mutex::new(Users { count: 0, control: None });
/// Nodes elsewhere, for a process that has none: the one of the name `LNET_NODE`, if that is set.
static ELSEWHERE: LazyLock<Arc<Client>> = LazyLock::new(|| Arc::new(Client::new(NodeName::of_environment())));

struct Users {
    /// How many `LNetNIInit` are in force, and one for [`adopt`].
    count: u32,
    /// Where the node is configured from outside.
    control: Option<ControlServer>,
}

/// Makes a node that this process runs itself the one behind the C API, for libraries on that API that are in the same program: a
/// `LNetNIInit` then takes a reference on it, and its owner keeps configuring it, and ends it, after the [`Adopted`] is dropped.
/// [`Errno::Busy`]: the C API has a node, or this is an event handler.
pub fn adopt(node: &Arc<Node>) -> Result<Adopted, Errno> {
    let mut users = users()?;
    if users.count > 0 {
        return Err(Errno::Busy);
    }
    WATCH_FORKS.call_once(watch_forks);
    NODE.store(Some(Arc::clone(node)));
    users.count = 1;
    Ok(Adopted(()))
}

/// The C API has an adopted node. After this is dropped calls of that API return `-ENETDOWN`; the node goes on.
#[derive(Debug)]
pub struct Adopted(());

impl Drop for Adopted {
    fn drop(&mut self) {
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        NODE.store(None);
        users.count = 0;
    }
}

/// Takes a reference; the first one starts the node with `pid`. Without a pid the node must be up.
/// Returns how many references there were before. [`Errno::Busy`] from an event handler: a node that goes down
/// waits for it.
pub(crate) fn acquire(pid: Option<Pid>) -> Result<u32, Errno> {
    let mut users = users()?;
    if users.count == 0 {
        let pid = pid.ok_or(Errno::NetworkDown)?;
        WATCH_FORKS.call_once(watch_forks);
        let node = Node::start(pid, StartConfig::from_env()?)?;
        node.warn_if_only_loopback();
        // A program can do without being configured from outside.
        users.control = node
            .serve()
            .inspect_err(|error| {
                write_line!(
                    LogClass::ControlUnavailable,
                    "control socket: cannot be served ({error}); lnetctl does not reach this node"
                )
            })
            .ok();
        NODE.store(Some(node));
    }
    users.count += 1;
    Ok(users.count - 1)
}

/// Gives a reference back; the last one ends the node. [`Errno::Busy`] as [`acquire`].
pub(crate) fn release() -> Result<(), Errno> {
    let mut users = users()?;
    users.count = users.count.checked_sub(1).ok_or(Errno::NetworkDown)?;
    if users.count == 0
        && let Some(node) = NODE.swap(None)
    {
        node.shutdown();
        users.control = None;
    }
    Ok(())
}

/// Runs `f` on the node's core; [`Errno::NetworkDown`] without a node.
pub(crate) fn core<T>(f: impl FnOnce(&Arc<Core>) -> Result<T, Errno>) -> Result<T, Errno> {
    match &*NODE.load() {
        Some(node) if !INHERITED.load(Ordering::Relaxed) => f(node.core()),
        _ => Err(Errno::NetworkDown),
    }
}

/// The node, for calls that may wait; [`Errno::NetworkDown`] without one.
pub(crate) fn node() -> Result<Arc<Node>, Errno> {
    own_node().ok_or(Errno::NetworkDown)
}

fn own_node() -> Option<Arc<Node>> {
    if INHERITED.load(Ordering::Relaxed) { None } else { NODE.load_full() }
}

/// Whom the configuration is about: the node of this process or, without one, that behind the control
/// socket. From an event handler only the former: [`Errno::NetworkDown`] without it, for this process's own
/// node, which is then going down and waits for the handler, may be the one behind the socket.
pub(crate) fn dlc_backend() -> Result<SharedBackend, Errno> {
    match own_node() {
        Some(node) => Ok(node),
        None if in_handler() => Err(Errno::NetworkDown),
        None => Ok(Arc::clone(&*ELSEWHERE) as SharedBackend),
    }
}

fn users() -> Result<MutexGuard<'static, Users>, Errno> {
    if in_handler() {
        return Err(Errno::Busy);
    }
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    if INHERITED.load(Ordering::Relaxed) {
        // To take it down would be to wait for its threads for ever.
        std::mem::forget((NODE.swap(None), users.control.take()));
        *users = Users { count: 0, control: None };
        INHERITED.store(false, Ordering::Relaxed);
    }
    Ok(users)
}

/// A child of `fork` has none of the node's threads: its first call returns an error, and it may start a node.
fn watch_forks() {
    extern "C" fn in_child() {
        INHERITED.store(true, Ordering::Relaxed);
    }
    // SAFETY: the handler only stores into an atomic, which any thread may do at any time.
    if unsafe { libc::pthread_atfork(None, None, Some(in_child)) } != 0 {
        write_line!(
            LogClass::ForkUnwatched,
            "fork(): cannot be watched; children of this process do not notice that they have no node"
        );
    }
}

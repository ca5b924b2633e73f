//! The node behind the C API, which is the only global state of the project.
//!
//! Everything in this crate reaches the node through [`with()`] and [`control()`], so that it makes no difference whether the node is in
//! this process or in another one that this process is attached to. `attach` has the rule which of the two it is.

mod attach;
mod handler_queues;
mod nid_watch;
mod program_node;

pub(crate) use handler_queues::HandlerQueues;
pub(crate) use nid_watch::{NidWatch, Update, nids_of_node};
pub(crate) use program_node::ProgramNode;

use arc_swap::{ArcSwapOption, Cache};
use attach::Choice;
use lnet_core::Errno;
use lnet_core::event::in_handler;
use lnet_dlc::Warned;
use lnet_dlc::client::Client;
use lnet_dlc::runtime_dir::NodeName;
use lnet_log::{LogClass, write_line};
use lnet_metrics::MetricsServer;
use lnet_node::{ControlServer, Node, SharedBackend, StartConfig};
use lnet_wire::Pid;
use program_node::Attached;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Once, PoisonError};

static NODE: ArcSwapOption<Provider> = ArcSwapOption::const_empty();
/// Whether this process is a child of `fork`: `NODE` is then a copy of the parent's node, without its threads.
static INHERITED: AtomicBool = AtomicBool::new(false);
thread_local! {
    /// The node as the thread last found it. A node that has ended is kept until the thread makes another call, or ends.
    static CACHE: Cell<Option<KnownNode>> = const { Cell::new(None) };
}
/// Whether this process, or one that it is a child of, has had a node.
static HAS_STARTED: AtomicBool = AtomicBool::new(false);
/// Ensures that `INHERITED` is set in child processes.
static WATCH_FORKS: Once = Once::new();
/// Held while the node starts and ends.
static USERS: Mutex<Users> = Mutex::new(Users { count: 0, control: None, metrics: None });
/// The client for a node in another process, used if this process has none: the node named by `LNET_NODE`, if that is set.
/// That node logs its warnings for itself; the caller finds them in the log of this process.
static ELSEWHERE: LazyLock<Arc<LoggedClient>> = LazyLock::new(|| {
    let warn = |text| write_line!(LogClass::RequestWarning, "{text}");
    Arc::new(Warned { backend: Box::new(Client::new(NodeName::of_environment())), warn })
});

/// A client whose warnings are written to the log.
type LoggedClient = Warned<Box<Client>, fn(String)>;

/// A thread's own reference on the node in [`NODE`].
type KnownNode = Cache<&'static ArcSwapOption<Provider>, Option<Arc<Provider>>>;

/// The node that the C API has.
struct Provider {
    node: ProviderNode,
    /// The queues of handlers that memory descriptors name.
    handler_queues: HandlerQueues,
    /// The functions that are called for the node's NIDs.
    nid_watch: Arc<NidWatch>,
}

/// A node of this process, or of another one.
enum ProviderNode {
    /// A node of this process.
    Own(Arc<Node>),
    /// A node of another process.
    Attached(Attached),
}

impl Provider {
    fn calls(&self) -> &dyn ProgramNode {
        match &self.node {
            ProviderNode::Own(node) => &**node,
            ProviderNode::Attached(attached) => attached,
        }
    }

    fn control(&self) -> SharedBackend {
        match &self.node {
            ProviderNode::Own(node) => Arc::clone(node) as SharedBackend,
            ProviderNode::Attached(attached) => Arc::clone(&attached.control),
        }
    }

    fn shutdown(&self) {
        self.nid_watch.stop();
        match &self.node {
            ProviderNode::Own(node) => node.shutdown(),
            ProviderNode::Attached(attached) => attached.node.shutdown(),
        }
        // After the shutdown, which ends the waits of functions that are being called.
        self.nid_watch.join();
    }
}

struct Users {
    /// The number of `LNetNIInit` calls in force, and one for [`adopt`].
    count: u32,
    /// The server of the control socket, by which other processes configure the node.
    control: Option<ControlServer>,
    /// The server of the node's metrics, if there is one.
    metrics: Option<MetricsServer>,
}

/// Makes a node that this process runs itself the one behind the C API, for libraries on that API that are in the same
/// program: an `LNetNIInit` then takes a reference on it. The owner continues to configure the node until the [`Adopted`] is dropped, which
/// shuts the node down. [`Errno::Busy`]: the C API has a node, or this is an event handler.
pub fn adopt(node: &Arc<Node>) -> Result<Adopted, Errno> {
    let mut users = users()?;
    if users.count > 0 {
        return Err(Errno::Busy);
    }
    WATCH_FORKS.call_once(watch_forks);
    set_node(ProviderNode::Own(Arc::clone(node)));
    users.count = 1;
    Ok(Adopted(()))
}

/// The use of an adopted node by the C API. The drop shuts the node down: that ends the waits of functions that are called for NIDs, which have
/// returned when it is over. After it calls of that API return `-ENETDOWN`.
#[derive(Debug)]
pub struct Adopted(());

impl Drop for Adopted {
    fn drop(&mut self) {
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = NODE.swap(None) {
            provider.shutdown();
        }
        users.count = 0;
    }
}

/// Takes a reference; the first one starts the node with `pid`. Without a pid the node must have been started.
/// Returns the number of references before. [`Errno::Busy`] from an event handler: a node that ends waits for the
/// handler.
pub(crate) fn acquire(pid: Option<Pid>) -> Result<u32, Errno> {
    let mut users = users()?;
    if users.count == 0 {
        let pid = pid.ok_or(Errno::NetworkDown)?;
        WATCH_FORKS.call_once(watch_forks);
        let attached = match attach::choose()? {
            Choice::Attach(socket) => attach::attach(socket, pid)?,
            Choice::OwnNode => None,
        };
        let provider = match attached {
            Some(attached) => ProviderNode::Attached(attached),
            None => {
                let node = Node::start(pid, StartConfig::from_env()?)?;
                node.warn_if_only_loopback();
                // A program works without being configured by other processes.
                users.control = node
                    .serve()
                    .inspect_err(|error| {
                        write_line!(
                            LogClass::ControlUnavailable,
                            "control socket: cannot be served ({error}); lnetctl does not reach this node"
                        )
                    })
                    .ok();
                users.metrics = node.serve_metrics();
                ProviderNode::Own(node)
            }
        };
        set_node(provider);
    }
    users.count += 1;
    Ok(users.count - 1)
}

fn set_node(node: ProviderNode) {
    NODE.store(Some(Arc::new(Provider {
        node,
        handler_queues: HandlerQueues::default(),
        nid_watch: Arc::default(),
    })));
    HAS_STARTED.store(true, Ordering::Relaxed);
}

/// Whether this process is a child of `fork` of one with a node.
pub(crate) fn is_inherited() -> bool {
    INHERITED.load(Ordering::Relaxed)
}

/// Whether the C API has had a node in this process, which may have ended.
pub(crate) fn has_started() -> bool {
    HAS_STARTED.load(Ordering::Relaxed)
}

/// Returns a reference; the last one ends the node. [`Errno::Busy`] from an event handler, as in [`acquire`].
pub(crate) fn release() -> Result<(), Errno> {
    let mut users = users()?;
    users.count = users.count.checked_sub(1).ok_or(Errno::NetworkDown)?;
    if users.count == 0
        && let Some(provider) = NODE.swap(None)
    {
        provider.shutdown();
        users.control = None;
        users.metrics = None;
    }
    // This thread may make no more calls.
    _ = CACHE.try_with(Cell::take);
    Ok(())
}

/// Runs `f` on the node; [`Errno::NetworkDown`] without one. `f` may wait: the program may end the node meanwhile, which is kept for `f`.
pub(crate) fn with<T>(f: impl FnOnce(&dyn ProgramNode) -> Result<T, Errno>) -> Result<T, Errno> {
    with_handlers(|node, _| f(node))
}

/// Like [`with`], for calls that name handlers.
pub(crate) fn with_handlers<T>(
    f: impl FnOnce(&dyn ProgramNode, &HandlerQueues) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let mut call = Some(f);
    let mut run = |cache: &mut KnownNode| match (cache.load(), call.take()) {
        (Some(provider), Some(f)) if !INHERITED.load(Ordering::Relaxed) => {
            f(provider.calls(), &provider.handler_queues)
        }
        _ => Err(Errno::NetworkDown),
    };
    // The variable is looked up once for each call, as the look-up takes a call of its own.
    let by_cache = CACHE.try_with(|own| {
        // A call from inside `f` finds no cache.
        let mut cache = own.take().unwrap_or_else(|| Cache::new(&NODE));
        let result = run(&mut cache);
        own.set(Some(cache));
        result
    });
    // A handler of the program's exit has no cache.
    by_cache.unwrap_or_else(|_| run(&mut Cache::new(&NODE)))
}

/// The functions that are called for NIDs of the node.
pub(crate) fn nid_watch() -> Result<Arc<NidWatch>, Errno> {
    Ok(Arc::clone(&provider().ok_or(Errno::NetworkDown)?.nid_watch))
}

/// The node, to be configured; [`Errno::NetworkDown`] without one.
pub(crate) fn control() -> Result<SharedBackend, Errno> {
    Ok(provider().ok_or(Errno::NetworkDown)?.control())
}

fn provider() -> Option<Arc<Provider>> {
    if INHERITED.load(Ordering::Relaxed) { None } else { NODE.load_full() }
}

/// The node that the configuration calls apply to: that of the C API or, without one, that behind the control
/// socket. In an event handler, and in a function that is called for NIDs, only the former, else [`Errno::NetworkDown`]: the node behind the socket may be
/// this process's own, which is ending and waits for the handler.
pub(crate) fn dlc_backend() -> Result<SharedBackend, Errno> {
    match provider() {
        // The other process has the control socket, which a handler of this one may wait for.
        Some(provider) => Ok(provider.control()),
        None if in_handler() || nid_watch::is_in_update() => Err(Errno::NetworkDown),
        None => Ok(Arc::clone(&*ELSEWHERE) as SharedBackend),
    }
}

fn users() -> Result<MutexGuard<'static, Users>, Errno> {
    if in_handler() || nid_watch::is_in_update() {
        return Err(Errno::Busy);
    }
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    if INHERITED.load(Ordering::Relaxed) {
        // Ending it would mean to wait for its threads for ever.
        std::mem::forget((NODE.swap(None), users.control.take(), users.metrics.take()));
        *users = Users { count: 0, control: None, metrics: None };
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Fails if the end of an adopted node waits for a function that only the shutdown of the node lets go: it hangs.
    #[test]
    fn the_end_of_an_adopted_node_ends_a_wait_in_a_function_that_is_called_for_nids() {
        static HAS_NID: AtomicBool = AtomicBool::new(false);
        let nids = || {
            let one = || vec!["10.0.0.1@tcp".parse().unwrap()];
            // The first list is that of the registration.
            Ok(if HAS_NID.swap(true, Ordering::Relaxed) { one() } else { Vec::new() })
        };
        let node = Node::start(Pid::LUSTRE, StartConfig::default()).unwrap();
        let adopted = adopt(&node).unwrap();
        assert_eq!(adopt(&node).map(|_| ()), Err(Errno::Busy));
        let eq = with(|node| node.eq_alloc(1, None)).unwrap();
        let (called, calls) = channel();
        let update = move |_, _| {
            called.send(None).unwrap();
            let waited = with(|node| node.eq_poll(&[eq], None, &mut |_, _| {}));
            called.send(Some(waited)).unwrap();
        };
        nid_watch().unwrap().add((1, 1), Arc::new(update), nids).unwrap();
        assert_eq!(calls.recv(), Ok(None));
        drop(adopted);
        assert_eq!(calls.try_recv(), Ok(Some(Err(Errno::NetworkDown))));
        assert_eq!(with(|_| Ok(())), Err(Errno::NetworkDown));
    }
}

//! The one node behind the C API: the only singleton of the project.
//!
//! Everything in this crate reaches the node through [`core`] and [`node`], so that another backend can
//! take its place here (a node in another process, say).

use arc_swap::ArcSwapOption;
use lnet_core::{Core, Errno};
use lnet_dlc::Backend;
use lnet_dlc::client::Client;
use lnet_node::{Node, StartConfig};
use lnet_wire::Pid;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

static NODE: ArcSwapOption<Node> = ArcSwapOption::const_empty();
/// How many `LNetNIInit` are in force. Held while the node comes up and goes down.
static USERS: Mutex<u32> = Mutex::new(0);
/// The node behind the control socket, for processes without one; made when it is first needed.
static ELSEWHERE: OnceLock<Arc<Client>> = OnceLock::new();

/// Takes a reference; the first one starts the node with `pid`. Without a pid the node must be up.
/// Returns how many references there were before.
pub(crate) fn acquire(pid: Option<Pid>) -> Result<u32, Errno> {
    let mut users = users();
    if *users == 0 {
        let pid = pid.ok_or(Errno::NetworkDown)?;
        NODE.store(Some(Node::start(pid, StartConfig::from_env()?)?));
    }
    *users += 1;
    Ok(*users - 1)
}

/// Gives a reference back; the last one ends the node.
pub(crate) fn release() -> Result<(), Errno> {
    let mut users = users();
    *users = users.checked_sub(1).ok_or(Errno::NetworkDown)?;
    if *users == 0
        && let Some(node) = NODE.swap(None)
    {
        node.shutdown();
    }
    Ok(())
}

/// Runs `f` on the node's core; [`Errno::NetworkDown`] without a node.
pub(crate) fn core<T>(f: impl FnOnce(&Arc<Core>) -> Result<T, Errno>) -> Result<T, Errno> {
    match &*NODE.load() {
        Some(node) => f(node.core()),
        None => Err(Errno::NetworkDown),
    }
}

/// The node, for calls that may wait; [`Errno::NetworkDown`] without one.
pub(crate) fn node() -> Result<Arc<Node>, Errno> {
    NODE.load_full().ok_or(Errno::NetworkDown)
}

/// Whom the configuration is about: the node of this process or, without one, that behind the control socket.
pub(crate) fn dlc_backend() -> Arc<dyn Backend + Send + Sync> {
    match NODE.load_full() {
        Some(node) => node,
        None => ELSEWHERE
            .get_or_init(|| {
                Arc::new(Client::new(std::env::var("LNET_NODE").ok().filter(|name| !name.is_empty())))
            })
            .clone(),
    }
}

fn users() -> MutexGuard<'static, u32> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

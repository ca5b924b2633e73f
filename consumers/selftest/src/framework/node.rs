//! A test node.

use super::config::NodeConfig;
use super::dispatch::Dispatch;
use super::join::JoinHandler;
use super::sessions::Sessions;
use crate::rpc::RpcEngine;
use crate::wire::{Name, RpcCounters, SessionId};
use lnet_api::Errno;
use lnet_api::Node;
use lnet_api::clock::{Clock, SystemClock};
use std::sync::Arc;

/// A test node on the LNet of this process; at most one per process. The drop stops it, and must not be on one of its own
/// threads.
pub struct TestNode {
    engine: Arc<RpcEngine>,
    dispatch: Arc<Dispatch>,
}

/// The activity of a test node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// The session that the node is in.
    pub session: Option<(SessionId, Name)>,
    /// The number of the node's batches that run.
    pub active_batches: u32,
    /// The counters of the node's RPCs since it was started.
    pub counters: RpcCounters,
}

impl TestNode {
    /// Starts LNet, or takes a reference on it, and a test node on it.
    pub fn start(config: &NodeConfig) -> Result<Self, Errno> {
        Self::start_on(Node::start()?, Arc::new(SystemClock), config)
    }

    /// Starts a node on the caller's reference on LNet, with the caller's clock.
    pub fn start_on(node: Arc<Node>, clock: Arc<dyn Clock>, config: &NodeConfig) -> Result<Self, Errno> {
        let engine = RpcEngine::start(node, clock, config.rpc)?;
        let dispatch = Dispatch::new(&engine, Sessions::new(config.session_timeout));
        let this = Self { engine, dispatch };
        this.engine.serve(Arc::clone(&this.dispatch) as Arc<_>)?;
        Ok(this)
    }

    /// The node's RPC engine, for a console beside it.
    pub const fn engine(&self) -> &Arc<RpcEngine> {
        &self.engine
    }

    /// Sets the handler of requests to join a group; `None`: there is no console.
    pub fn set_console(&self, console: Option<Arc<dyn JoinHandler>>) {
        self.dispatch.set_console(console);
    }

    /// Returns the session that the node is in, and its activity.
    pub fn status(&self) -> NodeStatus {
        let now = self.engine.clock().now();
        let (session, active_batches) = self.dispatch.with_sessions(|sessions| {
            sessions.current().map_or((None, 0), |session| {
                (Some((session.id, session.name)), session.counters(now, 0).active_batches)
            })
        });
        NodeStatus { session, active_batches, counters: self.engine.counters() }
    }
}

impl Drop for TestNode {
    fn drop(&mut self) {
        self.dispatch.end_session();
        self.engine.stop();
    }
}

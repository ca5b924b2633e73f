//! Requests that one thread has in progress at once (`ptlrpc_request_set`).

use super::import::Import;
use crate::Errno;
use crate::clock::{Clock, Time};
use crate::lnet::Node;
use crate::request::{Reply, Request, RpcTable};
use std::sync::Arc;

/// Identifies a request of a [`RequestSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(usize);

/// Requests of one thread. They make progress only while it waits for the set or checks it.
///
/// Dropping a set aborts its requests; LNet releases their memory soon after.
#[derive(Default)]
pub struct RequestSet {
    rpcs: RpcTable<()>,
    /// The node and the clock of the first import.
    environment: Option<(Arc<Node>, Arc<dyn Clock>)>,
}

impl RequestSet {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a request, or queues it until there is a connection.
    pub fn add(&mut self, import: &Arc<Import>, request: impl Into<Arc<Request>>) -> RequestId {
        let now = import.clock().now();
        self.environment.get_or_insert_with(|| (Arc::clone(import.node()), Arc::clone(import.clock())));
        RequestId(self.rpcs.start(import.rpc(request.into(), now), (), now))
    }

    /// Waits until a request has completed, but not longer than until `until`. Returns whether one has completed.
    pub fn wait_any(&mut self, until: Option<Time>) -> bool {
        while !self.any_complete() && !self.is_empty() {
            let Some((node, clock)) = &self.environment else { break };
            let is_last = until.is_some_and(|until| until <= clock.now());
            self.rpcs.turn(&**clock, until, Some(node));
            if is_last {
                break;
            }
        }
        self.any_complete()
    }

    /// Makes as much progress as is possible without waiting; returns whether a request has completed.
    pub fn check(&mut self) -> bool {
        if let Some((_, clock)) = &self.environment {
            self.rpcs.turn(&**clock, Some(clock.now()), None);
        }
        self.any_complete()
    }

    /// Waits until all requests have completed.
    pub fn wait(&mut self) {
        while !self.rpcs.all_complete() {
            let Some((node, clock)) = &self.environment else { return };
            self.rpcs.turn(&**clock, None, Some(node));
        }
    }

    /// Takes the result of a completed request, and removes it. `None`: it has not completed, or was taken.
    pub fn take(&mut self, id: RequestId) -> Option<Result<Reply, Errno>> {
        self.rpcs.take(id.0).map(|(result, ())| result)
    }

    /// Takes the result of any completed request.
    pub fn take_any(&mut self) -> Option<(RequestId, Result<Reply, Errno>)> {
        let index = self.rpcs.first_complete()?;
        self.rpcs.take(index).map(|(result, ())| (RequestId(index), result))
    }

    /// Aborts a request: it completes with [`Errno::Interrupted`] if it has not completed already.
    pub fn abort(&mut self, id: RequestId) {
        if let Some((_, clock)) = &self.environment {
            self.rpcs.abort(id.0, clock.now());
        }
    }

    /// The number of early replies to a request so far.
    pub fn early_replies(&self, id: RequestId) -> u32 {
        self.rpcs.early_replies(id.0)
    }

    /// The number of requests that were added and not taken.
    pub fn len(&self) -> usize {
        self.rpcs.len()
    }

    /// Whether the set has no requests.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn any_complete(&self) -> bool {
        self.rpcs.first_complete().is_some()
    }
}

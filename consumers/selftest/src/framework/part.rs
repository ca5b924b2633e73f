//! A node's part in a test, as sessions know it.

use crate::wire::Service;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A part in a test.
#[derive(Clone)]
pub(crate) enum Part {
    /// The node is a server of the test.
    Server {
        service: Service,
        /// The number of buffers that were reserved for the part.
        reserved: u32,
    },
    /// The node is a client of the test.
    Client(Arc<dyn ClientPart>),
}

/// A test that the node runs as a client. None of the functions blocks, nor takes a lock of sessions.
pub(crate) trait ClientPart: Send + Sync {
    /// Starts all RPC loops of the part.
    fn start(self: Arc<Self>);

    /// Ends the loops after their RPC in flight has ended, or at once.
    fn stop(&self, force: bool);

    /// Returns the number of RPC loops that have not ended.
    fn active_loops(&self) -> u32;
}

impl Part {
    pub(crate) fn active_loops(&self) -> u32 {
        match self {
            Self::Server { .. } => 0,
            Self::Client(client) => client.active_loops(),
        }
    }

    pub(crate) fn is_active(&self) -> bool {
        self.active_loops() > 0
    }
}

/// Failed RPCs of a session.
#[derive(Debug, Default)]
pub(crate) struct ErrorCounts {
    brw: AtomicU32,
    ping: AtomicU32,
}

impl ErrorCounts {
    pub(crate) fn add(&self, service: Service) {
        let count = if service == Service::Brw { &self.brw } else { &self.ping };
        count.fetch_add(1, Relaxed);
    }

    pub(crate) fn brw(&self) -> u32 {
        self.brw.load(Relaxed)
    }

    pub(crate) fn ping(&self) -> u32 {
        self.ping.load(Relaxed)
    }
}

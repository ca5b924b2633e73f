//! An import as a program uses it: connect, call, disconnect.

use super::ptlrpcd::Ptlrpcd;
use crate::Errno;
use crate::clock::{Clock, Time};
use crate::import::{Connection, ImportState, Session};
use crate::lnet::Node;
use crate::message::{ConnectData, ExportCookie};
use crate::request::{Purpose, Reply, Request, RequestSender, Rpc, RpcContext};
use crate::wakeup::{ReadyQueue, Waker};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

thread_local! {
    /// Wakes this thread for its call. A late event of an earlier call wakes the next one in vain.
    static CALL: Cell<Option<Waker>> = const { Cell::new(None) };
}

/// A target, used from any thread.
pub struct Import {
    context: Arc<RpcContext>,
    clock: Arc<dyn Clock>,
    ptlrpcd: Arc<Ptlrpcd>,
}

impl Import {
    pub(super) fn new(
        sender: &Arc<RequestSender>,
        clock: &Arc<dyn Clock>,
        ptlrpcd: &Arc<Ptlrpcd>,
        session: Session,
    ) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::new(RpcContext { sender: Arc::clone(sender), session: Arc::new(session) }),
            clock: Arc::clone(clock),
            ptlrpcd: Arc::clone(ptlrpcd),
        })
    }

    /// Connects, and waits for the connection until `until` at most. From then on the import stays connected.
    ///
    /// Errors: that of the last attempt, or [`Errno::TimedOut`]. Attempts continue.
    pub fn connect(&self, until: Option<Time>) -> Result<(), Errno> {
        self.context.session.request_connect();
        self.ptlrpcd.add(&self.context.session);
        self.context.session.wait_connected(&*self.clock, until)
    }

    /// Disconnects from the server if there is a connection, and closes the import: requests that wait end with
    /// [`Errno::Shutdown`]. `timeout`: how long to wait for the server's reply.
    pub fn disconnect(&self, timeout: Duration) -> Result<(), Errno> {
        let result = match self.state() {
            ImportState::Full => {
                let request = Request {
                    no_resend: true,
                    no_delay: true,
                    timeout: Some(timeout),
                    limit: Some(timeout),
                    ..Request::new(self.context.session.config().disconnect)
                };
                self.call(request).and_then(|reply| reply.result())
            }
            _ => Ok(()),
        };
        self.close();
        result
    }

    /// Closes the import without a message to the server: requests that wait end with [`Errno::Shutdown`].
    pub fn close(&self) {
        self.context.session.close();
    }

    /// Sends a request, and waits for its end. A caller that sends the same request again and again keeps an [`Arc`] of it.
    pub fn call(&self, request: impl Into<Arc<Request>>) -> Result<Reply, Errno> {
        let kept = CALL.try_with(Cell::take).ok().flatten();
        let waker = kept.unwrap_or_else(|| Arc::<ReadyQueue>::default().waker(0));
        let now = self.clock.now();
        let mut rpc = self.rpc(request.into(), now);
        let mut next_poll = rpc.poll(&waker, now);
        let result = loop {
            if let Some(result) = rpc.take_result() {
                break result;
            }
            waker.queue().wait_any(&*self.clock, next_poll, Some(self.node()));
            next_poll = rpc.poll(&waker, self.clock.now());
        };
        // At the end of a thread there is no next call.
        let _ = CALL.try_with(|call| call.set(Some(waker)));
        result
    }

    /// Pings the server.
    pub fn ping(&self) -> Result<(), Errno> {
        self.call(Request::ping()).and_then(|reply| reply.result())
    }

    /// The state.
    pub fn state(&self) -> ImportState {
        self.context.session.state()
    }

    /// The server's handle of the connection, 0 without a connection, and the connection count.
    pub fn handle(&self) -> (ExportCookie, u32) {
        self.context.session.handle()
    }

    /// The connect data that client and server agreed on when the import was connected.
    pub fn agreed_data(&self) -> ConnectData {
        self.context.session.agreed_data()
    }

    /// The peer of the first server whose UUID was resolved.
    pub fn peer(&self) -> Option<Connection> {
        self.context.session.first_connection()
    }

    /// Makes LNet discover the peer again.
    pub fn rediscover(&self) -> Result<(), Errno> {
        let peer = self.peer().ok_or(Errno::NotConnected)?.peer;
        self.node().rediscover(peer).map(drop)
    }

    /// The target's name, for the log.
    pub fn name(&self) -> String {
        self.context.session.name()
    }

    pub(super) fn node(&self) -> &Arc<Node> {
        self.context.sender.node()
    }

    pub(super) const fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(super) fn rpc(&self, request: Arc<Request>, now: Time) -> Rpc {
        Rpc::new(&self.context, request, Purpose::Use, now)
    }
}

impl std::fmt::Debug for Import {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Import").field("target", &self.name()).field("state", &self.state()).finish()
    }
}

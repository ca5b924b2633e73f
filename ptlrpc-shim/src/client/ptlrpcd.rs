//! The thread `ptlrpcd`: connects imports, and pings idle ones. It sends the requests that [`Session::poll`] returns.

use crate::Errno;
use crate::clock::{Clock, Time};
use crate::import::connect_state::{ActiveConnection, ConnectAttempt};
use crate::import::{Connections, Session, SessionAction};
use crate::request::connect::{connect_request, read_connect_reply};
use crate::request::{Purpose, Request, RequestSender, Rpc, RpcContext, RpcTable};
use crate::wakeup::Waker;
use lnet_api::sync::lock;
use lnet_os::thread::JoinHandle;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Ptlrpcd {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    waker: Waker,
    sessions: Mutex<Vec<Weak<Session>>>,
    is_stopped: AtomicBool,
}

/// The state of the thread.
struct Worker {
    shared: Arc<Shared>,
    sender: Arc<RequestSender>,
    clock: Arc<dyn Clock>,
    connections: Arc<Connections>,
    rpcs: RpcTable<OnComplete>,
}

/// The action at the end of a request.
enum OnComplete {
    /// Report the outcome of the attempt with this connection count.
    Connected(Arc<Session>, u32),
    Nothing,
}

impl Ptlrpcd {
    /// `EAGAIN`, or the system's error: there is no thread.
    pub(super) fn start(
        sender: Arc<RequestSender>,
        clock: Arc<dyn Clock>,
        connections: Arc<Connections>,
    ) -> Result<Self, Errno> {
        let rpcs = RpcTable::default();
        let waker = rpcs.waker();
        let shared =
            Arc::new(Shared { waker, sessions: Mutex::default(), is_stopped: AtomicBool::new(false) });
        let mut worker = Worker { shared: Arc::clone(&shared), sender, clock, connections, rpcs };
        let thread = std::thread::Builder::new().name("ptlrpcd".to_owned());
        let thread = lnet_os::thread::spawn(thread, move || worker.run()).map_err(|error| {
            error.raw_os_error().and_then(|number| Errno::from_status(-number)).unwrap_or(Errno::Again)
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Wakes the thread, so that it polls all sessions.
    pub(super) fn waker(&self) -> Waker {
        self.shared.waker.clone()
    }

    /// Adds a session, which is polled from now on.
    pub(super) fn add(&self, session: &Arc<Session>) {
        let mut sessions = lock(&self.shared.sessions);
        if !sessions.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(session))) {
            sessions.push(Arc::downgrade(session));
        }
        drop(sessions);
        self.shared.waker.wake();
    }
}

impl Drop for Ptlrpcd {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        self.shared.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Worker {
    fn run(&mut self) {
        while !self.is_stopped() {
            let next_poll = self.poll_sessions();
            while let Some(index) = self.rpcs.first_complete() {
                let Some((result, on_complete)) = self.rpcs.take(index) else { break };
                if let OnComplete::Connected(session, conn_cnt) = on_complete {
                    let flags = session.config().connect_data.flags;
                    let outcome = result.and_then(|reply| read_connect_reply(&reply, flags));
                    session.on_connect_done(conn_cnt, outcome, self.clock.now());
                }
            }
            if self.is_stopped() {
                break;
            }
            self.rpcs.turn(&*self.clock, next_poll, None);
        }
    }

    fn is_stopped(&self) -> bool {
        self.shared.is_stopped.load(Ordering::SeqCst)
    }

    /// Polls all sessions; returns the time of the next poll.
    fn poll_sessions(&mut self) -> Option<Time> {
        let sessions: Vec<_> = {
            let mut sessions = lock(&self.shared.sessions);
            sessions.retain(|session| session.strong_count() > 0);
            sessions.clone()
        };
        let now = self.clock.now();
        let mut next_poll: Option<Time> = None;
        for session in sessions.iter().filter_map(Weak::upgrade) {
            let (action, at) = session.poll(now);
            let failed_at = match action {
                Some(SessionAction::Connect(attempt)) => self.connect(&session, attempt, now),
                Some(SessionAction::Ping) => {
                    let rpc = Rpc::new(&self.context(&session), Request::ping().into(), Purpose::Use, now);
                    self.rpcs.start(rpc, OnComplete::Nothing, now);
                    None
                }
                None => None,
            };
            next_poll = next_poll.into_iter().chain(at).chain(failed_at).min();
        }
        next_poll
    }

    fn context(&self, session: &Arc<Session>) -> Arc<RpcContext> {
        Arc::new(RpcContext { sender: Arc::clone(&self.sender), session: Arc::clone(session) })
    }

    /// Sends a connect request. If that is not possible, returns when to poll the session again.
    fn connect(&mut self, session: &Arc<Session>, attempt: ConnectAttempt, now: Time) -> Option<Time> {
        let ConnectAttempt { server, conn_cnt, initial, net_latency } = attempt;
        let found = match session.config().servers.get(server) {
            Some(uuid) => self.connections.get(self.sender.node(), uuid),
            None => Err(Errno::Invalid),
        };
        let connection = match found {
            Ok(connection) => connection,
            Err(errno) => {
                session.on_connect_done(conn_cnt, Err(errno), now);
                return Some(now);
            }
        };
        log::debug!("import {}: connecting to {}", session.name(), connection.peer);
        let handle = session.set_connection(server, connection);
        let connection = ActiveConnection { server, handle, conn_cnt, incarnation: 0 };
        let timeout = session.connect_timeout(net_latency);
        let purpose = Purpose::Connect { connection, timeout, initial };
        let request = connect_request(session.config(), session.cookie());
        let rpc = Rpc::new(&self.context(session), request.into(), purpose, now);
        self.rpcs.start(rpc, OnComplete::Connected(Arc::clone(session), conn_cnt), now);
        None
    }
}

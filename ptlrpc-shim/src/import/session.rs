//! The state that all users of an import share: its connection, its slots, its unreplied requests, and the time that
//! its service takes.
//!
//! A session sends nothing and has no clock: requests ask it for permission to send, [`Session::poll`] returns the connect
//! requests and pings to be sent, and outcomes are reported by `on_*`.

use super::config::ImportConfig;
use super::connect_state::{
    ActiveConnection, ConnectAccepted, ConnectAttempt, ConnectState, ImportState, SendPermission,
};
use super::connections::Connection;
use super::slots::{Slots, Tag};
use super::unreplied::Unreplied;
use crate::Errno;
use crate::clock::{Clock, Time};
use crate::lnet::ProcessId;
use crate::message::body::ExportCookie;
use crate::message::{ConnectData, ConnectFlags, DEFAULT_SLOTS, Xid, XidSource};
use crate::recent_max::RecentMax;
use crate::timeouts::Timeouts;
use crate::wakeup::Waker;
use lnet_api::sync::{Condition, lock};
use lnet_log::{LogClass, RateLimitedLog, write_line};
use std::fmt::Arguments;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The state of an import, used from any thread.
pub(crate) struct Session {
    config: ImportConfig,
    timeouts: Timeouts,
    xids: &'static XidSource,
    cookie: ExportCookie,
    /// Wakes the thread that polls the session.
    poller: Waker,
    state: Mutex<SessionState>,
    changed: Condition,
    log: RateLimitedLog,
}

struct SessionState {
    connect: ConnectState,
    /// The connection to each server, once its UUID was resolved.
    connections: Vec<Option<Arc<Connection>>>,
    agreed: ConnectData,
    /// Requests that wait for a connection or for a slot.
    waiters: Vec<Waker>,
    slots: Slots,
    unreplied: Unreplied,
    service_time: RecentMax,
    /// The timeout of a request, and the estimate of the service's time that it is derived from.
    timeout: (Option<Duration>, Duration),
    net_latency: RecentMax,
    next_ping: Time,
    last_error: Option<Errno>,
}

/// The request that the polling thread has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionAction {
    Connect(ConnectAttempt),
    Ping,
}

/// The state of an import that a transmission depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransmissionFacts {
    /// The server.
    pub(crate) peer: ProcessId,
    /// The XID of the request.
    pub(crate) xid: Xid,
    /// All requests up to this one have a reply.
    pub(crate) last_xid: Xid,
    /// The reply has the match bits of bulk data (`ConnectFlags::REP_MBITS`).
    pub(crate) reply_by_mbits: bool,
    /// The timeout of a request, by the estimate of the service's time.
    pub(crate) timeout: Duration,
    /// The estimate of the network latency.
    pub(crate) net_latency: Duration,
}

/// The times of the service, as the reply to a request tells them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyTimes {
    /// The time at which the request was sent.
    pub(crate) sent: Time,
    /// Seconds that the request took.
    pub(crate) service_time: u32,
    /// The service's estimate of that, in seconds.
    pub(crate) estimate: u32,
}

/// The limits of the network latency that failed connect attempts lead to.
const MIN_NET_LATENCY_LIMIT: Duration = Duration::from_secs(5);
const MAX_NET_LATENCY_LIMIT: Duration = Duration::from_secs(50);
/// Service times are reported in whole seconds, so a second of a round trip may be the service's.
const SERVICE_TIME_UNIT: Duration = Duration::from_secs(1);

/// The interface for the owner of the import.
impl Session {
    /// `cookie`: this client's handle of the connection.
    pub(crate) fn new(
        config: ImportConfig,
        timeouts: Timeouts,
        xids: &'static XidSource,
        cookie: ExportCookie,
        poller: Waker,
        now: Time,
    ) -> Self {
        let history = timeouts.adaptive.history;
        let state = SessionState {
            connect: ConnectState::new(config.servers.len()),
            connections: vec![None; config.servers.len()],
            agreed: ConnectData::default(),
            waiters: Vec::new(),
            slots: Slots::new(DEFAULT_SLOTS),
            unreplied: Unreplied::default(),
            service_time: RecentMax::new(history),
            timeout: (None, timeouts.of_request(None)),
            net_latency: RecentMax::new(history),
            next_ping: now,
            last_error: None,
        };
        Self {
            config,
            timeouts,
            xids,
            cookie,
            poller,
            state: Mutex::new(state),
            changed: Condition::new(),
            log: RateLimitedLog::new(),
        }
    }

    pub(crate) const fn config(&self) -> &ImportConfig {
        &self.config
    }

    pub(crate) const fn cookie(&self) -> ExportCookie {
        self.cookie
    }

    /// Logs a line about the import, rate-limited by its class.
    pub(crate) fn log(&self, now: Time, class: LogClass, line: Arguments<'_>) {
        self.log.write(now, class, self.name(), line);
    }

    /// The target's name, for the log.
    pub(crate) fn name(&self) -> String {
        String::from_utf8_lossy(self.config.target.as_bytes()).into_owned()
    }

    pub(crate) fn state(&self) -> ImportState {
        self.lock().connect.state()
    }

    pub(crate) fn agreed_data(&self) -> ConnectData {
        self.lock().agreed
    }

    /// The server's handle of the connection, [`ExportCookie::NONE`] without one, and the connection count.
    pub(crate) fn handle(&self) -> (ExportCookie, u32) {
        let state = self.lock();
        let handle = match state.connect.send_permission() {
            SendPermission::Send(connection) => connection.handle,
            SendPermission::Wait | SendPermission::Closed => ExportCookie::NONE,
        };
        (handle, state.connect.conn_cnt())
    }

    /// The connection to the first server whose UUID was resolved.
    pub(crate) fn first_connection(&self) -> Option<Connection> {
        self.lock().connections.iter().flatten().next().map(|connection| **connection)
    }

    /// Asks for a connection, from now on.
    pub(crate) fn request_connect(&self) {
        self.lock().connect.on_connect_wanted();
        self.poller.wake();
    }

    /// Waits until there is a connection, until `until` at most.
    pub(crate) fn wait_connected(&self, clock: &dyn Clock, until: Option<Time>) -> Result<(), Errno> {
        let mut state = self.lock();
        loop {
            match state.connect.state() {
                ImportState::Full => return Ok(()),
                ImportState::Closed => return Err(Errno::Shutdown),
                _ if until.is_some_and(|until| until <= clock.now()) => {
                    return Err(state.last_error.unwrap_or(Errno::TimedOut));
                }
                _ => state = self.changed.wait_until(clock, state, until),
            }
        }
    }

    /// Closes the import for good.
    pub(crate) fn close(&self) {
        self.lock().connect.close();
        self.wake_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        lock(&self.state)
    }

    fn wake_waiters(&self) {
        let waiters = std::mem::take(&mut self.lock().waiters);
        waiters.iter().for_each(Waker::wake);
        self.changed.notify_all();
    }
}

/// The interface for requests.
impl Session {
    /// Whether a request may be sent; if it has to wait, `waker` is woken when that may have changed.
    pub(crate) fn send_permission(&self, waker: &Waker) -> SendPermission {
        let mut state = self.lock();
        let permission = state.connect.send_permission();
        if permission == SendPermission::Wait {
            state.waiters.push(waker.clone());
        }
        permission
    }

    /// Takes a slot; if none is free, `waker` is woken when that may have changed.
    pub(crate) fn acquire_slot(&self, waker: &Waker) -> Option<Tag> {
        let mut state = self.lock();
        let tag = state.slots.acquire();
        if tag.is_none() {
            state.waiters.push(waker.clone());
        }
        tag
    }

    pub(crate) fn release_slot(&self, tag: Tag) {
        self.lock().slots.release(tag);
        self.wake_waiters();
    }

    /// New match bits for bulk data.
    pub(crate) fn new_bulk_bits(&self) -> Xid {
        self.xids.take()
    }

    pub(crate) fn replace_xid(&self, old: Xid, new: Xid, waker: &Waker) {
        let mut state = self.lock();
        state.unreplied.remove(old);
        state.unreplied.insert(new, waker);
    }

    pub(crate) fn end_xid(&self, xid: Xid) {
        self.lock().unreplied.remove(xid);
    }

    /// The state that a transmission over this connection depends on. `xid`: that of the request; `None`: it gets one, which is unreplied
    /// from now on. `ENOTCONN`: there is a newer connection, or the server's UUID was not resolved.
    pub(crate) fn begin_transmission(
        &self,
        xid: Option<Xid>,
        over: &ActiveConnection,
        waker: &Waker,
        now: Time,
    ) -> Result<TransmissionFacts, Errno> {
        let mut state = self.lock();
        if state.is_superseded(over.conn_cnt) {
            return Err(Errno::NotConnected);
        }
        self.begin(&mut state, xid, over, waker, now)
    }

    /// The permission to send a request that has no XID yet, as [`Session::send_permission`] gives it; if it may be sent, also what
    /// [`Session::begin_transmission`] gives it.
    #[inline]
    pub(crate) fn begin_first_transmission(
        &self,
        waker: &Waker,
        now: Time,
    ) -> (SendPermission, Result<TransmissionFacts, Errno>) {
        let mut state = self.lock();
        let permission = state.connect.send_permission();
        let facts = match &permission {
            SendPermission::Send(connection) => self.begin(&mut state, None, connection, waker, now),
            SendPermission::Wait => {
                state.waiters.push(waker.clone());
                Err(Errno::NotConnected)
            }
            SendPermission::Closed => Err(Errno::Shutdown),
        };
        (permission, facts)
    }

    #[inline]
    fn begin(
        &self,
        state: &mut SessionState,
        xid: Option<Xid>,
        over: &ActiveConnection,
        waker: &Waker,
        now: Time,
    ) -> Result<TransmissionFacts, Errno> {
        let connection =
            state.connections.get(over.server).and_then(Option::as_ref).ok_or(Errno::NotConnected)?;
        let peer = connection.peer;
        let xid = xid.unwrap_or_else(|| {
            // Taken under the lock: otherwise another request could say that this XID has a reply.
            let xid = self.xids.take();
            state.unreplied.insert(xid, waker);
            xid
        });
        Ok(TransmissionFacts {
            peer,
            xid,
            last_xid: state.unreplied.last_replied(xid),
            reply_by_mbits: state.agreed.flags.contains(ConnectFlags::REP_MBITS),
            timeout: state.timeout(&self.timeouts, now),
            net_latency: state.net_latency.get(now).unwrap_or_default(),
        })
    }

    pub(crate) fn agreed_flags(&self) -> ConnectFlags {
        self.lock().agreed.flags
    }

    pub(crate) const fn is_adaptive(&self) -> bool {
        !self.timeouts.adaptive.max.is_zero()
    }

    /// The timeout of a request, by the estimate of the service's time.
    pub(crate) fn estimated_timeout(&self, now: Time) -> Duration {
        self.lock().timeout(&self.timeouts, now)
    }

    /// The timeout of a connect request.
    pub(crate) fn connect_timeout(&self, net_latency: Duration) -> Duration {
        self.timeouts.of_connect(net_latency)
    }

    /// The estimate of the network latency.
    pub(crate) fn net_latency(&self, now: Time) -> Duration {
        self.lock().net_latency.get(now).unwrap_or_default()
    }

    /// Whether the import has been connected again since this connection count, so that earlier requests must be sent again.
    /// All unreplied requests are woken when that happens.
    pub(crate) fn is_superseded(&self, conn_cnt: u32) -> bool {
        self.lock().is_superseded(conn_cnt)
    }

    /// Records a reply to a request. `ended`: the request has ended with it; its XID ([`Session::end_xid`]).
    pub(crate) fn on_reply(&self, times: &ReplyTimes, ended: Option<Xid>, now: Time) {
        let round_trip = now.since(times.sent);
        let service_time = Duration::from_secs(times.service_time.into());
        let mut state = self.lock();
        state.service_time.add(Duration::from_secs(times.estimate.into()), now);
        state.net_latency.add(round_trip.saturating_sub(service_time + SERVICE_TIME_UNIT), now);
        state.next_ping = now + self.timeouts.ping_interval();
        if let Some(xid) = ended {
            state.unreplied.remove(xid);
        }
    }

    /// A request over the connection with this count got no reply.
    pub(crate) fn on_no_reply(&self, conn_cnt: u32) {
        let connection_ends = self.lock().connect.on_no_reply(conn_cnt);
        if connection_ends {
            write_line!(
                LogClass::ImportDisconnected,
                "import {}: connection lost (no reply to a request); reconnecting",
                self.name()
            );
            self.poller.wake();
        }
    }
}

/// The interface for the thread that connects and pings.
impl Session {
    /// Returns the request to send now, if there is one, and the time of the next poll.
    pub(crate) fn poll(&self, now: Time) -> (Option<SessionAction>, Option<Time>) {
        let interval = self.timeouts.ping_interval();
        let max_net_latency = self.timeouts.fixed.clamp(MIN_NET_LATENCY_LIMIT, MAX_NET_LATENCY_LIMIT);
        let mut state = self.lock();
        if let Some(due) = state.connect.next_attempt(now) {
            return match state.connect.start_attempt(now, max_net_latency) {
                Some(attempt) => (Some(SessionAction::Connect(attempt)), None),
                None => (None, Some(due)),
            };
        }
        if state.connect.state() != ImportState::Full || interval.is_zero() {
            return (None, None);
        }
        if state.next_ping > now {
            return (None, Some(state.next_ping));
        }
        state.next_ping = now + interval;
        (Some(SessionAction::Ping), Some(state.next_ping))
    }

    /// Stores the connection to a server whose UUID was resolved; returns the handle of the last connection.
    pub(crate) fn set_connection(&self, server: usize, connection: Arc<Connection>) -> ExportCookie {
        let mut state = self.lock();
        if let Some(entry) = state.connections.get_mut(server) {
            *entry = Some(connection);
        }
        state.connect.handle()
    }

    /// Records the outcome of the attempt with this connection count.
    pub(crate) fn on_connect_done(
        &self,
        conn_cnt: u32,
        outcome: Result<(ConnectAccepted, ConnectData), Errno>,
        now: Time,
    ) {
        {
            let mut state = self.lock();
            match outcome {
                Ok((accepted, data)) => {
                    if state.connect.on_connected(conn_cnt, accepted) {
                        state.agreed = data;
                        state.slots.set_count(match data.maxmodrpcs {
                            0 => DEFAULT_SLOTS,
                            count => count,
                        });
                        state.next_ping = now + self.timeouts.ping_interval();
                        state.last_error = None;
                        state.unreplied.wake_all();
                    }
                }
                Err(errno) => {
                    if state.connect.on_connect_failed(conn_cnt, now) {
                        log::debug!("import {}: connect failed ({errno}); trying again", self.name());
                        state.last_error = Some(errno);
                    }
                }
            }
        }
        self.wake_waiters();
    }
}

impl SessionState {
    /// The timeout of a request.
    fn timeout(&mut self, timeouts: &Timeouts, now: Time) -> Duration {
        let estimate = self.service_time.get(now);
        if self.timeout.0 != estimate {
            self.timeout = (estimate, timeouts.of_request(estimate));
        }
        self.timeout.1
    }

    fn is_superseded(&self, conn_cnt: u32) -> bool {
        self.connect.state() == ImportState::Full && self.connect.conn_cnt() != conn_cnt
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;

//! The state of an import's connection: pure decisions (PR-61, PR-62).

use crate::clock::Time;
use crate::message::body::ExportCookie;
use std::time::Duration;

/// The state of an import (`imp_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportState {
    /// No connection has been requested yet.
    New,
    /// There is no connection, and an attempt to connect is due now or later.
    Disconnected,
    /// A connect request has been sent.
    Connecting,
    /// Connected: requests are sent.
    Full,
    /// Closed for good.
    Closed,
}

/// One of the servers that may have the target.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    last_attempt: Option<Time>,
    /// Whether it was tried since the last success.
    tried: bool,
}

/// An attempt to connect that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectAttempt {
    /// The index of the server.
    pub server: usize,
    /// The connection count that the request carries.
    pub conn_cnt: u32,
    /// Whether no attempt has succeeded before.
    pub initial: bool,
    /// The estimate of the network latency.
    pub net_latency: Duration,
}

/// The content of the server's reply to a connect request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectAccepted {
    /// The server's handle of the connection.
    pub handle: ExportCookie,
    /// The server knew this client.
    pub reconnect: bool,
}

/// Whether requests may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendPermission {
    /// Requests may be sent, over this connection.
    Send(ActiveConnection),
    /// Requests may not be sent until the import is connected.
    Wait,
    /// Requests may not be sent any more.
    Closed,
}

/// The connection that requests are sent over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActiveConnection {
    /// The index of the server.
    pub server: usize,
    /// The server's handle of the connection.
    pub handle: ExportCookie,
    /// The connection count.
    pub conn_cnt: u32,
    /// The server's incarnation, counted by this client: requests sent to one incarnation are unknown to the next.
    pub incarnation: u32,
}

/// The state machine.
#[derive(Debug)]
pub(crate) struct ConnectState {
    state: ImportState,
    servers: Vec<Candidate>,
    current: usize,
    conn_cnt: u32,
    handle: ExportCookie,
    incarnation: u32,
    /// The estimate of the network latency; it grows with failed rounds.
    net_latency: Duration,
    /// Consecutive failures.
    failures: u32,
    /// The earliest time of the next attempt; `None`: at once.
    not_before: Option<Time>,
}

/// The amount by which the estimate of the network latency grows after a round of all servers in which no attempt succeeded.
const NET_LATENCY_STEP: Duration = Duration::from_secs(5);
/// The pause after the first failed round; it doubles with each further one.
const MIN_BACKOFF: Duration = Duration::from_millis(100);
/// The longest pause.
const MAX_BACKOFF: Duration = Duration::from_secs(2);

impl ConnectState {
    /// An import with `servers` servers, at least one.
    pub(crate) fn new(servers: usize) -> Self {
        Self {
            state: ImportState::New,
            servers: vec![Candidate::default(); servers.max(1)],
            current: 0,
            conn_cnt: 0,
            handle: ExportCookie::NONE,
            incarnation: 0,
            net_latency: Duration::ZERO,
            failures: 0,
            not_before: None,
        }
    }

    /// The state.
    pub(crate) const fn state(&self) -> ImportState {
        self.state
    }

    /// The connection count of the last attempt.
    pub(crate) const fn conn_cnt(&self) -> u32 {
        self.conn_cnt
    }

    /// The server's handle of the last connection.
    pub(crate) const fn handle(&self) -> ExportCookie {
        self.handle
    }

    /// Whether requests may be sent now.
    pub(crate) const fn send_permission(&self) -> SendPermission {
        match self.state {
            ImportState::Full => SendPermission::Send(ActiveConnection {
                server: self.current,
                handle: self.handle,
                conn_cnt: self.conn_cnt,
                incarnation: self.incarnation,
            }),
            ImportState::Closed => SendPermission::Closed,
            ImportState::New | ImportState::Disconnected | ImportState::Connecting => SendPermission::Wait,
        }
    }

    /// Makes the import connect from now on. Returns whether it was new.
    pub(crate) fn on_connect_wanted(&mut self) -> bool {
        let is_new = self.state == ImportState::New;
        if is_new {
            self.state = ImportState::Disconnected;
        }
        is_new
    }

    /// The time at which the next attempt is due; `None`: none is.
    pub(crate) fn next_attempt(&self, now: Time) -> Option<Time> {
        (self.state == ImportState::Disconnected).then(|| self.not_before.unwrap_or(now))
    }

    /// Starts an attempt if one is due: at the first server that has not been tried since the last success, or else at the server
    /// that was tried longest ago (PR-62). `max_net_latency` limits the estimate of the network latency.
    pub(crate) fn start_attempt(&mut self, now: Time, max_net_latency: Duration) -> Option<ConnectAttempt> {
        if self.next_attempt(now).is_none_or(|due| due > now) {
            return None;
        }
        if self.servers.iter().all(|server| server.tried) {
            self.servers.iter_mut().for_each(|server| server.tried = false);
            self.net_latency = (self.net_latency + NET_LATENCY_STEP).min(max_net_latency);
        }
        let untried = self.servers.iter().position(|server| !server.tried && server.last_attempt.is_none());
        let oldest = || {
            let servers = self.servers.iter().enumerate().filter(|(_, server)| !server.tried);
            servers.min_by_key(|(_, server)| server.last_attempt).map(|(index, _)| index)
        };
        let server = untried.or_else(oldest)?;
        self.servers[server] = Candidate { last_attempt: Some(now), tried: true };
        let initial = self.handle == ExportCookie::NONE;
        self.current = server;
        self.conn_cnt += 1;
        self.state = ImportState::Connecting;
        Some(ConnectAttempt { server, conn_cnt: self.conn_cnt, initial, net_latency: self.net_latency })
    }

    /// The attempt with this connection count succeeded. Whether it is still the current one.
    pub(crate) fn on_connected(&mut self, conn_cnt: u32, accepted: ConnectAccepted) -> bool {
        if self.state != ImportState::Connecting || conn_cnt != self.conn_cnt {
            return false;
        }
        // A server that did not know this client, or has another handle for a connection that it claims to know, has restarted.
        if !accepted.reconnect || accepted.handle != self.handle {
            self.incarnation += 1;
        }
        self.state = ImportState::Full;
        self.handle = accepted.handle;
        self.net_latency = Duration::ZERO;
        self.failures = 0;
        self.not_before = None;
        self.servers.iter_mut().for_each(|server| server.tried = false);
        true
    }

    /// The attempt with this connection count failed. Whether it is still the current one.
    pub(crate) fn on_connect_failed(&mut self, conn_cnt: u32, now: Time) -> bool {
        if self.state != ImportState::Connecting || conn_cnt != self.conn_cnt {
            return false;
        }
        self.state = ImportState::Disconnected;
        let rounds = self.failures / self.servers.len() as u32;
        self.failures = self.failures.saturating_add(1);
        let round_is_over = self.servers.iter().all(|server| server.tried);
        let backoff = MIN_BACKOFF.saturating_mul(2_u32.saturating_pow(rounds)).min(MAX_BACKOFF);
        self.not_before = round_is_over.then(|| now + backoff);
        true
    }

    /// A request over the connection with this count got no reply. Whether that ends the current connection (PR-60).
    pub(crate) fn on_no_reply(&mut self, conn_cnt: u32) -> bool {
        let ends = self.state == ImportState::Full && conn_cnt == self.conn_cnt;
        if ends {
            self.state = ImportState::Disconnected;
            self.not_before = None;
        }
        ends
    }

    /// Closes the import for good.
    pub(crate) fn close(&mut self) {
        self.state = ImportState::Closed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_secs(50);

    fn accepted(handle: u64, reconnect: bool) -> ConnectAccepted {
        ConnectAccepted { handle: ExportCookie(handle), reconnect }
    }

    fn active(connect: &ConnectState) -> ActiveConnection {
        match connect.send_permission() {
            SendPermission::Send(connection) => connection,
            other => panic!("{other:?}"),
        }
    }

    /// PR-62: fails if servers are not tried in turn, or if a failed round does not raise the latency estimate.
    #[test]
    fn servers_are_tried_round_robin_and_each_failed_round_raises_the_latency_estimate() {
        let (start, mut connect) = (Time::START, ConnectState::new(3));
        assert_eq!(connect.start_attempt(start, MAX), None);
        assert!(connect.on_connect_wanted() && !connect.on_connect_wanted());
        let mut now = start;
        let mut tried = Vec::new();
        for _ in 0..8 {
            now = connect.next_attempt(now).unwrap().max(now);
            let attempt = connect.start_attempt(now, MAX).unwrap();
            assert!(attempt.initial && connect.start_attempt(now, MAX).is_none());
            tried.push((attempt.server, attempt.conn_cnt, attempt.net_latency.as_secs()));
            now += Duration::from_millis(1);
            assert!(connect.on_connect_failed(attempt.conn_cnt, now));
        }
        let want = [(0, 1, 0), (1, 2, 0), (2, 3, 0), (0, 4, 5), (1, 5, 5), (2, 6, 5), (0, 7, 10), (1, 8, 10)];
        assert_eq!(tried, want);
        // Two rounds, each followed by a pause: 100 and 200 ms.
        let took = now.since(start);
        assert!(took > Duration::from_millis(300) && took < Duration::from_millis(320));
    }

    #[test]
    fn the_backoff_grows_and_ends_with_a_success() {
        let (mut now, mut connect) = (Time::START, ConnectState::new(1));
        connect.on_connect_wanted();
        let mut backoffs = Vec::new();
        for _ in 0..7 {
            let attempt = connect.start_attempt(now, MAX).unwrap();
            connect.on_connect_failed(attempt.conn_cnt, now);
            let due = connect.next_attempt(now).unwrap();
            assert_eq!(connect.start_attempt(Time(due.0 - Duration::from_millis(1)), MAX), None);
            backoffs.push(due.since(now).as_millis());
            now = due;
        }
        assert_eq!(backoffs, [100, 200, 400, 800, 1600, 2000, 2000]);
        let attempt = connect.start_attempt(now, MAX).unwrap();
        assert!(connect.on_connected(attempt.conn_cnt, accepted(7, false)));
        assert!(connect.on_no_reply(attempt.conn_cnt));
        assert_eq!(connect.next_attempt(now), Some(now), "at once");
    }

    #[test]
    fn outcomes_of_an_earlier_attempt_are_ignored() {
        let (now, mut connect) = (Time::START, ConnectState::new(1));
        connect.on_connect_wanted();
        let first = connect.start_attempt(now, MAX).unwrap();
        assert!(!connect.on_no_reply(first.conn_cnt), "not connected yet");
        connect.on_connect_failed(first.conn_cnt, now);
        let second = connect.start_attempt(connect.next_attempt(now).unwrap(), MAX).unwrap();
        assert!(!connect.on_connected(first.conn_cnt, accepted(7, false)));
        assert!(!connect.on_connect_failed(first.conn_cnt, now));
        assert!(connect.on_connected(second.conn_cnt, accepted(7, false)));
        assert!(!connect.on_no_reply(first.conn_cnt));
        assert_eq!(
            active(&connect),
            ActiveConnection { server: 0, handle: ExportCookie(7), conn_cnt: 2, incarnation: 1 }
        );
    }

    #[test]
    fn a_server_that_has_forgotten_this_client_is_another_incarnation() {
        let (now, mut connect) = (Time::START, ConnectState::new(1));
        connect.on_connect_wanted();
        let mut incarnations = Vec::new();
        for (handle, reconnect) in [(7, false), (7, true), (8, false), (8, true), (9, true)] {
            let attempt = connect.start_attempt(now, MAX).unwrap();
            assert!(connect.on_connected(attempt.conn_cnt, accepted(handle, reconnect)));
            incarnations.push(active(&connect).incarnation);
            assert!(connect.on_no_reply(attempt.conn_cnt));
        }
        assert_eq!(incarnations, [1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_closed_import_stays_closed() {
        let (now, mut connect) = (Time::START, ConnectState::new(1));
        connect.on_connect_wanted();
        let attempt = connect.start_attempt(now, MAX).unwrap();
        connect.close();
        assert!(!connect.on_connected(attempt.conn_cnt, accepted(7, false)));
        assert!(!connect.on_connect_wanted() && connect.next_attempt(now).is_none());
        assert_eq!(connect.send_permission(), SendPermission::Closed);
    }
}

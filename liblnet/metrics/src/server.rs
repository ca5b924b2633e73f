//! The HTTP server: one thread, which never waits for a client.
//!
//! A client costs at most one of a few connections, for a few seconds; where all are in use, the one that has waited longest
//! for its request gives way. Pages that are open have connections of their own, in a limited number. The node is asked by the same
//! thread, so it has one request at a time from here.

use crate::config::{Address, MetricsConfig};
use crate::expected_peers::ExpectedPeers;
use crate::http::{Connection, HttpRequest};
use crate::nodes::Nodes;
use crate::service::Service;
use crate::streams::{MAX_STREAMS, Streams};
use lnet_log::{LogClass, write_line};
use lnet_os::descriptor::{accept_tcp, listen_tcp, unix_pair};
use lnet_os::thread::JoinHandle;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::Cell;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The most connections at a time.
const MAX_CONNECTIONS: usize = 8;
/// The stack size of the thread in bytes.
const STACK: usize = 512 * 1024;
/// The pause before the next `accept` after one that failed for lack of descriptors or memory.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// A socket that listens; nothing is answered yet.
#[derive(Debug)]
pub struct MetricsListener {
    listener: TcpListener,
    config: MetricsConfig,
}

impl MetricsListener {
    /// Listens on the address. The error's text names the address.
    pub fn bind(config: MetricsConfig) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", config.address));
        let listener = listen(&config.address).map_err(named)?;
        listener.set_nonblocking(true).map_err(named)?;
        Ok(Self { listener, config })
    }

    /// The address, with the port that the system chose for port 0.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Starts to answer requests with the metrics and the health of `nodes`.
    pub fn serve(self, nodes: Arc<dyn Nodes>) -> io::Result<MetricsServer> {
        let MetricsConfig { expected, lustre_names, .. } = self.config;
        let address = self.listener.local_addr()?;
        let (wake, wake_fd) = unix_pair()?;
        let expected_peers = ExpectedPeers::start(Arc::clone(&nodes), expected.clone())?;
        let service = Service { nodes, expected, lustre_names };
        let builder = thread::Builder::new().name("lnet_metrics".to_owned()).stack_size(STACK);
        let listener = self.listener;
        let thread = lnet_os::thread::spawn(builder, move || serve(&listener, &wake_fd, &service))?;
        Ok(MetricsServer { address, wake: Some(wake), thread: Some(thread), expected_peers })
    }
}

fn listen(address: &Address) -> io::Result<TcpListener> {
    let mut error = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in address.resolve()? {
        match listen_tcp(address) {
            Ok(listener) => return Ok(listener),
            Err(its) => error = its,
        }
    }
    Err(error)
}

/// A server of metrics. Dropping this ends it and closes its connections.
#[derive(Debug)]
pub struct MetricsServer {
    address: SocketAddr,
    /// The socket whose closing ends the thread.
    wake: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
    expected_peers: Option<ExpectedPeers>,
}

impl MetricsServer {
    /// The address that the server listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        drop(self.expected_peers.take());
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, wake_fd: &UnixStream, service: &Service) {
    let mut connections: Vec<Connection> = Vec::new();
    let mut streams = Streams::new(Instant::now());
    let (mut paused_until, mut has_failed) = (None::<Instant>, false);
    loop {
        let deadline =
            connections.iter().map(Connection::deadline).chain(paused_until).chain(streams.deadline()).min();
        let mut waited_for = vec![PollFd::new(wake_fd, PollFlags::IN)];
        let accepting = if paused_until.is_some() { PollFlags::empty() } else { PollFlags::IN };
        waited_for.push(PollFd::new(listener, accepting));
        waited_for.extend(connections.iter().map(|it| PollFd::new(it.socket(), it.events())));
        waited_for.extend(streams.sockets());
        if let Err(errno) = poll(&mut waited_for, deadline.map(until).as_ref())
            && errno != rustix::io::Errno::INTR
        {
            write_line!(
                LogClass::MetricsUnavailable,
                "metrics: cannot be waited for ({errno}); no longer served"
            );
            return;
        }
        let ready: Vec<bool> = waited_for.iter().map(|it| !it.revents().is_empty()).collect();
        drop(waited_for);
        if ready.first() == Some(&true) {
            return;
        }
        let now = Instant::now();
        let mut is_ready = ready.iter().skip(2);
        let places = Cell::new(MAX_STREAMS.saturating_sub(streams.count()));
        connections.retain_mut(|connection| {
            let advances = is_ready.next() == Some(&true);
            let answer = |request: &HttpRequest| service.answer(request, places.get() > 0);
            let goes_on = !advances || connection.advance(now, answer);
            if connection.is_stream() {
                places.set(places.get() - 1);
            }
            goes_on && now < connection.deadline()
        });
        for connection in connections.extract_if(.., |connection| connection.is_stream()) {
            streams.add(connection.into_socket(), now);
        }
        streams.advance(service, now, Instant::now);
        paused_until = paused_until.filter(|time| now < *time);
        if ready.get(1) != Some(&true) {
            continue;
        }
        match accept_tcp(listener).and_then(|socket| Connection::new(socket, Instant::now())) {
            Ok(connection) => {
                make_room(&mut connections);
                connections.push(connection);
            }
            Err(error) if is_harmless(&error) => {}
            Err(error) => {
                if !has_failed {
                    write_line!(
                        LogClass::MetricsUnavailable,
                        "metrics: cannot accept a connection ({error}); trying again every 0.1 s"
                    );
                }
                (paused_until, has_failed) = (Some(now + ACCEPT_RETRY_INTERVAL), true);
            }
        }
    }
}

/// Ends a connection if there are as many as there may be: the oldest whose request has not arrived, or else the oldest.
fn make_room(connections: &mut Vec<Connection>) {
    if connections.len() >= MAX_CONNECTIONS {
        let idle = connections.iter().position(Connection::is_reading);
        connections.remove(idle.unwrap_or(0));
    }
}

/// The time until `deadline`, at least a millisecond.
fn until(deadline: Instant) -> Timespec {
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() }
}

fn is_harmless(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}

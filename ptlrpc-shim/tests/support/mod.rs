//! A service to test, over the loopback. Its clock only advances when a test advances it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

pub mod client;
pub mod exclusive;

use client::Client;
use exclusive::{Exclusive, exclusive};
use ptlrpc::Errno;
use ptlrpc::clock::{Clock, ManualClock};
use ptlrpc::lnet::Node;
use ptlrpc::message::portal::Portals;
use ptlrpc::message::{ConnectData, ConnectFlags, Portal, Service as Protocol};
use ptlrpc::service::{
    Counts, Handler, Reply, Response, Service, ServiceConfig, ServiceRequest, Target, Targets,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A server with a target, its clock, and the node that it is on.
pub struct Server {
    pub service: Service,
    pub target: Arc<Target>,
    pub targets: Arc<Targets>,
    pub node: Arc<Node>,
    pub clock: Arc<ManualClock>,
    probes: AtomicU64,
    _exclusive: Exclusive,
}

/// A handler that calls a function.
struct Function<F>(F);

impl<F: Fn(&mut ServiceRequest<'_>) -> Response + Send + Sync> Handler for Function<F> {
    fn handle(&self, request: &mut ServiceRequest<'_>) -> Response {
        self.0(request)
    }

    fn serves(&self, opcode: ptlrpc::message::Opcode) -> bool {
        opcode.is_own()
    }
}

pub fn handler(
    function: impl Fn(&mut ServiceRequest<'_>) -> Response + Send + Sync + 'static,
) -> Arc<dyn Handler> {
    Arc::new(Function(function))
}

/// Replies with the buffers of the request.
pub fn echo(request: &mut ServiceRequest<'_>) -> Response {
    let buffers = (1..request.buffer_count()).filter_map(|index| request.buffer(index));
    buffers.fold(Reply::new(), |reply, buffer| reply.buffer(buffer)).into()
}

pub fn config() -> ServiceConfig {
    ServiceConfig::new("test", Portals::OST, Portal::OST_BULK, Protocol::OST)
}

/// The connect data that the target supports.
pub fn supported() -> ConnectData {
    ConnectData {
        flags: ConnectFlags::AT | ConnectFlags::VERSION | ConnectFlags::REP_MBITS | ConnectFlags::BULK_MBITS,
        version: 0x020f_0800,
        maxmodrpcs: 16,
        ..ConnectData::default()
    }
}

impl Server {
    pub fn start(
        config: ServiceConfig,
        function: impl Fn(&mut ServiceRequest<'_>) -> Response + Send + Sync + 'static,
    ) -> Self {
        let exclusive = exclusive();
        let clock = Arc::<ManualClock>::default();
        let node = Node::start().unwrap();
        let targets = Targets::new(42);
        let target = targets.add("OST0000".parse().unwrap(), supported()).unwrap();
        let handler = handler(function);
        let service =
            Service::start_with_clock(&node, &targets, config, handler, Arc::clone(&clock) as Arc<dyn Clock>)
                .unwrap();
        Self { service, target, targets, node, clock, probes: AtomicU64::new(0), _exclusive: exclusive }
    }

    pub fn client(&self) -> Client {
        Client::new(&self.node, "a client")
    }

    /// A connected client.
    pub fn connected(&self) -> Client {
        let mut client = self.client();
        client.connect();
        client
    }

    /// The counters after all earlier requests have been decided about, which happens in order. The ping without a
    /// connection that shows this is not counted as refused.
    pub fn counts(&self) -> Counts {
        let probe = Client::new(&self.node, "a probe");
        assert_eq!(probe.ping().status(), Err(Errno::NotConnected));
        let probes = self.probes.fetch_add(1, Ordering::Relaxed) + 1;
        let mut counts = self.service.counts();
        counts.refused -= probes;
        counts
    }
}

//! A live node in place of a captured kernel node, with an application that does the same as the programs on the captured
//! node.

use super::player::{Application, TIMEOUT};
use super::script::Line;
use lnet_core::topology::Route;
use lnet_core::{
    EqHandle, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions, MdSpec, Target,
};
use lnet_node::{Node, StartConfig};
use lnet_wire::ping_info::ping_buffer_len;
use lnet_wire::{Body, Header, NetId, Nid, PING_MATCH_BITS, Pid, RESERVED_PORTAL, WireHandle};
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Instant;

/// Size of the event queue: more events than a capture causes.
const EVENTS: u32 = 4096;

pub struct LiveNode {
    node: Arc<Node>,
    eq: EqHandle,
    /// All operations; the index is the `user_ptr` of their events. Kept until the node has ended.
    operations: Vec<Operation>,
    /// Operations in flight, by the captured handle that the response will name.
    waiting_for_response: HashMap<WireHandle, usize>,
    /// The index of the PUT or GET that is about to arrive.
    prepared: Option<usize>,
    /// Peers that an operator has had discovered.
    discovered: Vec<Nid>,
    /// The gateways by which an operator adds routes, and the nets behind them.
    gateways: Vec<(Nid, NetId)>,
}

/// An operation of the application, or memory that it has posted for one of the peer.
struct Operation {
    memory: Arc<[AtomicU8]>,
    events: Vec<Event>,
    /// The events that have to have come in the end.
    due: Vec<EventKind>,
}

impl LiveNode {
    /// A node on `nids`, in this order, which is that of the ping block.
    pub fn start(nids: &[Nid], config: StartConfig) -> Self {
        let node = Node::start(Pid::LUSTRE, config).unwrap();
        for nid in nids {
            node.add_nid(*nid).unwrap();
        }
        let eq = node.core().data_path().eq_alloc(EVENTS, None).unwrap();
        let (operations, discovered, gateways) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            node,
            eq,
            operations,
            waiting_for_response: HashMap::new(),
            prepared: None,
            discovered,
            gateways,
        }
    }

    /// The node.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Declares that the capture has `gateway` discovered for the first time because a route to `net` by it is added.
    pub fn will_add_route(&mut self, net: NetId, gateway: Nid) {
        self.gateways.push((gateway, net));
    }

    /// Waits until everything that was begun has succeeded, and ends the node.
    pub fn finish(mut self) {
        for number in 0..self.operations.len() {
            for kind in self.operations[number].due.clone() {
                self.wait_for(number, kind);
            }
        }
        let core = self.node.core();
        for nid in self.discovered {
            let discovered = core.admin().wait_discovered(nid, TIMEOUT);
            // When the connections of the capture end a gateway is checked at once, and no node responds any more.
            let was_checked = core.admin().routes().iter().any(|route| route.gateway == nid)
                && core.admin().peer(nid).is_some_and(|(peer, _)| peer.is_multi_rail());
            assert!(discovered.is_ok() || was_checked, "{discovered:?}");
        }
        self.node.shutdown();
    }

    /// Waits until the node knows the peer with these NIDs, the primary one first, and the peer knows it.
    pub fn wait_until_it_knows(&self, nids: &[Nid]) {
        let core = self.node.core();
        let give_up = Instant::now() + TIMEOUT;
        loop {
            let peer = core.admin().peer(nids[0]);
            let found = peer.is_some_and(|(peer, _)| {
                peer.is_multi_rail()
                    && peer.primary == nids[0]
                    && peer.nids.len() == nids.len()
                    && nids.iter().all(|nid| peer.nids.contains(nid))
            });
            let standing = core.admin().discovery_of(nids[0]);
            if found && standing.as_ref().is_some_and(|standing| standing.up_to_date) {
                return;
            }
            assert!(Instant::now() < give_up, "{standing:?}");
            thread::yield_now();
        }
    }

    fn new_operation(&mut self, memory: &[u8], due: &[EventKind]) -> usize {
        let memory = memory.iter().copied().map(AtomicU8::new).collect();
        self.operations.push(Operation { memory, events: Vec::new(), due: due.to_vec() });
        self.operations.len() - 1
    }

    fn descriptor(&self, number: usize, threshold: i32, options: MdOptions) -> (MdSpec, MdMemory) {
        let memory = &self.operations[number].memory;
        let (start, length) = (memory.as_ptr() as usize, memory.len() as u32);
        let eq = Some(self.eq);
        let spec = MdSpec { start, length, threshold, max_size: 0, options, user_ptr: number, eq };
        (spec, MdMemory::contiguous(start, length))
    }

    fn post(&mut self, header: &Header, number: usize, options: MdOptions) {
        let (Body::Put { portal, match_bits, .. } | Body::Get { portal, match_bits, .. }) = header.body
        else {
            return;
        };
        let core = self.node.core();
        let me = core
            .data_path()
            .me_attach(portal, MatchId::ANY, match_bits, 0, true, InsertPosition::After)
            .unwrap();
        let (spec, memory) = self.descriptor(number, 1, options);
        core.data_path().md_attach(me, spec, memory, true, &mut |_| ()).unwrap();
        self.prepared = Some(number);
    }

    fn put(&mut self, header: &Header, payload: &[u8]) {
        let Body::Put { ack, hdr_data, .. } = header.body else { return };
        let due: &[EventKind] = match ack {
            Some(_) => &[EventKind::Send, EventKind::Ack],
            None => &[EventKind::Send],
        };
        let number = self.new_operation(payload, due);
        let md = self.bind(number, due.len());
        self.waiting_for_response.extend(ack.map(|handle| (handle, number)));
        self.node
            .core()
            .data_path()
            .put(Some(header.src_nid), md, ack.is_some(), target(header), hdr_data)
            .unwrap();
    }

    fn get(&mut self, header: &Header) {
        let Body::Get { reply, sink_length, portal, .. } = header.body else { return };
        let number = self.new_operation(&vec![0; sink_length as usize], &[EventKind::Send, EventKind::Reply]);
        let md = self.bind(number, 2);
        self.waiting_for_response.insert(reply, number);
        // An operator's ping goes by whichever interface.
        let source = Some(header.src_nid).filter(|_| portal != RESERVED_PORTAL);
        self.node.core().data_path().get(source, md, target(header)).unwrap();
    }

    fn bind(&self, number: usize, threshold: usize) -> MdHandle {
        let (spec, memory) = self.descriptor(number, threshold as i32, MdOptions::TRUNCATE);
        self.node.core().data_path().md_bind(spec, memory, true).unwrap()
    }

    /// Waits for the event of this kind of an operation, which must have succeeded.
    fn wait_for(&mut self, number: usize, kind: EventKind) -> Event {
        loop {
            if let Some(event) = self.operations[number].events.iter().find(|event| event.kind == kind) {
                assert_eq!(event.status, Ok(()), "{event:?}");
                return *event;
            }
            let polled = self.node.eq_poll(&[self.eq], Some(TIMEOUT)).unwrap();
            let Some((_, polled)) = polled else { panic!("the application waits in vain for {kind:?}") };
            assert!(!polled.lost);
            self.operations[polled.event.md.user_ptr].events.push(polled.event);
        }
    }

    fn memory_of(&self, number: usize, len: usize) -> Vec<u8> {
        self.operations[number].memory.iter().take(len).map(|byte| byte.load(Ordering::Relaxed)).collect()
    }
}

impl Application for LiveNode {
    fn call(&mut self, from: Nid, to: Nid) {
        let number = self.new_operation(&[0; ping_buffer_len(200)], &[]);
        let md = self.bind(number, 2);
        let target = Target {
            nid: Some(to),
            pid: Pid::LUSTRE,
            portal: RESERVED_PORTAL,
            match_bits: PING_MATCH_BITS,
            offset: 0,
        };
        self.node.core().data_path().get(Some(from), md, target).unwrap();
    }

    fn connected(&mut self, our_end: IpAddr) {
        // The connection comes from an unprivileged port and is rejected by the thread that handles HELLOs, in the order in which
        // they arrive.
        let mut stranger = TcpStream::connect((our_end, 988)).unwrap();
        stranger.set_read_timeout(Some(TIMEOUT)).unwrap();
        let turned_away = stranger.read(&mut [0]).map_err(|error| error.kind());
        assert!(matches!(turned_away, Ok(0) | Err(ErrorKind::ConnectionReset)), "{turned_away:?}");
    }

    fn start(&mut self, request: &Line) {
        let Some(header) = request.header() else { return };
        self.put(header, request.payload());
        self.get(header);
    }

    fn discover(&mut self, peer: Nid) {
        match self.gateways.iter().position(|(gateway, _)| *gateway == peer) {
            Some(at) => {
                let (gateway, net) = self.gateways.swap_remove(at);
                let route = Route { net, gateway, hops: None, priority: 0, health_sensitivity: 1 };
                self.node.core().admin().add_route(route).unwrap();
            }
            None => self.node.core().admin().discover(peer, false).unwrap(),
        }
        self.discovered.push(peer);
    }

    fn prepare(&mut self, request: &Line, response: Option<&[u8]>) {
        let Some(header) = request.header() else { return };
        self.prepared = None;
        match header.body {
            Body::Put { portal: RESERVED_PORTAL, .. } | Body::Get { portal: RESERVED_PORTAL, .. } => {}
            Body::Put { .. } => {
                let number = self.new_operation(&vec![0; request.payload().len()], &[EventKind::Put]);
                self.post(header, number, MdOptions::OP_PUT);
            }
            Body::Get { .. } => {
                let data = response.expect("a GET that was answered");
                let number = self.new_operation(data, &[EventKind::Get]);
                self.post(header, number, MdOptions::OP_GET);
            }
            Body::Ack { .. } | Body::Reply { .. } => {}
        }
    }

    fn received(&mut self, message: &Line) {
        let Some(header) = message.header() else { return };
        let payload = message.payload();
        let (event, number) = match header.body {
            Body::Put { .. } => {
                let Some(number) = self.prepared.take() else { return };
                (self.wait_for(number, EventKind::Put), number)
            }
            Body::Reply { handle } => {
                // Discovery's own pings are the node's affair.
                let Some(number) = self.waiting_for_response.get(&handle).copied() else { return };
                (self.wait_for(number, EventKind::Reply), number)
            }
            Body::Ack { handle, accepted, .. } => {
                let Some(number) = self.waiting_for_response.get(&handle).copied() else { return };
                assert_eq!(self.wait_for(number, EventKind::Ack).mlength, accepted);
                return;
            }
            Body::Get { .. } => return,
        };
        assert_eq!(event.mlength as usize, payload.len(), "{event:?}");
        assert!(self.memory_of(number, payload.len()) == payload, "other bytes arrived: {event:?}");
        if let Body::Put { match_bits, hdr_data, portal, .. } = header.body {
            assert_eq!((event.match_bits, event.hdr_data, event.portal), (match_bits, hdr_data, portal));
            assert_eq!((event.source.nid, event.source.pid), (Some(header.src_nid), header.src_pid));
            assert_eq!(event.target.nid, Some(header.dest_nid));
        }
    }
}

fn target(header: &Header) -> Target {
    let (portal, match_bits, offset) = match header.body {
        Body::Put { portal, match_bits, offset, .. } | Body::Get { portal, match_bits, offset, .. } => {
            (portal, match_bits, offset)
        }
        Body::Ack { .. } | Body::Reply { .. } => (0, 0, 0),
    };
    Target { nid: Some(header.dest_nid), pid: header.dest_pid, portal, match_bits, offset }
}

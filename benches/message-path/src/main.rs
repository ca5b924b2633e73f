//! Runs a number of operations between two nodes of this process, on one thread, without sockets: the path of a
//! message through the core, for programs that count instructions. Prints nothing.
//!
//! ```text
//! message-path put|get LOCAL_NIS PEER_NIS OPERATIONS
//! message-path routed-put|routed-get OPERATIONS
//! message-path header OPERATIONS
//! ```
//!
//! `put` is a PUT of 8 bytes with its ACK, `get` a GET of 8 bytes with its REPLY, each with all its events polled;
//! `routed-put` and `routed-get` are the same between nodes of one NI each on different nets, through a router, which
//! forwards the request and its response. No message names its origin, as between nodes of other implementations. `header`
//! encodes and decodes the header of a message. The payload is not copied, as drivers copy it.
//!
//! The driver keeps the messages that it gets to send, and lets them arrive on request: as from a network, no message
//! arrives within the call that sends it. The clock stands still.
#![forbid(unsafe_code)]

use lnet_core::lnd::{DeferredRx, Driver, LndNi, RxAction, SendOutcome, StartError, Upcalls};
use lnet_core::topology::Route;
use lnet_core::{
    Core, CoreConfig, EqHandle, Errno, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions,
    MdSpec, Ni, NiTunables, OutgoingMessage, Pooled, Provenance, Target,
};
use lnet_wire::{Body, Header, NetId, NetType, Nid, Pid};
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::hint::black_box;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

const PORTAL: u32 = 9;
const MATCH_BITS: u64 = 7;
const LEN: u32 = 8;
/// First addresses of the two nodes. The high byte is the number of the node.
const LOCAL: u32 = 0x0000_0001;
const PEER: u32 = 0x0100_0001;
const ROUTER: u32 = 0x0200_0001;
/// The net that the peer is on behind a router.
const FAR_NET: NetId = NetId::new(NetType::TCP, 1);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["header", operations] => encode_and_decode(operations.parse()?),
        [operation @ ("put" | "get"), local_nis, peer_nis, operations] => {
            let pair = Pair::new(local_nis.parse()?, peer_nis.parse()?)?;
            pair.repeat(if operation == "put" { Pair::put } else { Pair::get }, operations.parse()?)
        }
        [operation @ ("routed-put" | "routed-get"), operations] => {
            let pair = Pair::through_router()?;
            pair.repeat(if operation == "routed-put" { Pair::put } else { Pair::get }, operations.parse()?)
        }
        _ => Err("usage: put|get LOCAL_NIS PEER_NIS OPERATIONS | routed-put|routed-get OPERATIONS | header OPERATIONS".into()),
    }
}

fn encode_and_decode(operations: u64) -> Result<(), Box<dyn Error>> {
    let body = Body::Put { ack: None, match_bits: MATCH_BITS, hdr_data: 0, portal: PORTAL, offset: 0 };
    let (dest_pid, src_pid) = (Pid::LUSTRE, Pid::LUSTRE);
    let header =
        Header { dest_nid: nid(PEER), src_nid: nid(LOCAL), dest_pid, src_pid, payload_length: LEN, body };
    for _ in 0..operations {
        let bytes = black_box(&header).encode().ok_or("a header that has no wire form")?;
        black_box(Header::decode(black_box(&bytes)))?;
    }
    Ok(())
}

/// Two nodes on one network, or with a router between them.
struct Pair {
    network: Arc<Network>,
    local: Arc<Core>,
    peer: Arc<Core>,
    router: Option<Arc<Core>>,
    target: Target,
    local_eq: EqHandle,
    peer_eq: EqHandle,
    /// The local node's MD for its requests.
    md: MdHandle,
    _memory: Box<[u8; LEN as usize]>,
}

impl Pair {
    fn new(local_nis: u32, peer_nis: u32) -> Result<Self, Errno> {
        let network = Arc::new(Network::default());
        let local = node(&network, LOCAL, local_nis, 1)?;
        let peer = node(&network, PEER, peer_nis, 2)?;
        add_peer(&local, PEER, peer_nis)?;
        add_peer(&peer, LOCAL, local_nis)?;
        Self::of(network, local, peer, None, nid(PEER))
    }

    fn through_router() -> Result<Self, Errno> {
        let network = Arc::new(Network::default());
        let local = node(&network, LOCAL, 1, 1)?;
        let far = |address| Nid::new(FAR_NET, address);
        let [peer, router] =
            [2, 3].map(|cookie| Core::new(CoreConfig::new(Pid::LUSTRE, cookie).without_discovery()));
        for (core, nid) in [(&peer, far(PEER)), (&router, nid(ROUTER)), (&router, far(ROUTER))] {
            core.admin().add_ni(nid, NiTunables::default(), &NetworkDriver(Arc::clone(&network)))?;
        }
        router.admin().change_router(|router| router.switched(true))?;
        local.admin().add_route(route(FAR_NET, nid(ROUTER)))?;
        peer.admin().add_route(route(nid(LOCAL).net(), far(ROUTER)))?;
        Self::of(network, local, peer, Some(router), far(PEER))
    }

    fn of(
        network: Arc<Network>,
        local: Arc<Core>,
        peer: Arc<Core>,
        router: Option<Arc<Core>>,
        target: Nid,
    ) -> Result<Self, Errno> {
        let memory = Box::new([0; LEN as usize]);
        let (local_eq, peer_eq) =
            (local.data_path().eq_alloc(16, None)?, peer.data_path().eq_alloc(16, None)?);
        let at = memory.as_ptr() as usize;
        let (requests, requests_memory) = descriptor(at, MdOptions(0), local_eq);
        let md = local.data_path().md_bind(requests, requests_memory, false)?;
        let me =
            peer.data_path().me_attach(PORTAL, MatchId::ANY, MATCH_BITS, 0, false, InsertPosition::After)?;
        let both = MdOptions(MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0);
        let (sink, sink_memory) = descriptor(at, both, peer_eq);
        peer.data_path().md_attach(me, sink, sink_memory, false, &mut |_| ())?;
        let target =
            Target { nid: Some(target), pid: Pid::LUSTRE, portal: PORTAL, match_bits: MATCH_BITS, offset: 0 };
        Ok(Self { network, local, peer, router, target, local_eq, peer_eq, md, _memory: memory })
    }

    fn repeat(
        &self,
        operation: fn(&Self) -> Result<(), Box<dyn Error>>,
        operations: u64,
    ) -> Result<(), Box<dyn Error>> {
        for _ in 0..operations {
            operation(self)?;
        }
        [Some(&self.local), Some(&self.peer), self.router.as_ref()]
            .into_iter()
            .flatten()
            .for_each(|core| core.admin().shutdown());
        Ok(())
    }

    fn put(&self) -> Result<(), Box<dyn Error>> {
        self.local.data_path().put(None, self.md, true, self.target, 0)?;
        self.network.deliver_all();
        expect(&self.peer, self.peer_eq, EventKind::Put)?;
        expect(&self.local, self.local_eq, EventKind::Send)?;
        expect(&self.local, self.local_eq, EventKind::Ack)
    }

    fn get(&self) -> Result<(), Box<dyn Error>> {
        self.local.data_path().get(None, self.md, self.target)?;
        self.network.deliver_all();
        expect(&self.local, self.local_eq, EventKind::Send)?;
        expect(&self.local, self.local_eq, EventKind::Reply)?;
        expect(&self.peer, self.peer_eq, EventKind::Get)
    }
}

fn nid(address: u32) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 0), address)
}

const fn route(net: NetId, gateway: Nid) -> Route {
    Route { net, gateway, hops: None, priority: 0, health_sensitivity: 1 }
}

fn descriptor(start: usize, options: MdOptions, eq: EqHandle) -> (MdSpec, MdMemory) {
    let spec = MdSpec { start, length: LEN, threshold: -1, max_size: 0, options, user_ptr: 0, eq: Some(eq) };
    (spec, MdMemory::contiguous(start, LEN))
}

fn node(network: &Arc<Network>, first: u32, nis: u32, cookie: u64) -> Result<Arc<Core>, Errno> {
    let core = Core::new(CoreConfig::new(Pid::LUSTRE, cookie).without_discovery());
    for i in 0..nis {
        core.admin().add_ni(nid(first + i), NiTunables::default(), &NetworkDriver(Arc::clone(network)))?;
    }
    Ok(core)
}

fn add_peer(core: &Core, first: u32, nids: u32) -> Result<(), Errno> {
    core.admin().make_peer(nid(first), true, false)?;
    (1..nids).try_for_each(|i| core.admin().add_peer_nid(nid(first), nid(first + i), true))
}

/// Takes the next event, which has to be of this kind.
fn expect(core: &Core, eq: EqHandle, kind: EventKind) -> Result<(), Box<dyn Error>> {
    match core.data_path().eq_get(eq)?.map(|polled| polled.event) {
        Some(event) if event.kind == kind && event.status.is_ok() => Ok(()),
        event => Err(format!("expected {kind:?}, got {event:?}").into()),
    }
}

/// The interfaces of both nodes, and the messages that they have sent.
#[derive(Default)]
struct Network {
    interfaces: Mutex<BTreeMap<Nid, Arc<Interface>>>,
    in_flight: Mutex<VecDeque<(Arc<Interface>, Pooled<OutgoingMessage>)>>,
}

struct Interface {
    nid: Nid,
    ni: Weak<Ni>,
    upcalls: Arc<dyn Upcalls>,
}

impl Network {
    /// Delivers all messages, including those that are sent meanwhile.
    fn deliver_all(&self) {
        while let Some((sender, message)) = self.next() {
            let destination = lock(&self.interfaces).get(&message.next_hop().nid).map(Arc::clone);
            if let Some(destination) = destination {
                destination.receive(sender.nid, message.header());
            }
            sender.upcalls.finalize(message, Ok(()));
        }
    }

    fn next(&self) -> Option<(Arc<Interface>, Pooled<OutgoingMessage>)> {
        lock(&self.in_flight).pop_front()
    }
}

impl Interface {
    fn receive(&self, from: Nid, header: &Header) {
        let Some(ni) = self.ni.upgrade() else { return };
        let make_deferred = || Arc::new(NeverDeferred) as Arc<dyn DeferredRx>;
        if let RxAction::Deliver(message) =
            self.upcalls.receive(&ni, from, header, &Provenance::default(), &make_deferred)
        {
            self.upcalls.received(message, Ok(()));
        }
    }
}

struct NetworkDriver(Arc<Network>);

impl Driver for NetworkDriver {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError> {
        let interface = Arc::new(Interface { nid: ni.nid(), ni: Arc::downgrade(ni), upcalls });
        lock(&self.0.interfaces).insert(ni.nid(), Arc::clone(&interface));
        Ok(Arc::new(NetworkNi { network: Arc::clone(&self.0), nid: ni.nid(), interface }))
    }
}

struct NetworkNi {
    network: Arc<Network>,
    nid: Nid,
    interface: Arc<Interface>,
}

impl LndNi for NetworkNi {
    fn send(&self, message: Pooled<OutgoingMessage>) -> SendOutcome {
        lock(&self.network.in_flight).push_back((Arc::clone(&self.interface), message));
        SendOutcome::Pending
    }

    fn shutdown(&self) {
        lock(&self.network.interfaces).remove(&self.nid);
    }
}

/// A deferred message that never exists, because no portal is lazy here.
struct NeverDeferred;

impl DeferredRx for NeverDeferred {
    fn resume(&self, _: RxAction) {}
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

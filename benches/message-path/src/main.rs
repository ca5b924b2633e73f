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
//! arrives within the call that sends it. It does little beside its calls of the core, as it is counted with the core: its
//! [`Network`] belongs to the only thread, and has no locks. The clock stands still.
#![forbid(unsafe_code)]

use lnet_core::lnd::{DeferredRx, Driver, LndNi, RxAction, SendOutcome, StartError, Upcalls};
use lnet_core::topology::Route;
use lnet_core::{
    Clock, Core, CoreConfig, EqHandle, Errno, EventKind, InsertPosition, MatchId, MdHandle, MdMemory,
    MdOptions, MdSpec, Ni, NiTunables, OutgoingMessage, Pooled, Provenance, Target, Time,
};
use lnet_wire::nid::Address;
use lnet_wire::{Body, Header, NetId, NetType, Nid, Pid};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;

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
        let local = node(LOCAL, local_nis, 1)?;
        let peer = node(PEER, peer_nis, 2)?;
        add_peer(&local, PEER, peer_nis)?;
        add_peer(&peer, LOCAL, local_nis)?;
        Self::of(local, peer, None, nid(PEER))
    }

    fn through_router() -> Result<Self, Errno> {
        let local = node(LOCAL, 1, 1)?;
        let far = |address| Nid::new(FAR_NET, address);
        let [peer, router] = [2, 3].map(core);
        for (core, nid) in [(&peer, far(PEER)), (&router, nid(ROUTER)), (&router, far(ROUTER))] {
            core.admin().add_ni(nid, NiTunables::default(), &NetworkDriver)?;
        }
        router.admin().change_router(|router| router.switched(true))?;
        local.admin().add_route(route(FAR_NET, nid(ROUTER)))?;
        peer.admin().add_route(route(nid(LOCAL).net(), far(ROUTER)))?;
        Self::of(local, peer, Some(router), far(PEER))
    }

    fn of(local: Arc<Core>, peer: Arc<Core>, router: Option<Arc<Core>>, target: Nid) -> Result<Self, Errno> {
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
        Ok(Self { local, peer, router, target, local_eq, peer_eq, md, _memory: memory })
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
        Network::deliver_all();
        expect(&self.peer, self.peer_eq, EventKind::Put)?;
        expect(&self.local, self.local_eq, EventKind::Send)?;
        expect(&self.local, self.local_eq, EventKind::Ack)
    }

    fn get(&self) -> Result<(), Box<dyn Error>> {
        self.local.data_path().get(None, self.md, self.target)?;
        Network::deliver_all();
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

fn core(cookie: u64) -> Arc<Core> {
    let config = CoreConfig::new(Pid::LUSTRE, cookie).without_discovery();
    Core::new(CoreConfig { clock: Arc::new(StandingClock), ..config })
}

fn node(first: u32, nis: u32, cookie: u64) -> Result<Arc<Core>, Errno> {
    let core = core(cookie);
    for i in 0..nis {
        core.admin().add_ni(nid(first + i), NiTunables::default(), &NetworkDriver)?;
    }
    Ok(core)
}

fn add_peer(core: &Core, first: u32, nids: u32) -> Result<(), Errno> {
    core.admin().make_peer(nid(first), true, false)?;
    (1..nids).try_for_each(|i| core.admin().add_peer_nid(nid(first), nid(first + i), true))
}

/// Takes the next event, which has to be of this kind.
fn expect(core: &Core, eq: EqHandle, kind: EventKind) -> Result<(), Box<dyn Error>> {
    match &core.data_path().eq_get(eq) {
        Ok(Some(polled)) if polled.event.kind == kind && polled.event.status.is_ok() => Ok(()),
        other => Err(format!("expected {kind:?}, got {other:?}").into()),
    }
}

#[derive(Debug)]
struct StandingClock;

impl Clock for StandingClock {
    fn now(&self) -> Time {
        Time::default()
    }
}

thread_local! {
    static NETWORK: Network = const { Network::new() };
}

/// The interfaces of all nodes, and the messages that they have sent.
struct Network {
    /// At [`place`].
    interfaces: RefCell<Vec<Option<Interface>>>,
    in_flight: RefCell<VecDeque<Sent>>,
}

struct Interface {
    ni: Arc<Ni>,
    upcalls: Arc<dyn Upcalls>,
}

struct Sent {
    /// The place of the interface that has sent the message.
    from: usize,
    message: Pooled<OutgoingMessage>,
}

impl Network {
    const fn new() -> Self {
        Self { interfaces: RefCell::new(Vec::new()), in_flight: RefCell::new(VecDeque::new()) }
    }

    /// Delivers all messages, including those that are sent meanwhile.
    fn deliver_all() {
        NETWORK.with(|network| {
            let interfaces = network.interfaces.borrow();
            let at = |place: usize| interfaces.get(place).and_then(Option::as_ref);
            while let Some(Sent { from, message }) = network.next() {
                let Some(sender) = at(from) else { continue };
                if let Some(destination) = at(place(message.next_hop().nid)) {
                    destination.receive(sender.ni.nid(), message.header());
                }
                sender.upcalls.finalize(message, Ok(()));
            }
        });
    }

    fn next(&self) -> Option<Sent> {
        self.in_flight.borrow_mut().pop_front()
    }

    fn set(place: usize, interface: Option<Interface>) {
        NETWORK.with(|network| {
            let interfaces = &mut *network.interfaces.borrow_mut();
            if interfaces.len() <= place {
                interfaces.resize_with(place + 1, || None);
            }
            interfaces[place] = interface;
        });
    }
}

/// The index of the interface with this NID: each node has up to 256 interfaces on each of two nets.
fn place(nid: Nid) -> usize {
    let Address::Short(address) = nid.address() else { return 0 };
    let (net, node, number) = (usize::from(nid.net().number()), address >> 24, address & 0xff);
    net << 10 | (node << 8 | number) as usize
}

impl Interface {
    fn receive(&self, from: Nid, header: &Header) {
        let make_deferred = || Arc::new(NeverDeferred) as Arc<dyn DeferredRx>;
        let provenance = const { &Provenance { carried: None, hop: None, reply_here: false } };
        if let RxAction::Deliver(message) =
            self.upcalls.receive(&self.ni, from, header, provenance, &make_deferred)
        {
            self.upcalls.received(message, Ok(()));
        }
    }
}

struct NetworkDriver;

impl Driver for NetworkDriver {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError> {
        Network::set(place(ni.nid()), Some(Interface { ni: Arc::clone(ni), upcalls }));
        Ok(Arc::new(NetworkNi { place: place(ni.nid()) }))
    }
}

struct NetworkNi {
    place: usize,
}

impl LndNi for NetworkNi {
    fn send(&self, message: Pooled<OutgoingMessage>) -> SendOutcome {
        let sent = Sent { from: self.place, message };
        NETWORK.with(|network| network.in_flight.borrow_mut().push_back(sent));
        SendOutcome::Pending
    }

    fn shutdown(&self) {
        Network::set(self.place, None);
    }
}

/// A deferred message that never exists, because no portal is lazy here.
struct NeverDeferred;

impl DeferredRx for NeverDeferred {
    fn resume(&self, _: RxAction) {}
}

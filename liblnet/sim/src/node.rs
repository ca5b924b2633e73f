//! A virtual node: its specification, and a real core while it is up.

use crate::driver::{Shared, SimDriver};
use crate::ledger::{Ledger, SERVER};
use crate::match_bits::{MATCH_BITS, OPERATION, PORTAL};
use crate::trace::NodeId;
use lnet_core::memory::RecvBuffer;
use lnet_core::topology::Route;
use lnet_core::{
    AddressFamily, Clock, Core, CoreConfig, DiscoveryMode, EqHandle, Errno, InsertPosition, ManualClock,
    MatchId, MdMemory, MdOptions, MdSpec, NiTunables, Settings, Time,
};
use lnet_log::History;
use lnet_wire::ping_info::Features;
use lnet_wire::{NetId, NetType, Nid, Pid};
use lolnd::Lolnd;
use lolnd::copy::copy;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Size in bytes of the memory that a node serves unless its specification says otherwise.
const SERVED: u32 = 64;

/// The features of nodes that know IPv6 NIDs.
const LARGE_NIDS: Features = Features(Features::LARGE_ADDR.0 | Features::PRIMARY_LARGE.0);

/// The specification of a node.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// The NIDs, the primary one first.
    pub nids: Vec<Nid>,
    /// The discovery mode.
    pub discovery: DiscoveryMode,
    /// Whether the node pings before the first contact even if it does not discover.
    pub first_ping: bool,
    /// Features that the node's responses to pings leave out, so that it looks like one of an
    /// older version. A node without multi-rail drops pushes, too.
    pub hides: Features,
    /// Whether interfaces with IPv4 NIDs have IPv6 addresses too, and so reach IPv6 NIDs.
    pub reaches_ipv6: bool,
    /// The credits of the node's interfaces.
    pub tunables: NiTunables,
    /// The settings, except those of discovery.
    pub settings: Settings,
    /// The routes.
    pub routes: Vec<Route>,
    /// Whether the node is a router, with the number of buffers of each size; 0: the default.
    pub forwards: Option<[u32; 3]>,
    /// Where changes of state are kept, if anywhere.
    pub history: Option<Arc<History>>,
    /// Size in bytes of the memory that the node serves.
    pub serves: u32,
}

impl NodeSpec {
    /// Makes the specification of a node with these NIDs and defaults for the rest.
    pub fn new(nids: &[Nid]) -> Self {
        Self {
            nids: nids.to_vec(),
            discovery: DiscoveryMode::On,
            first_ping: true,
            hides: Features::default(),
            reaches_ipv6: false,
            tunables: NiTunables::default(),
            settings: Settings::default(),
            routes: Vec::new(),
            forwards: None,
            history: None,
            serves: SERVED,
        }
    }

    /// Adds routes to `net` over these gateways.
    #[must_use]
    pub fn with_routes(mut self, net: NetId, gateways: &[Nid]) -> Self {
        let route =
            |gateway: &Nid| Route { net, gateway: *gateway, hops: None, priority: 0, health_sensitivity: 1 };
        self.routes.extend(gateways.iter().map(route));
        self
    }

    /// Makes the node a router.
    #[must_use]
    pub const fn router(mut self) -> Self {
        self.forwards = Some([0; 3]);
        self
    }

    /// Sets the discovery mode.
    #[must_use]
    pub fn with_discovery(self, discovery: DiscoveryMode) -> Self {
        Self { discovery, ..self }
    }

    /// Makes the node one of a version without multi-rail (2.9 and before).
    #[must_use]
    pub fn down_rev(self) -> Self {
        let hides = Features::MULTI_RAIL | Features::DISCOVERY;
        Self { hides, discovery: DiscoveryMode::Off, first_ping: false, ..self }
    }

    /// Makes the node one of a version without IPv6 NIDs (2.15 and before).
    #[must_use]
    pub fn without_large_nids(self) -> Self {
        Self { hides: self.hides | LARGE_NIDS, ..self }
    }

    /// Gives the interfaces with IPv4 NIDs IPv6 addresses too.
    #[must_use]
    pub fn reaching_ipv6(self) -> Self {
        Self { reaches_ipv6: true, ..self }
    }

    /// Whether interfaces of the node with the NID `own` reach this NID of another node, whatever has come from there.
    pub fn reaches(&self, own: Nid, other: Nid) -> bool {
        let (own, other) = (AddressFamily::of(own), AddressFamily::of(other));
        own == other || own == AddressFamily::Short && self.reaches_ipv6
    }

    /// Whether the node is of a version without IPv6 NIDs.
    pub const fn lacks_large_nids(&self) -> bool {
        self.hides.contains(Features::LARGE_ADDR)
    }

    /// Whether the node is of a version without multi-rail.
    pub const fn is_down_rev(&self) -> bool {
        self.hides.contains(Features::MULTI_RAIL)
    }
}

/// Returns the NID `address@tcpN`, with its address in 10.0.0.0/8.
pub const fn nid(net: u16, address: u32) -> Nid {
    Nid::new(NetId::new(NetType::TCP, net), 0x0a00_0000 | address)
}

/// Returns the NID `fd99::address@tcpN`.
pub const fn nid6(net: u16, address: u32) -> Nid {
    let [a, b, c, d] = address.to_be_bytes();
    let bytes = [0xfd, 0x99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d];
    Nid::new_long(NetId::new(NetType::TCP, net), bytes)
}

/// A node of a world.
pub(crate) struct Node {
    pub(crate) spec: NodeSpec,
    /// The running core; `None` while the node is down.
    pub(crate) incarnation: Option<Incarnation>,
    /// Number of times that the node was started.
    pub(crate) incarnations: u32,
    /// The time when the node wants to be woken.
    pub(crate) wake: Option<Time>,
    /// The number of the node's peers at the last check.
    pub(crate) peers: usize,
}

/// A running node, from a start to the next end.
pub(crate) struct Incarnation {
    pub(crate) core: Arc<Core>,
    pub(crate) queue: EqHandle,
    /// The memory that the node offers; must outlive the core's use of it.
    _served: Arc<dyn Any + Send + Sync>,
}

/// The operations, as handlers share them with the world.
pub(crate) type SharedLedger = Arc<Mutex<Ledger>>;

pub(crate) fn lock(ledger: &SharedLedger) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory that an MD owns, with bytes that differ by their place and by `mark`.
pub(crate) fn owned_memory(len: u32, mark: u64) -> (MdMemory, Arc<dyn Any + Send + Sync>) {
    let room = RecvBuffer::new(len);
    let words = (0..u64::from(len.div_ceil(8))).flat_map(|at| (mark ^ at).to_ne_bytes());
    let bytes: Vec<u8> = words.take(len as usize).collect();
    let memory = MdMemory::contiguous(bytes.as_ptr() as usize, len);
    copy(memory.slice(0, len), room.memory().slice(0, len));
    (room.memory(), Arc::new(room))
}

/// Returns the interface cookie, which names one incarnation of a node.
pub(crate) fn interface_cookie(id: NodeId, incarnations: u32) -> u64 {
    u64::from(id.0) << 32 | u64::from(incarnations)
}

impl Incarnation {
    /// Starts the node `id` for the `incarnations`th time.
    pub(crate) fn start(
        id: NodeId,
        incarnations: u32,
        spec: &NodeSpec,
        network: &Shared,
        clock: &Arc<ManualClock>,
        ledger: &SharedLedger,
    ) -> Result<Self, Errno> {
        let cookie = interface_cookie(id, incarnations);
        let settings = Settings { discovery: spec.discovery, first_ping: spec.first_ping, ..spec.settings };
        let clock_of_core = Arc::clone(clock) as Arc<dyn Clock>;
        let core = Core::new(CoreConfig {
            clock: clock_of_core,
            settings,
            history: spec.history.clone(),
            ..CoreConfig::new(Pid::LUSTRE, cookie)
        });
        let (heard, told) = (Arc::clone(ledger), Arc::clone(clock));
        let queue = core.data_path().eq_alloc(
            0,
            Some(Box::new(move |event| lock(&heard).on_event(id, incarnations, event, told.now()))),
        )?;
        core.admin().add_ni(Nid::LOOPBACK, NiTunables::default(), &Lolnd)?;
        let driver = SimDriver { network: network.clone(), node: id, reaches_ipv6: spec.reaches_ipv6 };
        if let Some(buffers) = spec.forwards {
            core.admin().change_router(|router| router.switched(true).with_buffers(buffers.map(Some)))?;
        }
        for nid in &spec.nids {
            core.admin().add_ni(*nid, spec.tunables, &driver)?;
        }
        for route in &spec.routes {
            core.admin().add_route(*route)?;
        }
        let (memory, served) = owned_memory(spec.serves, !cookie);
        let incarnation = Self { core, queue, _served: served };
        incarnation.serve(memory, spec.serves)?;
        Ok(incarnation)
    }

    /// Offers memory for all PUTs and GETs.
    fn serve(&self, memory: MdMemory, length: u32) -> Result<(), Errno> {
        let (bits, any) = (MATCH_BITS, OPERATION);
        let me =
            self.core.data_path().me_attach(PORTAL, MatchId::ANY, bits, any, false, InsertPosition::After)?;
        let options =
            MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0 | MdOptions::TRUNCATE.0;
        let spec = self.md_spec(SERVER, -1, length, options);
        self.core.data_path().md_attach(me, spec, memory, false, &mut |_| ())
    }

    pub(crate) const fn md_spec(&self, user_ptr: usize, threshold: i32, length: u32, options: u32) -> MdSpec {
        MdSpec {
            start: 0,
            length,
            threshold,
            max_size: 0,
            options: MdOptions(options),
            user_ptr,
            eq: Some(self.queue),
        }
    }
}

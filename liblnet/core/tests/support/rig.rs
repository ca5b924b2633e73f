//! A node with a fake driver, a clock that the test sets, and an event queue whose events the test reads.

use super::{FakeClient, FakeDriver, ManualClock, tcp};
use lnet_core::lnd::{DeferredRx, RxAction, Upcalls};
use lnet_core::{
    Core, CoreConfig, EqHandle, Errno, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory,
    MdOptions, MdSpec, Ni, NiTunables, Provenance, Target,
};
use lnet_wire::ping_info::{Features, NiStatus, PingEntry, PingInfo};
use lnet_wire::{Body, Header, Nid, PING_MATCH_BITS, Pid, RESERVED_PORTAL, WireHandle};
use std::sync::{Arc, Mutex};

/// The cookie of the node's handles, which is its incarnation.
pub const COOKIE: u64 = 42;
pub const PORTAL: u32 = 9;
pub const BITS: u64 = 0x77;

/// The kind and status of an event, and whether it is the last one of its MD.
pub type EventSummary = (EventKind, Result<(), Errno>, bool);

pub struct RigBuilder {
    driver: FakeDriver,
    config: CoreConfig,
    nids: Vec<Nid>,
    tunables: NiTunables,
    clock: ManualClock,
}

impl RigBuilder {
    pub fn config(mut self, change: impl FnOnce(&mut CoreConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Switches discovery on, which is off by default.
    pub fn with_discovery(mut self) -> Self {
        let clock = Arc::clone(&self.config.clock);
        self.config = CoreConfig { clock, ..CoreConfig::new(Pid::LUSTRE, COOKIE) };
        self
    }

    /// Sets the node's NIDs; the default is `tcp(1)`.
    pub fn nids(mut self, nids: impl IntoIterator<Item = Nid>) -> Self {
        self.nids = nids.into_iter().collect();
        self
    }

    pub const fn credits(mut self, credits: u32, peer_credits: u32) -> Self {
        self.tunables.credits = credits;
        self.tunables.peer_credits = peer_credits;
        self
    }

    pub fn build(self) -> Rig {
        let Self { driver, config, nids, tunables, clock } = self;
        let core = Core::new(config);
        let nis = nids.into_iter().map(|nid| core.admin().add_ni(nid, tunables, &driver).unwrap()).collect();
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&events);
        let eq = core
            .data_path()
            .eq_alloc(0, Some(Box::new(move |event| sink.lock().unwrap().push(*event))))
            .unwrap();
        Rig { core, nis, driver, clock, eq, events, memory: Box::new([0; 8]) }
    }
}

pub struct Rig {
    pub core: Arc<Core>,
    pub nis: Vec<Arc<Ni>>,
    pub driver: FakeDriver,
    pub clock: ManualClock,
    pub eq: EqHandle,
    /// The events that the queue's handler was called with.
    pub events: Arc<Mutex<Vec<Event>>>,
    memory: Box<[u8; 8]>,
}

impl Rig {
    pub fn builder(driver: FakeDriver) -> RigBuilder {
        let clock = ManualClock::default();
        let config = CoreConfig { clock: Arc::new(clock.clone()), ..CoreConfig::new(Pid::LUSTRE, COOKIE) };
        let (config, nids) = (config.without_discovery(), vec![tcp(1)]);
        RigBuilder { driver, config, nids, tunables: NiTunables::default(), clock }
    }

    pub fn new(driver: FakeDriver) -> Self {
        Self::builder(driver).build()
    }

    /// The node's first interface.
    pub fn ni(&self) -> &Arc<Ni> {
        &self.nis[0]
    }

    /// The spec and the memory of an MD of eight bytes.
    pub fn spec(&self, threshold: i32, options: u32) -> (MdSpec, MdMemory) {
        let (start, length) = (self.memory.as_ptr() as usize, 8);
        let (options, eq) = (MdOptions(options), Some(self.eq));
        let spec = MdSpec { start, length, threshold, max_size: 0, options, user_ptr: 0, eq };
        (spec, MdMemory::contiguous(start, length))
    }

    pub fn try_bind(&self, threshold: i32) -> Result<MdHandle, Errno> {
        let (spec, memory) = self.spec(threshold, 0);
        self.core.data_path().md_bind(spec, memory, true)
    }

    pub fn bind(&self, threshold: i32) -> MdHandle {
        self.try_bind(threshold).unwrap()
    }

    /// Binds an MD without an event queue.
    pub fn bind_without_eq(&self, threshold: i32) -> MdHandle {
        let (spec, memory) = self.spec(threshold, 0);
        self.core.data_path().md_bind(MdSpec { eq: None, ..spec }, memory, true).unwrap()
    }

    /// Attaches an MD at [`PORTAL`] for [`BITS`].
    pub fn attach(&self, threshold: i32, options: u32) -> MdHandle {
        self.attach_for(self.eq, threshold, options)
    }

    pub fn attach_for(&self, eq: EqHandle, threshold: i32, options: u32) -> MdHandle {
        let me = self
            .core
            .data_path()
            .me_attach(PORTAL, MatchId::ANY, BITS, 0, true, InsertPosition::After)
            .unwrap();
        let (spec, memory) = self.spec(threshold, options);
        let mut attached = None;
        let spec = MdSpec { eq: Some(eq), ..spec };
        self.core
            .data_path()
            .md_attach(me, spec, memory, true, &mut |handle| attached = Some(handle))
            .unwrap();
        attached.unwrap()
    }

    /// Attaches an MD like [`Rig::attach`], for memory of a program in another process.
    pub fn attach_client(&self, client: &Arc<FakeClient>, threshold: i32, options: u32) -> MdHandle {
        let path = self.core.data_path();
        let me = path.me_attach(PORTAL, MatchId::ANY, BITS, 0, true, InsertPosition::After).unwrap();
        let (spec, memory) = self.spec(threshold, options);
        let mut attached = None;
        let client = Arc::clone(client);
        path.md_attach_for(me, spec, memory, true, client, &mut |handle| attached = Some(handle)).unwrap();
        attached.unwrap()
    }

    pub fn try_put(&self, md: MdHandle, to: Nid) -> Result<(), Errno> {
        self.core.data_path().put(None, md, false, target(to), 0)
    }

    pub fn put(&self, md: MdHandle, to: Nid) {
        self.try_put(md, to).unwrap();
    }

    pub fn put_with_ack(&self, md: MdHandle, to: Nid) {
        self.core.data_path().put(None, md, true, target(to), 0).unwrap();
    }

    pub fn get(&self, md: MdHandle, from: Nid) {
        self.core.data_path().get(None, md, target(from)).unwrap();
    }

    /// The core's decision on a message that arrives on the first interface; the decision on a deferred one is passed to
    /// [`FakeDriver::resumed`].
    pub fn arrives(&self, header: &Header) -> RxAction {
        self.arrives_from(header.src_nid, header)
    }

    /// [`Rig::arrives`] from this neighbour, for any source in the header.
    pub fn arrives_from(&self, neighbour: Nid, header: &Header) -> RxAction {
        self.arrives_as(neighbour, header, &Provenance::default())
    }

    /// [`Rig::arrives_from`] with this provenance.
    pub fn arrives_as(&self, neighbour: Nid, header: &Header, provenance: &Provenance) -> RxAction {
        let hold = || Arc::new(self.driver.clone()) as Arc<dyn DeferredRx>;
        self.core.data_path().receive(self.ni(), neighbour, header, provenance, &hold)
    }

    /// A push of the node with these NIDs arrives from the first of them. Returns whether it was accepted.
    pub fn is_pushed(&self, sequence: u32, nids: &[Nid]) -> bool {
        self.is_pushed_from(nids[0], sequence, nids)
    }

    /// [`Rig::is_pushed`] from another NID.
    pub fn is_pushed_from(&self, source: Nid, sequence: u32, nids: &[Nid]) -> bool {
        let features = Features(
            Features::BASE.0 | Features::NI_STATUS.0 | Features::MULTI_RAIL.0 | Features::DISCOVERY.0,
        );
        let entries = nids.iter().map(|nid| PingEntry { nid: *nid, status: NiStatus::Up }).collect();
        let bytes = PingInfo { features, pid: Pid::LUSTRE, sequence, entries }.encode();
        let nets = self.core.nets();
        let Some(to) = nets.net(source.net()).map(|net| net.nis()[0].nid()) else { return false };
        let (match_bits, portal) = (PING_MATCH_BITS, RESERVED_PORTAL);
        let body = Body::Put { ack: None, match_bits, hdr_data: 0, portal, offset: 0 };
        let header = Header {
            dest_nid: to,
            src_nid: source,
            dest_pid: Pid::LUSTRE,
            src_pid: Pid::LUSTRE,
            payload_length: bytes.len() as u32,
            body,
        };
        let by = self.core.nets().ni(to).cloned().unwrap();
        let hold = || panic!("the reserved portal is not lazy");
        let RxAction::Deliver(message) =
            self.core.data_path().receive(&by, source, &header, &Default::default(), &hold)
        else {
            return false;
        };
        let mut left = &bytes[..];
        for run in message.payload() {
            let (now, rest) = left.split_at(run.len.min(left.len()));
            // SAFETY: the payload is the buffer's, which nobody reads before it has been received.
            unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), run.address as *mut u8, now.len()) };
            left = rest;
        }
        self.core.data_path().received(message, Ok(()));
        self.core.monitor().run_discovery();
        true
    }

    /// The events since the last call.
    pub fn take_events(&self) -> Vec<EventSummary> {
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        events.into_iter().map(|event| (event.kind, event.status, event.unlinked)).collect()
    }

    /// The number of messages that have not ended.
    pub fn messages(&self) -> u64 {
        self.core.message_counts().msgs_alloc
    }
}

/// The target [`PORTAL`] and [`BITS`] of a node.
pub const fn target(nid: Nid) -> Target {
    Target { nid: Some(nid), pid: Pid::LUSTRE, portal: PORTAL, match_bits: BITS, offset: 0 }
}

/// A header to the first interface of a [`Rig`].
pub fn header_from(source: Nid, body: Body, payload_length: u32) -> Header {
    let (dest_nid, pid) = (tcp(1), Pid::LUSTRE);
    Header { dest_nid, src_nid: source, dest_pid: pid, src_pid: pid, payload_length, body }
}

/// A PUT to [`PORTAL`] and [`BITS`].
pub const fn put_body(ack: Option<WireHandle>) -> Body {
    Body::Put { ack, match_bits: BITS, hdr_data: 0, portal: PORTAL, offset: 0 }
}

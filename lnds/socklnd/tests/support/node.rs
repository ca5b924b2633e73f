//! A node with one interface, and its events.

use super::{
    BITS, ManualClock, NUMBERS, PORTAL, TIMEOUT, addresses, advance_until, config, running_clock,
    same_implementation, target, tcp,
};
use lnet_core::lnd::Driver;
use lnet_core::{
    Clock, Core, CoreConfig, EqHandle, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory,
    MdOptions, MdSpec, NiTunables,
};
use lnet_wire::{Nid, Pid};
use socklnd::{Socklnd, SocklndConfig, SocklndCounters};
use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Interval at which the thread of a monitor checks whether its node still exists.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A node with one interface.
pub struct Node {
    pub core: Arc<Core>,
    pub driver: Arc<Socklnd>,
    pub nid: Nid,
    pub eq: EqHandle,
    events: Mutex<Receiver<Event>>,
    obstacle: Arc<Mutex<Option<Arc<Mutex<()>>>>>,
}

impl Node {
    pub fn start(nid: Nid, config: SocklndConfig) -> Self {
        Self::start_with_clock(nid, config, running_clock())
    }

    /// Starts a node whose driver reads the time from `clock`.
    pub fn start_with_clock(nid: Nid, config: SocklndConfig, clock: Arc<dyn Clock>) -> Self {
        let driver = Socklnd::new(config, clock);
        Self::start_by(nid, Arc::clone(&driver), &*driver)
    }

    /// Starts a node whose core has a running clock, and a thread that runs its monitor.
    pub fn start_with_monitor(nid: Nid, config: SocklndConfig, change: impl FnOnce(&mut CoreConfig)) -> Self {
        Self::start_with_monitor_and_clock(nid, config, running_clock(), change)
    }

    /// Like [`Self::start_with_monitor`], with a driver that reads the time from `clock`.
    pub fn start_with_monitor_and_clock(
        nid: Nid,
        config: SocklndConfig,
        clock: Arc<dyn Clock>,
        change: impl FnOnce(&mut CoreConfig),
    ) -> Self {
        let driver = Socklnd::new(config, clock);
        let mut config = Self::core_config();
        config.clock = running_clock();
        change(&mut config);
        let clock = Arc::clone(&config.clock);
        let node = Self::start_as(nid, Arc::clone(&driver), &*driver, config);
        let core = Arc::downgrade(&node.core);
        std::thread::spawn(move || {
            while let Some(core) = core.upgrade() {
                let wake = core.monitor().run();
                let pause = wake.map_or(LOOK_AGAIN, |wake| wake.since(clock.now()).min(LOOK_AGAIN));
                core.monitor().wait(Some(pause));
            }
        });
        node
    }

    fn core_config() -> CoreConfig {
        let mut config =
            CoreConfig::new(Pid::LUSTRE, NUMBERS.fetch_add(1, Ordering::Relaxed)).without_discovery();
        // A message that the driver returns is not resent.
        config.settings.retry_count = 0;
        config
    }

    /// Starts a node whose core knows the driver as `known_as`.
    pub fn start_by(nid: Nid, driver: Arc<Socklnd>, known_as: &dyn Driver) -> Self {
        Self::start_as(nid, driver, known_as, Self::core_config())
    }

    fn start_as(nid: Nid, driver: Arc<Socklnd>, known_as: &dyn Driver, config: CoreConfig) -> Self {
        let core = Core::new(config);
        let (sender, events) = channel();
        let obstacle: Arc<Mutex<Option<Arc<Mutex<()>>>>> = Arc::default();
        let obstacles = Arc::clone(&obstacle);
        let handler = move |event: &Event| {
            let obstacle = obstacles.lock().unwrap().clone();
            drop(obstacle.as_ref().map(|mutex| mutex.lock()));
            let _ = sender.send(*event);
        };
        let eq = core.data_path().eq_alloc(0, Some(Box::new(handler))).unwrap();
        core.admin().add_ni(nid, NiTunables::default(), known_as).unwrap();
        Self { core, driver, nid, eq, events: Mutex::new(events), obstacle }
    }

    pub fn event(&self) -> Event {
        self.events.lock().unwrap().recv_timeout(TIMEOUT).expect("an event")
    }

    pub fn event_within(&self, time: Duration) -> Option<Event> {
        self.events.lock().unwrap().recv_timeout(time).ok()
    }

    /// Makes event handlers wait from now on until they get `mutex`.
    pub fn block_on(&self, mutex: Arc<Mutex<()>>) {
        *self.obstacle.lock().unwrap() = Some(mutex);
    }

    pub fn expect(&self, kind: EventKind) -> Event {
        let event = self.event();
        assert_eq!(event.kind, kind, "{event:?}");
        event
    }

    /// Waits for an event as [`Self::expect`] does, while `clock` advances by `step` again and again.
    pub fn expect_as_time_passes(&self, clock: &ManualClock, step: Duration, kind: EventKind) -> Event {
        let mut event = None;
        advance_until(clock, step, "an event", || {
            event = self.events.lock().unwrap().try_recv().ok();
            event.is_some()
        });
        let event = event.unwrap();
        assert_eq!(event.kind, kind, "{event:?}");
        event
    }

    pub fn no_event(&self) {
        if let Ok(event) = self.events.lock().unwrap().try_recv() {
            panic!("an event that nobody expected: {event:?}");
        }
    }

    fn spec(&self, threshold: i32) -> MdSpec {
        MdSpec {
            start: 0,
            length: 0,
            threshold,
            max_size: 0,
            options: MdOptions(0),
            user_ptr: 0,
            eq: Some(self.eq),
        }
    }

    /// Offers memory for PUTs and GETs.
    pub fn offer(&self, memory: &'static [u8]) {
        self.offer_with(MdMemory::contiguous(memory.as_ptr() as usize, memory.len() as u32), BITS, 0);
    }

    pub fn offer_with(&self, memory: MdMemory, bits: u64, options: u32) {
        let me = self
            .core
            .data_path()
            .me_attach(PORTAL, MatchId::ANY, bits, 0, false, InsertPosition::After)
            .unwrap();
        let mut spec = self.spec(-1);
        spec.options.0 = options | MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0;
        self.core.data_path().md_attach(me, spec, memory, false, &mut |_| {}).unwrap();
    }

    pub fn bind(&self, memory: MdMemory) -> MdHandle {
        self.core.data_path().md_bind(self.spec(-1), memory, false).unwrap()
    }

    pub fn bind_bytes(&self, memory: &'static [u8]) -> MdHandle {
        self.bind(MdMemory::contiguous(memory.as_ptr() as usize, memory.len() as u32))
    }

    pub fn put(&self, md: MdHandle, to: Nid, ack: bool) {
        self.core.data_path().put(None, md, ack, target(to), 77).unwrap();
    }

    pub fn get(&self, md: MdHandle, from: Nid) {
        self.core.data_path().get(None, md, target(from)).unwrap();
    }

    pub fn counters(&self) -> SocklndCounters {
        self.driver.counters(self.nid).unwrap()
    }

    pub fn stop(&self) {
        self.core.admin().shutdown();
        Driver::shutdown(&*self.driver);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts a node on the higher address; the scripted peer has the lower. Returns the node, the peer's address, the node's,
/// and the port.
pub fn node(change: impl Fn(&mut SocklndConfig)) -> (Node, Ipv4Addr, Ipv4Addr, u16) {
    node_with_clock(running_clock(), change)
}

/// Starts a node as [`node()`] does, with a driver that reads the time from `clock`.
pub fn node_with_clock(
    clock: Arc<dyn Clock>,
    change: impl Fn(&mut SocklndConfig),
) -> (Node, Ipv4Addr, Ipv4Addr, u16) {
    let (low, high, port) = addresses();
    let mut config = config(port);
    config.min_reconnect = Duration::from_millis(20);
    change(&mut config);
    (Node::start_with_clock(tcp(high), config, clock), low, high, port)
}

/// Starts a node as [`node()`] does, which peers know as number 1 of this implementation.
pub fn node_of_same_implementation(change: impl Fn(&mut SocklndConfig)) -> (Node, Ipv4Addr, Ipv4Addr, u16) {
    node_of_same_implementation_with_clock(running_clock(), change)
}

/// Starts a node as [`node_of_same_implementation`] does, with a driver that reads the time from `clock`.
pub fn node_of_same_implementation_with_clock(
    clock: Arc<dyn Clock>,
    change: impl Fn(&mut SocklndConfig),
) -> (Node, Ipv4Addr, Ipv4Addr, u16) {
    node_with_clock(clock, |config| {
        *config = same_implementation(SocklndConfig::clone(config), 1);
        change(config);
    })
}

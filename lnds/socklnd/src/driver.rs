//! The driver as the core uses it: its start, its threads, its end.

use crate::config::SocklndConfig;
use crate::conn::postpone::{note_received, send_postponed};
use crate::conn::{Scheduler, task};
use crate::connd::Connd;
use crate::connd::commands::Commands;
use crate::counters::SocklndCounters;
use crate::decide::delivery_acks::DeliveryAcks;
use crate::decide::identity::IpNid;
use crate::decide::implementation_id::implementation_id;
use crate::driver_thread::{as_app_poller, as_driver_thread, is_driver_thread};
use crate::handshake::LocalNi;
use crate::ni::SockNi;
use crate::ni_peers::NiPeers;
use crate::ni_table::NiTable;
use crate::proto::acceptor::AcceptFrom;
use crate::remote_nodes::RemoteNodes;
use crate::shared::Shared;
use crate::sockets;
use crate::sync::lock;
use crate::tunables::TUNABLES;
use lnd_common::driver_threads::Threads;
use lnd_common::handler_watch::{self, Served, WatchSignal};
use lnd_common::ip_interfaces;
use lnd_common::sync::try_lock;
use lnet_core::lnd::{
    Driver, DriverConfig, DriverContext, Egress, FoundInterface, LndNi, NidSize, Progress, SendOutcome,
    StartError, Upcalls,
};
use lnet_core::topology::Ni;
use lnet_core::{
    AddressFamilies, AddressFamily, Cause, Clock, Confirmation, Errno, MessageOrigin, NiTunables,
    OutgoingMessage, Pooled, start_error,
};
use lnet_log::{History, LogClass, write_line};
use lnet_settings::Row;
use lnet_settings::ni_ranges::TOS;
use lnet_wire::{NetId, NetType, Nid, ProcessId};
use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// The TCP driver of one node, without threads and descriptors before its first NI is started.
pub struct Socklnd {
    config: SocklndConfig,
    clock: Arc<dyn Clock>,
    history: Option<Arc<History>>,
    parts: OnceLock<Parts>,
    starting: Mutex<()>,
    ended: AtomicBool,
    threads: Arc<Threads>,
    /// Lock of the application thread that reads and writes for the driver: one at a time.
    app_poller: Mutex<()>,
    /// Number that distinguishes this driver from others of the process.
    number: u64,
}

/// The parts that are created when the first NI starts.
#[derive(Clone)]
struct Parts {
    shared: Arc<Shared>,
    schedulers: Arc<[Arc<Scheduler>]>,
    watch: Arc<WatchSignal>,
    commands: Arc<Commands>,
    nis: Arc<NiTable>,
    nodes: Arc<RemoteNodes>,
}

/// The first letters of the names of the schedulers' threads.
const OWNER: &str = "lnet_sock_sd_";

thread_local! {
    /// The amount of work known to this thread for each driver that it has worked for.
    static SEEN: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl Socklnd {
    /// A driver with these tunables, which reads the time from the node's clock.
    pub fn new(config: SocklndConfig, clock: Arc<dyn Clock>) -> Arc<Self> {
        Self::with_history(config, clock, None)
    }

    /// The same, with the node's history of changes of state.
    fn with_history(
        config: SocklndConfig,
        clock: Arc<dyn Clock>,
        history: Option<Arc<History>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            config,
            clock,
            history,
            parts: OnceLock::new(),
            starting: Mutex::new(()),
            ended: AtomicBool::new(false),
            threads: Arc::default(),
            app_poller: Mutex::default(),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// The driver's configuration.
    pub fn config(&self) -> &SocklndConfig {
        &self.config
    }

    /// Returns the event counters of the interface `nid`, while it is up.
    pub fn counters(&self, nid: Nid) -> Option<SocklndCounters> {
        self.parts.get()?.nis.find(nid).map(|ni| ni.ni.counts.read())
    }

    /// Makes a thread that is inside [`Driver::progress`] return, because the event that it waits for has happened
    /// elsewhere. Costs little if there is none. May be called on any thread.
    pub fn interrupt_progress(&self) {
        if let Some(parts) = self.parts.get() {
            parts.first_scheduler().note_work();
        }
    }

    /// Returns the parts; creates them and starts the threads with the first NI.
    fn running(&self) -> Result<&Parts, Errno> {
        let _one = lock(&self.starting);
        if self.ended.load(Ordering::SeqCst) {
            return Err(Errno::Shutdown);
        }
        if let Some(parts) = self.parts.get() {
            return Ok(parts);
        }
        let parts = Parts::new(self.config.clone(), Arc::clone(&self.clock), self.history.clone())?;
        if let Err(error) = self.start_threads(&parts) {
            parts.stop();
            return Err(error.into());
        }
        Ok(self.parts.get_or_init(|| parts))
    }

    /// Returns the link that the connections of an NI are to be bound to, if that is set and allowed.
    fn device_to_bind_to(&self, ni: &Ni) -> Option<String> {
        let device = ni.config().device.as_deref().filter(|_| self.config.bind_to_device)?;
        match sockets::check_device(device) {
            Ok(()) => Some(device.to_owned()),
            Err(error) => {
                write_line!(
                    LogClass::DeviceUnbound,
                    "NI {}: its connections cannot be bound to {device} ({error}); they leave as the machine's routes say",
                    ni.nid()
                );
                None
            }
        }
    }

    /// Returns the type of service of an NI's connections: that of the NI (`tos`), if it has one, or of the driver; `None`: the system's.
    fn type_of_service(&self, ni: &Ni) -> Result<Option<u8>, StartError> {
        let own = ni
            .config()
            .lnd_numbers
            .iter()
            .find(|(name, _)| *name == TOS.name)
            .map(|(_, tos)| tos.cast_signed());
        match own.unwrap_or(self.config.tos) {
            -1 => Ok(None),
            tos => u8::try_from(tos).map(Some).map_err(|_| {
                start_error!(Errno::Invalid, "{}: not started (tos {tos} is not within 0 to 255)", ni.nid())
            }),
        }
    }

    fn start_threads(&self, parts: &Parts) -> io::Result<()> {
        let threads = &self.threads;
        for scheduler in &*parts.schedulers {
            threads.start_owner(OWNER, serve(parts.first_scheduler(), scheduler))?;
        }
        let connd = Connd::new(&parts.shared, &parts.commands, &parts.nis, &parts.nodes);
        threads.start("lnet_connd".into(), move || as_driver_thread(|| connd.run()))?;
        let (schedulers, watch) = (Arc::clone(&parts.schedulers), Arc::clone(&parts.watch));
        // Weak: it is one of them.
        let weak = Arc::downgrade(threads);
        threads.start("lnet_sock_watch".into(), move || {
            handler_watch::run(&watch, &schedulers, |kept| {
                if let (Some(threads), Some(first)) = (weak.upgrade(), schedulers.first()) {
                    threads.replace_owner(OWNER, serve(first, kept));
                }
            });
        })
    }
}

/// The work of a scheduler's own thread; application threads wait in `first`.
fn serve(first: &Arc<Scheduler>, scheduler: &Arc<Scheduler>) -> impl FnOnce() + Send + use<> {
    let (first, scheduler) = (Arc::clone(first), Arc::clone(scheduler));
    move || as_driver_thread(|| task::own(scheduler, &first))
}

impl DriverConfig for SocklndConfig {
    const NAME: &'static str = "socklnd";
    const TUNABLES: &'static [Row<Self>] = TUNABLES;

    fn driver(&self, node: DriverContext) -> Arc<dyn Driver> {
        // With delivery ACKs as the kernel sends them the node also sends no more identification than the kernel.
        let says_who = self.says_implementation && self.delivery_acks != DeliveryAcks::Large;
        let implementation_id = if says_who { implementation_id(node.random) } else { 0 };
        Socklnd::with_history(Self { implementation_id, ..self.clone() }, node.clock, Some(node.history))
    }
}

impl Driver for Socklnd {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn find_interface(
        &self,
        net: NetId,
        interface: Option<&str>,
        size: NidSize,
    ) -> Result<FoundInterface, StartError> {
        ip_interfaces::find(net, interface, size)
    }

    fn ip_address(&self, nid: Nid) -> Option<IpAddr> {
        Some(ip_interfaces::address(nid))
    }

    fn egress(&self) -> Egress {
        match self.config.bind_to_device {
            true => Egress::OwnLink,
            false => Egress::Routes { own_link: Some("SOCKLND_BIND_TO_DEVICE=1") },
        }
    }

    fn ni_tunables(&self) -> NiTunables {
        self.config.ni
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, StartError> {
        let nid = ni.nid();
        let parts = self
            .running()
            .map_err(|errno| start_error!(errno, "{nid}: the TCP driver cannot start ({})", errno.text()))?;
        if let Some(congestion) = &self.config.congestion {
            sockets::check_congestion(congestion).map_err(|error| {
                start_error!(
                    Errno::from(&error),
                    "{nid}: TCP connections cannot have the congestion control {congestion} ({error}); name one \
                     of /proc/sys/net/ipv4/tcp_allowed_congestion_control"
                )
            })?;
        }
        let local = LocalNi {
            nid,
            pid: self.config.pid,
            incarnation: parts.shared.next_incarnation(),
            identity: self.config.implementation_id,
        };
        let tos = self.type_of_service(ni)?;
        let sock_ni = SockNi::new(local, ni, upcalls, self.device_to_bind_to(ni), tos, &parts.shared);
        let ni_peers = parts.ni_peers(sock_ni);
        if self.config.accept != AcceptFrom::None {
            parts.listen(&ni_peers)?;
        }
        Ok(Arc::new(NiHandle { ni_peers, parts: parts.clone() }))
    }

    fn progress(&self, timeout: Duration) -> Progress {
        send_postponed();
        let Some(parts) = self.parts.get() else { return Progress::NotOffered };
        let Some(_polling) = try_lock(&self.app_poller) else { return Progress::NotOffered };
        let scheduler = parts.first_scheduler();
        if is_driver_thread() || scheduler.is_stopped() {
            return Progress::NotOffered;
        }
        let own = |all: &RefCell<Vec<(u64, u64)>>| {
            all.borrow().iter().find(|(number, _)| *number == self.number).map(|(_, seen)| *seen)
        };
        // A handler of the program's exit waits for events when the variables of its thread are gone.
        let known = SEEN.try_with(own).ok().flatten().unwrap_or(0);
        let mut seen = known;
        let worked = as_app_poller(|| scheduler.turn_for_application(timeout, &mut seen));
        if seen != known {
            _ = SEEN.try_with(|all| {
                let all = &mut *all.borrow_mut();
                match all.iter_mut().find(|(number, _)| *number == self.number) {
                    Some(known) => known.1 = seen,
                    None => all.push((self.number, seen)),
                }
            });
        }
        if !worked {
            return Progress::Idle;
        }
        note_received();
        Progress::Worked
    }

    fn shutdown(&self) {
        let _one = lock(&self.starting);
        self.ended.store(true, Ordering::SeqCst);
        if let Some(parts) = self.parts.get() {
            parts.stop();
        }
        self.threads.join();
        if let Some(parts) = self.parts.get() {
            parts.schedulers.iter().for_each(|scheduler| scheduler.clear());
        }
    }
}

impl Drop for Socklnd {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl std::fmt::Debug for Socklnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Socklnd").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Parts {
    fn new(config: SocklndConfig, clock: Arc<dyn Clock>, history: Option<Arc<History>>) -> io::Result<Self> {
        let watch = Arc::default();
        let schedulers = (0..config.schedulers.max(1))
            .map(|_| Scheduler::new(&watch).map(Arc::new))
            .collect::<io::Result<_>>()?;
        Ok(Self {
            shared: Arc::new(Shared::new(config, clock, history)),
            schedulers,
            watch,
            commands: Arc::new(Commands::new()?),
            nis: Arc::default(),
            nodes: Arc::default(),
        })
    }

    fn stop(&self) {
        self.commands.stop();
        for scheduler in &*self.schedulers {
            scheduler.stop();
        }
        self.watch.wake();
    }

    fn first_scheduler(&self) -> &Arc<Scheduler> {
        // There is always at least one scheduler.
        &self.schedulers[0]
    }

    fn ni_peers(&self, ni: Arc<SockNi>) -> Arc<NiPeers> {
        NiPeers::new(ni, Arc::clone(&self.commands), Arc::clone(&self.schedulers), Arc::clone(&self.nodes))
    }

    /// Returns the addresses at which peers connect to an NI: one, or two if there is a port for bulk.
    fn addresses_of(&self, ni: &NiPeers) -> impl Iterator<Item = SocketAddr> + use<> {
        let ip = ni.ni.local.nid.ip();
        self.shared.config.ports().map(move |port| SocketAddr::new(ip, port))
    }

    /// Listens on the addresses of an NI: on all, or on none.
    fn listen(&self, ni: &NiPeers) -> Result<(), StartError> {
        let backlog = self.shared.config.accept_backlog;
        for (number, address) in self.addresses_of(ni).enumerate() {
            let listening = self.commands.listen(address, || sockets::listen(address, backlog, ni.ni.tos));
            if let Err(error) = listening {
                self.addresses_of(ni).take(number).for_each(|before| {
                    self.commands.stop_listening(before);
                });
                return Err(cannot_listen(ni.ni.local.nid, address, &error));
            }
        }
        Ok(())
    }
}

/// The driver's NI as the core sees it.
struct NiHandle {
    ni_peers: Arc<NiPeers>,
    parts: Parts,
}

impl LndNi for NiHandle {
    /// Lets peers connect to the NI from now on.
    fn open(&self) {
        self.parts.nis.add(&self.ni_peers);
        self.parts.addresses_of(&self.ni_peers).for_each(|address| self.parts.commands.open(address));
    }

    fn send(&self, message: Pooled<OutgoingMessage>) -> SendOutcome {
        self.ni_peers.send(message)
    }

    fn may_cut_through(&self, to: ProcessId, length: usize) -> bool {
        self.ni_peers.may_cut_through(to, length)
    }

    fn conns_per_peer(&self) -> Option<u16> {
        Some(self.ni_peers.ni.conns_per_peer())
    }

    fn numbers(&self) -> Vec<(&'static str, u32)> {
        self.ni_peers.ni.tos.map(|tos| (TOS.name, tos.into())).into_iter().collect()
    }

    /// An NI with an IPv4 NID reaches IPv6 NIDs if its interface has an IPv6 address and its port can prove its NID, which the address does
    /// not. An NI with an IPv6 NID reaches no others: a first HELLO to an IPv4 NID has eight bytes for its own.
    fn other_families(&self) -> AddressFamilies {
        let own = self.ni_peers.ni.local.nid.ip();
        let towards_ipv6 = ip_interfaces::source_address(own, IpAddr::V6(Ipv6Addr::UNSPECIFIED));
        match towards_ipv6 {
            Ok(source) if own.is_ipv4() && sockets::may_be_privileged(source) => {
                AddressFamilies::only(AddressFamily::Long)
            }
            _ => AddressFamilies::NONE,
        }
    }

    fn set_conns_per_peer(&self, connections: u16) {
        self.ni_peers.ni.set_conns_per_peer(connections);
    }

    fn abort_tx(&self, peer: Option<Nid>, cause: Cause) {
        self.ni_peers.abort_tx(peer, cause);
    }

    fn incarnation(&self, peer: Nid) -> Option<u64> {
        self.ni_peers.incarnation(peer)
    }

    fn confirm(&self, to: Nid, hop: MessageOrigin, confirmation: Confirmation) {
        self.ni_peers.confirm(to, hop, confirmation);
    }

    fn shutdown(&self) {
        if self.ni_peers.ni.begin_ending() {
            self.parts.commands.remove_ni(self.ni_peers.ni.local.nid);
            self.parts.nis.remove(&self.ni_peers);
            self.ni_peers.shutdown();
        }
    }
}

fn cannot_listen(nid: Nid, address: SocketAddr, error: &io::Error) -> StartError {
    let remedy = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program, perhaps another LNet node, has it: stop that or set another accept_port"
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address: check the interface's addresses"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need CAP_NET_BIND_SERVICE or \
             `sysctl net.ipv4.ip_unprivileged_port_start=512`; or set a higher accept_port on all nodes"
        }
        _ => "no peer can connect to this interface",
    };
    let its = start_error!(Errno::from(error), "{nid}: cannot listen on {address} ({error}); {remedy}");
    match error.kind() {
        // The address was there when the interface was looked up.
        io::ErrorKind::AddrNotAvailable => its.that_may_pass(),
        _ => its,
    }
}

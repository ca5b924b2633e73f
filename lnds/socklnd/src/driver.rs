//! The driver as the core sees it: its start, its threads, its end.

use crate::ack::message_id::ConnSeq;
use crate::complaints::Complaints;
use crate::config::SocklndConfig;
use crate::conn::Scheduler;
use crate::connd::Connd;
use crate::counters::SocklndCounters;
use crate::decide::identity::IpNid;
use crate::handshake::Own;
use crate::ni::{NiHandle, SockNi};
use crate::permit::Permits;
use crate::proto::acceptor::AcceptFrom;
use crate::remote_nodes::RemoteNodes;
use crate::sockets;
use crate::sync::lock;
use lnet_core::Errno;
use lnet_core::lnd::{Driver, LndNi, Progress, Upcalls};
use lnet_core::topology::Ni;
use lnet_wire::{NetType, Nid};
use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The TCP driver of one node. It has no threads and no descriptors before its first interface is started.
pub struct Socklnd {
    config: SocklndConfig,
    shared: OnceLock<Arc<Shared>>,
    starting: Mutex<()>,
    ended: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// The application's thread that reads and writes for the driver: one at a time.
    app_poller: Mutex<()>,
    /// Tells this driver from others of the process.
    number: u64,
}

/// What the driver's parts share.
pub(crate) struct Shared {
    pub(crate) config: SocklndConfig,
    pub(crate) connd: Connd,
    schedulers: Box<[Arc<Scheduler>]>,
    nis: Mutex<Vec<Arc<SockNi>>>,
    connection_ids: AtomicU64,
    conn_seqs: AtomicU64,
    /// The nodes of this implementation that this one hears from.
    pub(crate) nodes: RemoteNodes,
    /// Bytes of payloads that wait for the core to decide.
    pub(crate) deferred_bytes: Arc<AtomicUsize>,
    /// Of connecting peers.
    pub(crate) permits: Permits,
    pub(crate) complaints: Complaints,
    last_incarnation: AtomicU64,
}

thread_local! {
    static DRIVER_THREAD: Cell<bool> = const { Cell::new(false) };
    /// The thread is an application's.
    static APP_POLLER: Cell<bool> = const { Cell::new(false) };
    /// For each driver that this thread has worked for, how much work it knew of.
    static SEEN: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// Whether the calling thread reads and writes for a driver at this moment.
pub(crate) fn is_driver_thread() -> bool {
    DRIVER_THREAD.get()
}

/// Whether the calling thread is an application's, which is to get back to its own work soon.
pub(crate) fn is_app_poller() -> bool {
    APP_POLLER.get()
}

impl Socklnd {
    /// A driver with these tunables.
    pub fn new(config: SocklndConfig) -> Arc<Self> {
        Arc::new(Self {
            config,
            shared: OnceLock::new(),
            starting: Mutex::new(()),
            ended: AtomicBool::new(false),
            threads: Mutex::default(),
            app_poller: Mutex::default(),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// What it was told.
    pub fn config(&self) -> &SocklndConfig {
        &self.config
    }

    /// What happened on the interface `nid`, while it is up.
    pub fn counters(&self, nid: Nid) -> Option<SocklndCounters> {
        self.shared.get()?.ni(nid).map(|ni| ni.counts.read())
    }

    /// Makes a thread that is inside [`Driver::progress`] return, because what it waits for has happened
    /// elsewhere. Costs little when there is none. From any thread.
    pub fn interrupt_progress(&self) {
        if let Some(shared) = self.shared.get() {
            shared.first_scheduler().note_work();
        }
    }

    /// The threads, started with the first interface.
    fn running(&self) -> Result<&Arc<Shared>, Errno> {
        let _one = lock(&self.starting);
        if self.ended.load(Ordering::SeqCst) {
            return Err(Errno::Shutdown);
        }
        if let Some(shared) = self.shared.get() {
            return Ok(shared);
        }
        let shared = Shared::new(self.config.clone())?;
        if let Err(error) = self.start_threads(&shared) {
            shared.stop();
            return Err(error.into());
        }
        Ok(self.shared.get_or_init(|| shared))
    }

    fn start_threads(&self, shared: &Arc<Shared>) -> io::Result<()> {
        let mut threads = lock(&self.threads);
        for (number, scheduler) in shared.schedulers.iter().enumerate() {
            let scheduler = Arc::clone(scheduler);
            let first = Arc::clone(shared.first_scheduler());
            threads.push(spawn(format!("lnet_sock_sd_{number:02}"), move || scheduler.run(&first))?);
        }
        let connd = Arc::clone(shared);
        threads.push(spawn("lnet_connd".into(), move || connd.connd.run(&connd))?);
        Ok(())
    }
}

impl Driver for Socklnd {
    fn net_type(&self) -> NetType {
        NetType::TCP
    }

    fn start_ni(&self, ni: &Arc<Ni>, upcalls: Arc<dyn Upcalls>) -> Result<Arc<dyn LndNi>, Errno> {
        let shared = self.running().inspect_err(|errno| {
            log::error!("the TCP driver cannot start for {}: {errno}", ni.nid());
        })?;
        let own = Own {
            nid: ni.nid(),
            pid: self.config.pid,
            incarnation: shared.incarnation(),
            identity: self.config.implementation_id,
        };
        let address = SocketAddr::new(ni.nid().ip(), self.config.accept_port);
        let sock_ni = SockNi::new(own, ni, upcalls, shared);
        if self.config.accept != AcceptFrom::None
            && let Err(error) =
                shared.connd.listen(address, || sockets::listen(address, self.config.accept_backlog))
        {
            log_cannot_listen(ni.nid(), address, &error);
            return Err(Errno::from(error));
        }
        Ok(Arc::new(NiHandle(sock_ni)))
    }

    fn progress(&self, timeout: Duration) -> Progress {
        let Some(shared) = self.shared.get() else { return Progress::NotOffered };
        let _visitor = match self.app_poller.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Progress::NotOffered,
        };
        let scheduler = shared.first_scheduler();
        if is_driver_thread() || scheduler.is_stopped() {
            return Progress::NotOffered;
        }
        let mut seen = SEEN.with_borrow(|all| {
            all.iter().find(|(number, _)| *number == self.number).map_or(0, |(_, seen)| *seen)
        });
        APP_POLLER.set(true);
        let worked = as_driver_thread(|| scheduler.turn_for_application(timeout, &mut seen));
        APP_POLLER.set(false);
        SEEN.with_borrow_mut(|all| match all.iter_mut().find(|(number, _)| *number == self.number) {
            Some(known) => known.1 = seen,
            None => all.push((self.number, seen)),
        });
        if worked { Progress::Worked } else { Progress::Idle }
    }

    fn shutdown(&self) {
        let _one = lock(&self.starting);
        self.ended.store(true, Ordering::SeqCst);
        if let Some(shared) = self.shared.get() {
            shared.stop();
        }
        let me = std::thread::current().id();
        for thread in lock(&self.threads).drain(..) {
            if thread.thread().id() != me {
                // A thread that panicked has said so already.
                let _ = thread.join();
            }
        }
        if let Some(shared) = self.shared.get() {
            shared.schedulers.iter().for_each(|scheduler| scheduler.clear());
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

impl Shared {
    fn new(config: SocklndConfig) -> io::Result<Arc<Self>> {
        let schedulers = (0..config.schedulers.max(1))
            .map(|_| Scheduler::new().map(Arc::new))
            .collect::<io::Result<_>>()?;
        Ok(Arc::new(Self {
            connd: Connd::new()?,
            permits: Permits::new(config.conns_per_address),
            complaints: Complaints::default(),
            config,
            schedulers,
            nis: Mutex::default(),
            connection_ids: AtomicU64::new(0),
            conn_seqs: AtomicU64::new(0),
            nodes: RemoteNodes::default(),
            deferred_bytes: Arc::default(),
            last_incarnation: AtomicU64::new(0),
        }))
    }

    fn stop(&self) {
        self.connd.stop();
        for scheduler in &self.schedulers {
            scheduler.stop();
        }
    }

    /// The interface with this NID.
    pub(crate) fn ni(&self, nid: Nid) -> Option<Arc<SockNi>> {
        lock(&self.nis).iter().find(|ni| ni.own.nid == nid).cloned()
    }

    pub(crate) fn nis(&self) -> Vec<Arc<SockNi>> {
        lock(&self.nis).clone()
    }

    /// Peers may call it from now on.
    pub(crate) fn open_ni(&self, ni: &Arc<SockNi>) {
        lock(&self.nis).push(Arc::clone(ni));
        self.connd.open(SocketAddr::new(ni.own.nid.ip(), self.config.accept_port));
    }

    pub(crate) fn forget_ni(&self, gone: &Arc<SockNi>) {
        lock(&self.nis).retain(|ni| !Arc::ptr_eq(ni, gone));
    }

    /// Whether any interface is up.
    pub(crate) fn has_ni(&self) -> bool {
        !lock(&self.nis).is_empty()
    }

    pub(crate) fn next_connection_id(&self) -> u64 {
        self.connection_ids.fetch_add(1, Ordering::Relaxed)
    }

    /// What a new connection is called in the names of messages.
    pub(crate) fn next_conn_seq(&self) -> ConnSeq {
        ConnSeq::nth(self.conn_seqs.fetch_add(1, Ordering::Relaxed))
    }

    /// The scheduler that serves all connections of a peer.
    pub(crate) fn scheduler_of(&self, peer: Nid) -> Arc<Scheduler> {
        let count = NonZero::new(self.schedulers.len()).unwrap_or(NonZero::<usize>::MIN);
        let at = lnet_wire::nid::cpt_of_nid(peer, count);
        Arc::clone(self.schedulers.get(at).unwrap_or_else(|| self.first_scheduler()))
    }

    fn first_scheduler(&self) -> &Arc<Scheduler> {
        // There is always one.
        &self.schedulers[0]
    }

    /// An incarnation for an interface: the clock's, but never the same twice.
    fn incarnation(&self) -> u64 {
        let now = (self.config.clock)();
        let before = self
            .last_incarnation
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(now.max(last + 1)))
            .unwrap_or(0);
        now.max(before + 1)
    }
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name).spawn(move || as_driver_thread(work))
}

fn as_driver_thread<R>(work: impl FnOnce() -> R) -> R {
    DRIVER_THREAD.set(true);
    let result = work();
    DRIVER_THREAD.set(false);
    result
}

fn log_cannot_listen(nid: Nid, address: SocketAddr, error: &io::Error) {
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
    log::error!("{nid}: cannot listen on {address}: {error}; {remedy}");
}

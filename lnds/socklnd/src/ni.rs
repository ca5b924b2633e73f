//! An NI that the driver serves: its identity, counters and upcalls, and whether it is ending. Its peers and connections
//! are in `ni_peers`.

use crate::counters::NiCounters;
use crate::decide::conn_types::bulk_conns;
use crate::handshake::LocalNi;
use crate::shared::Shared;
use crate::sync::lock;
use lnet_core::lnd::Upcalls;
use lnet_core::topology::Ni;
use lnet_core::{OutgoingMessage, Pooled, SendFailure};
use lnet_log::LogClass;
use lnet_os::interfaces::link_speed;
use lnet_wire::ProcessId;
use std::hash::BuildHasher;
use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Lower bound of the network timeout: the core's share for one attempt may be 0 (HE-30 divides whole seconds).
const MIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval at which a shutdown checks whether all threads have left, if nobody wakes it.
const QUIET_POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(crate) struct SockNi {
    pub(crate) local: LocalNi,
    /// The core's NI. Weak, because that keeps this one alive.
    lnet_ni: Weak<Ni>,
    pub(crate) upcalls: Arc<dyn Upcalls>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) counts: NiCounters,
    /// The link that the NI's connections are bound to.
    device: Option<String>,
    /// The link that has the NI's address, if that is known.
    link: Option<String>,
    conns_per_peer: AtomicU16,
    /// The IP type of service of the NI's connections; `None`: the system's.
    pub(crate) tos: Option<u8>,
    hasher: foldhash::fast::RandomState,
    /// Number of random numbers generated so far.
    random_numbers: AtomicU64,
    ending: AtomicBool,
    /// Number of upcalls that are about to be made.
    upcalls_begun: AtomicUsize,
    quiet: (Mutex<()>, Condvar),
}

impl SockNi {
    pub(crate) fn new(
        local: LocalNi,
        lnet_ni: &Arc<Ni>,
        upcalls: Arc<dyn Upcalls>,
        device: Option<String>,
        tos: Option<u8>,
        shared: &Arc<Shared>,
    ) -> Arc<Self> {
        let conns_per_peer =
            lnet_ni.tunables().conns_per_peer.map_or(shared.config.conns_per_peer, u32::from);
        let link = lnet_ni.config().device.clone();
        Arc::new(Self {
            local,
            lnet_ni: Arc::downgrade(lnet_ni),
            upcalls,
            shared: Arc::clone(shared),
            counts: NiCounters::default(),
            device,
            conns_per_peer: AtomicU16::new(bulk_conns(conns_per_peer, speed_of(link.as_deref()))),
            link,
            tos,
            hasher: foldhash::fast::RandomState::default(),
            random_numbers: AtomicU64::new(0),
            ending: AtomicBool::new(false),
            upcalls_begun: AtomicUsize::new(0),
            quiet: (Mutex::new(()), Condvar::new()),
        })
    }

    pub(crate) fn lnet_ni(&self) -> Option<Arc<Ni>> {
        self.lnet_ni.upgrade()
    }

    /// Returns the time limit for anything on the network.
    pub(crate) fn sock_timeout(&self) -> Duration {
        match self.shared.config.sock_timeout {
            Duration::ZERO => self.upcalls.lnd_timeout().max(MIN_TIMEOUT),
            set => set,
        }
    }

    /// Returns the link that a connection to this address is bound to; none if the address is one of this machine, which
    /// is reached by the loopback.
    pub(crate) fn device_towards(&self, remote: IpAddr) -> Option<&str> {
        self.device.as_deref().filter(|_| !is_of_this_machine(remote))
    }

    /// Connections of each bulk type to one peer.
    pub(crate) fn conns_per_peer(&self) -> u16 {
        self.conns_per_peer.load(Ordering::Relaxed)
    }

    pub(crate) fn set_conns_per_peer(&self, connections: u16) {
        let connections = bulk_conns(connections.into(), speed_of(self.link.as_deref()));
        self.conns_per_peer.store(connections, Ordering::Relaxed);
    }

    pub(crate) fn random(&self) -> u32 {
        self.hasher.hash_one(self.random_numbers.fetch_add(1, Ordering::Relaxed)) as u32
    }

    /// Reports a sent message to the core.
    pub(crate) fn finalize(&self, message: Pooled<OutgoingMessage>, result: Result<(), SendFailure>) {
        self.upcalls.finalize(message, result);
    }

    /// Counts and logs that the connections to `peer` are about to be closed because one of them makes no progress.
    pub(crate) fn note_stalled(&self, peer: ProcessId, cause: &str) {
        self.counts.timed_out.add();
        self.shared.log(
            LogClass::ConnectionStalled,
            peer,
            format_args!("{peer}: connection stalled ({cause}); closing its connections"),
        );
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// Marks the NI as ending; false if it was already.
    pub(crate) fn begin_ending(&self) -> bool {
        !self.ending.swap(true, Ordering::SeqCst)
    }

    /// Whether a message that has arrived in part on this NI, and has been matched, may be sent again: to this NI or,
    /// where it ends, to another.
    pub(crate) fn may_be_resent(&self) -> bool {
        !self.is_ending() || self.shared.has_open_ni()
    }

    /// Announces an upcall; false when the NI is ending. The end of the NI waits for [`SockNi::end_upcall`].
    pub(crate) fn begin_upcall(&self) -> bool {
        self.upcalls_begun.fetch_add(1, Ordering::SeqCst);
        let goes_on = !self.is_ending();
        if !goes_on {
            self.end_upcall();
        }
        goes_on
    }

    pub(crate) fn end_upcall(&self) {
        self.upcalls_begun.fetch_sub(1, Ordering::SeqCst);
        if self.is_ending() {
            self.note_quiet();
        }
    }

    /// Notes that a thread has left a closed connection.
    pub(crate) fn note_quiet(&self) {
        let _guard = lock(&self.quiet.0);
        self.quiet.1.notify_all();
    }

    /// Waits until no upcall is in progress and `is_quiet` returns true, when threads have left the connections: these make
    /// the last upcalls.
    pub(crate) fn wait_until_quiet(&self, is_quiet: impl Fn() -> bool) {
        let mut guard = lock(&self.quiet.0);
        while self.upcalls_begun.load(Ordering::SeqCst) > 0 || !is_quiet() {
            let waited = self.quiet.1.wait_timeout(guard, QUIET_POLL_INTERVAL);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The speed of a link in Mbit/s, if it is known.
fn speed_of(link: Option<&str>) -> Option<u32> {
    link_speed(Path::new("/sys"), link?)
}

fn is_of_this_machine(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

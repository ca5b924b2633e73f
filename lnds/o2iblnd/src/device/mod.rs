//! The RDMA device of an interface, as the driver uses it: connections, work requests, registered memory, and events.
//!
//! Every call returns at once. What becomes of it is an [`Event`] of a later [`Device::poll`]; without one only where this says so. The
//! model in `model` implements the trait for tests, the verbs of a real device are in `verbs`.

#[cfg(any(test, feature = "model"))]
pub mod model;

use lnet_core::Errno;
use lnet_core::memory::MemRange;
use std::fmt::{Debug, Display, Formatter};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The first port, and service number, that every process may have.
pub(crate) const FIRST_UNPRIVILEGED_PORT: u16 = 1024;

/// A connection of a device: an RC queue pair with its connection manager's identifier. A number is not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u32);

/// The number of an RDMA chain or send, given by the caller; not used again on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(pub u32);

/// A receive buffer of a connection: 0 up to [`Setup::receives`], exclusively.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

/// The sizes of a connection's queues (wire-o2ib 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The receive buffers, all of which are posted before the peer hears of the connection.
    pub receives: u16,
    /// The chains that may be posted at a time: messages with the RDMA WRITEs before them.
    pub chains: u16,
    /// The work requests of one chain, its message included.
    pub chain_len: u16,
}

impl Setup {
    /// The sizes for a queue depth and a limit of fragments.
    pub const fn new(depth: u16, fragments: u16) -> Self {
        Self { receives: 2 * depth + 2, chains: depth + 2, chain_len: fragments + 1 }
    }
}

/// A part of this process's memory that a device may read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The address of the first byte.
    pub address: u64,
    /// The number of bytes.
    pub len: u32,
    /// The key of the registration that covers it.
    pub lkey: u32,
}

/// Memory that a device knows, until [`Device::deregister`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The device's number of it.
    pub id: u64,
    /// The key for this node's work requests.
    pub lkey: u32,
    /// The key for the peer's RDMA WRITEs.
    pub rkey: u32,
}

/// Whether registered memory stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// It is locked in memory, and counts against the limit of locked memory.
    Pinned,
    /// The device finds it when it accesses it: [`Limits::on_demand`].
    OnDemand,
}

/// An RDMA WRITE: from this process's memory to the peer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The pieces to read, in order; at most [`Limits::pieces`].
    pub from: Vec<Segment>,
    /// The peer's address of the first byte.
    pub to: u64,
    /// The peer's key.
    pub rkey: u32,
}

/// What a device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The pieces of memory of one work request.
    pub pieces: usize,
    /// Whether memory may be registered with [`Paging::OnDemand`].
    pub on_demand: bool,
}

/// Something that has happened at a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A peer asks for a connection, to be answered by [`Device::accept`] or [`Device::reject`].
    Request {
        /// The connection that may come of it.
        conn: ConnId,
        /// The private data, as long as the connection manager made it.
        private_data: Vec<u8>,
    },
    /// A connection is up. Messages may have been received on it before.
    Established {
        /// The connection.
        conn: ConnId,
        /// The private data of the peer's acceptance; empty for a connection that this node accepted.
        private_data: Vec<u8>,
    },
    /// The peer has refused the connection. [`Device::destroy`] follows.
    Rejected {
        /// The connection.
        conn: ConnId,
        /// The connection manager's reason.
        reason: u16,
        /// The private data of the refusal.
        private_data: Vec<u8>,
    },
    /// The connection could not be made. [`Device::destroy`] follows.
    Failed {
        /// The connection.
        conn: ConnId,
        /// The cause.
        error: ConnectError,
    },
    /// The connection has ended: the peer or the device has closed it. [`Device::destroy`] follows.
    Disconnected {
        /// The connection.
        conn: ConnId,
    },
    /// A message has arrived.
    Received {
        /// The connection.
        conn: ConnId,
        /// The buffer with the message, which is not posted any more.
        slot: Slot,
        /// The length of the message.
        len: usize,
    },
    /// A chain is done: the peer has its WRITEs and its message.
    Sent {
        /// The connection.
        conn: ConnId,
        /// The chain.
        work: WorkId,
    },
    /// Work has failed, and with it the connection. [`Device::destroy`] follows.
    WorkFailed {
        /// The connection.
        conn: ConnId,
        /// The cause.
        error: WorkError,
    },
    /// The port has become usable, or unusable for the named reason.
    Port(Result<(), PortError>),
}

impl Event {
    /// The connection that the event is about.
    pub const fn conn(&self) -> Option<ConnId> {
        match self {
            Self::Request { conn, .. }
            | Self::Established { conn, .. }
            | Self::Rejected { conn, .. }
            | Self::Failed { conn, .. }
            | Self::Disconnected { conn }
            | Self::Received { conn, .. }
            | Self::Sent { conn, .. }
            | Self::WorkFailed { conn, .. } => Some(*conn),
            Self::Port(_) => None,
        }
    }
}

/// The reason why no connection could be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// The address has no RDMA device, or nobody there responds to ARP.
    Address(Errno),
    /// No path leads there.
    Route(Errno),
    /// The peer has not answered.
    Unreachable(Errno),
    /// This node could not do its part.
    Local(Errno),
}

impl ConnectError {
    /// The error number.
    pub const fn errno(self) -> Errno {
        match self {
            Self::Address(errno) | Self::Route(errno) | Self::Unreachable(errno) | Self::Local(errno) => {
                errno
            }
        }
    }
}

impl Display for ConnectError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let what = match self {
            Self::Address(_) => "its address was not resolved",
            Self::Route(_) => "no route leads to it",
            Self::Unreachable(_) => "it did not respond",
            Self::Local(_) => "this node could not prepare the connection",
        };
        write!(f, "{what} ({})", self.errno().text())
    }
}

/// The reason why work at a connection has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkError {
    /// The peer has not acknowledged in time, as often as it was tried.
    NoResponse,
    /// The peer had no buffer for a message, as often as it was tried.
    NotReady,
    /// The peer refused access to its memory, or found the work invalid.
    RefusedByPeer,
    /// This node's memory or work was invalid; the number is the device's.
    Local(u32),
}

impl Display for WorkError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoResponse => f.write_str("the peer does not respond"),
            Self::NotReady => f.write_str("the peer has no buffer for the message"),
            Self::RefusedByPeer => f.write_str("the peer refused the RDMA work"),
            Self::Local(status) => write!(f, "the device reports work status {status}"),
        }
    }
}

/// The reason why a port cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortError {
    /// The port is down.
    Down,
    /// The port's GIDs have changed: peers may not reach this interface by the old one.
    GidChanged,
    /// The device has failed or is gone.
    DeviceGone,
}

impl Display for PortError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Down => "the port is down",
            Self::GidChanged => "the port's address has changed",
            Self::DeviceGone => "the device has failed or is gone",
        })
    }
}

/// An RDMA device with one address. One thread at a time uses it.
pub trait Device: Send {
    /// What the device can do.
    fn limits(&self) -> Limits;

    /// Accepts requests for connections from now on.
    fn listen(&mut self) -> Result<(), Errno>;

    /// Begins to connect to `to`, with all receive buffers posted. The result is an event.
    fn connect(&mut self, to: Ipv4Addr, setup: Setup, private_data: &[u8]) -> Result<ConnId, Errno>;

    /// Accepts a connection that was asked for, with all receive buffers posted. The result is an event.
    fn accept(&mut self, conn: ConnId, setup: Setup, private_data: &[u8]) -> Result<(), Errno>;

    /// Refuses a connection that was asked for, and forgets it.
    fn reject(&mut self, conn: ConnId, private_data: &[u8]);

    /// Tells the peer that the connection ends.
    fn disconnect(&mut self, conn: ConnId);

    /// Forgets a connection. When this returns the device uses no memory of its work any more, and no event of it follows.
    fn destroy(&mut self, conn: ConnId);

    /// The bytes of a buffer that [`Event::Received`] named.
    fn received(&self, conn: ConnId, slot: Slot, len: usize) -> &[u8];

    /// Gives a buffer back to the device, for another message.
    fn post_receive(&mut self, conn: ConnId, slot: Slot) -> Result<(), Errno>;

    /// Posts a chain: the WRITEs in order, then `message`, whose completion is an event. The device copies `message`; the memory of the
    /// WRITEs stays as it is until the event, or until [`Device::destroy`].
    fn post_send(
        &mut self,
        conn: ConnId,
        work: WorkId,
        writes: &[Write],
        message: &[u8],
    ) -> Result<(), Errno>;

    /// Makes memory known to the device, to be read by it and written by the peer. The memory stays valid until it is
    /// deregistered.
    fn register(&mut self, range: MemRange, paging: Paging) -> Result<Registration, Errno>;

    /// Ends a registration. No work that uses it is posted.
    fn deregister(&mut self, registration: Registration);

    /// Appends what has happened to `events`, without waiting. Returns whether anything was taken that may have made a descriptor readable:
    /// a thread that waits for one has to look as well then.
    fn poll(&mut self, events: &mut Vec<Event>) -> bool;

    /// Appends what has become of the work of connections that are not armed, as [`Device::poll`] does, but without a system call.
    fn poll_work(&mut self, events: &mut Vec<Event>) {
        _ = self.poll(events);
    }

    /// Asks for the descriptors to become readable with the next event; `true` if something may have happened since the last poll.
    fn arm(&mut self) -> bool;

    /// Descriptors that become readable when something happens, of the caller.
    fn descriptors(&self) -> Result<Vec<OwnedFd>, Errno>;
}

/// Where devices come from: the machine, or a model.
pub trait Devices: Debug + Send + Sync {
    /// Checks that there is a device at all that may be opened. `interface` is the name that the text of the error has.
    fn check(&self, interface: &str) -> Result<(), OpenError> {
        let _ = interface;
        Ok(())
    }

    /// Opens the device that has this address of the host, for an interface with this name.
    fn open(&self, interface: &str, options: OpenOptions) -> Result<Box<dyn Device>, OpenError>;
}

/// What a device is opened with.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// The address of the interface.
    pub address: Ipv4Addr,
    /// The service number.
    pub service: u16,
    /// Whether requests come from a port below 1024, if the process may take one.
    pub privileged_port: bool,
    /// Whether requests from ports from 1024 on are refused.
    pub require_privileged_port: bool,
    /// The transmissions of a packet after the first.
    pub retry_count: u8,
    /// The transmissions of a message after the first for which the peer has no buffer.
    pub rnr_retry_count: u8,
    /// The time that the resolution of an address, or of a route, may take.
    pub timeout: Duration,
    /// The queue depth of connections.
    pub depth: u16,
}

/// The reason why an interface has no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The libraries of RDMA are not installed.
    #[error(
        "{library} cannot be loaded ({why}); install the package libibverbs1 or rdma-core, with librdmacm1"
    )]
    NoLibrary {
        /// The file name of the library.
        library: &'static str,
        /// The loader's words.
        why: String,
    },
    /// A library lacks a function.
    #[error("{library} has no function {function}; install a newer rdma-core")]
    NoFunction {
        /// The file name of the library.
        library: &'static str,
        /// The function.
        function: &'static str,
    },
    /// The machine has no RDMA device.
    #[error(
        "this machine has no RDMA device; load its driver, or for RoCE over any Ethernet: rdma link add rxe0 type rxe netdev {0}"
    )]
    NoDevice(String),
    /// The machine has RDMA devices, and none of them has a character device here.
    #[error(
        "the RDMA devices of this machine ({devices}) have no /dev/infiniband/uverbs* here; load the module ib_uverbs, or add these \
         devices to the container"
    )]
    NoUverbs {
        /// The names of the devices.
        devices: String,
    },
    /// The machine has RDMA devices, and libibverbs has no provider for any of them.
    #[error(
        "libibverbs has no provider for the RDMA devices of this machine ({devices}); install the package ibverbs-providers or \
         rdma-core, and start this program again"
    )]
    NoProvider {
        /// The names of the devices.
        devices: String,
    },
    /// No RDMA device has the address.
    #[error("no RDMA device has its address {address} ({} RDMA devices have others)", .devices)]
    NotItsAddress {
        /// The address.
        address: Ipv4Addr,
        /// The number of devices.
        devices: usize,
    },
    /// The process may not use RDMA devices.
    #[error(
        "this process cannot use RDMA devices ({0}); it needs /dev/infiniband/rdma_cm (module rdma_ucm) and \
         /dev/infiniband/uverbs* (module ib_uverbs), readable and writable"
    )]
    NotPermitted(String),
    /// The port is down.
    #[error("port {port} of {device} is down ({state})")]
    PortDown {
        /// The device.
        device: String,
        /// The number of the port.
        port: u8,
        /// The port's state in verbs' words.
        state: &'static str,
    },
    /// The limit of locked memory is too small.
    #[error(
        "the limit of locked memory (RLIMIT_MEMLOCK, ulimit -l) is {limit} KiB, and at least {needed} KiB are needed; see docs/o2ib.md"
    )]
    LockedMemory {
        /// The limit in KiB.
        limit: u64,
        /// What is needed in KiB.
        needed: u64,
    },
    /// Another program, or a kernel node, has the service.
    #[error("cannot listen on service {service} of {address} ({}); another program, perhaps a kernel LNet node, has it", .errno.text())]
    ServiceInUse {
        /// The service number.
        service: u16,
        /// The address.
        address: Ipv4Addr,
        /// The error.
        errno: Errno,
    },
    /// The service has a number that only privileged processes may have.
    #[error(
        "this process may not listen on service {service}: numbers below 1024 need CAP_NET_BIND_SERVICE; O2IBLND_SERVICE, on all nodes \
         the same, is another number"
    )]
    ServicePrivileged {
        /// The service number.
        service: u16,
    },
    /// A call of the device failed.
    #[error("{call} failed ({})", .errno.text())]
    Call {
        /// The function.
        call: &'static str,
        /// The error.
        errno: Errno,
    },
}

impl OpenError {
    /// The error for a service that cannot be bound to or listened on.
    pub(crate) const fn service(service: u16, address: Ipv4Addr, errno: Errno) -> Self {
        match errno {
            Errno::Access if service < FIRST_UNPRIVILEGED_PORT => Self::ServicePrivileged { service },
            errno => Self::ServiceInUse { service, address, errno },
        }
    }

    /// The error number for callers.
    pub const fn errno(&self) -> Errno {
        match self {
            Self::NoLibrary { .. }
            | Self::NoFunction { .. }
            | Self::NoDevice(_)
            | Self::NoUverbs { .. }
            | Self::NoProvider { .. }
            | Self::NotItsAddress { .. } => Errno::NoDevice,
            Self::NotPermitted(_) | Self::ServicePrivileged { .. } => Errno::Access,
            Self::PortDown { .. } => Errno::NetworkDown,
            Self::LockedMemory { .. } => Errno::NoMemory,
            Self::ServiceInUse { errno, .. } | Self::Call { errno, .. } => *errno,
        }
    }
}

//! The interface between this crate and LNet: event queues of transfer machines, memory descriptors, PUT and GET.
//!
//! Nothing else in this crate calls LNet. [`liblnet`] implements it by the C API, whose node may be one that this process is attached to.

pub mod liblnet;

use crate::Errno;
pub use lnet_api::EventKind;
use std::ffi::c_int;
use std::fmt;
use std::time::Duration;

/// A process on a node, as LNet identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    /// The NID, as in the C API of LNet.
    pub nid: u64,
    /// The process id.
    pub pid: u32,
}

/// The target of a PUT or a GET.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The process.
    pub process: ProcessId,
    /// The portal.
    pub portal: u32,
    /// The match bits.
    pub match_bits: u64,
}

/// A piece of memory: `struct iovec`. Never empty.
pub type Fragment = libc::iovec;

/// A memory descriptor to be created: the memory of a buffer, and how LNet may use it.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor<'a> {
    /// The memory, which is valid and not changed by its owner until the last event.
    pub fragments: &'a [Fragment],
    /// The number of operations after which the descriptor is unlinked.
    pub threshold: u32,
    /// The size of the longest message; the descriptor is unlinked when less than this is left.
    pub max_size: Option<u32>,
}

/// The operation that peers may perform on attached memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Peers may put data into the memory.
    Put,
    /// Peers may get data from the memory.
    Get,
}

/// The handle of a memory descriptor, valid until its last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u64);

/// An event of a memory descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LnetEvent {
    /// The type of the event.
    pub kind: EventKind,
    /// 0, or a negative error number.
    pub status: c_int,
    /// Whether this is the last event of its descriptor.
    pub unlinked: bool,
    /// Bytes transferred.
    pub len: u32,
    /// The offset of these bytes in the memory.
    pub offset: u32,
    /// The sender, by the NID that the message came from, which need not be the primary one of a multi-rail node.
    pub source: ProcessId,
    /// The header data of a PUT.
    pub header_data: u64,
}

/// An operation. It is dropped after the last event of its descriptor.
pub trait Operation: Send {
    /// Called for each event, on any thread, also inside of [`EventQueue`]'s functions. Must not block, nor call the backend.
    fn on_event(&mut self, event: &LnetEvent);
}

/// LNet, for one domain.
pub trait Backend: fmt::Debug + Send + Sync {
    /// The NIDs of this node, with its PID.
    fn local_processes(&self) -> Vec<ProcessId>;

    /// Claims match bits at a portal, except for those of `ignore_bits`, among all programs of the node. From its success on this process has
    /// the PID that it asked for.
    ///
    /// Errors: `EADDRINUSE`.
    fn claim(&self, portal: u32, match_bits: u64, ignore_bits: u64) -> Result<(), Errno>;

    /// Ends a claim.
    fn release(&self, portal: u32, match_bits: u64, ignore_bits: u64);

    /// Creates the event queue of a transfer machine.
    fn open(&self) -> Result<Box<dyn EventQueue>, Errno>;
}

/// The events of a transfer machine, and the descriptors that they belong to. Dropped when no descriptor is left.
///
/// Events may come before the function that starts an operation returns. If it returns an error, no event comes.
pub trait EventQueue: fmt::Debug + Send + Sync {
    /// Attaches memory at a portal, after what is attached there, for peers that use these match bits.
    ///
    /// # Safety
    /// The contract of the memory is that of [`Descriptor::fragments`].
    unsafe fn attach(
        &self,
        portal: u32,
        match_bits: u64,
        access: Access,
        descriptor: &Descriptor<'_>,
        operation: Box<dyn Operation>,
    ) -> Result<Handle, Errno>;

    /// Sends memory, without an ACK, from the NID `from`, or (`None`) from the NI that LNet selects.
    ///
    /// # Safety
    /// The contract of the memory is that of [`Descriptor::fragments`].
    unsafe fn put(
        &self,
        from: Option<u64>,
        to: Target,
        header_data: u64,
        descriptor: &Descriptor<'_>,
        operation: Box<dyn Operation>,
    ) -> Result<Handle, Errno>;

    /// Fetches data into memory; the source is chosen as in [`EventQueue::put`].
    ///
    /// # Safety
    /// The contract of the memory is that of [`Descriptor::fragments`].
    unsafe fn get(
        &self,
        from: Option<u64>,
        to: Target,
        descriptor: &Descriptor<'_>,
        operation: Box<dyn Operation>,
    ) -> Result<Handle, Errno>;

    /// Unlinks a descriptor. Its last event comes now or when its operations in progress have ended. Does nothing after the
    /// last event.
    fn unlink(&self, handle: Handle);

    /// Waits for an event, or for [`EventQueue::wake`], at most for `timeout`. May return earlier. Only one thread may wait
    /// at a time.
    ///
    /// [`Operation::on_event`] has returned for each event that has ended a wait.
    fn wait(&self, timeout: Duration);

    /// Ends a wait of another thread, or the next one. Must not be called from [`Operation::on_event`].
    fn wake(&self);
}

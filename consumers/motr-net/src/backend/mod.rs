//! The narrow seam behind which LNet stands: a transfer machine's queue of events, memory descriptors, PUT and GET.
//!
//! Nothing else in this crate calls LNet. [`liblnet`] is LNet in this process, by its C API. A second implementation can stand for LNet
//! in another process, which is reached through shared memory.

pub mod liblnet;

use crate::errno::Errno;
use std::ffi::c_int;
use std::fmt;
use std::time::Duration;

/// A process on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    /// The NID, as in the C API of LNet.
    pub nid: u64,
    /// The process.
    pub pid: u32,
}

/// Where a PUT or a GET goes.
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

/// What LNet may do with the memory of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor<'a> {
    /// The memory, which is valid, and left alone by its owner, until the last event.
    pub fragments: &'a [Fragment],
    /// Operations until it is unlinked.
    pub threshold: u32,
    /// The longest message, and the room below which it is unlinked.
    pub max_size: Option<u32>,
}

/// What peers may do with attached memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// PUT.
    Put,
    /// GET.
    Get,
}

/// Names a memory descriptor, until its last event; afterwards it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u64);

/// What LNet says happened to a memory descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A peer fetched the data.
    Get,
    /// A peer put data into it.
    Put,
    /// The fetched data has arrived.
    Reply,
    /// The target of a PUT has the data.
    Ack,
    /// The PUT or GET has left, or could not be sent.
    Send,
    /// It was unlinked: by a call, or with an error number because the answer to a GET did not come.
    Unlink,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LnetEvent {
    /// What happened.
    pub kind: Kind,
    /// 0, or a negative error number.
    pub status: c_int,
    /// The last of its descriptor.
    pub unlinked: bool,
    /// Bytes transferred.
    pub len: u32,
    /// Where in the memory they are.
    pub offset: u32,
    /// Who sent it, by the NID that the message came from, which need not be the primary one of a multi-rail node.
    pub source: ProcessId,
    /// The header data of a PUT.
    pub header_data: u64,
}

/// An operation. It is dropped after the last event of its descriptor.
pub trait Operation: Send {
    /// An event. On any thread, also inside of [`EventQueue`]'s functions. Must not block, nor call the backend.
    fn on_event(&mut self, event: &LnetEvent);
}

/// LNet, for one domain.
pub trait Backend: fmt::Debug + Send + Sync {
    /// The NIDs of this node, with its PID.
    fn local_processes(&self) -> Vec<ProcessId>;

    /// Makes the event queue of a transfer machine.
    fn open(&self) -> Result<Box<dyn EventQueue>, Errno>;
}

/// The events of a transfer machine, and the descriptors that have them. Dropped when no descriptor is left.
///
/// Events may come before the function that starts an operation returns. After an error there is none.
pub trait EventQueue: fmt::Debug + Send + Sync {
    /// Attaches memory at a portal, behind the rest, for peers that use these match bits.
    ///
    /// # Safety
    /// As [`Descriptor`] says of the memory.
    unsafe fn attach(
        &self,
        portal: u32,
        match_bits: u64,
        access: Access,
        descriptor: &Descriptor<'_>,
        operation: Box<dyn Operation>,
    ) -> Result<Handle, Errno>;

    /// Sends memory, without an ACK: from that NID, or (`None`) from the NI that LNet selects.
    ///
    /// # Safety
    /// As [`Descriptor`] says of the memory.
    unsafe fn put(
        &self,
        from: Option<u64>,
        to: Target,
        header_data: u64,
        descriptor: &Descriptor<'_>,
        operation: Box<dyn Operation>,
    ) -> Result<Handle, Errno>;

    /// Fetches into memory. As [`EventQueue::put`].
    ///
    /// # Safety
    /// As [`Descriptor`] says of the memory.
    unsafe fn get(
        &self,
        from: Option<u64>,
        to: Target,
        descriptor: &Descriptor<'_>,
        operation: Box<dyn Operation>,
    ) -> Result<Handle, Errno>;

    /// Unlinks a descriptor. Its last event comes now or when its operations in progress have ended; if it has come this does nothing.
    fn unlink(&self, handle: Handle);

    /// Waits for an event, or for [`EventQueue::wake`], at most so long. May return earlier. One thread at a time.
    ///
    /// [`Operation::on_event`] has returned for each event that has ended a wait.
    fn wait(&self, timeout: Duration);

    /// Ends a wait of another thread, or the next one. Not from [`Operation::on_event`].
    fn wake(&self);
}

//! The program's side: a node of another process, used as if it were in this one.
//!
//! - `link` is the connection: rings, wake-ups, and operations that wait for their result.
//! - `descriptor` is an MD with what the program keeps of it; its events are delivered by `events`.
//! - `handled` has the ACKs that wait for a handler.
//! - `memory` is what the node can access of the program's memory, and what is copied to and from.
//! - `put_again` is the short way of a PUT that is like the one before it, `queues` has the event queues.
//! - `budget` counts the operations that an MD may still begin.
//! - `calls` has the functions of the C API.
//!
//! MEs, MDs and their matching are in the node; queues and handlers are here. A thread that waits for a result or an event reads the
//! reports itself for a while; one thread of the library reads them when nobody else does.

mod budget;
mod calls;
mod descriptor;
mod events;
mod handled;
mod link;
mod memory;
mod put_again;
mod queues;
mod start;

pub use start::{AttachError, ClientConfig};

use descriptor::ProgramMd;
use foldhash::{HashMap, HashSet};
use link::{Call, Sender};
use lnd_common::driver_threads::Threads;
use lnd_common::event_wait::Spin;
use lnd_common::outputs::OutputQueue;
use lnet_core::{Event, MdHandle};
use lnet_os::shared_memory::SharedMemory;
use lnet_ring::Consumer;
use lnet_wire::{Nid, Pid};
use memory::{Fetch, Lease, Memory};
use queues::Queues;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

/// A node of another process that this program is attached to, until [`AttachedNode::shutdown`]. Any thread may call its methods.
#[derive(Debug)]
pub struct AttachedNode {
    /// The name of the node.
    name: String,
    /// The program's PID on the node.
    pid: Pid,
    stream: UnixStream,
    sender: Mutex<Sender>,
    next_number: AtomicU64,
    reports: Mutex<Reports>,
    wake_node: OwnedFd,
    wake_program: OwnedFd,
    /// What the owner waits for: the wake-up of the program, and the end of the connection.
    waited_for: OwnedFd,
    wake_reader: OwnedFd,
    /// The set of descriptors of a thread that reads the reports because it waits for an event.
    reader_waits_for: OwnedFd,
    calls: Mutex<HashMap<u64, Arc<Call>>>,
    mds: Mutex<HashMap<MdHandle, Arc<ProgramMd>>>,
    queues: Mutex<Queues>,
    memory: Arc<Mutex<Memory>>,
    /// Data that the node has of the program for REPLYs, by the number of the request for them.
    lent: Mutex<HashMap<u64, Lease>>,
    /// What no thread does yet.
    tasks: OutputQueue<PendingTask>,
    threads: Threads,
    spin: Spin,
    /// The NIDs that a PUT or GET has left for, and none has failed since; for each those that it has left from.
    reached: Mutex<HashMap<Nid, HashSet<Nid>>>,
    /// The number of PUTs and GETs that have failed.
    failures: AtomicU64,
    /// PUTs and GETs whose SEND event has not come.
    unsent: AtomicU32,
    /// Whether the program ends the attachment.
    is_ending: AtomicBool,
    /// Whether nothing goes to or comes from the node any more.
    has_ended: AtomicBool,
    /// The number of the thread that reads when nobody else does; a thread with another number has been replaced.
    owner: AtomicU64,
}

/// What a report leaves to do, once the reports are not locked any more.
#[derive(Debug)]
enum Task {
    /// An event for a handler.
    Deliver(Arc<ProgramMd>, Event),
    Fetch(Fetch),
    /// Tells the node that the event of a PUT has been handled: the number of the request for its ACK.
    NoteHandled(u64),
}

/// A task of an attached program that no thread does yet.
#[derive(Debug)]
pub struct PendingTask(Task);

/// The reading side of the reports.
#[derive(Debug)]
struct Reports {
    consumer: Consumer<SharedMemory>,
    /// Room for the report that is read.
    body: Vec<u64>,
    event: Event,
    /// Whether the node wakes this program when there is a report.
    is_armed: bool,
    latest: Latest,
}

/// The subject of the last event: the next one has the same for the most part, and is found without the tables.
#[derive(Debug, Default)]
struct Latest {
    md: Option<(MdHandle, Arc<ProgramMd>)>,
    /// Where a PUT or GET has left for, and the NID that it has left from, as numbers.
    way: Option<[u64; 2]>,
}

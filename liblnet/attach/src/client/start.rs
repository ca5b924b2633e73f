//! The beginning of an attachment.

use super::{AttachedNode, Latest, Reports, link};
use crate::hello::{self, Descriptors, ReadError, Reader, ToNode, ToProgram, VERSION};
use crate::record::untold_event;
use lnd_common::event_wait::Spin;
use lnd_common::outputs::{OutputQueue, PassOutputs};
use lnet_os::shared_memory::SharedMemory;
use lnet_ring::{Consumer, Producer};
use lnet_wire::{Errno, Pid};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The time that the node has for its welcome.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(10);

/// What a program wants of its attachment.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The PID that it wants.
    pub pid: Pid,
    /// The name of the program, for the node's log and for `lnetctl`.
    pub program: String,
    /// The words of the ring of operations: a power of two.
    pub operations: usize,
    /// The words of the ring of reports: a power of two.
    pub reports: usize,
    /// The time for which a thread that waits for an event spins before it sleeps.
    pub spin: Duration,
}

/// The reason why a program is not attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The node does not admit the program.
    #[error("{why}")]
    Refused {
        /// The reason.
        errno: Errno,
        /// The same in words.
        why: String,
    },
    /// The node's welcome cannot be used.
    #[error("{0}")]
    Welcome(#[from] ReadError),
    /// The node's rings cannot be used.
    #[error("the node's rings cannot be used: {0}")]
    Rings(String),
    /// The system refuses something.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl AttachedNode {
    /// Attaches to the node that listens at the other end of `stream`. Waits for its answer.
    pub fn attach(stream: UnixStream, config: &ClientConfig) -> Result<Arc<Self>, AttachError> {
        stream.set_read_timeout(Some(WELCOME_TIMEOUT))?;
        let hello = ToNode::Hello {
            version: VERSION,
            operations: config.operations as u64,
            reports: config.reports as u64,
            pid: config.pid,
            program: config.program.clone(),
        };
        // A node that refuses at once may have closed its end: its answer says why.
        let sent = hello::send(&stream, 0, &hello, &[]);
        let (_, answer, descriptors) = match (Reader::default().read(&stream), sent) {
            (Err(_), Err(error)) => return Err(error.into()),
            (answer, _) => answer?,
        };
        let (pid, name) = match answer {
            ToProgram::Welcome { pid, node } => (pid, node),
            ToProgram::Refused { errno, why } => return Err(AttachError::Refused { errno, why }),
        };
        let rings = |error: &dyn ToString| AttachError::Rings(error.to_string());
        let Descriptors { operations, reports, wake_node, wake_program, wake_reader, room } =
            Descriptors::from_message(descriptors).ok_or_else(|| rings(&"not all of them came"))?;
        let producer = Producer::new(SharedMemory::map(operations).map_err(|error| rings(&error))?);
        let producer = producer.map_err(|corrupt| rings(&corrupt))?;
        let consumer = Consumer::new(SharedMemory::map(reports).map_err(|error| rings(&error))?);
        let consumer = consumer.map_err(|corrupt| rings(&corrupt))?;
        let waited_for = Self::set_to_wait_for(&wake_program, &stream)?;
        let reader_waits_for = Self::set_of_reader(&wake_reader)?;
        let node = Arc::new(Self {
            name,
            pid,
            stream,
            sender: Mutex::new(link::Sender::new(producer, room)),
            next_number: AtomicU64::new(1),
            reports: Mutex::new(Reports {
                consumer,
                body: Vec::new(),
                event: untold_event(),
                is_armed: false,
                latest: Latest::default(),
            }),
            wake_node,
            wake_program,
            waited_for,
            wake_reader,
            reader_waits_for,
            calls: Mutex::default(),
            mds: Mutex::default(),
            queues: Mutex::default(),
            memory: Arc::default(),
            lent: Mutex::default(),
            tasks: OutputQueue::default(),
            threads: Default::default(),
            spin: Spin::new(config.spin),
            reached: Mutex::default(),
            failures: AtomicU64::new(0),
            unsent: AtomicU32::new(0),
            is_ending: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            owner: AtomicU64::new(0),
        });
        node.start_threads()?;
        Ok(node)
    }
}

//! The memory of a program: what it has registered, and its MDs' pieces of that.

use super::current::number_of_current;
use super::deferred_acks::DeferredAcks;
use super::reports::Reports;
use lnd_common::sync::lock;
use lnet_attach::record::{Piece, ProgramMemory, Report};
use lnet_core::memory::{ClientMemory, MemRange, ReplyMemory, ThenReply};
use lnet_core::{DeferredAck, Errno, MdHandle, MdMemory};
use lnet_os::shared_memory::{Mapping, SharedMemory};
use lnet_os::stop_point;
use lnet_wire::Pid;
use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The limits of the memory that one program has registered.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegistrationLimits {
    pub(super) bytes: u64,
    /// The number of pieces, each of which is a mapping of this process.
    pub(super) count: u32,
}

/// What is mapped of one program: what it has registered, and what its MDs and messages still keep. Any thread may look.
#[derive(Debug, Default)]
pub(super) struct MappedMemory {
    bytes: AtomicU64,
    count: AtomicU32,
}

impl MappedMemory {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn is_within(&self, limits: RegistrationLimits, more: u64) -> bool {
        let is_possible = self.count.load(Ordering::Relaxed) < limits.count;
        is_possible && self.bytes().saturating_add(more) <= limits.bytes
    }
}

/// Memory that a program has registered, until nothing uses it.
#[derive(Debug)]
struct Registered {
    mapping: Mapping,
    mapped: Arc<MappedMemory>,
}

impl Registered {
    fn new(mapping: Mapping, mapped: &Arc<MappedMemory>) -> Self {
        mapped.bytes.fetch_add(mapping.len() as u64, Ordering::Relaxed);
        mapped.count.fetch_add(1, Ordering::Relaxed);
        Self { mapping, mapped: Arc::clone(mapped) }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.mapped.bytes.fetch_sub(self.mapping.len() as u64, Ordering::Relaxed);
        self.mapped.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The memory that one program has registered.
#[derive(Debug, Default)]
pub(super) struct Registrations {
    all: HashMap<u32, Arc<Registered>>,
    mapped: Arc<MappedMemory>,
}

impl Registrations {
    /// What is mapped of the program.
    pub(super) const fn mapped(&self) -> &Arc<MappedMemory> {
        &self.mapped
    }

    /// Maps memory of the program. The error says why not.
    pub(super) fn register(
        &mut self,
        number: u32,
        file: OwnedFd,
        limits: RegistrationLimits,
    ) -> Result<(), Errno> {
        if self.all.contains_key(&number) {
            return Err(Errno::Exists);
        }
        let memory = SharedMemory::map(file).map_err(|_| Errno::Invalid)?;
        if !self.mapped.is_within(limits, memory.len() as u64) {
            return Err(Errno::NoMemory);
        }
        // The node needs no descriptor of it.
        let memory = Registered::new(memory.into_mapping(), &self.mapped);
        self.all.insert(number, Arc::new(memory));
        Ok(())
    }

    /// Forgets memory, which stays mapped until no MD has a piece of it, and counts until then.
    pub(super) fn deregister(&mut self, number: u32) -> Result<(), Errno> {
        self.all.remove(&number).map(drop).ok_or(Errno::NotFound)
    }

    /// Where pieces are in this process. [`Errno::Fault`] for what is not registered, [`Errno::Invalid`] for 4 GiB or more.
    fn resolve(&self, pieces: &[Piece]) -> Result<(MdMemory, Vec<Arc<Registered>>), Errno> {
        let mut keepers: Vec<Arc<Registered>> = Vec::new();
        let mut runs = Vec::with_capacity(pieces.len());
        for Piece { registration, offset, len } in pieces {
            let memory = self.all.get(registration).ok_or(Errno::Fault)?;
            let end = offset.checked_add(u64::from(*len)).filter(|end| *end <= memory.mapping.len() as u64);
            end.ok_or(Errno::Fault)?;
            // Inside the mapping, so both fit.
            runs.push(MemRange { address: memory.mapping.address() + *offset as usize, len: *len as usize });
            if !keepers.iter().any(|known| Arc::ptr_eq(known, memory)) {
                keepers.push(Arc::clone(memory));
            }
        }
        Ok((MdMemory::scattered(&runs).ok_or(Errno::Invalid)?, keepers))
    }

    /// The memory of an MD, whose ACKs wait in `acks` for the handlers of the program if it has any.
    pub(super) fn memory_of_md(
        &self,
        memory: &ProgramMemory,
        fetches: &Arc<Fetches>,
        acks: Option<&Arc<DeferredAcks>>,
    ) -> Result<(MdMemory, Arc<MdOfProgram>), Errno> {
        let (resolved, keepers) = match memory {
            ProgramMemory::InPlace(pieces) | ProgramMemory::Copied(pieces) => self.resolve(pieces)?,
            // Nothing is ever at this address: peers only GET.
            ProgramMemory::OnDemand(len) => (MdMemory::contiguous(0, *len), Vec::new()),
        };
        let md = MdOfProgram {
            pid: fetches.pid(),
            is_in_place: matches!(memory, ProgramMemory::InPlace(_)),
            handle: OnceLock::new(),
            fetches: Arc::clone(fetches),
            acks: acks.map(Arc::clone),
            _keepers: keepers,
        };
        Ok((resolved, Arc::new(md)))
    }

    /// The data of a GET, in pieces that the program lends until `lent` is dropped.
    pub(super) fn reply_memory(
        &self,
        pieces: &[Piece],
        fetches: &Arc<Fetches>,
        number: u64,
    ) -> Result<ReplyMemory, Errno> {
        let (memory, keepers) = self.resolve(pieces)?;
        let lent = Lent { number, fetches: Arc::clone(fetches), _keepers: keepers };
        Ok(ReplyMemory { memory, keeper: Arc::new(lent) })
    }
}

/// The memory of an MD of a program, as the core sees it. It keeps the mappings.
pub(super) struct MdOfProgram {
    pid: Pid,
    is_in_place: bool,
    /// Set before the first message finds the MD.
    pub(super) handle: OnceLock<MdHandle>,
    fetches: Arc<Fetches>,
    /// Where the ACKs of PUTs wait, if the program has a handler for their events.
    acks: Option<Arc<DeferredAcks>>,
    _keepers: Vec<Arc<Registered>>,
}

impl ClientMemory for MdOfProgram {
    fn pid(&self) -> Pid {
        self.pid
    }

    fn is_in_place(&self) -> bool {
        self.is_in_place
    }

    fn fetch(&self, offset: u32, len: u32, then: ThenReply) {
        match self.handle.get() {
            Some(md) => self.fetches.begin(*md, offset, len, then),
            None => then(Err(Errno::NotFound)),
        }
    }

    fn acknowledges(&self) -> bool {
        self.acks.is_some()
    }

    fn handle_put(&self, ack: DeferredAck) {
        if let (Some(md), Some(acks)) = (self.handle.get(), &self.acks) {
            acks.ask(*md, ack);
        }
    }
}

impl Debug for MdOfProgram {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("MdOfProgram").field("is_in_place", &self.is_in_place).finish_non_exhaustive()
    }
}

/// Memory that the program lends for a REPLY.
struct Lent {
    number: u64,
    fetches: Arc<Fetches>,
    _keepers: Vec<Arc<Registered>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.fetches.reports.push(self.number, &Report::Returned);
    }
}

/// The GETs of peers that wait for data of the program.
pub(super) struct Fetches {
    reports: Arc<Reports>,
    /// The number of the program.
    client: u64,
    /// The PID of the program on the node.
    pid: AtomicU32,
    next: AtomicU64,
    /// `None` when the attachment has ended.
    waiting: Mutex<Option<HashMap<u64, ThenReply>>>,
}

impl Fetches {
    pub(super) fn new(reports: Arc<Reports>, client: u64, pid: Pid) -> Self {
        let pid = AtomicU32::new(pid.0);
        Self { reports, client, pid, next: AtomicU64::new(1), waiting: Mutex::new(Some(HashMap::new())) }
    }

    /// The PID from which the messages of new MDs come.
    pub(super) fn pid(&self) -> Pid {
        Pid(self.pid.load(Ordering::Relaxed))
    }

    pub(super) fn set_pid(&self, pid: Pid) {
        self.pid.store(pid.0, Ordering::Relaxed);
    }

    fn begin(&self, md: MdHandle, offset: u32, len: u32, then: ThenReply) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut waiting = lock(&self.waiting);
        match &mut *waiting {
            Some(waiting) => _ = waiting.insert(number, then),
            None => {
                drop(waiting);
                return then(Err(Errno::Shutdown));
            }
        }
        drop(waiting);
        stop_point::reach("node: data for a GET wanted");
        let current = number_of_current(self.client);
        self.reports.push(current, &Report::Fetch { request: number, md, offset, len });
    }

    /// The number of GETs that wait for data.
    pub(super) fn waiting(&self) -> u32 {
        let waiting = lock(&self.waiting).as_ref().map_or(0, HashMap::len);
        u32::try_from(waiting).unwrap_or(u32::MAX)
    }

    /// Takes the GET that waits for the data with this number.
    pub(super) fn take(&self, number: u64) -> Option<ThenReply> {
        lock(&self.waiting).as_mut()?.remove(&number)
    }

    /// Ends the wait of all GETs, and of all that come.
    pub(super) fn end(&self) {
        let waiting = lock(&self.waiting).take();
        waiting.into_iter().flatten().for_each(|(_, then)| then(Err(Errno::Shutdown)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::dup;

    #[test]
    fn only_registered_bytes_are_resolved() {
        let memory = SharedMemory::create(c"test", 10_000).unwrap();
        let mut all = Registrations::default();
        let mut register = |number, bytes, count| {
            all.register(number, dup(memory.file()).unwrap(), RegistrationLimits { bytes, count })
        };
        register(7, 10_000, 1).unwrap();
        assert_eq!(register(7, 20_000, 2), Err(Errno::Exists));
        assert_eq!(register(8, 19_999, 2), Err(Errno::NoMemory));
        assert_eq!(register(8, 20_000, 1), Err(Errno::NoMemory));
        for (registration, offset, len, expected) in [
            (7, 0, 10_000, Ok(10_000)),
            (7, 9_999, 1, Ok(1)),
            (7, 10_000, 0, Ok(0)),
            (7, 9_999, 2, Err(Errno::Fault)),
            (7, u64::MAX, 1, Err(Errno::Fault)),
            (7, 0, u32::MAX, Err(Errno::Fault)),
            (8, 0, 1, Err(Errno::Fault)),
        ] {
            let found = all.resolve(&[Piece { registration, offset, len }]).map(|(memory, _)| memory.len());
            assert_eq!(found, expected, "{registration} {offset} {len}");
        }
        let piece = Piece { registration: 7, offset: 0, len: 1 };
        let (_, keepers) = all.resolve(&[piece]).unwrap();
        all.deregister(7).unwrap();
        assert_eq!((all.mapped().bytes(), all.deregister(7)), (10_000, Err(Errno::NotFound)));
        drop(keepers);
        assert_eq!(all.mapped().bytes(), 0);
    }
}

//! One program: its hello, and the loop that reads its operations.

use super::Shared;
use super::operations::Carrier;
use super::reports::Reports;
use super::rings::RingMemory;
use super::status::{Identity, Status};
use lnet_attach::hello::{self, Descriptors, ReadError, Reader, ToNode, ToProgram, VERSION};
use lnet_attach::record::Malformed;
use lnet_core::Errno;
use lnet_log::LogClass;
use lnet_os::descriptor::{new_epoll, new_eventfd, wake};
use lnet_os::peer_cred::PeerCred;
use lnet_os::stop_point;
use lnet_ring::{Consumer, Corrupt, Fill, Producer, Wake, size_in_words};
use lnet_wire::Pid;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::process::{PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The time that a program has for its hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// The most words for records of one ring.
const MAX_RING: usize = 1 << 20;
/// The number of operations after which the thread looks at the socket, and after which it lets the program have the room.
const BATCH: u32 = 64;
/// The number of looks at an empty ring before the thread sleeps, and of those after which it lets other threads run.
const MAX_IDLE_LOOKS: u32 = 2048;
const LOOKS_PER_YIELD: u32 = 16;

/// The events of what the thread waits for.
const WAKE_UP: u64 = 0;
const SOCKET: u64 = 1;
const PROCESS: u64 = 2;

/// The events of which the thread has been told.
struct Ready {
    is_woken: bool,
    /// Whether there is a message, or the end of the connection.
    socket: bool,
    /// Whether the process has ended.
    process: bool,
}

/// A program that is attached.
pub(super) struct Client<'a> {
    carrier: Carrier<'a>,
    stream: UnixStream,
    reader: Reader,
    operations: Consumer<RingMemory>,
    room: OwnedFd,
    /// What the thread waits for: to be woken, the socket, and the process.
    waited_for: OwnedFd,
    /// Becomes readable when the process ends, where the system permits it: a child of `fork` keeps the socket open.
    process: Option<OwnedFd>,
}

/// The reason why an attachment ends.
pub(super) enum End {
    /// The program has closed the socket, or has ended.
    Left,
    /// The server stops.
    Stopping,
    /// The program has broken the rules.
    Violation(String),
}

impl From<Corrupt> for End {
    fn from(corrupt: Corrupt) -> Self {
        Self::Violation(corrupt.to_string())
    }
}

impl From<Malformed> for End {
    fn from(malformed: Malformed) -> Self {
        Self::Violation(malformed.to_string())
    }
}

/// What the thread of a program has from the server.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) shared: &'a Arc<Shared>,
    /// The number of the program.
    pub(super) id: u64,
    /// Wakes the thread.
    pub(super) wake: &'a Arc<OwnedFd>,
    /// Set when the program is admitted.
    pub(super) status: &'a OnceLock<Status>,
}

/// What a program has said of itself.
struct Program {
    name: String,
    pid: Pid,
    operations: usize,
    reports: usize,
}

impl<'a> Client<'a> {
    /// Serves a program until the end of its attachment.
    pub(super) fn run(place: Place<'a>, stream: UnixStream, cred: Option<PeerCred>) {
        let shared = place.shared;
        let user = cred.map_or_else(|| "unknown user".to_owned(), |cred| format!("uid {}", cred.user));
        let process = cred.and_then(|cred| cred.process);
        let mut reader = Reader::default();
        let program = match read_hello(&stream, &mut reader) {
            Ok(program) => program,
            Err(why) => return refuse(shared, &stream, &user, &why),
        };
        let named = match process {
            Some(process) => format!("{} ({}, {user})", program.name, process.as_raw_nonzero()),
            None => format!("{} ({user})", program.name),
        };
        let mut client = match Self::admit(place, stream, reader, program, cred) {
            Ok(client) => client,
            Err((stream, errno)) => return refuse(shared, &stream, &named, errno.text()),
        };
        client.process = process.and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok());
        if let Some(process) = &client.process {
            // Without it the end of the socket is the end.
            _ = epoll::add(&client.waited_for, process, EventData::new_u64(PROCESS), EventFlags::IN);
        }
        shared.log(LogClass::Attached, &named, format_args!("{named}: attached"));
        let end = client.serve();
        client.carrier.end();
        match end {
            End::Left => shared.log(LogClass::Attached, &named, format_args!("{named}: no longer attached")),
            End::Stopping => {}
            End::Violation(why) => {
                shared.log(
                    LogClass::AttachViolation,
                    &named,
                    format_args!("{named}: attachment ended ({why})"),
                );
            }
        }
    }

    fn admit(
        place: Place<'a>,
        stream: UnixStream,
        reader: Reader,
        program: Program,
        cred: Option<PeerCred>,
    ) -> Result<Self, (UnixStream, Errno)> {
        let Place { shared, id, wake, status } = place;
        let process = cred.and_then(|cred| cred.process);
        let process = process.map(|process| process.as_raw_nonzero().get().unsigned_abs());
        let made = || -> Result<_, Errno> {
            let operations = RingMemory::new(c"lnet-operations", program.operations)?;
            let reports = RingMemory::new(c"lnet-reports", program.reports)?;
            let copy = |fd: &OwnedFd| fd.try_clone();
            let [wake_program, wake_reader, room] = [new_eventfd()?, new_eventfd()?, new_eventfd()?];
            let waited_for = new_epoll()?;
            // With its edges the counter need not be read.
            epoll::add(&waited_for, wake, EventData::new_u64(WAKE_UP), EventFlags::IN | EventFlags::ET)
                .map_err(io::Error::from)?;
            epoll::add(&waited_for, &stream, EventData::new_u64(SOCKET), EventFlags::IN)
                .map_err(io::Error::from)?;
            let descriptors = Descriptors {
                operations: operations.file()?,
                reports: reports.file()?,
                wake_node: copy(wake)?,
                wake_program: copy(&wake_program)?,
                wake_reader: copy(&wake_reader)?,
                room: copy(&room)?,
            };
            let fill = |memory: &RingMemory| Fill::new(memory.clone()).map_err(|_| Errno::Invalid);
            let fills = [fill(&operations)?, fill(&reports)?];
            let operations = Consumer::new(operations).map_err(|_| Errno::Invalid)?;
            let reports = Producer::new(reports).map_err(|_| Errno::Invalid)?;
            let max_unread = shared.config.max_unread;
            let wake_ups = [wake_program, wake_reader];
            let reports = Arc::new(Reports::new(reports, wake_ups, Arc::clone(wake), max_unread));
            let pid = shared.pids.assign(program.pid, process);
            let carrier = Carrier::new(shared, id, [program.pid, pid], reports, wake);
            let carrier = carrier.inspect_err(|_| shared.pids.release(pid))?;
            Ok((carrier, operations, room, waited_for, descriptors, fills))
        };
        let (carrier, operations, room, waited_for, descriptors, fills) = match made() {
            Ok(made) => made,
            Err(errno) => return Err((stream, errno)),
        };
        let identity = Identity { name: program.name, process, user: cred.map(|cred| cred.user) };
        // Before the program knows that it is admitted.
        _ = status.set(carrier.status(identity, fills));
        let welcome = ToProgram::Welcome { pid: carrier.pid, node: shared.node.name().to_string() };
        let client = Self { carrier, stream, reader, operations, room, waited_for, process: None };
        let welcomed = hello::send(&client.stream, 0, &welcome, &descriptors.all());
        match welcomed.and_then(|()| client.stream.set_nonblocking(true)) {
            Ok(()) => Ok(client),
            Err(error) => {
                client.carrier.end();
                Err((client.stream, Errno::from(&error)))
            }
        }
    }

    /// Carries out operations until the end.
    fn serve(&mut self) -> End {
        let mut body = Vec::new();
        let mut idle_looks = 0;
        loop {
            let worked = match self.work_off(&mut body) {
                Ok(worked) => worked,
                Err(end) => return end,
            };
            if (1..BATCH).contains(&worked) {
                idle_looks = 0;
                continue;
            }
            if worked == 0 && idle_looks < MAX_IDLE_LOOKS {
                stop_point::reach("node: no operation");
                idle_looks += 1;
                if idle_looks.is_multiple_of(LOOKS_PER_YIELD) {
                    std::thread::yield_now();
                }
                continue;
            }
            // The socket is looked at after each sleep, and after a full batch.
            if let Err(end) = self.look_elsewhere(worked == 0) {
                return end;
            }
            idle_looks = 0;
        }
    }

    /// Carries out the requests that have waited, and the operations that are in the ring, at most a batch. Returns the number of the latter.
    fn work_off(&mut self, body: &mut Vec<u64>) -> Result<u32, End> {
        if self.carrier.held.is_any() {
            self.carrier.take_held();
        }
        let mut worked = 0;
        while worked < BATCH && !self.carrier.held.is_full() {
            if !self.operations.has_record()? {
                break;
            }
            self.carrier.take_record(&mut self.operations, body)?;
            worked += 1;
        }
        if worked > 0 && self.operations.release() == Wake::Needed {
            self.carrier.counts.room_wakeups.increment();
            wake(&self.room);
        }
        Ok(worked)
    }

    /// Looks at everything but the ring: the socket, the end of the process and of the server. With `sleeps` waits until there is something,
    /// or an operation.
    fn look_elsewhere(&mut self, sleeps: bool) -> Result<(), End> {
        let mut ready = None;
        if sleeps && self.carrier.held.may_sleep() {
            let is_empty = if self.carrier.held.is_full() { Ok(true) } else { self.operations.begin_sleep() };
            match is_empty {
                Ok(true) => {
                    stop_point::reach("node: sleeps");
                    let woken = self.wait(None);
                    if woken.is_woken {
                        self.carrier.counts.wakeups.increment();
                    }
                    ready = Some(woken);
                }
                Ok(false) => {}
                Err(corrupt) => return Err(corrupt.into()),
            }
            self.operations.end_sleep();
        }
        if self.carrier.shared.is_stopping.load(Ordering::SeqCst) {
            return Err(End::Stopping);
        }
        if let Some(why) = self.carrier.reports.failure() {
            return Err(End::Violation(why));
        }
        self.carrier.reports.flush();
        let Ready { socket, process, .. } = ready.unwrap_or_else(|| self.wait(Some(&Timespec::default())));
        if process {
            return Err(End::Left);
        }
        if socket { self.read_messages() } else { Ok(()) }
    }

    /// Carries out the messages that are in the socket.
    fn read_messages(&mut self) -> Result<(), End> {
        loop {
            match self.reader.read(&self.stream) {
                Ok((number, ToNode::Register { registration }, descriptors)) => {
                    self.carrier.register(number, registration, descriptors);
                }
                Ok((_, ToNode::Hello { .. }, _)) => return Err(End::Violation("a second hello".to_owned())),
                Err(ReadError::System(error)) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(ReadError::End | ReadError::System(_)) => return Err(End::Left),
                Err(error) => return Err(End::Violation(error.to_string())),
            }
        }
    }

    /// Waits until something is ready, or the time is over.
    fn wait(&self, timeout: Option<&Timespec>) -> Ready {
        let mut events = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 3];
        // After an error, such as EINTR, nothing is: the thread looks again.
        let count = epoll::wait(&self.waited_for, &mut events, timeout).unwrap_or(0);
        let has = |what| events.iter().take(count).any(|event| event.data.u64() == what);
        Ready { is_woken: has(WAKE_UP), socket: has(SOCKET), process: has(PROCESS) }
    }
}

/// Tells a program that it is not admitted.
pub(super) fn refuse(shared: &Shared, stream: &UnixStream, program: &str, why: &str) {
    shared.refused.fetch_add(1, Ordering::Relaxed);
    shared.log(LogClass::AttachRefused, program, format_args!("{program}: not attached ({why})"));
    // It may have gone.
    _ = hello::send(stream, 0, &ToProgram::Refused { errno: Errno::NetworkDown, why: why.to_owned() }, &[]);
}

/// The error is for the program.
fn read_hello(stream: &UnixStream, reader: &mut Reader) -> Result<Program, String> {
    stream.set_read_timeout(Some(HELLO_TIMEOUT)).map_err(|error| error.to_string())?;
    let (_, message, _) = reader.read(stream).map_err(|error| error.to_string())?;
    let ToNode::Hello { version, operations, reports, pid, program } = message else {
        return Err("it has not sent a hello".to_owned());
    };
    if version != VERSION {
        return Err(format!("it has version {version} of the attachment, this node {VERSION}"));
    }
    let capacity = |words: u64| {
        let words = usize::try_from(words).ok().filter(|words| *words <= MAX_RING)?;
        size_in_words(words).map(|_| words)
    };
    match (capacity(operations), capacity(reports)) {
        (Some(operations), Some(reports)) => {
            Ok(Program { name: printable(&program), pid, operations, reports })
        }
        _ => Err(format!("rings of {operations} and {reports} words are not possible")),
    }
}

/// The name of a program for the log, and between quotes in YAML: what it says may be anything.
fn printable(name: &str) -> String {
    const MAX: usize = 32;
    name.chars().filter(|char| char.is_ascii_graphic() && !['"', '\\'].contains(char)).take(MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_cannot_end_a_line_or_a_quoted_text() {
        for (name, expected) in
            [("m0d", "m0d"), ("a\nLNet: b\"\\\u{1b}[0m", "aLNet:b[0m"), (&"x".repeat(99), &"x".repeat(32))]
        {
            assert_eq!(printable(name), expected, "{name:?}");
        }
    }
}

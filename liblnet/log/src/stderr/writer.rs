//! The thread that writes to standard error, or to the journal.
//!
//! Only a separate thread may wait for standard error. The system does not tell beforehand whether a write waits: not
//! for terminals and files, and for pipes only if no other process writes to them. O_NONBLOCK would apply to all processes
//! that share the terminal or the pipe, and would break the program's output.

use super::backlog::{Backlog, Cause, Next, QueuedLine, WRITE_TIMEOUT};
use super::output::Output;
use arc_swap::ArcSwapOption;
use lnet_os::thread::JoinHandle;
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// Interval at which a thread that ends the process tries a lock that it may hold itself.
const LOCK_INTERVAL: Duration = Duration::from_millis(1);
/// Stack size of the thread in bytes.
const STACK: usize = 128 * 1024;

/// Writes lines to standard error, or to the journal.
pub(super) struct Writer {
    /// Makes the bytes of an entry.
    bytes_of: fn(QueuedLine) -> Vec<u8>,
    output: Output,
    /// State shared with the writing thread. A child of `fork` makes another: it has no threads, and a lock may be held
    /// for ever.
    shared: ArcSwapOption<Shared>,
}

struct Shared {
    process: u32,
    epoch: Instant,
    state: Mutex<WriterState>,
    /// Signalled when there are entries to be written, or the thread is to end.
    more: Condvar,
    /// Makes the bytes of an entry.
    bytes_of: fn(QueuedLine) -> Vec<u8>,
    output: Output,
    /// The socket to the journal.
    socket: OnceLock<UnixDatagram>,
}

#[derive(Default)]
struct WriterState {
    backlog: Backlog,
    thread: Option<JoinHandle<()>>,
    /// Number of threads that were told to end. A thread that has started with another number ends.
    ended: u64,
}

impl Writer {
    /// Makes a writer, whose thread begins with the first line. `bytes_of` makes the bytes of an entry.
    pub(super) const fn new(bytes_of: fn(QueuedLine) -> Vec<u8>, output: Output) -> Self {
        Self { bytes_of, output, shared: ArcSwapOption::const_empty() }
    }

    /// Queues a line, which is lost if none are taken. Never waits.
    pub(super) fn write(&self, line: Vec<u8>) {
        let shared = self.shared();
        let mut state = lock(&shared.state);
        shared.start(&mut state);
        state.backlog.add(shared.now(), line);
        drop(state);
        shared.more.notify_one();
    }

    /// Waits until all lines are written; at most until standard error has taken nothing for [`WRITE_TIMEOUT`].
    pub(super) fn flush(&self) {
        if let Some(shared) = self.own() {
            shared.flush();
        }
    }

    /// Waits as [`Writer::flush`] does, and ends the thread if nothing is left to write. The next line starts another.
    pub(super) fn close(&self) {
        let Some(shared) = self.own() else { return };
        shared.flush();
        let mut state = lock(&shared.state);
        if !state.backlog.is_empty() {
            return;
        }
        state.ended += 1;
        let thread = state.thread.take();
        drop(state);
        shared.more.notify_all();
        if let Some(thread) = thread {
            thread.join();
        }
    }

    /// The shared state of this process, if it has logged a line.
    fn own(&self) -> Option<Arc<Shared>> {
        self.shared.load_full().filter(|shared| shared.process == std::process::id())
    }

    fn shared(&self) -> Arc<Shared> {
        let process = std::process::id();
        let found = self.shared.load();
        if let Some(shared) = found.as_ref().filter(|shared| shared.process == process) {
            return Arc::clone(shared);
        }
        let new = Arc::new(Shared {
            process,
            epoch: Instant::now(),
            state: Mutex::default(),
            more: Condvar::new(),
            bytes_of: self.bytes_of,
            output: self.output,
            socket: OnceLock::new(),
        });
        self.shared.compare_and_swap(&*found, Some(Arc::clone(&new)));
        // Another thread may have created it first.
        self.shared.load_full().unwrap_or(new)
    }
}

impl Shared {
    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// Starts the thread, unless it runs. If the system has none, lines wait for the next try, or for the end of the process.
    fn start(self: &Arc<Self>, state: &mut WriterState) {
        if state.thread.is_none() {
            let (shared, ended) = (Arc::clone(self), state.ended);
            let thread = Builder::new().name("lnet_log".to_owned()).stack_size(STACK);
            state.thread = lnet_os::thread::spawn(thread, move || shared.run(ended)).ok();
        }
    }

    fn flush(&self) {
        // Time limit of all writes together: lines are written one after the other.
        let deadline = self.now() + 4 * WRITE_TIMEOUT;
        while self.now() < deadline {
            let Some(mut state) = self.try_lock(deadline) else { return };
            if state.backlog.is_settled(self.now()) {
                return;
            }
            if state.thread.is_none() {
                return self.write_what_is_taken(&mut state.backlog);
            }
            drop(state);
            thread::sleep(LOCK_INTERVAL);
        }
    }

    fn run(&self, ended: u64) {
        let mut torn = false;
        let mut state = lock(&self.state);
        while state.ended == ended {
            match state.backlog.next(self.now()) {
                Next::Wait(None) => {
                    state = self.more.wait(state).unwrap_or_else(|poison| poison.into_inner());
                }
                Next::Wait(Some(time)) => {
                    let waited = self.more.wait_timeout(state, time);
                    state = waited.unwrap_or_else(|poison| poison.into_inner()).0;
                }
                Next::Write(entry) => {
                    drop(state);
                    let lines = entry.lines();
                    let result = self.output.write(&self.socket, &self.bytes_of(entry, torn));
                    torn = result.is_err_and(|failed| failed.written > 0);
                    state = lock(&self.state);
                    state.backlog.written(
                        self.now(),
                        lines,
                        result.map_err(|failed| Cause::Failed(failed.errno)),
                    );
                }
            }
        }
    }

    /// Returns the bytes of an entry, on a new line if only a part of the last one was written (`torn`).
    fn bytes_of(&self, entry: QueuedLine, torn: bool) -> Vec<u8> {
        let mut bytes = (self.bytes_of)(entry);
        if torn {
            bytes.insert(0, b'\n');
        }
        bytes
    }

    /// Writes the entries that are taken at once, on the calling thread.
    fn write_what_is_taken(&self, backlog: &mut Backlog) {
        while let Next::Write(entry) = backlog.next(self.now()) {
            let lines = entry.lines();
            let result = match self.output.takes_a_line() {
                true => self
                    .output
                    .write(&self.socket, &self.bytes_of(entry, false))
                    .map_err(|failed| Cause::Failed(failed.errno)),
                false => Err(Cause::Blocked),
            };
            backlog.written(self.now(), lines, result);
        }
    }

    /// Takes the lock, unless it is held until `deadline`: a signal handler that ends the process may have interrupted the
    /// holder.
    fn try_lock(&self, deadline: Duration) -> Option<MutexGuard<'_, WriterState>> {
        loop {
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(poison)) => return Some(poison.into_inner()),
                Err(TryLockError::WouldBlock) if self.now() >= deadline => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_INTERVAL),
            }
        }
    }
}

fn lock(state: &Mutex<WriterState>) -> MutexGuard<'_, WriterState> {
    state.lock().unwrap_or_else(|poison| poison.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_os::descriptor::bind_unix_datagram;

    fn bytes_of(entry: QueuedLine) -> Vec<u8> {
        match entry {
            QueuedLine::Line(bytes) => bytes,
            QueuedLine::Lost { lines, .. } => format!("{lines} lost").into_bytes(),
        }
    }

    /// Fails if an entry is not one datagram, or does not reach a journal that has been started anew.
    #[test]
    fn the_journal_gets_each_entry_in_a_datagram_after_a_restart_too() {
        let path = std::env::temp_dir().join(format!("lnet-log-journal-{}", std::process::id()));
        let writer = Writer::new(bytes_of, Output::Journal(path.to_str().unwrap().to_owned().leak()));
        for _ in 0..2 {
            let journal = bind_unix_datagram(&path).unwrap();
            for entry in [&b"MESSAGE=one\nPRIORITY=6\n"[..], b"MESSAGE=two\n"] {
                writer.write(entry.to_vec());
                let mut buffer = [0; 256];
                let length = journal.recv(&mut buffer).unwrap();
                assert_eq!(&buffer[..length], entry);
            }
            drop(journal);
            std::fs::remove_file(&path).unwrap();
        }
        // Without a journal lines are lost, and their writer goes on.
        writer.write(b"MESSAGE=three\n".to_vec());
        writer.close();
    }
}

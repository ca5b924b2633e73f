//! Threads of the libraries.

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use std::cell::Cell;
use std::io;
use std::process::id;
use std::thread::Builder;

/// Signals of a thread's own faults. They are not blocked: the program's handler reports them, and a blocked one
/// would end the process without it.
const FAULTS: [Signal; 7] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGTRAP,
    Signal::SIGSYS,
    Signal::SIGABRT,
];

thread_local! {
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread was started by [`spawn`], and so is not one of the program's.
pub fn is_own() -> bool {
    IS_OWN.get()
}

/// Handle of a thread of this process, or of its parent before a `fork`.
#[derive(Debug)]
pub struct JoinHandle<T> {
    handle: std::thread::JoinHandle<T>,
    process: u32,
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread. Returns the result of its work, `None` after a panic. `None` at once in a child of
    /// `fork`, which does not have the thread and would wait for ever.
    pub fn join(self) -> Option<T> {
        (self.process == id()).then(|| self.handle.join().ok()).flatten()
    }

    /// Whether the thread has ended, or is not in this process.
    pub fn is_finished(&self) -> bool {
        self.process != id() || self.handle.is_finished()
    }

    /// The standard library's handle, with the thread's name and `unpark`.
    pub fn thread(&self) -> &std::thread::Thread {
        self.handle.thread()
    }
}

/// Starts a thread with all signals blocked except those of its own faults: the program's handlers run on the program's
/// threads, and interrupt no system call of this one. Functions of the program that such a thread calls, such as event
/// handlers, have the signals blocked, too. `Err` where the system has no thread left.
pub fn spawn<T: Send + 'static>(
    thread: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let mut blocked = SigSet::all();
    FAULTS.into_iter().for_each(|signal| blocked.remove(signal));
    // A thread inherits the mask of its creator; if the new thread blocked the signals itself, one could come before.
    let before = blocked.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let started = thread.spawn(move || {
        IS_OWN.set(true);
        work()
    });
    before.thread_set_mask()?;
    Ok(JoinHandle { handle: started?, process: id() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_blocks_all_signals_but_those_of_its_faults_and_its_starter_none() {
        let before = SigSet::thread_get_mask().unwrap();
        let work = || (is_own(), SigSet::thread_get_mask().unwrap());
        let (own, mask) = spawn(Builder::new(), work).unwrap().join().unwrap();
        assert!(own && !is_own());
        for signal in Signal::iterator().filter(|it| !matches!(it, Signal::SIGKILL | Signal::SIGSTOP)) {
            assert_eq!(mask.contains(signal), !FAULTS.contains(&signal), "{signal}");
        }
        assert_eq!(SigSet::thread_get_mask().unwrap(), before);
    }
}

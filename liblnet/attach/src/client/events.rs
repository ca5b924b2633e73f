//! The threads that read the reports, and that run the handlers of the program.

use super::{AttachedNode, PendingTask, Reports, Task};
use lnd_common::deliverers::Role;
use lnd_common::driver_threads::Threads;
use lnd_common::event_wait;
use lnd_common::outputs::{OutputQueue, PassOutputs};
use lnd_common::sync::{lock, try_lock};
use lnet_core::event::{EventQueue, in_handler};
use lnet_core::lnd::Progress;
use lnet_core::{EqHandle, Errno, Polled};
use lnet_os::descriptor::{new_epoll, wake};
use lnet_os::stop_point;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The events of the set that the owner waits for.
const WAKE_UP: u64 = 0;
const NODE_GONE: u64 = 1;

thread_local! {
    /// The attachment whose reports this thread reads when nobody else does, as its address, and the number of the thread.
    static OWNED: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
}

/// A task is what a report leaves to do. The owner reads the reports when nobody else does.
impl PassOutputs for AttachedNode {
    type Output = PendingTask;
    const OWNER: &'static str = "lnet_program_";
    const WATCH: &'static str = "lnet_prog_watch";

    fn outputs(&self) -> &OutputQueue<PendingTask> {
        &self.tasks
    }

    fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Makes the calling thread the owner, until another becomes it or the attachment ends.
    fn run_owner(&self) {
        let number = self.owner.fetch_add(1, Ordering::SeqCst) + 1;
        OWNED.set((std::ptr::from_ref(self).addr(), number));
        while self.is_owner() && !self.has_ended.load(Ordering::SeqCst) {
            let mut reports = lock(&self.reports);
            self.disarm(&mut reports);
            self.read(&mut reports);
            let is_armed = self.arm(&mut reports);
            drop(reports);
            self.pass_outputs(Role::Owner);
            if is_armed {
                stop_point::reach("program: sleeps");
                if !self.wait(None) {
                    self.end();
                }
            }
        }
        // The thread has been replaced just when its handler returned, and may have taken the wake-up of the owner.
        if !self.is_owner() {
            self.wake_owner();
        }
    }

    fn wake_owner(&self) {
        wake(&self.wake_program);
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    fn pass(&self, PendingTask(task): PendingTask) {
        self.carry_out(task);
    }
}

impl AttachedNode {
    /// Whether the calling thread is the owner.
    pub(super) fn is_owner(&self) -> bool {
        OWNED.get() == (std::ptr::from_ref(self).addr(), self.owner.load(Ordering::SeqCst))
    }

    /// Waits until there may be reports or tasks, or the time is over. `false` if the node has gone.
    pub(super) fn wait(&self, timeout: Option<&Timespec>) -> bool {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 2];
        // An error, such as EINTR, is as good as an event: the caller looks again.
        let count = epoll::wait(&self.waited_for, &mut events, timeout).unwrap_or(0);
        !events.iter().take(count).any(|event| event.data.u64() == NODE_GONE)
    }

    /// What the owner waits for. A set of epoll, as `poll` needs a limit of descriptors that the program may have lowered.
    pub(super) fn set_to_wait_for(wake_program: &OwnedFd, stream: &UnixStream) -> io::Result<OwnedFd> {
        let set = new_epoll()?;
        // With its edges the counter need not be read.
        epoll::add(&set, wake_program, EventData::new_u64(WAKE_UP), EventFlags::IN | EventFlags::ET)?;
        epoll::add(&set, stream, EventData::new_u64(NODE_GONE), EventFlags::RDHUP)?;
        Ok(set)
    }

    /// Makes the set of descriptors of a thread that reads the reports because it waits for an event.
    pub(super) fn set_of_reader(wake_reader: &OwnedFd) -> io::Result<OwnedFd> {
        let set = new_epoll()?;
        epoll::add(&set, wake_reader, EventData::new_u64(WAKE_UP), EventFlags::IN | EventFlags::ET)?;
        Ok(set)
    }

    /// Waits until the node has closed the connection.
    pub(super) fn wait_for_end(&self, timeout: &Timespec) {
        let mut fds = [PollFd::new(&self.stream, PollFlags::RDHUP)];
        while poll(&mut fds, Some(timeout)) == Err(rustix::io::Errno::INTR) {}
    }

    /// Ends the attachment, whose node is gone: whatever waits ends with [`Errno::NetworkDown`].
    fn end(&self) {
        // A thread that sleeps as reader has them locked.
        wake(&self.wake_reader);
        // What the node has told before its end counts.
        self.read(&mut lock(&self.reports));
        self.has_ended.store(true, Ordering::SeqCst);
        self.end_calls();
        if !self.is_ending.load(Ordering::SeqCst) {
            for md in self.take_mds() {
                let lost =
                    Self::lost(&md).and_then(|mut event| self.happened(&md, &mut event).then_some(event));
                self.tasks.extend(lost.map(|first| PendingTask(Task::Deliver(md, first))));
            }
        }
        if self.is_ending.load(Ordering::SeqCst) {
            // The MDs end without events.
            self.tasks.clear();
        }
        self.end_queues();
        self.pass_outputs(Role::Owner);
        self.tasks.watch.wake();
    }

    /// Does a task. Handlers of the program may run here.
    pub(super) fn carry_out(&self, task: Task) {
        match task {
            Task::Deliver(md, event) => self.deliver(&md, event),
            Task::Fetch(fetch) => self.fetch(fetch),
            Task::NoteHandled(request) => self.note_handled(request),
        }
    }

    pub(super) fn end_queues(&self) {
        lock(&self.queues).all().for_each(|queue| queue.end(Errno::NetworkDown));
    }

    /// Waits for an event on any of `eqs`: `LNetEQPoll`, as a node of this process does it.
    pub fn eq_poll(
        &self,
        eqs: &[EqHandle],
        timeout: Option<Duration>,
    ) -> Result<Option<(usize, Polled)>, Errno> {
        if let [eq] = eqs {
            return Ok(self.eq_wait(*eq, timeout)?.map(|polled| (0, polled)));
        }
        check_wait(timeout)?;
        match eqs {
            [] => Err(Errno::NotFound),
            _ => {
                let queues = eqs.iter().map(|eq| self.queue(*eq)).collect::<Result<Vec<_>, _>>()?;
                self.wait_for_event(&queues, timeout)
            }
        }
    }

    /// Does the same for one queue: `LNetEQWait`.
    pub fn eq_wait(&self, eq: EqHandle, timeout: Option<Duration>) -> Result<Option<Polled>, Errno> {
        check_wait(timeout)?;
        match self.eq_get(eq) {
            // Without a list on the heap. While there are events nothing is to be read.
            Ok(None) => {
                let found = self.wait_for_event(&[self.queue(eq)?], timeout)?;
                Ok(found.map(|(_, polled)| polled))
            }
            found => found,
        }
    }

    fn wait_for_event(
        &self,
        queues: &[Arc<EventQueue>],
        timeout: Option<Duration>,
    ) -> Result<Option<(usize, Polled)>, Errno> {
        let has_read = Cell::new(false);
        let progress = |timeout| {
            has_read.set(true);
            self.progress(timeout)
        };
        let read = |at: usize, polled: &Polled| (at, *polled);
        let found = event_wait::look(queues, read)
            .or_else(|| event_wait::wait(queues, timeout, &self.spin, progress, read));
        // Somebody else reads the reports from now on.
        if has_read.get()
            && let Some(reports) = try_lock(&self.reports)
        {
            self.leave(reports);
        }
        found.transpose()
    }

    /// Reads the reports, for a thread that waits for an event, and sleeps until there is one or the time is over.
    fn progress(&self, timeout: Duration) -> Progress {
        let Some(mut reports) = try_lock(&self.reports) else { return Progress::NotOffered };
        if in_handler() || self.has_ended.load(Ordering::SeqCst) {
            self.leave(reports);
            return Progress::NotOffered;
        }
        self.disarm(&mut reports);
        let mut worked = self.read(&mut reports);
        if !worked {
            stop_point::reach("program: no report");
        }
        if !worked && !timeout.is_zero() {
            worked = self.sleep_as_reader(&mut reports, timeout);
        }
        match timeout.is_zero() {
            true => drop(reports),
            // The thread may sleep elsewhere from now on.
            false => self.leave(reports),
        }
        self.pass_outputs(Role::Application);
        if worked { Progress::Worked } else { Progress::Idle }
    }

    /// Waits until there are reports or the time is over, while the owner sleeps on. Returns whether there was one.
    fn sleep_as_reader(&self, reports: &mut Reports, timeout: Duration) -> bool {
        if reports.consumer.begin_sleep_of_second() == Ok(true) {
            let timeout = Timespec {
                tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: timeout.subsec_nanos().into(),
            };
            let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
            // An error, such as EINTR, is as good as an event: the caller looks again.
            _ = epoll::wait(&self.reader_waits_for, &mut events, Some(&timeout));
        }
        reports.consumer.end_sleep();
        self.read(reports)
    }

    /// Removes an event of a queue: `LNetEQGet`.
    #[inline]
    pub fn eq_get(&self, eq: EqHandle) -> Result<Option<Polled>, Errno> {
        // Here nothing waits, and neither does who has the lock of the queue.
        lock(&self.queues).find(eq)?.get()
    }

    /// Waits until handlers have returned, unless the calling thread is in one.
    pub(super) fn wait_for_handlers(&self) {
        self.tasks.deliverers.wait_for_others(std::thread::current().id());
    }
}

/// [`Errno::Busy`] in an event handler, unless nothing waits: the awaited event might have to wait for the handler.
#[inline(always)]
fn check_wait(timeout: Option<Duration>) -> Result<(), Errno> {
    if in_handler() && timeout != Some(Duration::ZERO) { Err(Errno::Busy) } else { Ok(()) }
}

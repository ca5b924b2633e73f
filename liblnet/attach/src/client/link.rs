//! Operations on their way to the node, and reports on their way back.

use super::descriptor::ProgramMd;
use super::memory::Fetch;
use super::{AttachedNode, Latest, PendingTask, Reports, Task};
use crate::hello::{self, ToNode};
use crate::record::{
    Answer, EVENT, EVENT_WORDS, Malformed, Message, Operation, PUT, PUT_WORDS, PlainPut, Report, decode_event,
};
use lnd_common::outputs::PassOutputs;
use lnd_common::sync::{lock, try_lock};
use lnet_core::{Errno, Event, EventKind, MdHandle};
use lnet_os::descriptor::wake;
use lnet_os::shared_memory::SharedMemory;
use lnet_os::stop_point;
use lnet_ring::{Corrupt, Producer, PushError, Wake};
use lnet_wire::{Nid, Pid};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};

/// The number of looks at the reports before a thread that waits for a result sleeps, and of those after which it lets others run.
const MAX_LOOKS: u32 = 512;
const LOOKS_PER_YIELD: u32 = 16;
/// The time after which a thread that waits for room in the ring looks again, as the node may have ended.
const ROOM_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The time after which the owner looks again whether it still is the owner: another thread may have become it because a handler keeps this
/// one, and have read the result.
const OWNER_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// The writing side of the operations.
#[derive(Debug)]
pub(super) struct Sender {
    producer: Producer<SharedMemory>,
    body: Vec<u64>,
    /// Wakes a thread that waits for room.
    room: OwnedFd,
    pub(super) latest: Option<LatestPut>,
}

/// The last PUT for which there was no reason to fail at once.
#[derive(Debug)]
pub(super) struct LatestPut {
    pub(super) md: MdHandle,
    /// The same. What it keeps is not kept for longer.
    pub(super) its: Weak<ProgramMd>,
    /// The eight-byte form of the target's NID.
    pub(super) nid: u64,
    /// The program's own PID, if the NID is that of the loopback: to itself the program sends in another way.
    pub(super) own: Option<Pid>,
    /// The number of failures before it was known that messages leave for the NID.
    pub(super) failures: u64,
}

/// An operation whose result a thread waits for.
#[derive(Debug, Default)]
pub(super) struct Call {
    result: Mutex<CallResult>,
    done: Condvar,
    /// The MD that the operation makes: it has its handle before its first event comes.
    md: Option<Arc<ProgramMd>>,
    /// What comes of the operation before its result. The thread that waits for that does it.
    tasks: Mutex<Vec<Task>>,
}

/// The result of a [`Call`], once it is there.
#[derive(Debug, Default)]
struct CallResult {
    is: Option<Result<Answer, Errno>>,
    /// Whether a thread sleeps until then.
    is_waited_for: bool,
}

impl Call {
    fn take(&self) -> Option<Result<Answer, Errno>> {
        lock(&self.result).is.take()
    }

    fn has_ended(&self) -> bool {
        lock(&self.result).is.is_some()
    }

    fn wait(&self) -> Result<Answer, Errno> {
        let mut result = lock(&self.result);
        loop {
            if let Some(result) = result.is.take() {
                return result;
            }
            result.is_waited_for = true;
            result = self.done.wait(result).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn end(&self, with: Result<Answer, Errno>) {
        let mut result = lock(&self.result);
        result.is.get_or_insert(with);
        // A wake-up costs a system call even if no thread waits.
        if result.is_waited_for {
            self.done.notify_all();
        }
    }
}

impl Sender {
    pub(super) const fn new(producer: Producer<SharedMemory>, room: OwnedFd) -> Self {
        Self { producer, body: Vec::new(), room, latest: None }
    }
}

impl AttachedNode {
    /// Lets the node carry out an operation, and waits for the result. [`Errno::NetworkDown`] if the attachment has ended.
    pub(super) fn call(&self, operation: &Operation) -> Result<Answer, Errno> {
        self.call_with(operation, None, || ())
    }

    /// The same for an operation that makes an MD. Calls `made` when the MD has its handle, before any event.
    pub(super) fn call_for_md(
        &self,
        operation: &Operation,
        md: &Arc<ProgramMd>,
        made: impl FnOnce(),
    ) -> Result<Answer, Errno> {
        self.call_with(operation, Some(Arc::clone(md)), made)
    }

    fn call_with(
        &self,
        operation: &Operation,
        md: Option<Arc<ProgramMd>>,
        made: impl FnOnce(),
    ) -> Result<Answer, Errno> {
        let (number, call) = self.new_call(md)?;
        match self.send(number, operation) {
            Ok(()) => self.result_of(&call, made),
            Err(errno) => {
                lock(&self.calls).remove(&number);
                Err(errno)
            }
        }
    }

    /// Registers memory with the node, and waits for the result.
    pub(super) fn register(&self, registration: u32, file: BorrowedFd<'_>) -> Result<(), Errno> {
        let (number, call) = self.new_call(None)?;
        let message = ToNode::Register { registration };
        if let Err(error) = hello::send(&self.stream, number, &message, &[file]) {
            lock(&self.calls).remove(&number);
            let is_gone = matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
            return Err(if is_gone { Errno::NetworkDown } else { Errno::from(&error) });
        }
        wake(&self.wake_node);
        self.result_of(&call, || ()).map(|_| ())
    }

    fn new_call(&self, md: Option<Arc<ProgramMd>>) -> Result<(u64, Arc<Call>), Errno> {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let call = Arc::new(Call { md, ..Call::default() });
        lock(&self.calls).insert(number, Arc::clone(&call));
        // The end of the attachment ends the calls that are there by then.
        if self.has_ended.load(Ordering::SeqCst) {
            lock(&self.calls).remove(&number);
            return Err(Errno::NetworkDown);
        }
        Ok((number, call))
    }

    /// Puts an operation into the ring; waits while that is full.
    pub(super) fn send(&self, number: u64, operation: &Operation) -> Result<(), Errno> {
        self.send_anywhere(&mut lock(&self.sender), number, operation)
    }

    fn send_anywhere(&self, sender: &mut Sender, number: u64, operation: &Operation) -> Result<(), Errno> {
        let Sender { producer, body, room, .. } = sender;
        let kind = operation.encode(number, body);
        loop {
            match producer.push_words(kind, body) {
                Ok(()) => break,
                Err(PushError::Full) => {
                    let waits = producer.begin_wait(size_of_val(&body[..]));
                    if waits == Ok(true) {
                        wait_for(room, &ROOM_TIMEOUT);
                    }
                    producer.end_wait();
                    if self.has_ended.load(Ordering::SeqCst) || waits.is_err() {
                        return Err(Errno::NetworkDown);
                    }
                }
                Err(PushError::TooLong(_)) => return Err(Errno::Invalid),
                Err(PushError::Corrupt(_)) => return Err(Errno::NetworkDown),
            }
        }
        self.publish(producer);
        Ok(())
    }

    /// Puts a PUT that nobody waits for into the ring; waits while that is full.
    #[inline(always)]
    pub(super) fn send_put(
        &self,
        sender: &mut Sender,
        body: [u64; PUT_WORDS],
        put: &PlainPut,
    ) -> Result<(), Errno> {
        if sender.producer.push_array(PUT, body) {
            self.publish(&mut sender.producer);
            return Ok(());
        }
        self.send_anywhere(sender, 0, &Operation::from(*put))
    }

    #[inline(always)]
    fn publish(&self, producer: &mut Producer<SharedMemory>) {
        stop_point::reach("program: operation written");
        if producer.publish() == Wake::Needed {
            wake(&self.wake_node);
        }
        stop_point::reach("program: operation sent");
    }

    /// Waits for the result of an operation: reads the reports for a while, unless another thread does, and then sleeps.
    fn result_of(&self, call: &Call, made: impl FnOnce()) -> Result<Answer, Errno> {
        let result = self.wait_for_result(call);
        if result.is_ok() {
            made();
        }
        let tasks = std::mem::take(&mut *lock(&call.tasks));
        tasks.into_iter().for_each(|task| self.carry_out(task));
        result
    }

    fn wait_for_result(&self, call: &Call) -> Result<Answer, Errno> {
        if let Some(mut reports) = try_lock(&self.reports) {
            for look in 1..=MAX_LOOKS {
                self.disarm(&mut reports);
                self.read(&mut reports);
                if call.has_ended() {
                    break;
                }
                if look.is_multiple_of(LOOKS_PER_YIELD) {
                    std::thread::yield_now();
                }
            }
            self.leave(reports);
        }
        call.take().unwrap_or_else(|| self.sleep_until_done(call))
    }

    /// Waits for the result without spinning. The owner goes on to read the reports: nobody else may do it.
    fn sleep_until_done(&self, call: &Call) -> Result<Answer, Errno> {
        if !self.is_owner() {
            return call.wait();
        }
        while self.is_owner() {
            let mut reports = lock(&self.reports);
            self.disarm(&mut reports);
            self.read(&mut reports);
            let is_armed = self.arm(&mut reports);
            drop(reports);
            if let Some(result) = call.take() {
                // There are more reports, and the loop of this thread may have looked before: it looks again.
                if !is_armed {
                    self.wake_owner();
                }
                return result;
            }
            if is_armed && !self.wait(Some(&OWNER_TIMEOUT)) {
                // The result may have come before the end.
                self.read(&mut lock(&self.reports));
                return call.take().unwrap_or(Err(Errno::NetworkDown));
            }
        }
        // The thread has been replaced, and may have taken the wake-up of the owner.
        self.wake_owner();
        call.wait()
    }

    /// Lets the node write reports without waking anybody: the caller reads them, and calls [`AttachedNode::leave`] afterwards.
    pub(super) fn disarm(&self, reports: &mut Reports) {
        if reports.is_armed {
            reports.is_armed = false;
            reports.consumer.end_sleep();
        }
    }

    /// Ends the reading by a thread: the node wakes the library's own thread from now on.
    pub(super) fn leave(&self, mut reports: std::sync::MutexGuard<'_, Reports>) {
        while !self.arm(&mut reports) {
            self.read(&mut reports);
        }
        drop(reports);
        // The handlers are for another thread: the calling one may hold locks that they take.
        if !self.tasks.is_empty() {
            wake(&self.wake_program);
        }
    }

    /// Lets the node wake this program when there is a report. `false` if there is one.
    pub(super) fn arm(&self, reports: &mut Reports) -> bool {
        match reports.consumer.begin_sleep() {
            Ok(true) => {
                reports.is_armed = true;
                true
            }
            Ok(false) => {
                reports.consumer.end_sleep();
                false
            }
            // The attachment ends, which the library's own thread notices.
            Err(_) => {
                self.fail();
                true
            }
        }
    }

    /// Takes all reports that there are. Returns whether there was one.
    pub(super) fn read(&self, reports: &mut Reports) -> bool {
        let mut worked = false;
        loop {
            match reports.consumer.has_record() {
                Ok(true) => worked = true,
                Ok(false) => break,
                Err(_) => {
                    self.fail();
                    break;
                }
            }
            stop_point::reach("program: report read");
            if self.take_record(reports).is_err() {
                self.fail();
                break;
            }
        }
        if worked && reports.consumer.release() == Wake::Needed {
            wake(&self.wake_node);
        }
        worked
    }

    /// Takes the next report, which is there.
    #[inline(always)]
    fn take_record(&self, reports: &mut Reports) -> Result<(), BrokenRules> {
        let Reports { consumer, event, latest, .. } = reports;
        let Some(body) = consumer.pop_array::<EVENT_WORDS>(EVENT) else {
            return self.take_other_record(reports);
        };
        let number = decode_event(body, event)?;
        self.take_event(number, event, latest);
        Ok(())
    }

    /// Takes a report that is no event, or not in one piece.
    #[inline(never)]
    fn take_other_record(
        &self,
        Reports { consumer, body, latest, .. }: &mut Reports,
    ) -> Result<(), BrokenRules> {
        if let Some(kind) = consumer.pop_words(body)? {
            let (number, report) = Report::decode(kind, body)?;
            self.take(number, report, latest);
        }
        Ok(())
    }

    fn take(&self, number: u64, report: Report, latest: &mut Latest) {
        match report {
            Report::Done { result } => {
                let Some(call) = lock(&self.calls).remove(&number) else { return };
                call.end(result);
            }
            Report::Happened { mut event } => self.take_event(number, &mut event, latest),
            Report::Fetch { request, md, offset, len } => {
                self.add_task(number, Task::Fetch(Fetch { request, md, offset, len }));
            }
            Report::WantsHandling { request, md } => self.acknowledge_when_handled(number, request, md),
            Report::Refused { md, errno } => self.refused(md, errno),
            Report::Made { md } => {
                let made = lock(&self.calls).get(&number).and_then(|call| call.md.clone());
                if let Some(made) = made {
                    self.add_md(&made, md);
                }
            }
            Report::Returned => self.returned(number),
        }
    }

    #[inline(always)]
    fn take_event(&self, number: u64, event: &mut Event, latest: &mut Latest) {
        if event.kind == EventKind::Send {
            self.unsent.fetch_sub(1, Ordering::SeqCst);
            let way = way_of(event);
            if way.is_none() || way != latest.way {
                latest.way = way;
                self.note_reached(event);
            }
        }
        match &latest.md {
            Some((handle, md)) if *handle == event.md_handle && md.deliver_at_once(event) => {}
            _ => self.take_unusual_event(number, event, latest),
        }
    }

    /// Takes an event of another MD than the one before, or one that is not to be delivered at once.
    #[inline(never)]
    fn take_unusual_event(&self, number: u64, event: &mut Event, latest: &mut Latest) {
        if latest.md.as_ref().is_none_or(|(handle, _)| *handle != event.md_handle) {
            let found = lock(&self.mds).get(&event.md_handle).map(Arc::clone);
            latest.md = found.map(|md| (event.md_handle, md));
        }
        let Some((_, md)) = &latest.md else { return };
        let is_last = event.unlinked;
        if self.happened(md, event) {
            self.add_task(number, Task::Deliver(Arc::clone(md), *event));
        }
        if is_last {
            // What the MD keeps is not kept for longer.
            latest.md = None;
        }
    }

    /// Remembers where messages leave for.
    #[cold]
    fn note_reached(&self, event: &Event) {
        let Some(nid) = event.target.nid else { return };
        let mut reached = lock(&self.reached);
        match event.status {
            Ok(()) => {
                let origins = reached.entry(nid).or_default();
                origins.extend(event.initiator.nid.filter(|origin| !origins.contains(origin)));
            }
            Err(_) => {
                reached.remove(&nid);
                // Behind the removal: who has seen this number has looked before it.
                self.failures.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Leaves a task to the thread that waits for the result of an operation, or to any.
    pub(super) fn add_task(&self, number: u64, task: Task) {
        let call = if number == 0 { None } else { lock(&self.calls).get(&number).map(Arc::clone) };
        match call {
            Some(call) => lock(&call.tasks).push(task),
            None => self.tasks.extend([PendingTask(task)]),
        }
    }

    /// Ends the attachment because the node has broken the rules.
    fn fail(&self) {
        _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    /// Ends all calls: the attachment has ended.
    pub(super) fn end_calls(&self) {
        let calls = std::mem::take(&mut *lock(&self.calls));
        calls.values().for_each(|call| call.end(Err(Errno::NetworkDown)));
        wake(&lock(&self.sender).room);
    }
}

/// Where a message has left for, and the NID that it has left from. `None` after a failure, and for NIDs that are longer than eight bytes.
#[inline]
fn way_of(event: &Event) -> Option<[u64; 2]> {
    event.status.ok()?;
    Some([event.target.nid?.to_u64()?, event.initiator.nid.map_or(Some(u64::MAX), Nid::to_u64)?])
}

/// The node has written something that it may not.
struct BrokenRules;

impl From<Corrupt> for BrokenRules {
    fn from(_: Corrupt) -> Self {
        Self
    }
}

impl From<Malformed> for BrokenRules {
    fn from(_: Malformed) -> Self {
        Self
    }
}

/// Waits until an eventfd is readable, and empties it.
fn wait_for(eventfd: &OwnedFd, timeout: &Timespec) {
    let mut fds = [PollFd::new(eventfd, PollFlags::IN)];
    // An error, such as EINTR, is as good as an event: the caller looks again.
    _ = poll(&mut fds, Some(timeout));
    _ = rustix::io::read(eventfd, &mut [0; 8]);
}

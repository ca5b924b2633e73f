//! Responses that wait for a program in another process: the REPLY to a GET until the payload has been fetched from it, and the ACK of
//! a PUT until its handler has run.
//!
//! They wait in a table, and not with what they wait for: the shutdown ends them, however long a program takes.

use super::DataPath;
use crate::memory::{ClientMemory, DeferredAck, ReplyMemory};
use crate::model::message::Pooled;
use crate::model::message::{Asker, IncomingMessage};
use crate::stats::MessageOutcome;
use crate::sync::{Mutex, lock};
use lnet_wire::{Body, Errno, Pid};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The responses that wait for a program.
#[derive(Debug, Default)]
pub(crate) struct DeferredResponses(Mutex<DeferredState>);

#[derive(Debug, Default)]
struct DeferredState {
    /// The number of the last response; no two have the same.
    last: u64,
    waiting: BTreeMap<u64, DeferredResponse>,
}

/// A message, and the response to it.
#[derive(Debug)]
struct DeferredResponse {
    message: Pooled<IncomingMessage>,
    body: Body,
    /// The PID that it comes from.
    pid: Pid,
    /// The peer NI that counts it as pending.
    counted: Asker,
}

impl DeferredResponses {
    fn add(&self, response: DeferredResponse) -> u64 {
        let state = &mut *lock(&self.0);
        state.last += 1;
        state.waiting.insert(state.last, response);
        state.last
    }

    /// Takes a response; `None` if it has ended.
    fn take(&self, number: u64) -> Option<DeferredResponse> {
        lock(&self.0).waiting.remove(&number)
    }

    fn take_all(&self) -> BTreeMap<u64, DeferredResponse> {
        std::mem::take(&mut lock(&self.0).waiting)
    }
}

impl DeferredResponse {
    /// Gives a REPLY its payload. [`Errno::Fault`] for one that is shorter than the header will say.
    fn set_payload(&mut self, fetched: ReplyMemory) -> Result<(), Errno> {
        let operation = self.message.operation.as_mut();
        let operation = operation.filter(|its| its.length <= fetched.memory.len()).ok_or(Errno::Fault)?;
        operation.fetched = Some(Box::new(fetched));
        Ok(())
    }
}

impl DataPath {
    /// Sends the REPLY to a GET when the bytes of its operation have been fetched from `client`. `counted` is the peer NI that
    /// counts the REPLY as pending.
    pub(crate) fn reply_when_fetched(
        &self,
        message: Pooled<IncomingMessage>,
        body: Body,
        counted: Asker,
        client: &dyn ClientMemory,
    ) {
        let pid = self.pid_of_reply(&message);
        let range = message.operation.as_ref().map(|operation| (operation.offset, operation.length));
        let Some((offset, len)) = range else { return self.respond(message, body, pid, counted) };
        let fetch = Fetch(self.defer(DeferredResponse { message, body, pid, counted }));
        client.fetch(offset, len, Box::new(move |fetched| fetch.end(fetched)));
        self.end_deferred_if_ending();
    }

    /// Sends the ACK of a PUT when the program of `client` has handled the event of it, from this PID.
    pub(crate) fn acknowledge_when_handled(
        &self,
        message: Pooled<IncomingMessage>,
        body: Body,
        pid: Pid,
        client: &dyn ClientMemory,
    ) {
        // It counts as pending when it leaves: the time that a handler takes is not the peer's.
        let response = DeferredResponse { message, body, pid, counted: Asker::None };
        let mut waiting = self.defer(response);
        client.handle_put(DeferredAck::new(move || {
            if let Some(data_path) = waiting.end() {
                data_path.handled(waiting.number);
            }
        }));
        self.end_deferred_if_ending();
    }

    /// Ends the responses that wait for a program, because the node shuts down.
    pub(crate) fn end_deferred(&self) {
        for response in self.deferred.take_all().into_values() {
            self.drop_response(response, Errno::Shutdown);
        }
    }

    fn defer(&self, response: DeferredResponse) -> Waiting {
        let number = self.deferred.add(response);
        Waiting { data_path: Weak::clone(&self.this), number }
    }

    /// The shutdown may have ended the responses that wait just before one was added.
    fn end_deferred_if_ending(&self) {
        if self.env.is_ending() {
            self.end_deferred();
        }
    }

    /// Goes on with a GET whose bytes have been fetched, or could not be, unless it has ended.
    fn fetched(&self, number: u64, result: Result<ReplyMemory, Errno>) {
        let Some(mut reply) = self.deferred.take(number) else { return };
        match result.and_then(|fetched| reply.set_payload(fetched)) {
            Ok(()) => self.respond(reply.message, reply.body, reply.pid, reply.counted),
            Err(errno) => {
                self.log_drop(&reply.message.header, "the program did not give the bytes of its memory");
                self.drop_response(reply, errno);
            }
        }
    }

    /// Sends the ACK of a PUT whose event has been handled, unless it has ended.
    fn handled(&self, number: u64) {
        let Some(ack) = self.deferred.take(number) else { return };
        let counted = self.count_response(&ack.message);
        self.respond(ack.message, ack.body, ack.pid, counted);
    }

    /// Ends a message without its response, which counts as dropped: the message itself has been received.
    fn drop_response(&self, response: DeferredResponse, why: Errno) {
        let DeferredResponse { message, body, pid, counted } = response;
        let mut response = message.into_response(body, pid, counted);
        self.message_counters.error();
        self.count(&response, MessageOutcome::Dropped);
        self.report_sent(&mut response, Err(why.into()));
        self.retire(response);
    }
}

/// A response that waits.
struct Waiting {
    /// Refers to nothing once the wait has ended.
    data_path: Weak<DataPath>,
    number: u64,
}

impl Waiting {
    /// The data path, the first time.
    fn end(&mut self) -> Option<Arc<DataPath>> {
        std::mem::take(&mut self.data_path).upgrade()
    }
}

/// A fetch in progress. If it is dropped before its end, the GET gets no bytes.
struct Fetch(Waiting);

impl Fetch {
    fn end(mut self, result: Result<ReplyMemory, Errno>) {
        if let Some(data_path) = self.0.end() {
            data_path.fetched(self.0.number, result);
        }
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        if let Some(data_path) = self.0.end() {
            data_path.fetched(self.0.number, Err(Errno::Io));
        }
    }
}

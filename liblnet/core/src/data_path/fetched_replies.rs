//! REPLYs whose payload is fetched from a program in another process when the GET has arrived.
//!
//! The GETs wait in a table, and not with what they wait for: the shutdown ends them, however long a program takes.

use super::DataPath;
use crate::memory::{ClientMemory, ReplyMemory};
use crate::model::PeerNi;
use crate::model::message::{IncomingMessage, Pooled};
use crate::stats::MessageOutcome;
use crate::sync::{Mutex, lock};
use lnet_wire::{Body, Errno};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The GETs whose bytes are being fetched.
#[derive(Debug, Default)]
pub(crate) struct Fetches(Mutex<FetchState>);

#[derive(Debug, Default)]
struct FetchState {
    /// The number of the last fetch; no two have the same.
    last: u64,
    waiting: BTreeMap<u64, FetchedGet>,
}

/// A GET whose bytes are being fetched, and the REPLY to it.
#[derive(Debug)]
struct FetchedGet {
    message: Pooled<IncomingMessage>,
    reply: Body,
    /// The peer NI that counts the REPLY as pending.
    counted: Option<Arc<PeerNi>>,
}

impl Fetches {
    fn begin(&self, get: FetchedGet) -> u64 {
        let state = &mut *lock(&self.0);
        state.last += 1;
        state.waiting.insert(state.last, get);
        state.last
    }

    /// Takes the GET of a fetch; `None` if it has ended.
    fn take(&self, number: u64) -> Option<FetchedGet> {
        lock(&self.0).waiting.remove(&number)
    }

    fn take_all(&self) -> BTreeMap<u64, FetchedGet> {
        std::mem::take(&mut lock(&self.0).waiting)
    }
}

impl FetchedGet {
    /// Gives the REPLY its payload. [`Errno::Fault`] for one that is shorter than the header will say.
    fn set_payload(&mut self, fetched: ReplyMemory) -> Result<(), Errno> {
        let operation = self.message.operation.as_mut();
        let operation =
            operation.filter(|its| its.event.mlength <= fetched.memory.len()).ok_or(Errno::Fault)?;
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
        reply: Body,
        counted: Option<Arc<PeerNi>>,
        client: &dyn ClientMemory,
    ) {
        let range =
            message.operation.as_ref().map(|operation| (operation.event.offset, operation.event.mlength));
        let Some((offset, len)) = range else {
            return self.respond(message, reply, self.env.pid(), counted);
        };
        let number = self.fetches.begin(FetchedGet { message, reply, counted });
        let fetch = Fetch { data_path: Weak::clone(&self.this), number };
        client.fetch(offset, len, Box::new(move |fetched| fetch.end(fetched)));
        // The shutdown may have ended the GETs that wait just before.
        if self.env.is_ending() {
            self.end_fetches();
        }
    }

    /// Ends the GETs whose bytes are being fetched, because the node shuts down.
    pub(crate) fn end_fetches(&self) {
        for get in self.fetches.take_all().into_values() {
            self.drop_reply(get, Errno::Shutdown);
        }
    }

    /// Goes on with a GET whose bytes have been fetched, or could not be, unless it has ended.
    fn fetched(&self, number: u64, result: Result<ReplyMemory, Errno>) {
        let Some(mut get) = self.fetches.take(number) else { return };
        match result.and_then(|fetched| get.set_payload(fetched)) {
            Ok(()) => {
                let pid = self.pid_of_reply(&get.message);
                self.respond(get.message, get.reply, pid, get.counted);
            }
            Err(errno) => {
                self.log_drop(&get.message.header, "the program did not give the bytes of its memory");
                self.drop_reply(get, errno);
            }
        }
    }

    /// Ends a GET without its REPLY, which counts as dropped: the GET itself has been received.
    fn drop_reply(&self, get: FetchedGet, why: Errno) {
        let pid = self.pid_of_reply(&get.message);
        let mut reply = get.message.into_response(get.reply, pid, get.counted);
        self.message_counters.error();
        self.count(&reply, MessageOutcome::Dropped);
        self.report_sent(&mut reply, Err(why.into()));
        self.retire(reply);
    }
}

/// A fetch in progress. If it is dropped before its end, the GET gets no bytes.
struct Fetch {
    /// Refers to nothing once the fetch has ended.
    data_path: Weak<DataPath>,
    number: u64,
}

impl Fetch {
    fn end(mut self, result: Result<ReplyMemory, Errno>) {
        if let Some(data_path) = std::mem::take(&mut self.data_path).upgrade() {
            data_path.fetched(self.number, result);
        }
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        if let Some(data_path) = self.data_path.upgrade() {
            data_path.fetched(self.number, Err(Errno::Io));
        }
    }
}

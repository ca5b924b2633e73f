//! The ACKs of PUTs that wait until the program's handler has run.

use super::current::{is_in_request_of, number_of_current};
use super::reports::Reports;
use lnd_common::sync::lock;
use lnet_attach::record::Report;
use lnet_core::{DeferredAck, MdHandle};
use lnet_os::stop_point;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The number of ACKs of one program that wait. Further ones leave at once.
const MAX_WAITING: usize = 16_384;

/// The ACKs that wait for one program. Any thread may call the methods.
#[derive(Debug)]
pub(super) struct DeferredAcks {
    reports: Arc<Reports>,
    /// The number of the program.
    client: u64,
    /// `None` when the attachment has ended.
    state: Mutex<Option<State>>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    waiting: HashMap<u64, DeferredAck>,
}

impl DeferredAcks {
    pub(super) fn new(reports: Arc<Reports>, client: u64) -> Self {
        Self { reports, client, state: Mutex::new(Some(State::default())) }
    }

    /// Asks the program to say when it has handled the last event of `md`, on which `ack` waits. The ACK of a PUT to itself leaves at once:
    /// the handler runs before the call returns.
    pub(super) fn ask(&self, md: MdHandle, ack: DeferredAck) {
        if is_in_request_of(self.client) {
            return drop(ack);
        }
        match self.add(ack) {
            Ok(request) => {
                stop_point::reach("node: handling wanted");
                let current = number_of_current(self.client);
                self.reports.push(current, &Report::WantsHandling { request, md });
            }
            // It leaves now that nothing is locked.
            Err(ack) => drop(ack),
        }
    }

    /// Sends the ACK of this number. `false` if there is none.
    pub(super) fn send(&self, request: u64) -> bool {
        let ack = lock(&self.state).as_mut().and_then(|state| state.waiting.remove(&request));
        ack.is_some()
    }

    /// Sends all ACKs: the data have arrived, and nobody handles their events any more.
    pub(super) fn end(&self) {
        let state = lock(&self.state).take();
        drop(state);
    }

    /// The number of ACKs that wait.
    pub(super) fn waiting(&self) -> u32 {
        let waiting = lock(&self.state).as_ref().map_or(0, |state| state.waiting.len());
        u32::try_from(waiting).unwrap_or(u32::MAX)
    }

    /// The number of the ACK; the ACK itself if it cannot wait.
    fn add(&self, ack: DeferredAck) -> Result<u64, DeferredAck> {
        match &mut *lock(&self.state) {
            Some(state) if state.waiting.len() < MAX_WAITING => {
                state.last += 1;
                state.waiting.insert(state.last, ack);
                Ok(state.last)
            }
            _ => Err(ack),
        }
    }
}

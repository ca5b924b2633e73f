//! The end of an interface.

use super::{Command, DeviceEngine, O2ibNi};
use crate::conn::{Decision, Output};
use lnd_common::deliverers::Role;
use lnd_common::engine_ni::{EngineNi, Look};
use lnd_common::outputs::PassOutputs;
use lnet_core::Errno;
use std::time::Duration;

/// How often, and how long each time, the end of an interface waits for work that is posted (wire-o2ib 12: a kernel node may not like a
/// connection that ends with the last response).
const DRAIN_WAITS: u32 = 10;
const DRAIN_WAIT: Duration = Duration::from_millis(100);

impl O2ibNi {
    /// Waits until no work is posted, for a limited time.
    pub(super) fn drain(&self) {
        for _ in 0..DRAIN_WAITS {
            let mut state = self.shared.lock();
            self.step_with(&mut state, Look::Everywhere);
            let is_drained = state.engine.device.is_none() || !state.engine.engine.has_posted();
            drop(state);
            self.pass_outputs(Role::Owner);
            if is_drained {
                break;
            }
            if self.has_nothing_new(Role::Owner) {
                self.shared.wait(&self.descriptors, Some(DRAIN_WAIT));
            }
        }
    }

    /// Ends the connections and the device, and returns all messages to the core.
    pub(super) fn shut_down_device(&self) {
        let mut state = self.shared.lock();
        let Some(left) = self.shared.close_inbox() else { return };
        let DeviceEngine { engine, device, .. } = &mut state.engine;
        if let Some(device) = device.as_deref_mut() {
            engine.shut_down(device, self.now());
        }
        // The service is free for another interface.
        *device = None;
        self.shared.outputs.extend(engine.take_outputs());
        self.shared.outputs.extend(left.into_iter().filter_map(|command| match command {
            Command::Send(message) => Some(Output::Finalize(message, Err(Errno::Shutdown.into()))),
            Command::Decided(_, Decision::Deliver(arriving)) => {
                Some(Output::Received(arriving, Err(Errno::Shutdown)))
            }
            _ => None,
        }));
        drop(state);
        self.pass_last_outputs();
        self.shared.note_end();
    }
}

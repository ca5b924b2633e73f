//! Tasks that schedulers run for connections.

use super::deferred_rx::{ResumeQueue, Resumed};
use crate::conn::Scheduler;
use crate::ni::SockNi;
use crate::scheduler;
use lnet_core::{OutgoingMessage, Pooled};
use std::sync::Arc;

/// A one-time task that a scheduler runs for a connection.
pub(crate) enum Task {
    /// Carries out the core's decision about a deferred message.
    Execute(Resumed),
    /// Reports a sent message to the core.
    Finish(Pooled<OutgoingMessage>, Arc<SockNi>),
}

impl ResumeQueue for Scheduler {
    fn resume(&self, resumed: Resumed) {
        self.schedule_task(Task::Execute(resumed));
    }
}

impl scheduler::Task for Task {
    fn run(self) {
        match self {
            Self::Execute(resumed) => resumed.execute(),
            Self::Finish(message, ni) => {
                ni.finalize(message, Ok(()));
                ni.end_upcall();
            }
        }
    }

    fn abandon(self) {
        if let Self::Execute(resumed) = self {
            resumed.execute();
        }
    }
}

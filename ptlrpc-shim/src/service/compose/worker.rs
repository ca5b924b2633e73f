//! The worker threads of a service (PR-71).

use super::core::ServiceCore;
use super::{intake, serve};
use crate::service::counters::Dropped;
use crate::service::engines::request_queue::{Finished, Work};

/// Runs until the queue is closed.
pub(super) fn run(core: &ServiceCore) {
    let mut finished = Finished::Nothing;
    loop {
        finished = match core.queue.next(finished, &core.env.node) {
            Work::Decide(arrived) => {
                Finished::Decided(core.catch_panic(|| intake::decide(core, arrived)).flatten())
            }
            Work::Serve(admitted, priority) => {
                core.catch_panic(|| serve::serve(core, &admitted));
                Finished::Served(priority)
            }
            Work::Drop(admitted) => {
                serve::drop_request(core, &admitted, Dropped::Stopping);
                Finished::Nothing
            }
            Work::End => return,
        };
    }
}

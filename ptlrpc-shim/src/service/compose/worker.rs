//! The worker threads of a service (PR-71).

use super::core::ServiceCore;
use super::{intake, serve};
use crate::service::counters::Dropped;
use crate::service::engines::request_queue::{Admitted, Finished, Work};

/// Runs until the queue is closed.
pub(super) fn run(core: &ServiceCore) {
    let (mut finished, mut arrived) = (Finished::Nothing, None);
    loop {
        let wake_timer = |at| core.timer.wake_at(at);
        finished = match core.queue.next(finished, &mut arrived, &core.env.node, wake_timer) {
            Work::Decide => {
                let decide = || intake::decide(core, arrived.take()?);
                Finished::Decided(core.catch_panic(decide).flatten())
            }
            Work::Serve(Admitted { request, ticket, has_waited }) => {
                core.catch_panic(|| serve::serve(core, &request, has_waited));
                Finished::Served(ticket)
            }
            Work::Drop(request) => {
                serve::drop_request(core, &request, Dropped::Stopping);
                Finished::Nothing
            }
            Work::End => return,
        };
    }
}

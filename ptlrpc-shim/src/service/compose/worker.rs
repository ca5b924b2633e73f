//! The worker threads of a service (PR-71).

use super::core::ServiceCore;
use super::{intake, serve};
use crate::service::counters::Dropped;
use crate::service::engines::request_queue::Work;

/// Runs until the queue is closed.
pub(super) fn run(core: &ServiceCore) {
    loop {
        match core.queue.next(&core.env.node) {
            Work::Decide(arrived) => {
                let admitted = core.catch_panic(|| intake::decide(core, arrived)).flatten();
                if let Some(returned) = core.queue.decided(admitted) {
                    serve::drop_request(core, &returned, Dropped::Stopping);
                }
            }
            Work::Serve(admitted, priority) => {
                core.catch_panic(|| serve::serve(core, &admitted));
                core.queue.served(priority);
            }
            Work::End => return,
        }
    }
}

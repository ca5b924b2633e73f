//! Operations that wait for a peer: a thread each carries them out, so that the program's other operations go on.

use super::reports::Reports;
use crate::node::Node;
use lnet_attach::record::{Answer, Report};
use lnet_wire::{Nid, Pid};
use std::sync::Arc;
use std::thread;

/// The number of operations of all programs, also of those that have gone, that wait at a time. For a further one the thread of its program
/// waits itself.
const MAX_WAITING: usize = 64;

/// The operations of all programs that wait.
#[derive(Debug)]
pub(super) struct WaitingCalls {
    /// The stack size of a thread in bytes.
    stack: usize,
    /// One reference more than operations wait.
    waiting: Arc<()>,
}

impl WaitingCalls {
    /// Operations whose threads have `stack` bytes of stack.
    pub(super) fn new(stack: usize) -> Self {
        Self { stack, waiting: Arc::default() }
    }

    /// Begins to wait for the primary NID of a peer, of which the program is told. `false` if it does not wait here: there are too many, or
    /// there is no thread for it.
    pub(super) fn begin(&self, node: &Arc<Node>, reports: &Arc<Reports>, number: u64, nid: Nid) -> bool {
        if Arc::strong_count(&self.waiting) > MAX_WAITING {
            return false;
        }
        let (node, reports, waits) = (Arc::clone(node), Arc::clone(reports), Arc::clone(&self.waiting));
        let builder = thread::Builder::new().name("lnet_attach_wait".to_owned()).stack_size(self.stack);
        let started = lnet_os::thread::spawn(builder, move || {
            let primary = node.core().admin().primary_nid(nid);
            drop(waits);
            // After the end of the attachment nobody is told.
            reports.push(number, &Report::Done { result: Ok(Answer::Process(primary, Pid(0))) });
        });
        started.is_ok()
    }
}

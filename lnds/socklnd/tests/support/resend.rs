//! A node whose messages are sent again until they succeed.

use super::forwarding::{Hooks, SendResult, node_with};
use super::{Node, running_clock};
use lnet_core::lnd::{LndNi, SendOutcome, Upcalls};
use lnet_core::{Delivery, Errno, OutgoingMessage, Pooled, SendFailure};
use lnet_wire::Nid;
use socklnd::SocklndConfig;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

/// The failures of messages that came back, in order.
pub type Failures = Arc<Mutex<Vec<SendFailure>>>;

/// Starts a node that resends messages which come back, unless they may have been delivered and the peer would not
/// recognise a duplicate.
pub fn resending_node(nid: Nid, config: SocklndConfig, failures: &Failures) -> Node {
    node_with(
        &Arc::new(Resending { queue: Mutex::default(), failures: Arc::clone(failures) }),
        nid,
        config,
        running_clock(),
    )
}

struct Resending {
    queue: Mutex<Option<Sender<Pooled<OutgoingMessage>>>>,
    failures: Failures,
}

impl Hooks for Resending {
    fn started(self: Arc<Self>, ni: &Arc<dyn LndNi>, upcalls: &Arc<dyn Upcalls>) {
        let (sender, queue) = channel();
        *self.queue.lock().unwrap() = Some(sender);
        let (ni, upcalls) = (Arc::clone(ni), Arc::clone(upcalls));
        std::thread::spawn(move || {
            while let Ok(message) = queue.recv() {
                std::thread::yield_now();
                if let SendOutcome::Done(message, result) = ni.send(message)
                    && let Some((message, result)) = self.completed(message, result)
                {
                    upcalls.finalize(message, result);
                }
            }
        });
    }

    fn ended(&self) {
        *self.queue.lock().unwrap() = None;
    }

    fn completed(
        &self,
        message: Pooled<OutgoingMessage>,
        result: SendResult,
    ) -> Option<(Pooled<OutgoingMessage>, SendResult)> {
        match (result, &*self.queue.lock().unwrap()) {
            (Err(failure), Some(queue))
                if failure.errno != Errno::Shutdown && failure.delivery != Delivery::Unknown =>
            {
                self.failures.lock().unwrap().push(failure);
                queue.send(message).unwrap();
                None
            }
            (result, _) => Some((message, result)),
        }
    }
}

//! The end of the messages of an interface that is removed.

use super::DataPath;
use crate::model::Ni;
use lnet_wire::Errno;
use std::sync::Arc;

impl DataPath {
    /// Stops an interface that messages no longer find: ends its messages, and shuts its driver down.
    pub(crate) fn stop_ni(&self, ni: &Arc<Ni>) {
        let lnd = ni.take_down();
        self.drop_delayed_of(ni);
        for message in self.sending.abandon(ni) {
            self.end(message, Err(Errno::Shutdown.into()));
        }
        if let Some(lnd) = lnd {
            lnd.shutdown();
        }
        self.end_partial_of(ni);
        // Messages that arrived meanwhile may have been deferred; otherwise they would never be delivered.
        self.drop_delayed_of(ni);
    }

    fn drop_delayed_of(&self, ni: &Arc<Ni>) {
        self.drop_late_of(ni);
        let (removed, served) = self.router_buffers.take_of_ni(ni);
        self.drop_waiting(removed, "its interface was removed while it waited for a buffer");
        self.resume_waiting(served);
        for portal in self.objects.portals() {
            self.drop_delayed(portal.take_delayed(|one| one.message.is_by(ni)));
        }
    }
}

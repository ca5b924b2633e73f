//! Receive buffers for the pushes of peers.

use super::Admin;
use crate::discovery::push_spec;
use crate::memory::RecvBuffer;
use lnet_wire::Errno;
use std::sync::Arc;

impl Admin<'_> {
    /// Posts the free buffers. A failure is logged, and retried by the next call. Waiting pushes may fill the buffers
    /// at once, and each of them wakes the thread again, so a flood of pushes does not keep a thread in this
    /// function.
    pub(crate) fn post_push_buffers(&self) {
        // A node without Multi-Rail does not receive pushes.
        if !self.env.config().multi_rail {
            return;
        }
        for _ in 0..self.discovery.push_buffers() {
            let Some((number, buffer)) = self.discovery.next_push_buffer() else { return };
            if let Err(errno) = self.post_push_buffer(number, &buffer) {
                self.discovery.push_buffer_failed(number);
                return self.log_not_posted("push buffer", errno, "pushes of peers are missed");
            }
        }
    }

    fn post_push_buffer(&self, number: usize, buffer: &RecvBuffer) -> Result<(), Errno> {
        let spec = push_spec(number, buffer, self.discovery_eq()?);
        // The latest buffer is matched first, as it is the largest.
        self.post_reserved(spec, buffer.memory(), true, Arc::new(buffer.clone())).map(drop)
    }
}

//! The match entry that answers pings: posted again whenever the ping buffer changes.

use super::Admin;
use crate::environment::ConfigGuard;
use crate::memory::{MdHandle, MdMemory, MdSpec};
use crate::objects::{InsertPosition, MatchId};
use crate::sync::lock;
use lnet_log::LogClass;
use lnet_wire::{Errno, PING_MATCH_BITS, RESERVED_PORTAL};
use std::any::Any;
use std::sync::Arc;

impl Admin<'_> {
    /// Posts the current ping buffer, and schedules a push to peers. On failure the old entry stays posted.
    pub(crate) fn rebuild_ping_target(&self, config: &ConfigGuard<'_>) {
        let target = &mut *lock(self.ping_target);
        let buffer = target.next_buffer(self.env, self.topology);
        let owner = Arc::clone(&buffer) as Arc<dyn Any + Send + Sync>;
        match self.post_reserved(buffer.ping_spec(), buffer.memory(), false, owner) {
            Ok(ping) => {
                if let Some(old) = target.replace(ping) {
                    // The MD exists, as it has no queue and no threshold. Peers that read the old buffer get a push.
                    let _ = self.objects.retire_md(old);
                }
                self.discovery.publish(config, self.env, buffer);
                self.post_push_buffers();
            }
            Err(errno) => {
                self.log_not_posted("ping buffer", errno, "pings are answered with the former interfaces");
            }
        }
    }

    /// Logs that memory of the node could not be posted on the reserved portal. During the shutdown that is no failure: the
    /// shutdown drops its entries and queues while the discovery thread may be posting.
    pub(crate) fn log_not_posted(&self, what: &str, errno: Errno, consequence: &str) {
        if !self.env.is_ending() {
            self.env.log(
                LogClass::PingTargetFailed,
                what,
                format_args!("{what}: cannot be posted ({errno}); {consequence}"),
            );
        }
    }

    /// Posts memory of the node on the reserved portal, before the entries there. [`Errno::Shutdown`] during the shutdown.
    pub(crate) fn post_reserved(
        &self,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<MdHandle, Errno> {
        if self.env.is_ending() {
            return Err(Errno::Shutdown);
        }
        let me = self.data_path.me_attach(
            RESERVED_PORTAL,
            MatchId::ANY,
            PING_MATCH_BITS,
            0,
            true,
            InsertPosition::Before,
        )?;
        match self.data_path.attach_owned(me, spec, memory, auto_unlink, owner, &mut |_| ()) {
            Ok(md) => Ok(md.handle()),
            Err(errno) => {
                let _ = self.data_path.me_unlink(me);
                Err(errno)
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
#[path = "ping_target_tests.rs"]
mod tests;

//! The match entry that answers pings: posted anew whenever what it says changes.

use super::Core;
use crate::environment::ConfigGuard;
use crate::memory::{MdHandle, MdMemory, MdSpec};
use crate::objects::{InsertPosition, MatchId};
use crate::sync::lock;
use lnet_log::LogClass;
use lnet_wire::{Errno, PING_MATCH_BITS, RESERVED_PORTAL};
use std::any::Any;
use std::sync::Arc;

impl Core {
    /// Posts what pings are to be answered with now, for peers to be told. A failure leaves the old answer in place.
    pub(crate) fn rebuild_ping_target(&self, config: &ConfigGuard<'_>) {
        let target = &mut *lock(&self.ping_target);
        let buffer = target.next_buffer(&self.env, &self.topology);
        let owner = Arc::clone(&buffer) as Arc<dyn Any + Send + Sync>;
        match self.post_reserved(buffer.ping_spec(), buffer.memory(), false, owner) {
            Ok(ping) => {
                if let Some(old) = target.replace(ping) {
                    // It has no queue and never exhausts: it is there. Who was answered with it is told of what is new.
                    let _ = self.objects.retire_md(old);
                }
                self.discovery.publish(config, &self.env, buffer);
                self.post_push_buffers();
            }
            Err(errno) => self.env.log(
                LogClass::PingTargetFailed,
                "ping buffer",
                format_args!(
                    "ping buffer: cannot be replaced ({errno}); pings are answered with the former interfaces"
                ),
            ),
        }
    }

    /// Posts memory of the node's own where others ping and push, before what is there.
    pub(crate) fn post_reserved(
        &self,
        spec: MdSpec,
        memory: MdMemory,
        auto_unlink: bool,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<MdHandle, Errno> {
        let me =
            self.me_attach(RESERVED_PORTAL, MatchId::ANY, PING_MATCH_BITS, 0, true, InsertPosition::Before)?;
        match self.attach_owned(me, spec, memory, auto_unlink, Some(owner), &mut |_| ()) {
            Ok(md) => Ok(md.handle()),
            Err(errno) => {
                let _ = self.me_unlink(me);
                Err(errno)
            }
        }
    }
}

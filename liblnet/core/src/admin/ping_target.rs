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
mod tests {
    use super::*;
    use crate::core::Core;
    use crate::environment::CoreConfig;
    use crate::memory::MdOptions;
    use lnet_wire::Pid;
    use test_support::log_recorder;

    /// Fails if the discovery thread logs an error when it posts buffers during the shutdown, which has dropped the queue that
    /// the buffers report to.
    #[test]
    fn a_node_that_ends_posts_nothing_and_calls_that_no_error() {
        log_recorder::listen(log::LevelFilter::Error);
        let core = Core::new(CoreConfig::new(Pid::LUSTRE, 42));
        let core = core.admin();
        core.post_push_buffers();
        let posted = core.objects.mds().len();
        assert!(posted > 0);
        core.shutdown();
        // A discovery thread does this if it has checked for the shutdown just before the shutdown began.
        core.post_push_buffers();
        core.rebuild_ping_target(&core.configuration.lock());
        assert_eq!(core.objects.mds().len(), 0);
        let lines = log_recorder::lines();
        assert!(lines.iter().all(|line| line.target != LogClass::PingTargetFailed.target()), "{lines:?}");
    }

    #[test]
    fn each_new_ping_buffer_replaces_the_md_of_the_one_before() {
        let core = Core::new(CoreConfig::new(Pid::LUSTRE, 42));
        let core = core.admin();
        let posted = || {
            core.objects
                .mds()
                .iter()
                .filter(|md| md.options().has(MdOptions::OP_GET))
                .map(|md| md.handle())
                .collect::<Vec<_>>()
        };
        let mut before = None;
        for _ in 0..3 {
            core.rebuild_ping_target(&core.configuration.lock());
            let now = posted();
            assert_eq!(now.len(), 1, "{now:?}");
            assert_ne!(before, now.first().copied());
            before = now.first().copied();
        }
    }
}

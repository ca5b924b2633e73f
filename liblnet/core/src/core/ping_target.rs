//! What this node answers to pings, which is also what it pushes.
//!
//! An ordinary match entry on the reserved portal, made anew whenever an interface comes or goes; the new one is
//! in place before the old one is taken away.

use crate::core::Core;
use crate::discovery::Block;
use crate::environment::settings::DiscoveryMode;
use crate::memory::{MdHandle, MdMemory, MdOptions, MdSpec};
use crate::objects::{InsertPosition, MatchId};
use lnet_log::LogClass;
use lnet_wire::Errno;
use lnet_wire::ping_info::{Features, NiStatus, PingEntry, PingInfo};
use lnet_wire::{PING_MATCH_BITS, RESERVED_PORTAL};
use std::any::Any;
use std::sync::Arc;

/// What is posted on the reserved portal now.
#[derive(Debug, Default)]
pub(crate) struct PingTarget {
    /// Counts the makings; peers read it from the block.
    sequence: u32,
    ping: Option<MdHandle>,
}

impl Core {
    /// Posts what pings are to be answered with now, for peers to be told. A failure leaves the old answer in place.
    pub(crate) fn rebuild_ping_target(&self, target: &mut PingTarget) {
        target.sequence = target.sequence.wrapping_add(1);
        let block = Arc::new(self.ping_block(target.sequence));
        match self.post_ping_target(&block) {
            Ok(ping) => {
                if let Some(old) = target.ping.replace(ping) {
                    // It has no queue and never exhausts: it is there. Who was answered with it is told of what is new.
                    let _ = self.objects.retire_md(old);
                }
                self.publish(block);
                self.post_push_targets();
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

    fn ping_block(&self, sequence: u32) -> Block {
        let entries = self.topology.with_nets(|nets| {
            let others = nets.nis().filter(|ni| !ni.nid().is_loopback());
            others
                .map(|ni| {
                    let status = if ni.is_fatal() { NiStatus::Down } else { NiStatus::Up };
                    PingEntry { nid: ni.nid(), status }
                })
                .collect()
        });
        let features = (Features::NI_STATUS | Features::RTE_DISABLED | Features::MULTI_RAIL)
            .with(Features::DISCOVERY, self.settings().discovery != DiscoveryMode::Off);
        let info = PingInfo { features, pid: self.env.pid(), sequence, entries };
        Block { sequence, bytes: info.encode().into() }
    }

    fn post_ping_target(&self, block: &Arc<Block>) -> Result<MdHandle, Errno> {
        let memory = block.memory();
        let options = MdOptions::OP_GET.0 | MdOptions::TRUNCATE.0 | MdOptions::MANAGE_REMOTE.0;
        let spec = MdSpec {
            start: memory.first().unwrap_or_default(),
            length: memory.len(),
            threshold: -1,
            max_size: 0,
            options: MdOptions(options),
            user_ptr: 0,
            eq: None,
        };
        self.post_reserved(spec, memory, false, Arc::clone(block) as Arc<dyn Any + Send + Sync>)
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

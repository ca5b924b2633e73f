//! What this node answers to pings, and where it takes pushes.
//!
//! Both are ordinary match entries on the reserved portal. The ping target is made anew whenever an
//! interface comes or goes; the new one is in place before the old one is taken away.

use crate::core::Core;
use crate::memory::{MdHandle, MdMemory, MdOptions, MdSpec};
use crate::portal::{InsertPosition, MatchId};
use lnet_wire::Errno;
use lnet_wire::ping_info::{Features, NiStatus, PingEntry, PingInfo};
use lnet_wire::{PING_MATCH_BITS, RESERVED_PORTAL};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

/// Room for the NIDs of a peer that pushes (`LNET_INTERFACES_MIN`).
const PUSH_ROOM: usize = 16 + 16 * 16;

/// What is posted on the reserved portal now.
#[derive(Debug, Default)]
pub(crate) struct PingTarget {
    /// Counts the makings; peers read it from the block.
    sequence: u32,
    ping: Option<MdHandle>,
    push: Option<MdHandle>,
}

impl Core {
    /// Posts what pings are to be answered with now. A failure leaves the old answer in place.
    pub(crate) fn rebuild_ping_target(&self, target: &mut PingTarget) {
        target.sequence = target.sequence.wrapping_add(1);
        if target.push.is_none() {
            target.push = self.post_push_target().inspect_err(|e| log::error!("no push target: {e}")).ok();
        }
        match self.post_ping_target(target.sequence) {
            Ok(ping) => {
                if let Some(old) = target.ping.replace(ping) {
                    // It has no queue and never exhausts: it is there.
                    let _ = self.md_unlink(old);
                }
            }
            Err(errno) => log::error!("pings are not answered with the latest interfaces: {errno}"),
        }
    }

    fn post_ping_target(&self, sequence: u32) -> Result<MdHandle, Errno> {
        let entries = self.with_nets(|nets| {
            let others = nets.nis().map(|ni| ni.nid()).filter(|nid| !nid.is_loopback());
            others.map(|nid| PingEntry { nid, status: NiStatus::Up }).collect()
        });
        let features = Features::NI_STATUS | Features::RTE_DISABLED | Features::MULTI_RAIL;
        let info = PingInfo { features, pid: self.config.pid, sequence, entries };
        let block: Arc<[u8]> = info.encode().into();
        self.post_own(block.as_ptr() as usize, block.len(), MdOptions::OP_GET, Arc::new(block))
    }

    /// Pushes are taken and confirmed; what they say is used once peers are discovered.
    fn post_push_target(&self) -> Result<MdHandle, Errno> {
        let room: Arc<[AtomicU8]> = (0..PUSH_ROOM).map(|_| AtomicU8::new(0)).collect();
        self.post_own(room.as_ptr() as usize, room.len(), MdOptions::OP_PUT, Arc::new(room))
    }

    fn post_own(
        &self,
        address: usize,
        len: usize,
        operation: MdOptions,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<MdHandle, Errno> {
        let length = u32::try_from(len).map_err(|_| Errno::NoMemory)?;
        let options = operation.0 | MdOptions::TRUNCATE.0 | MdOptions::MANAGE_REMOTE.0;
        let spec = MdSpec {
            start: address,
            length,
            threshold: -1,
            max_size: 0,
            options: MdOptions(options),
            user_ptr: 0,
            eq: None,
        };
        let me =
            self.me_attach(RESERVED_PORTAL, MatchId::ANY, PING_MATCH_BITS, 0, true, InsertPosition::Before)?;
        let memory = MdMemory::contiguous(address, length);
        match self.attach_owned(me, spec, memory, false, Some(owner), &mut |_| ()) {
            Ok(md) => Ok(md.handle()),
            Err(errno) => {
                let _ = self.me_unlink(me);
                Err(errno)
            }
        }
    }
}

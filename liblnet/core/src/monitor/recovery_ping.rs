//! Recovery pings.

use super::Monitor;
use crate::event::{Event, EventKind};
use crate::memory::{EqHandle, MdHandle, MdOptions, MdSpec, RecvBuffer};
use crate::model::Target;
use lnet_wire::ping_info::{PING_ENTRY_LEN, PING_HEADER_LEN};
use lnet_wire::{Errno, Nid, Pid, ProcessId};
use std::sync::Arc;

/// The number of NIDs that the reply buffer holds; the reply is not read (HE-51).
const NIDS: usize = 16;
/// The size of the reply buffer in bytes.
const REPLY_LEN: u32 = (PING_HEADER_LEN + NIDS * PING_ENTRY_LEN) as u32;

impl Monitor<'_> {
    /// Pings the node at `peer` from `local`; only the arrival of the reply matters, as it shows that the path works.
    pub(crate) fn send_recovery_ping(&self, local: Nid, peer: Nid) -> Result<MdHandle, Errno> {
        let room = RecvBuffer::new(REPLY_LEN);
        let memory = room.memory();
        let spec = MdSpec {
            start: memory.first().unwrap_or_default(),
            length: memory.len(),
            threshold: 2,
            max_size: 0,
            options: MdOptions(MdOptions::TRUNCATE.0 | MdOptions::NO_TRACK_RESPONSE.0),
            user_ptr: 0,
            eq: Some(self.recovery_eq()?),
        };
        let md = self.data_path.bind_owned(spec, memory, true, Arc::new(room))?;
        let target = Target::of_pings(ProcessId { nid: peer, pid: Pid::LUSTRE });
        self.data_path.get_for_recovery(local, md, target).map(|()| md).inspect_err(|_| {
            let _ = self.data_path.md_unlink(md);
        })
    }

    fn recovery_eq(&self) -> Result<EqHandle, Errno> {
        if let Some(eq) = self.state.recovery_eq.get() {
            return Ok(*eq);
        }
        let data_path = Arc::downgrade(self.data_path);
        let handler = move |event: &Event| {
            if let (EventKind::Send | EventKind::Reply, Err(errno), Some(data_path)) =
                (event.kind, event.status, data_path.upgrade())
                && let Some(nid) = event.target.nid
                && errno != Errno::Cancelled
            {
                data_path.health.recovery_ping_failed(&data_path.env, &data_path.topology, nid, errno);
            }
        };
        let eq = self.data_path.eq_alloc(0, Some(Box::new(handler)))?;
        Ok(*self.state.recovery_eq.get_or_init(|| eq))
    }
}

//! The queues of transfer machines.

use super::queue::Queue;
use super::types::{m0_net_buffer, m0_net_transfer_mc};
use crate::families::m0_net_tm_tlist_is_empty;
use crate::object::Object;
use crate::support::m0_tl;

/// The queues of a transfer machine, by number.
pub(crate) fn queue_of(tm: Object<m0_net_transfer_mc>, queue: Queue) -> Object<m0_tl> {
    tm.part(|it| &it.ntm_q[queue.index()])
}

/// Whether a buffer comes from the pool of the machine.
pub(crate) fn is_from_pool(tm: Object<m0_net_transfer_mc>, buf: Object<m0_net_buffer>) -> bool {
    !buf.nb_pool.get().is_null() && buf.nb_pool.get() == tm.ntm_recv_pool.get()
}

/// Whether no buffer is queued. The machine is locked.
pub(crate) fn queues_are_empty(tm: Object<m0_net_transfer_mc>) -> bool {
    Queue::ALL.into_iter().all(|queue| m0_net_tm_tlist_is_empty(queue_of(tm, queue)))
}

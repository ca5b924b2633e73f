//! The queues of transfer machines.

use super::queue::Queue;
use super::types::{m0_net_buffer, m0_net_transfer_mc};
use crate::families::m0_net_tm_tlist_is_empty;
use crate::support::m0_tl;
use std::ptr;

/// The queues of a transfer machine, by number.
///
/// # Safety
/// The pointer is valid.
pub(crate) unsafe fn queue_of(tm: *mut m0_net_transfer_mc, queue: Queue) -> *mut m0_tl {
    // SAFETY: by contract, and the index is one of the array's.
    unsafe { (&raw mut (*tm).ntm_q).cast::<m0_tl>().add(queue.index()) }
}

/// Whether a buffer comes from the pool of the machine.
///
/// # Safety
/// The pointer is valid.
pub(crate) unsafe fn is_from_pool(tm: *const m0_net_transfer_mc, buf: &m0_net_buffer) -> bool {
    // SAFETY: by contract.
    unsafe { !buf.nb_pool.is_null() && ptr::eq(buf.nb_pool, (*tm).ntm_recv_pool) }
}

/// Whether no buffer is queued. The machine is locked.
///
/// # Safety
/// The machine is initialised.
pub(crate) unsafe fn queues_are_empty(tm: *mut m0_net_transfer_mc) -> bool {
    // SAFETY: by contract.
    Queue::ALL.into_iter().all(|queue| unsafe { m0_net_tm_tlist_is_empty(queue_of(tm, queue)) })
}

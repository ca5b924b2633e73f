//! Locks of structures in C. Order: a pool, then a domain, then a transfer machine (motr-net 5.2).

use super::types::{m0_net_buffer_pool, m0_net_domain, m0_net_transfer_mc};
use crate::support::m0_mutex;

/// Held until it is dropped.
pub(crate) struct Guard(*const m0_mutex);

impl Guard {
    /// Takes a lock.
    ///
    /// # Safety
    /// The mutex is initialised, and outlives the guard.
    pub(crate) unsafe fn of(mutex: *const m0_mutex) -> Self {
        // SAFETY: by contract.
        unsafe { (*mutex).lock() };
        Self(mutex)
    }

    /// The lock of a transfer machine.
    ///
    /// # Safety
    /// It is initialised, and outlives the guard.
    pub(crate) unsafe fn tm(tm: *mut m0_net_transfer_mc) -> Self {
        // SAFETY: by contract.
        unsafe { Self::of(&raw const (*tm).ntm_group.s_lock) }
    }

    /// The lock of a domain.
    ///
    /// # Safety
    /// It is initialised, and outlives the guard.
    pub(crate) unsafe fn domain(domain: *mut m0_net_domain) -> Self {
        // SAFETY: by contract.
        unsafe { Self::of(&raw const (*domain).nd_mutex) }
    }

    /// The lock of a pool.
    ///
    /// # Safety
    /// It is initialised, and outlives the guard.
    pub(crate) unsafe fn pool(pool: *mut m0_net_buffer_pool) -> Self {
        // SAFETY: by contract.
        unsafe { Self::of(&raw const (*pool).nbp_mutex) }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: `of` has taken it, and it outlives this.
        unsafe { (*self.0).unlock() };
    }
}

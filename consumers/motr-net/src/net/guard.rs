//! Guards of the locks of C structures. The order of locking is pool, domain, transfer machine (motr-net 5.2).

use super::types::{m0_net_buffer_pool, m0_net_domain, m0_net_transfer_mc};
use crate::object::Object;
use crate::support::m0_mutex;

/// A locked mutex, which is unlocked on drop.
pub(crate) struct Guard(Object<m0_mutex>);

impl Guard {
    /// Locks a mutex.
    pub(crate) fn of(mutex: Object<m0_mutex>) -> Self {
        mutex.lock();
        Self(mutex)
    }

    /// Locks a transfer machine.
    pub(crate) fn tm(tm: Object<m0_net_transfer_mc>) -> Self {
        Self::of(tm.part(|it| &it.ntm_group.s_lock))
    }

    /// Locks a domain.
    pub(crate) fn domain(domain: Object<m0_net_domain>) -> Self {
        Self::of(domain.part(|it| &it.nd_mutex))
    }

    /// Locks a pool.
    pub(crate) fn pool(pool: Object<m0_net_buffer_pool>) -> Self {
        Self::of(pool.part(|it| &it.nbp_mutex))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

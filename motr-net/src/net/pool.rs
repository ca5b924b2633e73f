//! Pools of registered buffers (motr-net 5.1). A free buffer is in the list of its colour, the last one that was put back first, and in
//! that of the pool, the one put back longest ago first.

use super::buffer::{m0_net_buffer_deregister, m0_net_buffer_register};
use super::guard::Guard;
use super::provision_thread;
use super::types::{ANY_COLOUR, buf_flags, m0_bcount_t, m0_net_buffer, m0_net_buffer_pool, m0_net_domain};
use crate::contract::require;
use crate::errno::Errno;
use crate::families::{
    m0_net_pool_tlist_add_tail, m0_net_pool_tlist_del, m0_net_pool_tlist_head, m0_net_pool_tlist_init,
    m0_net_pool_tlist_length, m0_net_tm_tlink_is_in, m0_net_tm_tlist_add, m0_net_tm_tlist_del,
    m0_net_tm_tlist_head, m0_net_tm_tlist_init,
};
use crate::support::{
    m0_alloc, m0_bufvec_alloc_aligned, m0_bufvec_alloc_aligned_packed, m0_bufvec_free_aligned,
    m0_bufvec_free_aligned_packed, m0_free, m0_mutex_fini, m0_mutex_init, m0_tl,
};
use std::ffi::{c_int, c_uint};

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "C's")]
pub unsafe extern "C" fn m0_net_buffer_pool_init(
    pool: *mut m0_net_buffer_pool,
    ndom: *mut m0_net_domain,
    threshold: u32,
    seg_nr: u32,
    seg_size: m0_bcount_t,
    colours: u32,
    shift: c_uint,
    dont_dump: bool,
) -> c_int {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        if pool.is_null() || ndom.is_null() || (*ndom).nd_xprt.is_null() || shift >= usize::BITS {
            return Errno::INVALID.to_c();
        }
        let segments = 1..=(*ndom).nd_get_max_buffer_segments;
        let sizes = 1..=(*ndom).nd_get_max_buffer_segment_size;
        if !segments.contains(&seg_nr) || !sizes.contains(&seg_size) {
            return Errno::INVALID.to_c();
        }
        let lists = m0_alloc(size_of::<m0_tl>() * (colours as usize).max(1)).cast::<m0_tl>();
        if lists.is_null() {
            return Errno::NO_MEMORY.to_c();
        }
        (0..colours as usize).for_each(|colour| m0_net_tm_tlist_init(lists.add(colour)));
        m0_net_pool_tlist_init(&raw mut (*pool).nbp_lru);
        m0_mutex_init(&raw mut (*pool).nbp_mutex);
        (*pool).nbp_free = 0;
        (*pool).nbp_threshold = threshold;
        (*pool).nbp_seg_nr = seg_nr;
        (*pool).nbp_buf_nr = 0;
        (*pool).nbp_seg_size = seg_size;
        (*pool).nbp_ndom = ndom;
        (*pool).nbp_colours_nr = colours;
        (*pool).nbp_colours = lists;
        (*pool).nbp_align = shift;
        (*pool).nbp_dont_dump = dont_dump;
        0
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_pool_fini(pool: *mut m0_net_buffer_pool) {
    const NAME: &str = "m0_net_buffer_pool_fini";
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        require!(NAME, (*pool).nbp_free == (*pool).nbp_buf_nr, "buffers are missing");
        {
            let _pool = Guard::pool(pool);
            while let Some(buf) = remove(pool, m0_net_pool_tlist_head(&raw const (*pool).nbp_lru)) {
                free_buffer(pool, buf);
            }
        }
        m0_free((*pool).nbp_colours.cast());
        (*pool).nbp_colours = std::ptr::null_mut();
        // What else the program may read stays: its domain, which it is about to finalise, and the sizes.
        m0_mutex_fini(&raw mut (*pool).nbp_mutex);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_pool_provision(pool: *mut m0_net_buffer_pool, buf_nr: u32) -> c_int {
    const NAME: &str = "m0_net_buffer_pool_provision";
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        require_locked(NAME, pool);
        let mut made = 0;
        while made < buf_nr {
            let Some(buf) = allocate_buffer(pool) else { break };
            (*pool).nbp_buf_nr += 1;
            m0_net_buffer_pool_put(pool, buf, ANY_COLOUR);
            made += 1;
        }
        made as c_int
    }
}

/// A new registered buffer. `None`: no memory, or the transport refuses it.
///
/// # Safety
/// The pool is initialised.
unsafe fn allocate_buffer(pool: *mut m0_net_buffer_pool) -> Option<*mut m0_net_buffer> {
    // SAFETY: by contract; the buffer is new memory of zeros.
    unsafe {
        let buf = m0_alloc(size_of::<m0_net_buffer>()).cast::<m0_net_buffer>();
        if buf.is_null() {
            return None;
        }
        let allocate = if is_packed(pool) { m0_bufvec_alloc_aligned_packed } else { m0_bufvec_alloc_aligned };
        let vector = &raw mut (*buf).nb_buffer;
        if allocate(vector, (*pool).nbp_seg_nr, (*pool).nbp_seg_size, (*pool).nbp_align) != 0 {
            m0_free(buf.cast());
            return None;
        }
        if m0_net_buffer_register(buf, (*pool).nbp_ndom) != 0 {
            free_memory(pool, buf);
            return None;
        }
        Some(buf)
    }
}

/// Whether the pieces of a buffer lie one behind the other and are aligned all the same: such a buffer is one piece to the network.
///
/// # Safety
/// The pool is initialised.
unsafe fn is_packed(pool: *const m0_net_buffer_pool) -> bool {
    // SAFETY: by contract.
    unsafe { (*pool).nbp_seg_size.is_multiple_of(1 << (*pool).nbp_align) }
}

/// # Safety
/// A buffer of the pool, in no list.
unsafe fn free_buffer(pool: *mut m0_net_buffer_pool, buf: *mut m0_net_buffer) {
    // SAFETY: by contract.
    unsafe {
        (*pool).nbp_buf_nr -= 1;
        m0_net_buffer_deregister(buf, (*pool).nbp_ndom);
        free_memory(pool, buf);
    }
}

/// # Safety
/// A buffer of the pool that is not registered.
unsafe fn free_memory(pool: *mut m0_net_buffer_pool, buf: *mut m0_net_buffer) {
    // SAFETY: by contract; as it was allocated.
    unsafe {
        let free = if is_packed(pool) { m0_bufvec_free_aligned_packed } else { m0_bufvec_free_aligned };
        free(&raw mut (*buf).nb_buffer, (*pool).nbp_align);
        m0_free(buf.cast());
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_pool_get(
    pool: *mut m0_net_buffer_pool,
    colour: u32,
) -> *mut m0_net_buffer {
    const NAME: &str = "m0_net_buffer_pool_get";
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        require_locked(NAME, pool);
        require_colour(NAME, pool, colour);
        let Some(buf) = take(pool, colour) else { return std::ptr::null_mut() };
        tell_of_threshold(pool);
        buf
    }
}

/// Calls the program if fewer buffers than the threshold are left. It may provision the pool.
///
/// # Safety
/// The pool is locked, on behalf of the calling thread, which has no lock of the network layer but that.
pub(super) unsafe fn tell_of_threshold(pool: *mut m0_net_buffer_pool) {
    // SAFETY: by contract.
    unsafe {
        if (*pool).nbp_free < (*pool).nbp_threshold
            && let Some(callback) = (*pool).nbp_ops.as_ref().and_then(|ops| ops.nbpo_below_threshold)
        {
            callback(pool);
        }
    }
}

/// Takes a buffer out; [`tell_of_threshold`] is to be called after it.
///
/// # Safety
/// The pool is locked, on behalf of the calling thread.
pub(super) unsafe fn take(pool: *mut m0_net_buffer_pool, colour: u32) -> Option<*mut m0_net_buffer> {
    // SAFETY: by contract.
    unsafe {
        let own = match colour < (*pool).nbp_colours_nr {
            true => m0_net_tm_tlist_head((*pool).nbp_colours.add(colour as usize)),
            false => std::ptr::null_mut(),
        };
        let oldest = || m0_net_pool_tlist_head(&raw const (*pool).nbp_lru);
        let buf = remove(pool, if own.is_null() { oldest() } else { own })?;
        require!("m0_net_buffer_pool_get", (*buf).nb_ep.is_null(), "a buffer in the pool has an end point");
        (*buf).nb_pool = pool;
        Some(buf)
    }
}

/// Takes that buffer out of its lists. `None`: it is NULL.
///
/// # Safety
/// The pool is locked, on behalf of the calling thread; the buffer is in it.
unsafe fn remove(pool: *mut m0_net_buffer_pool, buf: *mut m0_net_buffer) -> Option<*mut m0_net_buffer> {
    if buf.is_null() {
        return None;
    }
    // SAFETY: by contract; a buffer without a colour is in one list only.
    unsafe {
        m0_net_tm_tlist_del(buf);
        m0_net_pool_tlist_del(buf);
        (*pool).nbp_free -= 1;
    }
    Some(buf)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_pool_put(
    pool: *mut m0_net_buffer_pool,
    buf: *mut m0_net_buffer,
    colour: u32,
) {
    const NAME: &str = "m0_net_buffer_pool_put";
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        require_locked(NAME, pool);
        require_colour(NAME, pool, colour);
        insert(pool, buf, colour);
        if (*pool).nbp_free == 1
            && let Some(callback) = (*pool).nbp_ops.as_ref().and_then(|ops| ops.nbpo_not_empty)
        {
            provision_thread::while_putting(|| callback(pool));
        }
    }
}

/// Puts a buffer back, and calls nobody.
///
/// # Safety
/// The pool is locked, on behalf of the calling thread.
pub(super) unsafe fn insert(pool: *mut m0_net_buffer_pool, buf: *mut m0_net_buffer, colour: u32) {
    const NAME: &str = "m0_net_buffer_pool_put";
    // SAFETY: by contract.
    unsafe {
        let flags = (*buf).nb_flags;
        require!(NAME, flags & buf_flags::REGISTERED != 0, "the buffer is not registered");
        require!(NAME, flags & buf_flags::QUEUED == 0, "the buffer is queued");
        require!(NAME, (*buf).nb_ep.is_null(), "the buffer has an end point");
        let is_of_domain = std::ptr::eq((*buf).nb_dom, (*pool).nbp_ndom);
        require!(NAME, is_of_domain, "the buffer is of another domain");
        require!(NAME, !m0_net_tm_tlink_is_in(buf), "the buffer is in a list");
        if colour < (*pool).nbp_colours_nr {
            m0_net_tm_tlist_add((*pool).nbp_colours.add(colour as usize), buf);
        }
        m0_net_pool_tlist_add_tail(&raw mut (*pool).nbp_lru, buf);
        (*pool).nbp_free += 1;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_pool_prune(pool: *mut m0_net_buffer_pool) -> bool {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        require_locked("m0_net_buffer_pool_prune", pool);
        if (*pool).nbp_free <= (*pool).nbp_threshold {
            return false;
        }
        let Some(buf) = remove(pool, m0_net_pool_tlist_head(&raw const (*pool).nbp_lru)) else {
            return false;
        };
        free_buffer(pool, buf);
        true
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_pool_lock(pool: *mut m0_net_buffer_pool) {
    // SAFETY: the contract of the C functions (`super`).
    unsafe { (*pool).nbp_mutex.lock() };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_pool_unlock(pool: *mut m0_net_buffer_pool) {
    // SAFETY: the contract of the C functions (`super`).
    unsafe { (*pool).nbp_mutex.unlock() };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_pool_is_locked(pool: *const m0_net_buffer_pool) -> bool {
    // SAFETY: the contract of the C functions (`super`).
    unsafe { (*pool).nbp_mutex.is_locked() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_pool_is_not_locked(pool: *const m0_net_buffer_pool) -> bool {
    // SAFETY: the contract of the C functions (`super`).
    unsafe { !(*pool).nbp_mutex.is_locked() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn m0_net_buffer_pool_invariant(pool: *const m0_net_buffer_pool) -> bool {
    // SAFETY: the contract of the C functions (`super`).
    unsafe {
        !pool.is_null()
            && (*pool).nbp_mutex.is_locked()
            && !(*pool).nbp_ndom.is_null()
            && !(*pool).nbp_colours.is_null()
            && (*pool).nbp_free <= (*pool).nbp_buf_nr
            && m0_net_pool_tlist_length(&raw const (*pool).nbp_lru) == (*pool).nbp_free as usize
    }
}

/// # Safety
/// The pool is initialised.
unsafe fn require_locked(name: &str, pool: *mut m0_net_buffer_pool) {
    // SAFETY: by contract.
    let is_locked = unsafe { (*pool).nbp_mutex.is_locked() };
    require!(name, is_locked, "this thread does not have the lock of the pool");
}

/// # Safety
/// The pool is initialised.
unsafe fn require_colour(name: &str, pool: *mut m0_net_buffer_pool, colour: u32) {
    // SAFETY: by contract.
    let count = unsafe { (*pool).nbp_colours_nr };
    require!(name, colour == ANY_COLOUR || colour < count, "{colour} is not one of {count} colours");
}

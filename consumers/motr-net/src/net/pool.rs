//! Pools of registered buffers (motr-net 5.1). A free buffer is in the list of its colour, which begins with the buffer that
//! was returned last, and in that of the pool, which begins with the one that was returned longest ago.

use super::buffer::{m0_net_buffer_deregister, m0_net_buffer_register};
use super::guard::Guard;
use super::provision_thread;
use super::types::{ANY_COLOUR, buf_flags, m0_bcount_t, m0_net_buffer, m0_net_buffer_pool, m0_net_domain};
use crate::Errno;
use crate::contract::require;
use crate::families::{
    m0_net_pool_tlist_add_tail, m0_net_pool_tlist_del, m0_net_pool_tlist_head, m0_net_pool_tlist_init,
    m0_net_pool_tlist_length, m0_net_tm_tlink_is_in, m0_net_tm_tlist_add, m0_net_tm_tlist_del,
    m0_net_tm_tlist_head, m0_net_tm_tlist_init,
};
use crate::object::Object;
use crate::support::{
    m0_alloc, m0_bufvec_alloc_aligned, m0_bufvec_alloc_aligned_packed, m0_bufvec_free_aligned,
    m0_bufvec_free_aligned_packed, m0_free, m0_mutex_fini, m0_mutex_init, m0_tl,
};
use std::ffi::{c_int, c_uint};

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "C's")]
pub extern "C" fn m0_net_buffer_pool_init(
    pool: Object<m0_net_buffer_pool>,
    ndom: Object<m0_net_domain>,
    threshold: u32,
    seg_nr: u32,
    seg_size: m0_bcount_t,
    colours: u32,
    shift: c_uint,
    dont_dump: bool,
) -> c_int {
    if pool.is_null() || ndom.is_null() || ndom.nd_xprt.get().is_null() || shift >= usize::BITS {
        return Errno::Invalid.to_c();
    }
    let segments = 1..=ndom.nd_get_max_buffer_segments.get();
    let sizes = 1..=ndom.nd_get_max_buffer_segment_size.get();
    if !segments.contains(&seg_nr) || !sizes.contains(&seg_size) {
        return Errno::Invalid.to_c();
    }
    // SAFETY: new memory of zeros, which are lists; it stays until the fini of the pool.
    let lists =
        unsafe { Object::new(m0_alloc(size_of::<m0_tl>() * (colours as usize).max(1)).cast::<m0_tl>()) };
    if lists.is_null() {
        return Errno::NoMemory.to_c();
    }
    // SAFETY: the pool is not initialised: nobody uses its parts.
    unsafe {
        m0_net_pool_tlist_init(pool.part(|it| &it.nbp_lru).memory());
        m0_mutex_init(pool.part(|it| &it.nbp_mutex).memory());
    }
    pool.nbp_free.set(0);
    pool.nbp_threshold.set(threshold);
    pool.nbp_seg_nr.set(seg_nr);
    pool.nbp_buf_nr.set(0);
    pool.nbp_seg_size.set(seg_size);
    pool.nbp_ndom.set(ndom);
    pool.nbp_colours_nr.set(colours);
    pool.nbp_colours.set(lists);
    pool.nbp_align.set(shift);
    pool.nbp_dont_dump.set(dont_dump);
    // SAFETY: nobody uses the lists yet.
    (0..colours)
        .filter_map(|colour| list_of(pool, colour))
        .for_each(|list| m0_net_tm_tlist_init(unsafe { list.memory() }));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_pool_fini(pool: Object<m0_net_buffer_pool>) {
    const NAME: &str = "m0_net_buffer_pool_fini";
    require!(NAME, pool.nbp_free.get() == pool.nbp_buf_nr.get(), "buffers are missing");
    {
        let _pool = Guard::pool(pool);
        while let Some(buf) = remove(pool, m0_net_pool_tlist_head(pool.part(|it| &it.nbp_lru))) {
            free_buffer(pool, buf);
        }
    }
    // SAFETY: the lists of `m0_net_buffer_pool_init`, in which no buffer is left; the pool, which has them no more, was the only one.
    unsafe { m0_free(pool.nbp_colours.take().as_ptr().cast()) };
    // The other fields that the program may read stay: the domain, which it is about to finalise, and the sizes.
    m0_mutex_fini(pool.part(|it| &it.nbp_mutex));
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_pool_provision(pool: Object<m0_net_buffer_pool>, buf_nr: u32) -> c_int {
    const NAME: &str = "m0_net_buffer_pool_provision";
    require_locked(NAME, pool);
    let mut made = 0;
    while made < buf_nr {
        let Some(buf) = allocate_buffer(pool) else { break };
        pool.nbp_buf_nr.update(|it| it + 1);
        m0_net_buffer_pool_put(pool, buf, ANY_COLOUR);
        made += 1;
    }
    made as c_int
}

/// The list of the free buffers of a colour; `None` if the pool has no such colour.
fn list_of(pool: Object<m0_net_buffer_pool>, colour: u32) -> Option<Object<m0_tl>> {
    let lists = pool.nbp_colours.get().as_ptr();
    // SAFETY: a pool has so many lists, from its init to its fini (`Object`).
    (colour < pool.nbp_colours_nr.get()).then(|| unsafe { Object::new(lists.wrapping_add(colour as usize)) })
}

/// A new registered buffer; `None` if there is no memory, or the transport refuses it.
fn allocate_buffer(pool: Object<m0_net_buffer_pool>) -> Option<Object<m0_net_buffer>> {
    // SAFETY: new memory of zeros, which are a buffer; it stays until `free_memory`.
    let buf = unsafe { Object::new(m0_alloc(size_of::<m0_net_buffer>()).cast::<m0_net_buffer>()) }.get()?;
    let allocate = if is_packed(pool) { m0_bufvec_alloc_aligned_packed } else { m0_bufvec_alloc_aligned };
    // SAFETY: nobody uses the buffer yet.
    let vector = unsafe { buf.part(|it| &it.nb_buffer).memory() };
    if allocate(vector, pool.nbp_seg_nr.get(), pool.nbp_seg_size.get(), pool.nbp_align.get()) != 0 {
        free_memory(pool, buf);
        return None;
    }
    if m0_net_buffer_register(buf, pool.nbp_ndom.get()) != 0 {
        free_memory(pool, buf);
        return None;
    }
    Some(buf)
}

/// Whether the pieces of a buffer are adjacent and aligned anyway: such a buffer is one piece to the network.
fn is_packed(pool: Object<m0_net_buffer_pool>) -> bool {
    pool.nbp_seg_size.get().is_multiple_of(1 << pool.nbp_align.get())
}

fn free_buffer(pool: Object<m0_net_buffer_pool>, buf: Object<m0_net_buffer>) {
    pool.nbp_buf_nr.update(|it| it - 1);
    m0_net_buffer_deregister(buf, pool.nbp_ndom.get());
    free_memory(pool, buf);
}

fn free_memory(pool: Object<m0_net_buffer_pool>, buf: Object<m0_net_buffer>) {
    let free = if is_packed(pool) { m0_bufvec_free_aligned_packed } else { m0_bufvec_free_aligned };
    // SAFETY: what `allocate_buffer` allocated in the same way; the buffer is not registered, and in no list: nobody else has it.
    unsafe {
        free(buf.part(|it| &it.nb_buffer), pool.nbp_align.get());
        m0_free(buf.as_ptr().cast());
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_pool_get(
    pool: Object<m0_net_buffer_pool>,
    colour: u32,
) -> Object<m0_net_buffer> {
    const NAME: &str = "m0_net_buffer_pool_get";
    require_locked(NAME, pool);
    require_colour(NAME, pool, colour);
    let Some(buf) = take(pool, colour) else { return Object::NULL };
    tell_of_threshold(pool);
    buf
}

/// Calls the program if fewer buffers than the threshold are left; the callback may provision the pool.
pub(super) fn tell_of_threshold(pool: Object<m0_net_buffer_pool>) {
    if pool.nbp_free.get() < pool.nbp_threshold.get()
        && let Some(callback) = pool.nbp_ops.get().get().and_then(|ops| ops.nbpo_below_threshold)
    {
        callback(pool);
    }
}

/// Takes a buffer from the pool; the caller calls [`tell_of_threshold`] after it.
pub(super) fn take(pool: Object<m0_net_buffer_pool>, colour: u32) -> Option<Object<m0_net_buffer>> {
    let own = list_of(pool, colour).and_then(|list| m0_net_tm_tlist_head(list).get());
    let oldest = || m0_net_pool_tlist_head(pool.part(|it| &it.nbp_lru));
    let buf = remove(pool, own.unwrap_or_else(oldest))?;
    require!("m0_net_buffer_pool_get", buf.nb_ep.get().is_null(), "a buffer in the pool has an end point");
    buf.nb_pool.set(pool);
    Some(buf)
}

/// Removes a buffer from its lists; `None` if it is NULL.
fn remove(pool: Object<m0_net_buffer_pool>, buf: Object<m0_net_buffer>) -> Option<Object<m0_net_buffer>> {
    let buf = buf.get()?;
    m0_net_tm_tlist_del(buf);
    m0_net_pool_tlist_del(buf);
    pool.nbp_free.update(|it| it - 1);
    Some(buf)
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_pool_put(
    pool: Object<m0_net_buffer_pool>,
    buf: Object<m0_net_buffer>,
    colour: u32,
) {
    const NAME: &str = "m0_net_buffer_pool_put";
    require_locked(NAME, pool);
    require_colour(NAME, pool, colour);
    insert(pool, buf, colour);
    if pool.nbp_free.get() == 1
        && let Some(callback) = pool.nbp_ops.get().get().and_then(|ops| ops.nbpo_not_empty)
    {
        provision_thread::while_putting(|| callback(pool));
    }
}

/// Returns a buffer to the pool, without a callback.
pub(super) fn insert(pool: Object<m0_net_buffer_pool>, buf: Object<m0_net_buffer>, colour: u32) {
    const NAME: &str = "m0_net_buffer_pool_put";
    let flags = buf.nb_flags.get();
    require!(NAME, flags & buf_flags::REGISTERED != 0, "the buffer is not registered");
    require!(NAME, flags & buf_flags::QUEUED == 0, "the buffer is queued");
    require!(NAME, buf.nb_ep.get().is_null(), "the buffer has an end point");
    let is_of_domain = buf.nb_dom.get() == pool.nbp_ndom.get();
    require!(NAME, is_of_domain, "the buffer is of another domain");
    require!(NAME, !m0_net_tm_tlink_is_in(buf), "the buffer is in a list");
    if let Some(list) = list_of(pool, colour) {
        m0_net_tm_tlist_add(list, buf);
    }
    m0_net_pool_tlist_add_tail(pool.part(|it| &it.nbp_lru), buf);
    pool.nbp_free.update(|it| it + 1);
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_pool_prune(pool: Object<m0_net_buffer_pool>) -> bool {
    require_locked("m0_net_buffer_pool_prune", pool);
    if pool.nbp_free.get() <= pool.nbp_threshold.get() {
        return false;
    }
    let Some(buf) = remove(pool, m0_net_pool_tlist_head(pool.part(|it| &it.nbp_lru))) else {
        return false;
    };
    free_buffer(pool, buf);
    true
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_pool_lock(pool: Object<m0_net_buffer_pool>) {
    pool.nbp_mutex.lock();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_pool_unlock(pool: Object<m0_net_buffer_pool>) {
    pool.nbp_mutex.unlock();
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_pool_is_locked(pool: Object<m0_net_buffer_pool>) -> bool {
    pool.nbp_mutex.is_locked()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_pool_is_not_locked(pool: Object<m0_net_buffer_pool>) -> bool {
    !pool.nbp_mutex.is_locked()
}

#[unsafe(no_mangle)]
pub extern "C" fn m0_net_buffer_pool_invariant(pool: Object<m0_net_buffer_pool>) -> bool {
    !pool.is_null()
        && pool.nbp_mutex.is_locked()
        && !pool.nbp_ndom.get().is_null()
        && !pool.nbp_colours.get().is_null()
        && pool.nbp_free.get() <= pool.nbp_buf_nr.get()
        && m0_net_pool_tlist_length(pool.part(|it| &it.nbp_lru)) == pool.nbp_free.get() as usize
}

fn require_locked(name: &str, pool: Object<m0_net_buffer_pool>) {
    let is_locked = pool.nbp_mutex.is_locked();
    require!(name, is_locked, "this thread does not have the lock of the pool");
}

fn require_colour(name: &str, pool: Object<m0_net_buffer_pool>, colour: u32) {
    let count = pool.nbp_colours_nr.get();
    require!(name, colour == ANY_COLOUR || colour < count, "{colour} is not one of {count} colours");
}

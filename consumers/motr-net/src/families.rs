//! The families of lists that programs use (motr-net 8.1): end points of a transfer machine, buffers of a queue, buffers of a pool.

use crate::net::types::{m0_net_buffer, m0_net_end_point};
use crate::object::Object;
use crate::support::m0_tl_descr;
use crate::support::tlist::tl_family;
use std::mem::offset_of;

/// The magic number of an end point.
const END_POINT: u64 = u64::from_le_bytes(*b"m0netep\0");
/// The magic number of a buffer.
const BUFFER: u64 = u64::from_le_bytes(*b"m0netbuf");

tl_family!(
    m0_net_end_point, m0_nep_tl = m0_tl_descr::new(
        c"end points", offset_of!(m0_net_end_point, nep_tm_linkage), offset_of!(m0_net_end_point, nep_magix), END_POINT,
    );
    lists: m0_nep_tlist_init m0_nep_tlist_fini m0_nep_tlist_is_empty m0_nep_tlist_length m0_nep_tlist_contains m0_nep_tlist_add
    m0_nep_tlist_add_tail m0_nep_tlist_del m0_nep_tlist_head m0_nep_tlist_tail end_points_of;
    links: m0_nep_tlink_init m0_nep_tlink_init_at m0_nep_tlink_init_at_tail m0_nep_tlink_fini m0_nep_tlink_del_fini
    m0_nep_tlink_is_in
);

tl_family!(
    m0_net_buffer, m0_net_tm_tl = m0_tl_descr::new(
        c"buffers of a queue", offset_of!(m0_net_buffer, nb_tm_linkage), offset_of!(m0_net_buffer, nb_magic), BUFFER,
    );
    lists: m0_net_tm_tlist_init m0_net_tm_tlist_fini m0_net_tm_tlist_is_empty m0_net_tm_tlist_length m0_net_tm_tlist_contains
    m0_net_tm_tlist_add m0_net_tm_tlist_add_tail m0_net_tm_tlist_del m0_net_tm_tlist_head m0_net_tm_tlist_tail
    buffers_of_queue;
    links: m0_net_tm_tlink_init m0_net_tm_tlink_init_at m0_net_tm_tlink_init_at_tail m0_net_tm_tlink_fini
    m0_net_tm_tlink_del_fini m0_net_tm_tlink_is_in
);

// A free buffer of a pool is in two lists: that of its colour, of the family `m0_net_tm`, and that of the pool, of this family.
tl_family!(
    m0_net_buffer, m0_net_pool_tl = m0_tl_descr::new(
        c"buffers of a pool", offset_of!(m0_net_buffer, nb_lru), offset_of!(m0_net_buffer, nb_magic), BUFFER,
    );
    lists: m0_net_pool_tlist_init m0_net_pool_tlist_fini m0_net_pool_tlist_is_empty m0_net_pool_tlist_length
    m0_net_pool_tlist_contains m0_net_pool_tlist_add m0_net_pool_tlist_add_tail m0_net_pool_tlist_del m0_net_pool_tlist_head
    m0_net_pool_tlist_tail buffers_of_pool;
    links: m0_net_pool_tlink_init m0_net_pool_tlink_init_at m0_net_pool_tlink_init_at_tail m0_net_pool_tlink_fini
    m0_net_pool_tlink_del_fini m0_net_pool_tlink_is_in
);

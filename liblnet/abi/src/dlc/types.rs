//! The structures of the DLC API, as in 2.15 (dlc 6.2).
#![allow(non_camel_case_types)]

use crate::types::{__s32, __u16, __u32, cfs_expr_list, list_head};
use std::ffi::{c_char, c_int};

/// Bytes of an interface's name with its terminating zero.
pub(crate) const IFNAMSIZ: usize = 16;

/// A net and its interfaces. Made with lustre_lnet_init_nw_descr.
#[repr(C)]
#[derive(Debug)]
pub struct lnet_dlc_network_descr {
    /// The link in lists of the program.
    pub network_on_rule: list_head,
    /// The net: libcfs_str2net; all ones for none.
    pub nw_id: __u32,
    /// The list of its interfaces, struct lnet_dlc_intf_descr.
    pub nw_intflist: list_head,
}

/// An interface. A program that fills a list itself allocates it, and cpt_expr, with malloc: functions that get a
/// list free its descriptors.
#[repr(C)]
#[derive(Debug)]
pub struct lnet_dlc_intf_descr {
    /// The link in nw_intflist.
    pub intf_on_network: list_head,
    /// The name of the interface, or its address; with a terminating zero.
    pub intf_name: [c_char; 16],
    /// The CPU partitions that the interface is bound to; NULL if none were given. Freed with the descriptor.
    pub cpt_expr: *mut cfs_expr_list,
}

/// The Rust view of C's enumeration of that name, whose template has the documentation.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "the names of C")]
pub enum lnet_udsp_action_type {
    /// No action.
    EN_LNET_UDSP_ACTION_NONE = 0,
    /// A priority.
    EN_LNET_UDSP_ACTION_PRIORITY = 1,
    /// A preferred list.
    EN_LNET_UDSP_ACTION_PREFERRED_LIST = 2,
}

/// The action of a selection rule.
#[repr(C)]
#[derive(Clone, Copy)]
pub union lnet_udsp_action {
    /// The priority, from 0 to 255: smaller is preferred.
    pub udsp_priority: c_int,
}

/// The Rust view of C's structure of that name, whose template has the documentation.
#[repr(C)]
#[derive(Debug)]
pub struct lnet_ud_net_descr {
    pub(crate) udn_net_type: __u32,
    pub(crate) udn_net_num_range: list_head,
}

/// See [`lnet_ud_net_descr`].
#[repr(C)]
#[derive(Debug)]
pub struct lnet_ud_nid_descr {
    pub(crate) ud_net_id: lnet_ud_net_descr,
    pub(crate) ud_addr_range: list_head,
}

/// See [`lnet_ud_net_descr`].
#[repr(C)]
#[derive(Debug)]
pub struct lnet_udsp {
    pub(crate) udsp_on_list: list_head,
    pub(crate) udsp_idx: __u32,
    pub(crate) udsp_src: lnet_ud_nid_descr,
    pub(crate) udsp_dst: lnet_ud_nid_descr,
    pub(crate) udsp_rte: lnet_ud_nid_descr,
    pub(crate) udsp_action_type: __u32,
    pub(crate) udsp_priority: __u32,
}

/// The Rust view of C's structure of that name, whose template has the documentation.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_ioctl_config_lnd_cmn_tunables {
    pub(crate) lct_version: __u32,
    pub(crate) lct_peer_timeout: __s32,
    pub(crate) lct_peer_tx_credits: __s32,
    pub(crate) lct_peer_rtr_credits: __s32,
    pub(crate) lct_max_tx_credits: __s32,
}

/// See [`lnet_ioctl_config_lnd_cmn_tunables`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_ioctl_config_o2iblnd_tunables {
    pub(crate) lnd_version: __u32,
    pub(crate) lnd_peercredits_hiw: __u32,
    pub(crate) lnd_map_on_demand: __u32,
    pub(crate) lnd_concurrent_sends: __u32,
    pub(crate) lnd_fmr_pool_size: __u32,
    pub(crate) lnd_fmr_flush_trigger: __u32,
    pub(crate) lnd_fmr_cache: __u32,
    pub(crate) lnd_conns_per_peer: __u16,
    pub(crate) lnd_ntx: __u16,
}

/// See [`lnet_ioctl_config_lnd_cmn_tunables`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lnet_ioctl_config_socklnd_tunables {
    pub(crate) lnd_version: __u32,
    pub(crate) lnd_conns_per_peer: __u16,
    pub(crate) lnd_pad: __u16,
}

/// See [`lnet_ioctl_config_lnd_cmn_tunables`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lnet_lnd_tunables {
    pub(crate) lnd_tun_u: lnd_tun_u,
}

/// The union of the drivers' tunables, which has no name in C. Every view consists of plain numbers, so that each may be read.
#[repr(C)]
#[derive(Clone, Copy)]
pub union lnd_tun_u {
    pub(crate) lnd_o2ib: lnet_ioctl_config_o2iblnd_tunables,
    pub(crate) lnd_sock: lnet_ioctl_config_socklnd_tunables,
}

/// See [`lnet_ioctl_config_lnd_cmn_tunables`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lnet_ioctl_config_lnd_tunables {
    pub(crate) lt_cmn: lnet_ioctl_config_lnd_cmn_tunables,
    pub(crate) lt_tun: lnet_lnd_tunables,
}

// `c-tests/layout.c` checks the headers against the same numbers.
const _: () = {
    assert!(size_of::<lnet_dlc_network_descr>() == 40);
    assert!(size_of::<lnet_dlc_intf_descr>() == 40);
    assert!(size_of::<lnet_udsp_action>() == 4);
    assert!(size_of::<lnet_udsp>() == 152);
    assert!(std::mem::offset_of!(lnet_udsp, udsp_rte) == 104);
    assert!(size_of::<lnet_lnd_tunables>() == 32);
    assert!(size_of::<lnet_ioctl_config_lnd_tunables>() == 52);
    assert!(std::mem::offset_of!(lnet_ioctl_config_lnd_tunables, lt_tun) == 20);
};

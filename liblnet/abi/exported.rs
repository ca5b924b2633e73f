// Every function of the C API, once: its name, its header, and which consumers call it.
//
// The build script exports exactly these (with the symbol version), a test compares the built library
// with them, and `docs/c-api-matrix.md` is made from them. No `//!` here: build script and test include this file.

/// One function of the C API.
pub struct Export {
    /// Its C name; the Rust function has a `_` before it.
    pub name: &'static str,
    /// The header that declares it.
    pub header: &'static str,
    /// Which consumers are known to call it: `p` ptlrpc, `s` LNet selftest, `m` Motr.
    pub users: &'static str,
}

const fn export(name: &'static str, header: &'static str, users: &'static str) -> Export {
    Export { name, header, users }
}

/// The version of every symbol.
pub const SYMBOL_VERSION: &str = "LNET_2.10";

/// All of them.
pub const EXPORTED: &[Export] = &[
    export("LNetNIInit", "lnet/api.h", "psm"),
    export("LNetNIFini", "lnet/api.h", "psm"),
    export("LNetGetId", "lnet/api.h", "sm"),
    export("LNetDist", "lnet/api.h", "p"),
    export("LNetPrimaryNID", "lnet/api.h", "p"),
    export("LNetDebugPeer", "lnet/api.h", ""),
    export("LNetMEAttach", "lnet/api.h", "psm"),
    export("LNetMEInsert", "lnet/api.h", ""),
    export("LNetMEUnlink", "lnet/api.h", "psm"),
    export("LNetMDAttach", "lnet/api.h", "psm"),
    export("LNetMDBind", "lnet/api.h", "psm"),
    export("LNetMDUnlink", "lnet/api.h", "psm"),
    export("LNetEQAlloc", "lnet/api.h", "psm"),
    export("LNetEQFree", "lnet/api.h", "psm"),
    export("LNetEQGet", "lnet/api.h", ""),
    export("LNetEQWait", "lnet/api.h", ""),
    export("LNetEQPoll", "lnet/api.h", ""),
    export("LNetPut", "lnet/api.h", "psm"),
    export("LNetGet", "lnet/api.h", "psm"),
    export("LNetSetLazyPortal", "lnet/api.h", "ps"),
    export("LNetClearLazyPortal", "lnet/api.h", "ps"),
    export("LNetCtl", "lnet/api.h", ""),
    export("lnet_counters_get", "lnet/lib-lnet.h", "s"),
    export("lnet_cpt_of_nid", "lnet/lib-lnet.h", "s"),
    export("libcfs_next_nidstring", "lnet/nidstr.h", "m"),
    export("libcfs_isknown_lnd", "lnet/nidstr.h", ""),
    export("libcfs_lnd2modname", "lnet/nidstr.h", ""),
    export("libcfs_lnd2str_r", "lnet/nidstr.h", ""),
    export("libcfs_str2lnd", "lnet/nidstr.h", ""),
    export("libcfs_net2str_r", "lnet/nidstr.h", ""),
    export("libcfs_nid2str_r", "lnet/nidstr.h", "m"),
    export("libcfs_str2net", "lnet/nidstr.h", ""),
    export("libcfs_str2nid", "lnet/nidstr.h", "m"),
    export("libcfs_str2anynid", "lnet/nidstr.h", ""),
    export("libcfs_id2str", "lnet/nidstr.h", ""),
    export("cfs_parse_nidlist", "lnet/nidstr.h", ""),
    export("cfs_match_nid", "lnet/nidstr.h", ""),
    export("cfs_print_nidlist", "lnet/nidstr.h", ""),
    export("cfs_free_nidlist", "lnet/nidstr.h", ""),
    export("cfs_nidrange_is_contiguous", "lnet/nidstr.h", ""),
    export("cfs_nidrange_find_min_max", "lnet/nidstr.h", ""),
    export("cfs_ip_addr_parse", "libcfs/libcfs_string.h", ""),
    export("cfs_ip_addr_match", "libcfs/libcfs_string.h", ""),
    export("cfs_gettok", "libcfs/libcfs_string.h", ""),
    export("cfs_str2num_check", "libcfs/libcfs_string.h", ""),
    export("cfs_expr_list_parse", "libcfs/libcfs_string.h", ""),
    export("cfs_expr_list_match", "libcfs/libcfs_string.h", ""),
    export("cfs_expr_list_print", "libcfs/libcfs_string.h", ""),
    export("cfs_expr_list_values", "libcfs/libcfs_string.h", ""),
    export("cfs_expr_list_values_free", "libcfs/libcfs_string.h", ""),
    export("cfs_expr_list_free", "libcfs/libcfs_string.h", ""),
    export("cfs_expr_list_free_list", "libcfs/libcfs_string.h", ""),
    export("cfs_trimwhite", "libcfs/libcfs_string.h", ""),
    export("cfs_firststr", "libcfs/libcfs_string.h", ""),
    export("cfs_strrstr", "libcfs/libcfs_string.h", ""),
    export("l_ioctl", "libcfs/util/ioctl.h", ""),
    export("register_ioc_dev", "libcfs/util/ioctl.h", ""),
    export("unregister_ioc_dev", "libcfs/util/ioctl.h", ""),
];

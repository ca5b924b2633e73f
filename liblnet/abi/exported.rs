// Every function of the C API, once in each form that it has: its name, its header, which consumers call it, and the release of Lustre that
// has the form. Those of the settings are in the table of settings.
//
// The build script exports exactly these (with the symbol versions), a test compares the built library with them, and `xtask` makes
// `docs/c-api-matrix.md` and the headers from them. No `//!` here: all three include this file.

/// A release of Lustre whose C API the library has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// 2.10: what a program gets that names no release.
    V2_10,
    /// 2.15.
    V2_15,
    /// 2.17.
    V2_17,
}

impl Release {
    /// The release as the macro `LNET_API` has it.
    pub const fn api(self) -> u32 {
        match self {
            Self::V2_10 => 0x20a00,
            Self::V2_15 => 0x20f08,
            Self::V2_17 => 0x21100,
        }
    }

    /// All releases, the oldest first.
    pub const ALL: [Self; 3] = [Self::V2_10, Self::V2_15, Self::V2_17];

    /// The release as Lustre writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2_10 => "2.10",
            Self::V2_15 => "2.15",
            Self::V2_17 => "2.17",
        }
    }

    /// The version of the symbols of the forms that the release has first.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V2_10 => "LNET_2.10",
            Self::V2_15 => "LNET_2.15",
            Self::V2_17 => "LNET_2.17",
        }
    }

    /// The end of the symbols, and of the names in Rust, of the forms that the release has first.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::V2_10 => "",
            Self::V2_15 => "_2_15",
            Self::V2_17 => "_2_17",
        }
    }
}

/// A function of the C API, in one form.
#[derive(Clone, Copy)]
pub struct Export {
    /// The C name.
    pub name: &'static str,
    /// The header that declares the function.
    pub header: &'static str,
    /// The consumers that are known to call the function: `p` ptlrpc, `s` LNet selftest, `m` Motr.
    pub users: &'static str,
    /// The first release that has this form.
    pub release: Release,
    /// The last release that has this form.
    pub until: Release,
}

const fn export(name: &'static str, header: &'static str, users: &'static str) -> Export {
    Export { name, header, users, release: Release::V2_10, until: Release::V2_17 }
}

/// A function that 2.10 has and 2.15 has not.
const fn ended(name: &'static str, header: &'static str, users: &'static str) -> Export {
    Export { name, header, users, release: Release::V2_10, until: Release::V2_10 }
}

/// A form that came later, and that the last release still has.
const fn form(release: Release, name: &'static str, header: &'static str) -> Export {
    Export { name, header, users: "", release, until: Release::V2_17 }
}

/// A form that came with one release and went with the next.
const fn only(release: Release, name: &'static str, header: &'static str) -> Export {
    Export { name, header, users: "", release, until: release }
}

/// The version of liblnetconfig's symbols.
pub const LNETCONFIG_VERSION: &str = "LNETCONFIG_2.15";

impl Export {
    /// Whether the function belongs to liblnetconfig.
    pub fn is_lnetconfig(&self) -> bool {
        self.header.starts_with("lnet/lnetconfig/") || self.header == "libcfs/util/parser.h"
    }

    /// The version of the function's symbol.
    pub fn version(&self) -> &'static str {
        if self.is_lnetconfig() { LNETCONFIG_VERSION } else { self.release.version() }
    }

    /// The symbol that programs link, which is its default version; the Rust function has a `_` before it. The forms of later releases have
    /// symbols of their own, so that the compiler, and not the linker, decides which one a program gets.
    pub fn symbol(&self) -> String {
        format!("{}{}", self.name, self.release.suffix())
    }

    /// The symbol for `dlvsym`: the C name with the release's version. `None` if [`Export::symbol`] is that.
    pub fn versioned_name(&self) -> Option<String> {
        (self.release > Release::V2_10).then(|| format!("{}@{}", self.name, self.version()))
    }
}

/// The functions that a program of this release has, each in the newest form that is not newer than the release.
pub fn functions_of(release: Release) -> Vec<Export> {
    let is_there = |export: &Export| export.release <= release && release <= export.until;
    let newest = |one: &Export| {
        let same = all_forms().filter(|other| other.name == one.name && is_there(other));
        same.map(|other| other.release).max() == Some(one.release)
    };
    all_forms().filter(|export| is_there(export) && newest(export)).collect()
}

/// All exported functions in all forms.
pub fn all_forms() -> impl Iterator<Item = Export> {
    exported().chain(LATER.iter().copied())
}

/// All exported functions of 2.10 and liblnetconfig, each in the form of an unversioned symbol.
pub fn exported() -> impl Iterator<Item = Export> {
    let of_settings = lnet_settings::c_functions().into_iter();
    let of_settings =
        of_settings.map(|function| export(function.name, "lnet/lnetconfig/liblnetconfig.h", ""));
    WRITTEN.iter().copied().chain(of_settings)
}

const API_2_15: &str = "lnet/v2_15/api.h";
const API_2_17: &str = "lnet/v2_17/api.h";
const NIDSTR_2_15: &str = "lnet/v2_15/nidstr.h";

/// The forms of later releases. A function without a row here is in these releases what it is in 2.10.
const LATER: &[Export] = &[
    only(Release::V2_15, "LNetGetId", API_2_15),
    only(Release::V2_15, "LNetIsPeerLocal", API_2_15),
    form(Release::V2_15, "LNetDebugPeer", API_2_15),
    form(Release::V2_15, "LNetMEAttach", API_2_15),
    form(Release::V2_15, "LNetMDAttach", API_2_15),
    form(Release::V2_15, "LNetMDBind", API_2_15),
    only(Release::V2_15, "__LNetMDUnlink", API_2_15),
    form(Release::V2_15, "lnet_assert_handler_unused", API_2_15),
    only(Release::V2_15, "LNetGet", API_2_15),
    form(Release::V2_15, "libcfs_nidstr_r", NIDSTR_2_15),
    form(Release::V2_15, "libcfs_strnid", NIDSTR_2_15),
    form(Release::V2_15, "libcfs_stranynid", NIDSTR_2_15),
    form(Release::V2_15, "libcfs_idstr", NIDSTR_2_15),
    form(Release::V2_17, "LNetGetId", API_2_17),
    form(Release::V2_17, "LNetDist", API_2_17),
    form(Release::V2_17, "LNetPrimaryNID", API_2_17),
    form(Release::V2_17, "LNetIsPeerLocal", API_2_17),
    form(Release::V2_17, "LNetLocalPrimaryNID", API_2_17),
    form(Release::V2_17, "LNetAddPeer", API_2_17),
    form(Release::V2_17, "LNetPeerDiscovered", API_2_17),
    form(Release::V2_17, "LNetFetchNIDs", API_2_17),
    form(Release::V2_17, "LNetRegisterNIDUpdates", API_2_17),
    form(Release::V2_17, "LNetUnRegisterNIDUpdates", API_2_17),
    form(Release::V2_17, "LNetMDUnlink", API_2_17),
    form(Release::V2_17, "LNetPut", API_2_17),
    form(Release::V2_17, "LNetGet", API_2_17),
];

/// The functions that are written by hand; the others are made from the table of settings.
const WRITTEN: &[Export] = &[
    export("LNetNIInit", "lnet/api.h", "psm"),
    export("LNetNIFini", "lnet/api.h", "psm"),
    export("LNetGetId", "lnet/api.h", "sm"),
    export("LNetDist", "lnet/api.h", "p"),
    export("LNetPrimaryNID", "lnet/api.h", "p"),
    export("LNetAddPeer", "lnet/api.h", ""),
    export("LNetPeerDiscovered", "lnet/api.h", ""),
    export("LNetGetPeerDiscoveryStatus", "lnet/api.h", ""),
    export("LNetDebugPeer", "lnet/api.h", ""),
    export("LNetMemAlloc", "lnet/api.h", ""),
    export("LNetMemFree", "lnet/api.h", ""),
    export("LNetMEAttach", "lnet/api.h", "psm"),
    ended("LNetMEInsert", "lnet/api.h", ""),
    ended("LNetMEUnlink", "lnet/api.h", "psm"),
    export("LNetMDAttach", "lnet/api.h", "psm"),
    export("LNetMDBind", "lnet/api.h", "psm"),
    ended("LNetMDUnlink", "lnet/api.h", "psm"),
    ended("LNetEQAlloc", "lnet/api.h", "psm"),
    ended("LNetEQFree", "lnet/api.h", "psm"),
    ended("LNetEQGet", "lnet/api.h", ""),
    ended("LNetEQWait", "lnet/api.h", ""),
    ended("LNetEQPoll", "lnet/api.h", ""),
    export("LNetPut", "lnet/api.h", "psm"),
    export("LNetGet", "lnet/api.h", "psm"),
    export("LNetSetLazyPortal", "lnet/api.h", "ps"),
    export("LNetClearLazyPortal", "lnet/api.h", "ps"),
    export("LNetClaimBits", "lnet/api.h", "m"),
    export("LNetReleaseBits", "lnet/api.h", "m"),
    export("LNetErrorText", "lnet/api.h", ""),
    export("LNetCtl", "lnet/api.h", ""),
    export("lnet_counters_get", "lnet/lib-lnet.h", "s"),
    export("lnet_cpt_of_nid", "lnet/lib-lnet.h", "s"),
    export("lnet_cpt_table", "lnet/lib-lnet.h", "s"),
    export("cfs_cpt_distance", "lnet/lib-lnet.h", ""),
    export("cfs_cpt_of_node", "lnet/lib-lnet.h", ""),
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
    export("cYAML_free_tree", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_clean_usr_data", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_create_object", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_create_seq", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_create_seq_item", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_create_string", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_create_number", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_insert_sibling", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_insert_child", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_build_error", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_get_object_item", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_find_object", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_get_next_seq_item", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_is_sequence", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_print_tree", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_print_tree2file", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_dump", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_load", "lnet/lnetconfig/cyaml.h", ""),
    export("cYAML_build_tree", "lnet/lnetconfig/cyaml.h", ""),
    export("lustre_lnet_config_lib_init", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_config_lib_uninit", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_config_ni_system", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_init_nw_descr", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_parse_interfaces", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_config_ni", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_del_ni", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_show_net", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_config_ni_healthv", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_config_ni_conns_per_peer", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_setup_mrrouting", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_calc_service_id", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_calc_cpt_of_nid", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_config_route", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_del_route", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_show_route", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_enable_routing", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_config_buffers", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_show_routing", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_modify_peer", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_show_peer", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_show_peers", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_list_peer", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_config_peer_ni_healthv", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_set_peer_state", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_parse_nidstr", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_ping_nid", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_discover_nid", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_show_stats", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_reset_stats", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_show_local_ni_recovq", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_show_peer_ni_recovq", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_add_udsp", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_del_udsp", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_del_same_udsp", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_show_udsp", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_selection_add", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_selection_del", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_selection_show", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_lnet_udsp_str_to_action", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lnet_get_udsp_size", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lnet_udsp_marshal", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lnet_udsp_demarshal", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_yaml_config", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_yaml_del", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_yaml_show", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_yaml_exec", "lnet/lnetconfig/liblnetconfig.h", ""),
    export("lustre_net_show_tunables", "lnet/lnetconfig/liblnd.h", ""),
    export("lustre_ni_show_tunables", "lnet/lnetconfig/liblnd.h", ""),
    export("lustre_yaml_extract_lnd_tunables", "lnet/lnetconfig/liblnd.h", ""),
    export("Parser_init", "libcfs/util/parser.h", ""),
    export("Parser_execarg", "libcfs/util/parser.h", ""),
    export("Parser_commands", "libcfs/util/parser.h", ""),
    export("Parser_ignore_errors", "libcfs/util/parser.h", ""),
    export("Parser_quit", "libcfs/util/parser.h", ""),
    export("Parser_exit", "libcfs/util/parser.h", ""),
    export("Parser_help", "libcfs/util/parser.h", ""),
    export("Parser_printhelp", "libcfs/util/parser.h", ""),
    export("Parser_qhelp", "libcfs/util/parser.h", ""),
    export("Parser_version", "libcfs/util/parser.h", ""),
    export("Parser_set_version", "libcfs/util/parser.h", ""),
    export("Parser_list_commands", "libcfs/util/parser.h", ""),
];

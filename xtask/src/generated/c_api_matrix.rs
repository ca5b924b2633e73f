//! The list of all functions of the C API.

use super::exported::{Release, all_forms, functions_of};
use crate::Result;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Returns docs/c-api-matrix.md.
pub(super) fn document(_: &Path) -> Result<String> {
    let mut text = String::from(
        "# The functions of the C API\n\n\
         Every function that `liblnet.so` exports, which of three known consumers call it in 2.10 as far as\n\
         [c-abi](protocol/c-abi.md) says, and the version of its symbol for a program that asks for the API of a release of Lustre\n\
         ([which API a program gets](abi.md#which-api-a-program-gets)): the release that has the form first. No version: the\n\
         release has no such function. Generated from `liblnet/abi/exported.rs` and the table of settings; a test compares it with\n\
         the library and the headers. The functions of `lnet/lnetconfig/` and `libcfs/util/parser.h` have the version\n\
         `LNETCONFIG_2.15` for programs of every release; `liblnetconfig.so.4` has no code of its own and needs `liblnet.so.1`.\n\n\
         | function | header | implemented | ptlrpc | selftest | Motr | 2.10 | 2.15 | 2.17 |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let releases = Release::ALL.map(functions_of);
    let mut seen = BTreeSet::new();
    for export in all_forms().filter(|export| seen.insert(export.name)) {
        let used = |by: char| if export.users.contains(by) { "yes" } else { "" };
        let [first, second, third] = releases.each_ref().map(|functions| {
            let form = functions.iter().find(|form| form.name == export.name);
            form.map_or_else(String::new, |form| format!("`{}`", form.version()))
        });
        writeln!(
            text,
            "| `{}` | `{}` | {} | {} | {} | {} | {first} | {second} | {third} |",
            export.name,
            export.header,
            partly(export.name).unwrap_or("yes"),
            used('p'),
            used('s'),
            used('m')
        )?;
    }
    text.push_str(
        "\nInline in the headers, so that programs need no symbol: `LNET_NIDADDR`, `LNET_NIDNET`, `LNET_MKNID`,\n\
         `LNET_NETNUM`, `LNET_NETTYP`, `LNET_MKNET`, `LNetInvalidateEQHandle`, `LNetEQHandleIsInvalid`,\n\
         `LNetInvalidateMDHandle`, `LNetMDHandleIsInvalid`, `libcfs_lnd2str`, `libcfs_net2str`, `libcfs_nid2str`,\n\
         and the functions of `libcfs/util/list.h`. The names of the design documents and of releases before 2.10\n\
         are inline in `lnet/lnetconfig/lnetconfig_hld.h`.\n\n\
         The dynamic symbol table also shows each function under its Rust name, with a leading `_` and no\n\
         version: rustc exports what is `no_mangle` in any case. Those names are not part of the API.\n",
    );
    Ok(text)
}

/// Returns the text of the limitation of a function; `None` if it is complete.
fn partly(name: &str) -> Option<&'static str> {
    Some(match name {
        "LNetCtl" | "l_ioctl" => {
            "all commands of c-abi 5.2 but TESTPROTOCOMPAT, GET_LOCAL_HSTATS, and those of drivers and selftest"
        }
        "LNetLocalPrimaryNID"
        | "LNetFetchNIDs"
        | "LNetRegisterNIDUpdates"
        | "LNetUnRegisterNIDUpdates"
        | "libcfs_nidstr_r"
        | "libcfs_idstr"
        | "libcfs_strnid"
        | "libcfs_stranynid" => "yes, with a signature of liblnet's",
        "register_ioc_dev" | "unregister_ioc_dev" => "does nothing, by design",
        "lnet_cpt_of_nid" => "always 0",
        "lnet_cpt_table" => "an opaque pointer",
        "lustre_lnet_config_lib_init" | "lustre_lnet_config_lib_uninit" | "lustre_lnet_setup_mrrouting" => {
            "does nothing, by design"
        }
        _ => return None,
    })
}

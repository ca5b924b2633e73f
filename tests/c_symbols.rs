//! What the library exports, what the headers declare and what `docs/c-api-matrix.md` says are the same
//! functions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

#[path = "../liblnet/abi/exported.rs"]
#[allow(unreachable_pub)]
mod exported;

use exported::EXPORTED;

/// rustc exports the Rust names beside C's, without a version; nothing else may get out.
#[test]
fn exactly_the_functions_of_the_headers_are_exported_each_with_its_version() {
    let library = std::env::current_exe().unwrap().with_file_name("liblnet.so");
    let nm =
        Command::new("nm").args(["-D", "--with-symbol-versions", "--defined-only"]).arg(library).output();
    let Ok(nm) = nm else {
        println!("skipped: no nm");
        return;
    };
    let text = String::from_utf8_lossy(&nm.stdout).into_owned();
    // The version itself appears as an absolute symbol with some linkers.
    let symbols: BTreeSet<String> = text
        .lines()
        .filter(|line| !line.contains(" A "))
        .filter_map(|line| line.split_whitespace().last())
        .map(str::to_owned)
        .collect();
    let expected: BTreeSet<String> = EXPORTED
        .iter()
        .flat_map(|export| [format!("{}@@{}", export.name, export.version()), format!("_{}", export.name)])
        .collect();
    assert_eq!(symbols, expected);
}

#[test]
fn exactly_the_exported_functions_are_declared_each_in_its_header() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let headers: BTreeSet<&str> = EXPORTED.iter().map(|export| export.header).collect();
    let source: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    fs::write(out.join("declared.c"), source).unwrap();

    let gcc = Command::new("gcc")
        .args(["-fsyntax-only", "-aux-info"])
        .arg(out.join("declared.txt"))
        .arg("-I")
        .arg(&include)
        .arg(out.join("declared.c"))
        .status();
    if !gcc.is_ok_and(|status| status.success()) {
        println!("skipped: no gcc");
        return;
    }
    // Lines such as: /* include/lnet/api.h:36:NC */ extern int LNetNIInit (lnet_pid_t);
    let declared: BTreeSet<(String, String)> = fs::read_to_string(out.join("declared.txt"))
        .unwrap()
        .lines()
        .filter(|line| !line.contains("*/ static"))
        .filter_map(|line| line.strip_prefix("/* ")?.split_once(" */ extern "))
        .filter_map(|(place, declaration)| {
            let file = place.split(':').next()?.strip_prefix(include.to_str()?)?.trim_start_matches('/');
            let name = declaration.split(" (").next()?.rsplit([' ', '*']).next()?;
            Some((file.to_owned(), name.to_owned()))
        })
        .collect();
    let expected = EXPORTED.iter().map(|e| (e.header.to_owned(), e.name.to_owned())).collect();
    assert_eq!(declared, expected);
}

/// Write the file anew with `LNET_WRITE_MATRIX=1 cargo test --test c_symbols`.
/// doc-015.
#[test]
fn the_matrix_of_functions_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/c-api-matrix.md");
    let matrix = matrix();
    if std::env::var_os("LNET_WRITE_MATRIX").is_some() {
        fs::write(&path, &matrix).unwrap();
    }
    assert!(fs::read_to_string(&path).unwrap_or_default() == matrix, "{} is out of date", path.display());
}

fn matrix() -> String {
    let mut text = String::from(
        "# The functions of the C API\n\n\
         Every function that `liblnet.so` exports, as of Lustre 2.10, and which of three known consumers call\n\
         it as far as the C API sheet says. Generated from `liblnet/abi/exported.rs`; a test compares it with\n\
         the library and the headers. Each symbol has the version `LNET_2.10`, those of `lnet/lnetconfig/`\n\
         `LNETCONFIG_2.15`; `liblnetconfig.so.4` has no code of its own and needs `liblnet.so.1`.\n\n\
         | function | header | implemented | ptlrpc | selftest | Motr |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for export in EXPORTED {
        let used = |by: char| if export.users.contains(by) { "yes" } else { "" };
        writeln!(
            text,
            "| `{}` | `{}` | {} | {} | {} | {} |",
            export.name,
            export.header,
            partly(export.name).unwrap_or("yes"),
            used('p'),
            used('s'),
            used('m')
        )
        .unwrap();
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
    text
}

/// What is missing of a function, if anything.
fn partly(name: &str) -> Option<&'static str> {
    Some(match name {
        "LNetCtl" | "l_ioctl" => {
            "GET_NI, FAIL_NID, LNET_DIST, PING, PING_PEER, DISCOVER, GET_LNET_STATS, NUMA range"
        }
        "register_ioc_dev" | "unregister_ioc_dev" => "does nothing, by design",
        "lnet_cpt_of_nid" => "always 0",
        "lustre_lnet_config_lib_init" | "lustre_lnet_config_lib_uninit" | "lustre_lnet_setup_mrrouting" => {
            "does nothing, by design"
        }
        "lustre_lnet_calc_service_id" => "there is no RDMA",
        _ => return None,
    })
}

//! Compares three lists of functions: those that the library exports, those that the headers declare, and those in
//! `docs/c-api-matrix.md`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

#[path = "../liblnet/abi/exported.rs"]
#[allow(unreachable_pub)]
mod exported;

use exported::exported;

/// Fails if a function is not exported, has another version, or is not in a header. Rust names, which rustc exports without a
/// version beside C's, are excepted.
#[test]
fn exactly_the_functions_of_the_headers_are_exported_each_with_its_version() {
    let Some(symbols) = symbols_of("liblnet.so") else { return };
    let expected: BTreeSet<String> = exported()
        .flat_map(|export| [format!("{}@@{}", export.name, export.version()), format!("_{}", export.name)])
        .collect();
    assert_eq!(symbols, expected);
}

#[test]
fn exactly_the_exported_functions_are_declared_each_in_its_header() {
    let headers: BTreeSet<&str> = exported().map(|export| export.header).collect();
    let Some(declared) = declared_in(&headers) else { return };
    let expected = exported().map(|e| (e.header.to_owned(), e.name.to_owned())).collect();
    assert_eq!(declared, expected);
}

#[test]
fn libptlrpc_exports_exactly_what_its_header_declares() {
    let header = "ptlrpc/ptlrpc.h";
    let Some((symbols, declared)) = symbols_of("libptlrpc.so").zip(declared_in(&BTreeSet::from([header])))
    else {
        return;
    };
    let declared: BTreeSet<String> =
        declared.into_iter().filter(|(file, _)| file == header).map(|(_, name)| name).collect();
    assert!(declared.len() > 50, "{declared:?}");
    assert_eq!(symbols, declared);
}

#[test]
fn libm0net_exports_exactly_what_its_headers_declare() {
    let headers = BTreeSet::from([
        "lib/cond.h",
        "lib/finject.h",
        "lib/getopts.h",
        "lib/memory.h",
        "lib/processor.h",
        "lib/refs.h",
        "lib/thread.h",
        "module/instance.h",
        "motr/init.h",
        "net/buffer_pool.h",
        "net/lnet.h",
        "net/net_internal.h",
    ]);
    let Some((symbols, declared)) =
        symbols_of("libm0net.so").zip(declared_below("consumers/motr-net/include", &headers))
    else {
        return;
    };
    // gcc tells functions only.
    let objects = [
        "M0_TIME_IMMEDIATELY",
        "M0_TIME_NEVER",
        "m0_lnet_xprt",
        "m0_nep_tl",
        "m0_net_lnet_xprt",
        "m0_net_mutex",
        "m0_net_pool_tl",
        "m0_net_tm_tl",
    ];
    let functions = declared.into_iter().map(|(_, name)| name);
    let declared: BTreeSet<String> = functions.chain(objects.map(str::to_owned)).collect();
    assert!(declared.len() > 150, "{declared:?}");
    assert_eq!(symbols, declared);
}

#[test]
fn liblnet_selftest_exports_exactly_what_its_header_declares() {
    let header = "lnet/selftest.h";
    let found = symbols_of("liblnet_selftest.so").zip(declared_in(&BTreeSet::from([header])));
    let Some((symbols, declared)) = found else { return };
    let declared: BTreeSet<String> =
        declared.into_iter().filter(|(file, _)| file == header).map(|(_, name)| name).collect();
    assert_eq!(declared.len(), 2, "{declared:?}");
    assert_eq!(symbols, declared);
}

/// Returns the symbols, with versions, that a library beside this program exports; `None` if there is no tool to read them.
fn symbols_of(library: &str) -> Option<BTreeSet<String>> {
    let library = std::env::current_exe().unwrap().with_file_name(library);
    let nm =
        Command::new("nm").args(["-D", "--with-symbol-versions", "--defined-only"]).arg(library).output();
    let Ok(nm) = nm else {
        test_support::skip("no nm");
        return None;
    };
    let text = String::from_utf8_lossy(&nm.stdout).into_owned();
    // The version itself appears as an absolute symbol with some linkers.
    let lines = text.lines().filter(|line| !line.contains(" A "));
    Some(lines.filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect())
}

/// The headers, with the functions that they and the headers they include declare; `None` if there is no gcc.
fn declared_in(headers: &BTreeSet<&str>) -> Option<BTreeSet<(String, String)>> {
    declared_below("include", headers)
}

/// Does the same for headers in a directory of the repository.
fn declared_below(directory: &str, headers: &BTreeSet<&str>) -> Option<BTreeSet<(String, String)>> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let out = tempfile::tempdir().unwrap();
    let (source, declared) = (out.path().join("declared.c"), out.path().join("declared.txt"));
    let text: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    fs::write(&source, &text).unwrap();

    let gcc = Command::new("gcc")
        .args(["-fsyntax-only", "-aux-info"])
        .arg(&declared)
        .arg("-I")
        .arg(&include)
        .arg(&source)
        .status();
    let Ok(status) = gcc else {
        test_support::skip("no gcc");
        return None;
    };
    assert!(status.success(), "gcc does not compile {text}");
    // Lines such as: /* include/lnet/api.h:36:NC */ extern int LNetNIInit (lnet_pid_t);
    let declared = fs::read_to_string(declared).unwrap();
    let lines = declared.lines().filter(|line| !line.contains("*/ static"));
    Some(
        lines
            .filter_map(|line| line.strip_prefix("/* ")?.split_once(" */ extern "))
            .filter_map(|(place, declaration)| {
                let file = place.split(':').next()?.strip_prefix(include.to_str()?)?.trim_start_matches('/');
                let name = declaration.split(" (").next()?.rsplit([' ', '*']).next()?;
                Some((file.to_owned(), name.to_owned()))
            })
            .collect(),
    )
}

/// doc-015: fails if a call of the DLC API stands in its header without a description.
#[test]
fn every_call_of_the_dlc_api_is_described_in_its_header() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let of_dlc = exported().filter(|export| export.is_lnetconfig());
    let undescribed: Vec<&str> = of_dlc
        .filter(|export| {
            let header = fs::read_to_string(include.join(export.header)).unwrap();
            let lines: Vec<&str> = header.lines().collect();
            let begins = |line: &str| line.starts_with(|c: char| c.is_ascii_lowercase());
            let name = [' ', '*'].map(|before| format!("{before}{}(", export.name));
            let declares = |line: &str| begins(line) && name.iter().any(|name| line.contains(name));
            let described = lines.windows(2).any(|pair| pair[0].ends_with("*/") && declares(pair[1]));
            !described
        })
        .map(|export| export.name)
        .collect();
    assert!(undescribed.is_empty(), "{undescribed:?}");
}

/// Write the file anew with `LNET_WRITE_MATRIX=1 cargo test --test c_symbols`.
/// doc-015: fails if a function is missing in the list of functions.
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
         it as far as [c-abi](protocol/c-abi.md) says. Generated from `liblnet/abi/exported.rs` and the table of settings; a test compares it with\n\
         the library and the headers. Each symbol has the version `LNET_2.10`, those of `lnet/lnetconfig/`\n\
         and `libcfs/util/parser.h` `LNETCONFIG_2.15`; `liblnetconfig.so.4` has no code of its own and needs\n\
         `liblnet.so.1`.\n\n\
         | function | header | implemented | ptlrpc | selftest | Motr |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for export in exported() {
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

/// Returns the text of the limitation of a function; `None` if it is complete.
fn partly(name: &str) -> Option<&'static str> {
    Some(match name {
        "LNetCtl" | "l_ioctl" => {
            "GET_NI, FAIL_NID, LNET_DIST, PING, PING_PEER, DISCOVER, GET_LNET_STATS, NUMA range"
        }
        "register_ioc_dev" | "unregister_ioc_dev" => "does nothing, by design",
        "lnet_cpt_of_nid" => "always 0",
        "lnet_cpt_table" => "an opaque pointer",
        "lustre_lnet_config_lib_init" | "lustre_lnet_config_lib_uninit" | "lustre_lnet_setup_mrrouting" => {
            "does nothing, by design"
        }
        "lustre_lnet_calc_service_id" => "there is no RDMA",
        _ => return None,
    })
}

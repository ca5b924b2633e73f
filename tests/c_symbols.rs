//! Compares the functions that a library exports with those that its headers declare.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

#[path = "../liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
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

/// The recorded symbols, in the form of Debian's symbols files, go into the package with the libraries: they say from which version
/// on a program that needs the symbol runs. Fails if one is gone, or if one is not recorded.
#[test]
fn exactly_the_recorded_symbols_are_exported() {
    let recorded = recorded_symbols();
    assert_eq!(recorded.len(), 4, "{recorded:?}");
    for (library, recorded) in recorded {
        let Some(symbols) = symbols_of(&library) else { return };
        // Rust names have no version in a library whose C names have one.
        let versioned = symbols.iter().any(|symbol| symbol.contains("@@"));
        let symbols: BTreeSet<String> = match versioned {
            true => symbols.iter().filter(|it| it.contains("@@")).map(|it| it.replace("@@", "@")).collect(),
            false => symbols.iter().map(|symbol| format!("{symbol}@Base")).collect(),
        };
        let gone: Vec<&String> = recorded.difference(&symbols).collect();
        let version = env!("CARGO_PKG_VERSION");
        let to_record: Vec<String> =
            symbols.difference(&recorded).map(|symbol| format!(" {symbol} {version}\n")).collect();
        assert!(
            gone.is_empty() && to_record.is_empty(),
            "{library}: these are gone, which needs another soname: {gone:?}; these go into packaging/abi/symbols:\n{}",
            to_record.concat()
        );
    }
}

/// Returns the libraries, without the number of their soname, with their symbols, of `packaging/abi/symbols`.
fn recorded_symbols() -> Vec<(String, BTreeSet<String>)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/abi/symbols");
    let text = fs::read_to_string(file).unwrap();
    let mut libraries: Vec<(String, BTreeSet<String>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix(' '), libraries.last_mut()) {
            (None, _) => {
                let soname = line.split(' ').next().unwrap();
                libraries.push((soname.trim_end_matches(".1").to_owned(), BTreeSet::new()));
            }
            (Some(line), Some((_, symbols))) => {
                symbols.insert(line.split(' ').next().unwrap().to_owned());
            }
            (Some(_), None) => panic!("{line} belongs to no library"),
        }
    }
    libraries
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

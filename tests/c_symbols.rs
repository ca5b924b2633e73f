//! Compares the functions that a library exports with those that its headers declare.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

#[path = "../liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;

use exported::{Export, Release, all_forms, exported, functions_of};

/// Fails if a function is not exported, has another version, or is not in a header. Rust names, which rustc exports without a
/// version beside C's, are excepted.
#[test]
fn exactly_the_functions_of_the_headers_are_exported_each_with_its_version() {
    let Some(symbols) = symbols_of("liblnet.so") else { return };
    let names = |export: &Export| {
        let (symbol, version) = (export.symbol(), export.version());
        [Some(format!("{symbol}@@{version}")), Some(format!("_{symbol}")), export.versioned_name()]
    };
    let expected: BTreeSet<String> = all_forms().flat_map(|export| names(&export)).flatten().collect();
    assert_eq!(symbols, expected);
}

/// Fails if a program that is linked to a symbol of a release before finds another function, or none.
#[test]
fn each_c_name_has_one_default_form_that_of_the_first_release() {
    let mut seen = BTreeSet::new();
    for export in all_forms() {
        assert!(
            seen.insert((export.name, export.version())),
            "{}: twice in {}",
            export.name,
            export.version()
        );
        assert!(export.until >= export.release, "{}", export.name);
        let is_default = export.versioned_name().is_none();
        assert_eq!(is_default, export.release == Release::V2_10, "{}", export.name);
    }
}

/// Fails if a program of a release gets a function that the release does not have, or in another form than the table says.
#[test]
fn exactly_the_functions_of_each_release_are_declared_each_in_its_header() {
    for release in Release::ALL {
        let functions = functions_of(release);
        let headers: BTreeSet<&str> = functions.iter().map(|export| export.header).collect();
        let api = format!("-DLNET_API={:#x}", release.api());
        let Some(declared) = declared_below("include", &headers, &[&api]) else { return };
        let expected = functions.iter().map(|e| (e.header.to_owned(), e.name.to_owned())).collect();
        assert_eq!(declared, expected, "{}", release.name());
    }
}

/// Fails if a header declares a function without its symbol: programs would call the form of another release.
#[test]
fn a_program_of_each_release_needs_the_symbols_of_its_forms() {
    for release in Release::ALL {
        let functions = functions_of(release);
        let Some(needed) = symbols_of_calls(&functions, release) else { return };
        let expected: BTreeSet<String> = functions.iter().map(Export::symbol).collect();
        assert_eq!(needed, expected, "{}", release.name());
    }
}

/// The symbols that a program of this release needs if it names each of these functions; `None` without a compiler.
fn symbols_of_calls(functions: &[Export], release: Release) -> Option<BTreeSet<String>> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let out = tempfile::tempdir().unwrap();
    let (source, object) = (out.path().join("calls.c"), out.path().join("calls.o"));
    let headers: BTreeSet<&str> = functions.iter().map(|export| export.header).collect();
    let mut text: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    let names: Vec<String> = functions.iter().map(|export| format!("(void *){}", export.name)).collect();
    text += &format!("void *calls[] = {{ {} }};\n", names.join(",\n"));
    fs::write(&source, text).unwrap();
    let api = format!("-DLNET_API={:#x}", release.api());
    let mut gcc = Command::new("gcc");
    gcc.args(["-c", "-w", &api, "-I"]).arg(include).arg("-o").arg(&object).arg(source);
    let Ok(gcc) = gcc.status() else {
        test_support::skip("no gcc");
        return None;
    };
    assert!(gcc.success());
    let Ok(nm) = Command::new("nm").args(["-u", "-j"]).arg(&object).output() else {
        test_support::skip("no nm");
        return None;
    };
    Some(String::from_utf8_lossy(&nm.stdout).lines().map(str::to_owned).collect())
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
        symbols_of("libm0net.so").zip(declared_below("consumers/motr-net/include", &headers, &[]))
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
            true => symbols.iter().filter(|it| it.contains('@')).map(|it| it.replace("@@", "@")).collect(),
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
    declared_below("include", headers, &[])
}

/// Does the same for headers in a directory of the repository, with these options of the compiler.
fn declared_below(
    directory: &str,
    headers: &BTreeSet<&str>,
    options: &[&str],
) -> Option<BTreeSet<(String, String)>> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let out = tempfile::tempdir().unwrap();
    let (source, declared) = (out.path().join("declared.c"), out.path().join("declared.txt"));
    let text: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    fs::write(&source, &text).unwrap();

    let gcc = Command::new("gcc")
        .args(options)
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

//! Tests that the headers of `consumers/motr-net/include` compile without a warning, each alone, and all together in two orders.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

// Links the functions of LNet, which the library needs.
use lnet as _;
use m0net as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_header_compiles_alone_and_with_all_others() {
    if Command::new("gcc").arg("--version").output().is_err() {
        test_support::skip("no gcc");
        return;
    }
    let mut headers = Vec::new();
    below(&include(), &mut headers);
    headers.sort();
    assert!(headers.len() > 25, "{headers:?}");
    let mut units: Vec<Vec<String>> = headers.iter().map(|header| vec![header.clone()]).collect();
    units.push(headers.clone());
    units.push(headers.into_iter().rev().collect());
    let out = tempfile::tempdir().unwrap();
    let source = out.path().join("unit.c");
    for unit in units {
        let lines: String = unit.iter().map(|header| format!("#include <{header}>\n")).collect();
        fs::write(&source, lines + "int main(void) { return 0; }\n").unwrap();
        for standard in ["c11", "gnu11", "c17"] {
            let mut gcc = Command::new("gcc");
            gcc.args([&format!("-std={standard}"), "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]);
            let output = gcc.arg(include()).arg(&source).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{standard} {unit:?}: {said}");
        }
    }
}

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// The headers below a directory, by the names that programs include them with.
fn below(directory: &Path, headers: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, headers);
        } else {
            headers.push(path.strip_prefix(include()).unwrap().display().to_string());
        }
    }
}

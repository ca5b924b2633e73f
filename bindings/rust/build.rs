//! Links `liblnet.so` by its `lnet.pc`. In the workspace of liblnet it does not: there the tests contain LNet as a crate.

use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=src/sys.rs");
    println!("cargo::rerun-if-env-changed=LIBLNET_OF_WORKSPACE");
    println!("cargo::rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo::rerun-if-env-changed=PKG_CONFIG_SYSROOT_DIR");
    if env::var_os("LIBLNET_OF_WORKSPACE").is_some() {
        for function in functions() {
            // `build.rs` of the crate `lnet` says why its functions have another name there.
            println!("cargo::rustc-link-arg-tests=-Wl,--defsym={function}=_{function}");
        }
        // The examples are only checked there; tests/examples.rs runs them as programs outside.
        println!("cargo::rustc-link-arg-examples=-Wl,--unresolved-symbols=ignore-all");
        return;
    }
    match directories_of_library() {
        Ok(directories) => {
            for directory in directories.split_whitespace() {
                println!("cargo::rustc-link-search=native={}", directory.trim_start_matches("-L"));
            }
            println!("cargo::rustc-link-lib=dylib=lnet");
        }
        Err(error) => println!("cargo::error={error}"),
    }
}

/// The names of the C functions that `src/sys.rs` declares.
fn functions() -> Vec<String> {
    let source = fs::read_to_string("src/sys.rs").unwrap_or_default();
    let (_, declarations) = source.split_once("unsafe extern \"C\" {").unwrap_or_default();
    let (declarations, _) = declarations.split_once("\n}").unwrap_or_default();
    declarations.split("fn ").skip(1).filter_map(|rest| Some(rest.split_once('(')?.0.to_owned())).collect()
}

/// The `-L` of pkg-config. Empty: the linker finds the library where it searches anyway.
fn directories_of_library() -> Result<String, String> {
    const INSTALL: &str =
        "install liblnet (`make install`), and set PKG_CONFIG_PATH if it is in a directory of its own";
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_owned());
    let output = Command::new(&program)
        .args(["--libs-only-L", "lnet"])
        .output()
        .map_err(|error| format!("{program}, which tells where liblnet.so is: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("pkg-config finds no lnet.pc; {INSTALL}")),
    }
}

//! Tells the linker which functions the library exports; on request, makes the C headers.
//!
//! A Rust function `_LNetPut` is exported as `LNetPut@@LNET_2.10` through `--defsym`: rustc passes a
//! version script of its own that keeps plain names unversioned, so the name C sees must be a new one.

use std::path::PathBuf;
use std::{env, fs};

#[path = "liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;

#[cfg(feature = "headers")]
#[path = "liblnet/abi/headers/generator.rs"]
mod generator;

fn main() {
    println!("cargo::rerun-if-changed=liblnet/abi/exported.rs");
    export_symbols();
    #[cfg(feature = "headers")]
    generator::generate();
}

fn export_symbols() {
    let mut script = String::new();
    for (version, rest) in [(exported::SYMBOL_VERSION, "  local: *;\n"), (exported::LNETCONFIG_VERSION, "")] {
        script.push_str(&format!("{version} {{\n  global:\n"));
        for export in exported::EXPORTED.iter().filter(|export| export.version() == version) {
            let name = export.name;
            script.push_str(&format!("    {name};\n"));
            println!("cargo::rustc-cdylib-link-arg=-Wl,--defsym={name}=_{name}");
        }
        script.push_str(&format!("{rest}}};\n"));
    }

    let path = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("lnet.map");
    if let Err(error) = fs::write(&path, script) {
        println!("cargo::error=cannot write {}: {error}", path.display());
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={}", path.display());
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblnet.so.1");
}

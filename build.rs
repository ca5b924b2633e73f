//! Tells the linker which functions the library exports; on request, makes the C headers.
//!
//! A Rust function `_LNetPut` is exported as `LNetPut@@LNET_2.10` through `--defsym`: rustc passes a
//! version script of its own that keeps plain names unversioned, so the name C sees must be a new one.

use std::path::PathBuf;
use std::{env, fs};

#[path = "liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;

#[path = "liblnet/abi/linking.rs"]
#[allow(dead_code, unreachable_pub)]
mod linking;

#[cfg(feature = "headers")]
#[path = "liblnet/abi/headers/generator.rs"]
mod generator;

fn main() {
    println!("cargo::rerun-if-changed=liblnet/abi/exported.rs");
    println!("cargo::rerun-if-changed=liblnet/abi/linking.rs");
    export_symbols();
    #[cfg(feature = "headers")]
    generator::generate();
}

fn export_symbols() {
    for exported::Export { name, .. } in exported::EXPORTED {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--defsym={name}=_{name}");
    }
    let path = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("lnet.map");
    if let Err(error) = fs::write(&path, linking::version_script()) {
        println!("cargo::error=cannot write {}: {error}", path.display());
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={}", path.display());
    linking::name_library("liblnet.so.1");
}

//! Tells the linker which functions the library exports, and makes the C functions of the settings.
//!
//! A Rust function `_LNetPut` is exported as `LNetPut@@LNET_2.10` through `--defsym`: rustc passes a
//! version script of its own that keeps plain names unversioned, so the name C sees must be a new one.

use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;

#[path = "liblnet/abi/linking.rs"]
#[allow(dead_code, unreachable_pub)]
mod linking;

#[path = "liblnet/abi/setting_functions.rs"]
mod setting_functions;

fn main() {
    println!("cargo::rerun-if-changed=liblnet/abi/exported.rs");
    println!("cargo::rerun-if-changed=liblnet/abi/linking.rs");
    println!("cargo::rerun-if-changed=liblnet/abi/setting_functions.rs");
    export_symbols();
    write(&out_dir().join("setting_functions.rs"), &setting_functions::source());
}

fn export_symbols() {
    for exported::Export { name, .. } in exported::exported() {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--defsym={name}=_{name}");
    }
    let path = out_dir().join("lnet.map");
    write(&path, &linking::version_script());
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={}", path.display());
    linking::name_library("liblnet.so.1");
}

fn out_dir() -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default())
}

fn write(path: &Path, text: &str) {
    if let Err(error) = fs::write(path, text) {
        println!("cargo::error=cannot write {}: {error}", path.display());
    }
}

//! Tells the linker which functions the library exports, and makes the C functions of the settings.
//!
//! A Rust function `_LNetPut` is exported as `LNetPut@@LNET_2.10` through `--defsym`: rustc passes a
//! version script of its own that keeps plain names unversioned, so the name C sees must be a new one.
//! The form of 2.17, `_LNetPut_2_17`, is exported twice: as `LNetPut_2_17@@LNET_2.17`, which the headers name, and
//! as `LNetPut@LNET_2.17` for `dlvsym`.

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
    for export in exported::all_forms() {
        let symbol = export.symbol();
        println!("cargo::rustc-cdylib-link-arg=-Wl,--defsym={symbol}=_{symbol}");
        if let Some(name) = export.versioned_name() {
            // The linker's language of expressions has no @ outside quotes.
            println!("cargo::rustc-cdylib-link-arg=-Wl,--defsym=\"{name}\"=_{symbol}");
        }
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

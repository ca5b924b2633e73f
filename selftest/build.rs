//! Lets tests and benchmarks use the LNet that is in this workspace, linked into them.
//!
//! `liblnet_selftest.so` finds the functions of LNet in `liblnet.so`. There the linker defines their names (see the build script
//! of `lnet`), so a Rust program that contains both libraries needs the same linker arguments.

#[path = "../liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;

fn main() {
    println!("cargo::rerun-if-changed=../liblnet/abi/exported.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblnet_selftest.so.1");
    for export in exported::EXPORTED
        .iter()
        .filter(|export| export.name.starts_with("LNet") || export.users.contains('s'))
    {
        let name = export.name;
        println!("cargo::rustc-link-arg-tests=-Wl,--defsym={name}=_{name}");
    }
}

//! Links the shared library with `liblnet.so.1`, and lets tests and benchmarks use the LNet that is in this workspace, linked into them.
//!
//! `liblnet_selftest.so` finds the functions of LNet in `liblnet.so`. There the linker defines their names (see the build script
//! of `lnet`), so a Rust program that contains both libraries needs the same linker arguments.

#[path = "../../liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;

#[path = "../../liblnet/abi/linking.rs"]
#[allow(dead_code, unreachable_pub)]
mod linking;

fn main() {
    println!("cargo::rerun-if-changed=../../liblnet/abi/exported.rs");
    println!("cargo::rerun-if-changed=../../liblnet/abi/linking.rs");
    linking::name_library("liblnet_selftest.so.1");
    linking::need_liblnet();
    for export in
        exported::exported().filter(|export| export.name.starts_with("LNet") || export.users.contains('s'))
    {
        let name = export.name;
        println!("cargo::rustc-link-arg-tests=-Wl,--defsym={name}=_{name}");
    }
}

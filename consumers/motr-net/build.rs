//! Links the shared library with `liblnet.so.1`, and lets tests and benchmarks use the LNet that is in this workspace, linked into them.
//!
//! `libm0net.so` finds the functions of LNet in `liblnet.so`. There the linker defines their names (see the build script
//! of `lnet`), so a Rust program that contains both libraries needs the same linker arguments.

#[path = "../../liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;

#[path = "../../liblnet/abi/linking.rs"]
#[allow(dead_code, unreachable_pub)]
mod linking;

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=../../liblnet/abi/exported.rs");
    println!("cargo::rerun-if-changed=../../liblnet/abi/linking.rs");
    linking::name_library("libm0net.so.1");
    linking::need_liblnet();
    for export in exported::exported().filter(|export| export.name.starts_with("LNet")) {
        let name = export.name;
        for of in ["tests", "benches"].into_iter().filter(|of| Path::new(of).is_dir()) {
            println!("cargo::rustc-link-arg-{of}=-Wl,--defsym={name}=_{name}");
        }
    }
}

//! Lets tests and benchmarks use the LNet that is in this workspace, linked into them.
//!
//! `libptlrpc.so` finds the functions of LNet in `liblnet.so`. There they have their names from the linker alone (see the
//! build script of `lnet`), so a program in Rust that has both libraries inside has to say the same again.

#[path = "../liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;

fn main() {
    println!("cargo::rerun-if-changed=../liblnet/abi/exported.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libptlrpc.so.1");
    for export in exported::EXPORTED.iter().filter(|export| export.name.starts_with("LNet")) {
        let name = export.name;
        for of in ["tests", "benches"] {
            println!("cargo::rustc-link-arg-{of}=-Wl,--defsym={name}=_{name}");
        }
    }
}

//! Links the LNet of this workspace into `lst`, whose console is an LNet node itself.
//!
//! The linker defines the names of the C API, by which selftest calls it (see the build script of `lnet`).

#[path = "../../liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;

fn main() {
    println!("cargo::rerun-if-changed=../../liblnet/abi/exported.rs");
    let called = |export: &exported::Export| export.name.starts_with("LNet") || export.users.contains('s');
    for export in exported::exported().filter(called) {
        let name = export.name;
        for of in ["bins", "tests"] {
            println!("cargo::rustc-link-arg-{of}=-Wl,--defsym={name}=_{name}");
        }
    }
}

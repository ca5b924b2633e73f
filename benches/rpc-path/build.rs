//! Links the C API, which PtlRPC calls, into the program: see the build script of `lnetd`.

#[path = "../../liblnet/abi/exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;

fn main() {
    println!("cargo::rerun-if-changed=../../liblnet/abi/exported.rs");
    let called = |export: &exported::Export| export.name.starts_with("LNet") || export.users.contains('s');
    for export in exported::exported().filter(called) {
        let name = export.name;
        println!("cargo::rustc-link-arg-bins=-Wl,--defsym={name}=_{name}");
    }
}

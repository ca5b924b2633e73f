//! The build script of programs of this workspace that are LNet nodes themselves, with a crate in them that calls the C API: it finds the
//! program's own node there.
//!
//! The linker defines the names of the C API (see the build script of `lnet`).

use std::path::Path;

#[path = "exported.rs"]
#[allow(dead_code, unreachable_pub)]
mod exported;

/// The packages whose tests call the C API, too.
const WITH_TESTS: [&str; 1] = ["lst"];

fn main() {
    // Relative to the workspace, as the path that the compiler was given.
    let directory = Path::new(file!()).parent().unwrap_or_else(|| Path::new(""));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = root.ancestors().find(|at| at.join("Cargo.lock").exists()).unwrap_or(root);
    for source in ["link_c_api.rs", "exported.rs"] {
        println!("cargo::rerun-if-changed={}", root.join(directory).join(source).display());
    }
    let linked: &[&str] =
        if WITH_TESTS.contains(&env!("CARGO_PKG_NAME")) { &["bins", "tests"] } else { &["bins"] };
    let called = |export: &exported::Export| export.name.starts_with("LNet") || export.users.contains('s');
    for export in exported::exported().filter(called) {
        let name = export.name;
        for of in linked {
            println!("cargo::rustc-link-arg-{of}=-Wl,--defsym={name}=_{name}");
        }
    }
}

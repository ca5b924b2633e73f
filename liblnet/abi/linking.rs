//! Linker arguments for `liblnet.so.1` and for the libraries that call it, as their build scripts print them.

use crate::exported;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The soname of the library; programs and other libraries name it in their NEEDED.
const SONAME: &str = "liblnet.so.1";

/// The version script of `liblnet.so.1`: which names it exports, with which versions.
pub fn version_script() -> String {
    let mut script = String::new();
    let versions = exported::Release::ALL.map(exported::Release::version);
    for (at, version) in versions.into_iter().chain([exported::LNETCONFIG_VERSION]).enumerate() {
        script.push_str(&format!("{version} {{\n  global:\n"));
        for export in exported::all_forms().filter(|export| export.version() == version) {
            script.push_str(&format!("    {};\n", export.symbol()));
        }
        script.push_str(if at == 0 { "  local: *;\n};\n" } else { "};\n" });
    }
    script
}

/// Names the shared library of a crate, and keeps it in memory until the process ends: its threads, and the functions that it
/// registered for the end of the process, outlive a `dlclose`.
pub fn name_library(soname: &str) {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{soname}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

/// Links the shared library of a crate with `liblnet.so.1`, so that a program that loads it gets that library, too; it is
/// searched in its own directory first. A name that `liblnet.so.1` does not export does not link.
///
/// Cargo builds the two in any order. So the linker gets another library of that name, with the same symbols and no code.
pub fn need_liblnet() {
    // This target has no shared libraries.
    if env::var("CARGO_CFG_TARGET_FEATURE")
        .is_ok_and(|features| features.split(',').any(|it| it == "crt-static"))
    {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    match make_stand_in(&out) {
        Ok(library) => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,--no-as-needed");
            println!("cargo::rustc-cdylib-link-arg={}", library.display());
            // Fuzz targets leave names to the program that they are linked into.
            if env::var_os("CARGO_CFG_FUZZING").is_none() {
                println!("cargo::rustc-cdylib-link-arg=-Wl,-z,defs");
            }
            println!("cargo::rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
        }
        Err(error) => println!("cargo::error=cannot link with {SONAME}: {error}"),
    }
}

/// The library without code.
fn make_stand_in(out: &Path) -> Result<PathBuf, String> {
    let (source, script, library) = (out.join("stand-in.c"), out.join("stand-in.map"), out.join(SONAME));
    let functions = exported::all_forms().map(|export| format!("void {}(void) {{}}\n", export.symbol()));
    let written =
        fs::write(&source, functions.collect::<String>()).and_then(|()| fs::write(&script, version_script()));
    written.map_err(|error| format!("{}: {error}", out.display()))?;
    // The linker is the one that links everything else.
    let linker = env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let mut compile = Command::new(&linker);
    compile.args(["-shared", "-nostdlib", "-fPIC", "-fno-builtin", "-w"]);
    compile.arg(format!("-Wl,-soname,{SONAME},--version-script={}", script.display()));
    compile.arg(&source).arg("-o").arg(&library);
    let output = compile.output().map_err(|error| format!("{linker}: {error}"))?;
    match output.status.success() {
        true => Ok(library),
        false => {
            Err(format!("{linker}: {}", String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")))
        }
    }
}

//! Programs of Motr's network layer, built against its headers and linked to the library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, iter};

/// Builds a program of these sources, which are named from the root of the repository; the first has the program's name. `test` names a
/// directory of the caller's own. Skips the test without a compiler.
pub fn build_or_skip(test: &str, flags: &[&str], sources: &[&str]) -> Option<PathBuf> {
    if Command::new("gcc").arg("--version").output().is_err() {
        test_support::skip("no gcc");
        return None;
    }
    let name = Path::new(sources[0]).file_stem().unwrap();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).join(test);
    fs::create_dir_all(&directory).unwrap();
    for library in ["liblnet.so", "libm0net.so"] {
        let built = env::current_exe().unwrap().with_file_name(library);
        for link in [library.to_owned(), format!("{library}.1")].map(|link| directory.join(link)) {
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&built, link).unwrap();
        }
    }
    let program = directory.join(name);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let headers = ["include", "consumers/motr-net/include"];
    let built = Command::new("gcc")
        .args(iter::once(&"-std=gnu11").chain(flags))
        .args(["-Wall", "-Wextra", "-Werror"])
        .args(headers.map(|path| format!("-I{}", root.join(path).display())))
        .args(sources.iter().map(|source| root.join(source)))
        .arg("-o")
        .arg(&program)
        .arg(format!("-L{}", directory.display()))
        .args(["-lm0net", "-llnet"])
        .arg(format!("-Wl,-rpath,{}", directory.display()))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(program)
}

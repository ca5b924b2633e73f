//! The headers of `include/` as programs may include them: each alone, in every order of two, all together, in every
//! standard of C and C++ that is in use. What is not installed counts as skipped.
//!
//! Compiling every two headers in every standard would be ten thousand runs. Every order of two is compiled in one standard
//! of C and one of C++, which take turns; a pair in which one header includes the other is that header alone, thanks to the
//! guards. What a standard alone may object to is found by compiling each header, and all of them in two orders, in each.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

/// A compiler, its language, and the standards, of which those are used that the compiler supports.
struct Language {
    compiler: &'static str,
    name: &'static str,
    standards: &'static [&'static str],
}

const C: Language = Language { compiler: "gcc", name: "c", standards: &["c99", "c11", "c17", "c2x"] };
const CXX: Language =
    Language { compiler: "g++", name: "c++", standards: &["c++11", "c++14", "c++17", "c++20"] };

/// The releases whose API a program may ask for.
const APIS: [&str; 3] = ["-DLNET_API=0x20a00", "-DLNET_API=0x20f08", "-DLNET_API=0x21100"];

#[test]
fn every_header_compiles_alone_in_every_standard() {
    for language in [C, CXX] {
        let standards = language.known_standards();
        let mut runs = Vec::new();
        for header in headers() {
            for api in APIS {
                let defines = vec![api.to_owned(), define("HEADER", &header)];
                runs.extend(standards.iter().map(|standard| (*standard, defines.clone(), single())));
            }
        }
        language.all_compile(runs);
    }
}

#[test]
fn every_order_of_two_headers_compiles_as_c() {
    every_order_of_two_compiles(C);
}

#[test]
fn every_order_of_two_headers_compiles_as_cxx() {
    every_order_of_two_compiles(CXX);
}

#[test]
fn all_headers_compile_together_in_every_standard() {
    let mut all = headers();
    let out = tempfile::tempdir().unwrap();
    let mut sources = Vec::new();
    for order in ["forwards.c", "backwards.c"] {
        let text: String = all.iter().map(|header| format!("#include <{header}>\n")).collect();
        fs::write(out.path().join(order), text + "int main(void) { return 0; }\n").unwrap();
        sources.push(out.path().join(order));
        all.reverse();
    }
    for language in [C, CXX] {
        let standards = language.known_standards();
        let mut runs = Vec::new();
        for source in &sources {
            for api in APIS {
                runs.extend(standards.iter().map(|std| (*std, vec![api.to_owned()], source.clone())));
            }
        }
        language.all_compile(runs);
    }
}

/// Fails if a program that asks for a release that there is not gets the API of another one.
#[test]
fn an_unknown_release_does_not_compile() {
    for (api, compiles) in [
        ("0x209ff", false),
        ("0x20a00", true),
        ("0x20a08", true),
        ("0x20b00", false),
        ("0x20c09", false),
        ("0x20f00", true),
        ("0x20f08", true),
        ("0x21000", false),
        ("0x21100", true),
        ("0x21200", false),
    ] {
        let run = ("c11", vec![format!("-DLNET_API={api}"), define("HEADER", "lnet/api.h")], single());
        assert_eq!(C.compile(&run).status.success(), compiles, "{api}");
    }
}

fn every_order_of_two_compiles(language: Language) {
    let standards = language.known_standards();
    if standards.is_empty() {
        return;
    }
    let (headers, includes) = (headers(), includes());
    let of_one = |a: &String, b: &String| a == b || includes[a].contains(b) || includes[b].contains(a);
    let mut runs = Vec::new();
    for first in &headers {
        for second in headers.iter().filter(|second| !of_one(first, second)) {
            let defines = vec![define("HEADER", first), define("SECOND", second)];
            runs.push((standards[runs.len() % standards.len()], defines, single()));
        }
    }
    assert!(runs.len() >= 100, "{}", runs.len());
    language.all_compile(runs);
}

type Run = (&'static str, Vec<String>, PathBuf);

impl Language {
    /// The language standards that the installed compiler supports.
    fn known_standards(&self) -> Vec<&'static str> {
        let known = |standard: &&&str| {
            let arguments = [&format!("-std={standard}"), "-fsyntax-only", "-x", self.name, "/dev/null"];
            Command::new(self.compiler).args(arguments).output().is_ok_and(|output| output.status.success())
        };
        for standard in self.standards.iter().filter(|standard| !known(standard)) {
            test_support::skip(&format!("{} does not know {standard}", self.compiler));
        }
        self.standards.iter().filter(known).copied().collect()
    }

    /// Fails if one of the runs does not compile. As many run at once as there are processors.
    fn all_compile(&self, runs: Vec<Run>) {
        let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let output = self.compile(run);
                        if !output.status.success() {
                            let said = String::from_utf8_lossy(&output.stderr).into_owned();
                            failures.lock().unwrap().push(format!("{run:?}\n{said}"));
                        }
                    }
                });
            }
        });
        let failures = failures.into_inner().unwrap();
        assert!(failures.is_empty(), "{} of {}: {}", failures.len(), runs.len(), failures[0]);
    }

    fn compile(&self, (standard, defines, source): &Run) -> Output {
        Command::new(self.compiler)
            .args(["-x", self.name, &format!("-std={standard}"), "-pedantic", "-fsyntax-only"])
            .args(["-Wall", "-Wextra", "-Werror"])
            .args(defines)
            .arg("-I")
            .arg(include_dir())
            .arg(source)
            .output()
            .unwrap()
    }
}

fn define(name: &str, header: &str) -> String {
    format!("-D{name}=<{header}>")
}

fn single() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("c-tests/headers.c")
}

fn include_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// The headers, by the names that programs include.
fn headers() -> Vec<String> {
    fn below(dir: &Path, headers: &mut Vec<String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, headers);
            } else {
                headers.push(path.strip_prefix(include_dir()).unwrap().display().to_string());
            }
        }
    }
    let mut headers = Vec::new();
    below(&include_dir(), &mut headers);
    headers.sort();
    assert!(headers.len() >= 20, "{headers:?}");
    headers
}

/// The headers of this library that each one includes, directly and indirectly.
fn includes() -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = headers()
        .into_iter()
        .map(|header| {
            let text = fs::read_to_string(include_dir().join(&header)).unwrap();
            let named = text.lines().filter_map(|line| line.strip_prefix("#include <")?.strip_suffix('>'));
            let ours = named.filter(|name| include_dir().join(name).exists()).map(str::to_owned).collect();
            (header, ours)
        })
        .collect();
    loop {
        let before = all.clone();
        for (_, included) in all.iter_mut() {
            for header in included.clone() {
                included.extend(before[&header].iter().cloned());
            }
        }
        if all == before {
            return all;
        }
    }
}

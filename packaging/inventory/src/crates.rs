//! The crates that are linked into what is shipped, as cargo resolves them.

use crate::Result;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A crate's name and version.
pub(crate) type Key = (String, String);

/// All that is linked into the shipped files.
#[derive(Debug)]
pub(crate) struct Inventory {
    /// The version of the workspace.
    pub(crate) version: String,
    /// The version of Rust, whose standard library is linked.
    pub(crate) rust: String,
    /// The notices of the standard library, as HTML, if the toolchain has them.
    pub(crate) rust_notices: Option<String>,
    /// The crates, sorted by name and version.
    pub(crate) crates: Vec<Crate>,
}

/// A linked crate.
#[derive(Debug)]
pub(crate) struct Crate {
    pub(crate) key: Key,
    /// The licence as an SPDX expression.
    pub(crate) license: String,
    pub(crate) repository: Option<String>,
    /// The directory of its sources.
    pub(crate) directory: PathBuf,
    /// The SHA-256 sum of its archive in the registry, in hexadecimal; none for a crate of the workspace.
    pub(crate) checksum: Option<String>,
    pub(crate) is_of_workspace: bool,
    /// The linked crates that it calls.
    pub(crate) dependencies: Vec<Key>,
}

impl Inventory {
    /// Asks cargo for what is linked into the packages for the target (`CARGO_BUILD_TARGET`, otherwise the host).
    pub(crate) fn read(root: &Path, packages: &[String]) -> Result<Self> {
        let rustc = output(Command::new("rustc").arg("-vV"))?;
        let target = env::var("CARGO_BUILD_TARGET").or_else(|_| field(&rustc, "host: "))?;
        let rust = field(&rustc, "release: ")?;

        // The features of a workspace's crates are those of all of its members together in `metadata`, and those of the named
        // packages in `tree`, which therefore says what is linked.
        let mut tree = cargo(root);
        tree.args([
            "tree",
            "--locked",
            "--edges",
            "normal,no-proc-macro",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]);
        tree.args(["--target", &target]);
        for package in packages {
            tree.args(["--package", package]);
        }
        let linked = linked(&output(&mut tree)?);

        let mut metadata = cargo(root);
        metadata.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", &target]);
        let metadata: Metadata = serde_json::from_str(&output(&mut metadata)?)?;
        let lock = fs::read_to_string(root.join("Cargo.lock"))?;
        let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
        Ok(Self {
            version: field(&fs::read_to_string(root.join("Cargo.toml"))?, "version = ")?.replace('"', ""),
            rust,
            rust_notices: fs::read_to_string(
                Path::new(sysroot.trim()).join("share/doc/rust/COPYRIGHT-library.html"),
            )
            .ok(),
            crates: crates(metadata, &linked, &checksums(&lock))?,
        })
    }

    /// The linked crates of others.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = &Crate> {
        self.crates.iter().filter(|it| !it.is_of_workspace)
    }
}

/// What `cargo metadata` tells, as far as it is needed.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    repository: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `dev` or `build`; none for what is linked.
    kind: Option<String>,
}

fn crates(
    metadata: Metadata,
    linked: &BTreeSet<Key>,
    checksums: &BTreeMap<Key, String>,
) -> Result<Vec<Crate>> {
    let key_of = |package: &Package| (package.name.clone(), package.version.clone());
    let keys: BTreeMap<String, Key> =
        metadata.packages.iter().map(|package| (package.id.clone(), key_of(package))).collect();
    let mut dependencies: BTreeMap<String, Vec<Key>> = BTreeMap::new();
    for node in metadata.resolve.nodes {
        let is_linked = |it: &&Dependency| it.dep_kinds.iter().any(|kind| kind.kind.is_none());
        let found: BTreeSet<Key> = (node.deps.iter().filter(is_linked))
            .filter_map(|it| keys.get(&it.pkg).filter(|key| linked.contains(*key)).cloned())
            .collect();
        dependencies.insert(node.id, found.into_iter().collect());
    }
    let mut found = Vec::new();
    for package in metadata.packages {
        let key = key_of(&package);
        if !linked.contains(&key) {
            continue;
        }
        found.push(Crate {
            license: expression(&package.license.ok_or_else(|| format!("{} names no licence", key.0))?),
            repository: package.repository,
            directory: package.manifest_path.parent().map(Path::to_owned).unwrap_or_default(),
            checksum: checksums.get(&key).cloned(),
            is_of_workspace: package.source.is_none(),
            dependencies: dependencies.remove(&package.id).unwrap_or_default(),
            key,
        });
    }
    found.sort_by(|a, b| a.key.cmp(&b.key));
    match linked.len() == found.len() {
        true => Ok(found),
        false => Err("`cargo tree` and `cargo metadata` name different crates".into()),
    }
}

/// The crates in the output of `cargo tree`, whose lines are `NAME vVERSION ...`.
fn linked(tree: &str) -> BTreeSet<Key> {
    let key = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    tree.lines().filter_map(key).collect()
}

/// The checksums of a `Cargo.lock`.
fn checksums(lock: &str) -> BTreeMap<Key, String> {
    let value = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
        Some(line.trim_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]");
    let row = |it: &str| Some(((value(it, "name")?, value(it, "version")?), value(it, "checksum")?));
    packages.filter_map(row).collect()
}

/// The SPDX expression of a `license` key: older crates write `/` for `OR`.
fn expression(license: &str) -> String {
    match license.contains(" OR ") || license.contains(" AND ") {
        true => license.to_owned(),
        false => license.split('/').map(str::trim).collect::<Vec<_>>().join(" OR "),
    }
}

/// The rest of the first line that begins so.
fn field(text: &str, beginning: &str) -> Result<String> {
    let found = text.lines().find_map(|line| line.strip_prefix(beginning));
    found.map(str::to_owned).ok_or_else(|| format!("no line begins with \"{beginning}\"").into())
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn key(name: &str, version: &str) -> Key {
        (name.to_owned(), version.to_owned())
    }

    #[test]
    fn each_crate_of_the_tree_is_found_once() {
        let tree = "lnet v0.1.0 (/somewhere)\nlog v0.4.35\n\nlog v0.4.35 (*)\n";
        assert_eq!(linked(tree), BTreeSet::from([key("lnet", "0.1.0"), key("log", "0.4.35")]));
    }

    #[test]
    fn crates_of_a_registry_have_a_checksum() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"x\"\nchecksum = \"12ab\"\n\n\
                    [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n";
        assert_eq!(checksums(lock), BTreeMap::from([(key("a", "1.0.0"), "12ab".to_owned())]));
    }

    #[test]
    fn a_slash_in_a_licence_means_or() {
        for (license, expected) in [
            ("MIT/Apache-2.0", "MIT OR Apache-2.0"),
            ("MIT / Apache-2.0", "MIT OR Apache-2.0"),
            ("(MIT OR Apache-2.0) AND BSD-3-Clause", "(MIT OR Apache-2.0) AND BSD-3-Clause"),
            ("ISC", "ISC"),
        ] {
            assert_eq!(expression(license), expected, "{license}");
        }
    }

    /// Fails if crates that only build or test are listed, or the crates that a crate calls are not.
    #[test]
    fn only_what_is_linked_is_listed_with_what_it_calls() {
        let package = |name: &str, source: &str| {
            format!(
                r#"{{"id": "{name}#1", "name": "{name}", "version": "1", "license": "MIT", "repository": null, "source": {source},
                    "manifest_path": "/{name}/Cargo.toml"}}"#
            )
        };
        let text = format!(
            r#"{{"packages": [{}, {}, {}], "resolve": {{"nodes": [
                {{"id": "ours#1", "deps": [
                    {{"pkg": "used#1", "dep_kinds": [{{"kind": "dev"}}, {{"kind": null}}]}},
                    {{"pkg": "tester#1", "dep_kinds": [{{"kind": "dev"}}]}}]}},
                {{"id": "used#1", "deps": []}}, {{"id": "tester#1", "deps": []}}]}}}}"#,
            package("used", "\"registry\""),
            package("tester", "\"registry\""),
            package("ours", "null")
        );
        let linked = BTreeSet::from([key("ours", "1"), key("used", "1")]);
        let read = || serde_json::from_str::<Metadata>(&text).unwrap();
        let found = crates(read(), &linked, &BTreeMap::new()).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.key.0.as_str(), it.is_of_workspace, it.dependencies.as_slice()))
            .collect();
        let used = [key("used", "1")];
        assert_eq!(found, [("ours", true, used.as_slice()), ("used", false, &[])]);
        let more = BTreeSet::from([key("ours", "1"), key("absent", "1")]);
        assert!(crates(read(), &more, &BTreeMap::new()).is_err());
    }
}

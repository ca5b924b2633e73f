//! Tests that each request to a node is made by an operation of the DLC API.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Requests that no operation of the DLC API makes: IOCTLs from before it, which `LNetCtl` makes.
const BEFORE_DLC: [&str; 3] = ["GetNi", "FailNid", "NotifyRouter"];

/// cfg-005: fails if a node can be told something for which the DLC API has no operation.
/// dbg-080: fails if a node answers a question for which the DLC API has no operation.
#[test]
fn every_request_is_made_by_an_operation() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let requests = fs::read_to_string(source.join("request/mod.rs")).unwrap();
    let (_, requests) = requests.split_once("pub enum Request {").unwrap();
    let (requests, _) = requests.split_once("\n}").unwrap();
    let all: BTreeSet<&str> = requests.lines().filter_map(variant).collect();
    assert!(all.len() > 35, "{all:?}");

    let operations: String = files_below(&source.join("ops"))
        .iter()
        .filter(|path| !path.ends_with("tests.rs") && !path.ends_with("fake.rs"))
        .map(|path| {
            let text = fs::read_to_string(path).unwrap();
            text.split("#[cfg(test)]\nmod tests").next().unwrap().to_owned()
        })
        .collect();
    let words: BTreeSet<&str> = operations
        .split("Request::")
        .skip(1)
        .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap())
        .collect();
    let without: Vec<&str> = all.difference(&words).copied().collect();
    let mut before_dlc = BEFORE_DLC;
    before_dlc.sort_unstable();
    assert_eq!(without, before_dlc);
}

/// `AddRoute` of `    AddRoute(AddRoute),`.
fn variant(line: &str) -> Option<&str> {
    let name = line.strip_prefix("    ").filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))?;
    name.split(|c: char| !c.is_ascii_alphanumeric()).next()
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

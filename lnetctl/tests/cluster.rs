//! `lnetctl cluster` and the files that it writes.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::process::Command;

#[test]
fn the_suffix_of_a_picture_says_its_form_and_the_report_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let check = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lnetctl"));
        command.args(["cluster", "check", "tests/inputs/cluster/broken"]).args(options);
        command.output().unwrap()
    };
    let plain = check(&[]);
    for (name, beginning) in [("a.svg", "<svg "), ("a.dot", "graph cluster {"), ("a.gv", "graph cluster {")] {
        let file = directory.path().join(name);
        let checked = check(&["--picture", file.to_str().unwrap()]);
        assert_eq!((checked.status, &checked.stdout), (plain.status, &plain.stdout), "{name}");
        let picture = fs::read_to_string(file).unwrap();
        assert!(picture.starts_with(beginning) && picture.contains("gateway-does-not-forward"), "{picture}");
    }
}

//! `lnetctl cluster collect`, with directories in place of hosts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A host: its own `lnetctl` in a directory of its name.
fn host(site: &Path, name: &str, lnetctl: &str) {
    let directory = site.join(name);
    fs::create_dir(&directory).unwrap();
    program(&directory, "lnetctl", lnetctl);
}

fn program(directory: &Path, name: &str, text: &str) {
    let program = directory.join(name);
    fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

fn lnetctl(site: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lnetctl")).args(words).current_dir(site).output().unwrap()
}

/// A kernel node, whose `lnetctl` knows neither `global show` nor `tunables`; one of ours; one that has no network.
fn site() -> TempDir {
    let site = tempfile::tempdir().unwrap();
    let export = |address: &str| {
        let nid = format!("'  - nid: {address}@tcp' '    status: up' '    interfaces:' '        0: eth0'");
        format!("printf '%s\\n' 'net:' '- net type: tcp' '  local NI(s):' {nid}")
    };
    let node = |address| format!("case $1 in export) {};; *) echo $1: shown;; esac", export(address));
    host(
        site.path(),
        "10.0.0.1",
        &format!("case $1 in global|tunables) exit 255;; esac\n{}", node("10.0.0.1")),
    );
    host(site.path(), "10.0.0.2", &node("10.0.0.2"));
    for (name, mtu) in [("10.0.0.1", 9000), ("10.0.0.2", 1500)] {
        program(&site.path().join(name), "ip", &format!("echo '2: eth0: <UP> mtu {mtu} qdisc mq'"));
    }
    host(site.path(), "10.0.0.3", "echo partly; echo 'LNet is not there' >&2; exit 1");
    site
}

const VIA: &str = "env PATH={}:/usr/bin:/bin";

#[test]
fn all_nodes_are_gathered_and_those_that_are_not_reached_are_named() {
    let site = site();
    let collected = lnetctl(
        site.path(),
        &["cluster", "collect", "--via", VIA, "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"],
    );
    let out = String::from_utf8(collected.stdout).unwrap();
    assert_eq!(collected.status.code(), Some(1), "{out}");
    for line in [
        "collected: 2",
        "host: 10.0.0.3",
        "reason: \"LNet is not there\"",
        "host: 10.0.0.4",
        "files: global.yaml",
    ] {
        assert!(out.contains(line), "{line}: {out}");
    }
    let cluster = site.path().join("cluster");
    let mut names: Vec<String> = fs::read_dir(&cluster)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["10.0.0.1", "10.0.0.1.yaml", "10.0.0.2", "10.0.0.2.yaml"]);
    assert_eq!(fs::read_to_string(cluster.join("10.0.0.1/stats.yaml")).unwrap(), "stats: shown\n");
    assert!(!cluster.join("10.0.0.1/global.yaml").exists() && cluster.join("10.0.0.2/global.yaml").exists());
    assert_eq!(fs::read_to_string(cluster.join("10.0.0.2/tunables.yaml")).unwrap(), "tunables: shown\n");
    let checked = lnetctl(site.path(), &["cluster", "check", "cluster"]);
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(
        checked.status.code() == Some(0)
            && text.contains("the MTU on tcp is 9000 on 10.0.0.1, but 1500 on 10.0.0.2"),
        "{text}"
    );
}

#[test]
fn hosts_come_from_a_file_of_nids_and_files_of_an_earlier_call_do_not_stay() {
    let site = site();
    fs::write(site.path().join("nids"), "# the servers\n10.0.0.1@tcp\n\n10.0.0.2@tcp1 # the other\n")
        .unwrap();
    let words = ["cluster", "collect", "--via", VIA, "--nids", "nids", "-o", "gathered"];
    let first = lnetctl(site.path(), &words);
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stdout));
    let file = site.path().join("gathered/10.0.0.2@tcp1.yaml");
    assert!(file.exists());
    fs::write(site.path().join("gathered/10.0.0.2@tcp1/notes"), "of an operator").unwrap();
    fs::remove_file(site.path().join("10.0.0.2/lnetctl")).unwrap();
    let second = lnetctl(site.path(), &words);
    assert_eq!(second.status.code(), Some(1));
    assert!(!file.exists() && site.path().join("gathered/10.0.0.1@tcp.yaml").exists());
    assert!(site.path().join("gathered/10.0.0.2@tcp1.yaml.old").exists());
    assert!(site.path().join("gathered/10.0.0.2@tcp1/stats.yaml.old").exists());
    assert!(site.path().join("gathered/10.0.0.2@tcp1/notes").exists());
}

#[test]
fn an_output_that_is_no_configuration_is_not_kept() {
    let site = site();
    for (via, said) in [("true {}", "the output is empty"), ("echo {}", "gave no configuration")] {
        let output = lnetctl(site.path(), &["cluster", "collect", "--via", via, "10.0.0.1"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.code() == Some(1) && text.contains(said), "{via}: {text}");
        assert!(!site.path().join("cluster/10.0.0.1.yaml").exists());
    }
}

#[test]
fn nothing_is_run_for_arguments_that_are_wrong() {
    let site = site();
    fs::write(site.path().join("nids"), "mds1\n").unwrap();
    for (words, said) in [
        (&["--via", "ssh", "a"][..], "has no place for the host"),
        (&["--", "-oProxyCommand=x"], "is not the name of a host"),
        (&["--nids", "nids"], "nids:1: 'mds1' is not a NID"),
        (&["--nids", "nowhere"], "nowhere: "),
    ] {
        let output = lnetctl(site.path(), &[&["cluster", "collect"], words].concat());
        let text =
            String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.code() == Some(2) && text.contains(said), "{words:?}: {text}");
    }
    assert!(!site.path().join("cluster").exists());
}

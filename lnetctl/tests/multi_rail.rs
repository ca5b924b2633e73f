//! Tests of Multi-Rail configuration by lnetctl, on a node that supports Multi-Rail and on one that does not, and of its guides.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[allow(dead_code, reason = "shared with other tests")]
mod fake;

use clap::CommandFactory;
use fake::{Changes, FakeNode};
use lnet_dlc::{Reply, Request};
use lnet_wire::Errno;
use lnetctl::cli::{Cli, Globals};
use lnetctl::node::Node;
use lnetctl::output::Streams;
use lnetctl::run::{self, LineEnd};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A node without Multi-Rail: it knows routes and counters, and refuses every request that came later. It records the requests that
/// change something.
fn node_without_multi_rail(changes: Changes) -> Box<dyn Node> {
    FakeNode::boxed(move |request| match request {
        Request::GetRoute(_) => Err(Errno::NotFound.into()),
        Request::GetLnetStats => Ok(Reply::Stats(Box::default())),
        Request::AddRoute(_) | Request::DelRoute(_) | Request::ConfigRouter(_) => {
            changes.borrow_mut().push(request);
            Ok(Reply::Done)
        }
        _ => Err(Errno::Invalid.into()),
    })
}

/// Carries out a line; returns its standard output, its standard error, and its exit status.
fn carried_out(words: &[&str], input: &str, done: &Changes) -> (String, String, u8) {
    let connect = |_| node_without_multi_rail(Changes::clone(done));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut streams = Streams { input: &mut input.as_bytes(), out: &mut out, err: &mut err };
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let LineEnd::Done(rc) = run::line(&words, &Globals::default(), &connect, &mut streams).unwrap() else {
        panic!()
    };
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out), text(err), rc.exit_code())
}

const CONFIGURATION: &str = "\
net:
    - net type: tcp
      local NI(s):
        - interfaces:
              0: eth0
        - interfaces:
              0: eth1
peer:
    - primary nid: 10.0.0.8@tcp
      Multi-Rail: True
      peer ni:
        - nid: 10.0.0.8@tcp
        - nid: 10.0.1.8@tcp
global:
    numa_range: 7
udsp:
    - src: tcp
      action:
          priority: 0
";

/// bck-005: fails if anything of a Multi-Rail configuration takes effect in a node that does not have Multi-Rail.
/// bck-010: fails if lnetctl says nothing of what such a node refuses, or ends as if all were well.
#[test]
fn a_node_without_multi_rail_rejects_a_multi_rail_configuration_with_a_message() {
    let done = Rc::default();
    let (_, err, exit) = carried_out(&["import"], CONFIGURATION, &done);
    assert_ne!(exit, 0, "{err}");
    for (entity, errno) in [("- net:", "errno: -"), ("- peer_ni:", "errno: -"), ("- udsp:", "errno: ")] {
        assert!(err.contains(entity) && err.contains(errno), "{entity}\n{err}");
    }
    let lines: [&[&str]; 5] = [
        &["net", "add", "--net", "tcp", "--if", "eth0,eth1"],
        &["peer", "add", "--prim_nid", "10.0.0.8@tcp", "--nid", "10.0.1.8@tcp"],
        &["udsp", "add", "--src", "tcp"],
        &["set", "numa_range", "7"],
        &["peer", "show"],
    ];
    for words in lines {
        let (out, err, exit) = carried_out(words, "", &done);
        assert!(exit != 0 && err.contains("errno: ") && out.is_empty(), "{words:?}: {exit}\n{out}{err}");
    }
    assert_eq!(*done.borrow(), []);
    // The node carries out requests that it knows.
    let route = ["route", "add", "--net", "tcp9", "--gateway", "10.0.0.1@tcp"];
    assert_eq!(carried_out(&route, "", &done).2, 0);
    assert_eq!(done.borrow().len(), 1);
}

/// cfg-005: fails if a command changes a node other than by an operation of the DLC API.
#[test]
fn commands_only_ask_a_node_by_themselves() {
    for path in files_below(Path::new("src")) {
        let text = fs::read_to_string(&path).unwrap();
        for rest in text.split("Request::").skip(1) {
            let asks = rest.starts_with("Get");
            assert!(asks, "{}: Request::{}", path.display(), rest.lines().next().unwrap_or_default());
        }
    }
}

/// doc-005: fails if the guides do not tell of a command or a setting of Multi-Rail, or not what a selection rule does.
#[test]
fn the_guides_describe_every_command_and_setting_of_multi_rail() {
    let mut guides = fs::read_to_string("../README.md").unwrap();
    for path in files_below(Path::new("../docs")) {
        let is_list = ["requirements.md", "c-api-matrix.md"].iter().any(|list| path.ends_with(list));
        if path.extension().is_some_and(|extension| extension == "md") && !is_list {
            guides.push_str(&fs::read_to_string(path).unwrap());
        }
    }
    let cli = Cli::command();
    let mut untold = Vec::new();
    for group in ["net", "peer", "udsp", "set", "global"] {
        let group = cli.find_subcommand(group).unwrap();
        for command in
            group.get_subcommands().map(|command| command.get_name()).filter(|name| *name != "help")
        {
            let both = format!("{} {command}", group.get_name());
            // Files name a setting without the command.
            let alone = group.get_name() == "set" && guides.contains(&format!("`{command}`"));
            if !guides.contains(&both) && !alone {
                untold.push(both);
            }
        }
    }
    let alone = ["discover", "ping", "import", "export"].map(|command| format!("lnetctl {command}"));
    untold.extend(alone.into_iter().filter(|command| !guides.contains(command)));
    let rules = [
        "`udsp add --src tcp --priority 1`",
        "`udsp add --src '10.1.0.*@tcp' --dst '10.1.0.*@tcp'`",
        "the first in the list counts",
    ];
    untold.extend(rules.map(str::to_owned).into_iter().filter(|words| !guides.contains(words)));
    assert!(untold.is_empty(), "{untold:?}");
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

//! `lnetctl top` in a pseudo-terminal, on a running node.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use lnet_dlc::request::{AddLocalNi, AddPeerNi, LndTunables, NiTunables};
use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_dlc::{Backend, Request};
use lnet_node::{ControlConfig, ControlServer, Node, SharedBackend, StartConfig};
use lnet_wire::Pid;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use test_support::terminal::Terminal;

fn top(terminal: &Terminal, directory: &Path, words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lnetctl"));
    terminal.start(command.arg("top").args(words).env("LNET_RUNTIME_DIR", directory))
}

fn node() -> Arc<Node> {
    let mut config = StartConfig::default();
    config.drivers.get_mut::<socklnd::SocklndConfig>().unwrap().accept = socklnd::AcceptFrom::None;
    let node = Node::start(Pid::LUSTRE, config).unwrap();
    let backend: &dyn Backend = &*node;
    let add = AddLocalNi {
        net: "tcp7".parse().unwrap(),
        interface: Some("127.0.7.1".to_owned()),
        tunables: NiTunables::default(),
        lnd: LndTunables::default(),
        cpts: None,
    };
    backend.tell(Request::AddLocalNi(add)).unwrap();
    let primary = "127.0.7.9@tcp7".parse().unwrap();
    let add = AddPeerNi { primary, nid: None, multi_rail: true, lock_primary: false };
    backend.tell(Request::AddPeerNi(add)).unwrap();
    node
}

fn serve(node: &Arc<Node>, directory: &Path) -> ControlServer {
    let name: NodeName = "pty".parse().unwrap();
    let config = ControlConfig::new(RuntimeDir::at(directory), name);
    ControlServer::start(config, Arc::clone(node) as SharedBackend).unwrap()
}

#[test]
fn top_shows_rails_and_peers_survives_the_node_and_restores_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let node = node();
    let server = serve(&node, directory.path());
    let mut terminal = Terminal::new();
    let mut program = top(&terminal, directory.path(), &["--interval", "0.1"]);
    terminal.until("127.0.7.1@tcp7");
    terminal.until("127.0.7.9@tcp7");
    assert!(terminal.is_full_screen());

    server.stop();
    terminal.until("node does not answer");
    let _server = serve(&node, directory.path());
    terminal.until("rate   out");

    terminal.press("s");
    terminal.until("by nid");
    terminal.press("p");
    terminal.until("PAUSED");
    terminal.press("q");
    assert_eq!(program.wait().unwrap().code(), Some(0));
    assert!(terminal.is_as_before());
}

#[test]
fn control_c_ends_top() {
    let directory = tempfile::tempdir().unwrap();
    let node = node();
    let _server = serve(&node, directory.path());
    let mut terminal = Terminal::new();
    let mut program = top(&terminal, directory.path(), &[]);
    terminal.until("127.0.7.1@tcp7");
    terminal.press("\x03");
    assert_eq!(program.wait().unwrap().code(), Some(0));
    assert!(terminal.is_as_before());
}

#[test]
fn top_does_not_start_without_a_node() {
    let directory = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::new();
    let mut program = top(&terminal, directory.path(), &[]);
    terminal.until("Network is down");
    assert_eq!(program.wait().unwrap().code(), Some(156));
    assert!(terminal.is_as_before());
}

#[test]
fn a_single_sample_and_statistics_need_no_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let node = node();
    let _server = serve(&node, directory.path());
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lnetctl"));
        let output = command.args(words).env("LNET_RUNTIME_DIR", directory.path()).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    };
    let (text, code) = run(&["top", "--once", "--interval", "0.1"]);
    assert!(text.contains("127.0.7.1@tcp7        127.0.7.1 up   1000   256/256"), "{text}");
    assert_eq!(code, Some(0));
    let (text, code) = run(&["stats", "--prometheus"]);
    let up = format!("lnet_ni_up{{node=\"{}\",net=\"tcp7\",nid=\"127.0.7.1@tcp7\",", std::process::id());
    assert!(text.contains(&up), "{text}");
    assert_eq!(code, Some(0));
    let (text, code) = run(&["stats", "rate", "0.1"]);
    let rail = "            - nid: 127.0.7.1@tcp7\n              rate:\n                  send_count: 0\n";
    assert!(text.contains(rail), "{text}");
    assert_eq!(code, Some(0));
    let (_, code) = run(&["top"]);
    assert_eq!(code, Some(255));
}

//! Files that are applied to a node: it becomes what they say, and a second time nothing is changed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod live;

use live::{free_port, node_on, own_nids};
use lnet_core::DiscoveryMode;
use lnet_dlc::apply::{Mode, apply};
use lnet_dlc::export::export;
use lnet_dlc::import::Source;
use lnet_dlc::{Backend, Report, ReturnCode};

const FILE: &str = "\
net:
    - net type: tcp
      local NI(s):
        - interfaces: {0: 127.0.93.1}
          tunables: {credits: 64}
        - interfaces: {0: 127.0.93.2}
route:
    - {net: tcp8, gateway: 127.0.93.8@tcp, priority: 3}
    - {net: tcp9, gateway: '127.0.93.[8-9]@tcp'}
routing: {enable: 1}
buffers: {tiny: 1024, small: 2048, large: 128}
peer:
    - primary nid: 127.0.93.5@tcp
      Multi-Rail: True
      peer ni: [{nid: 127.0.93.5@tcp}, {nid: 127.0.93.6@tcp}]
    - primary nid: 127.0.93.7@tcp
      Multi-Rail: False
global: {numa_range: 5, retry_count: 3, transaction_timeout: 60}
udsp:
    - {src: tcp, action: {priority: 1}}
    - {dst: 127.0.93.5@tcp, action: {priority: 2}}
    - {src: 127.0.93.1@tcp, dst: 127.0.93.7@tcp}
";

/// Applies a file, or shows what that would change.
fn applied(node: &dyn Backend, text: &str, mode: Mode) -> String {
    let mut report = Report::new();
    let rc = apply(node, Source { name: "lnet.conf", text }, mode, &mut report);
    assert_eq!(rc, ReturnCode::OK, "{text}\n{}", report.errors_to_yaml());
    if report.shown.is_empty() { String::new() } else { report.shown.to_yaml() }
}

fn exported(node: &dyn Backend) -> String {
    let mut report = Report::new();
    assert_eq!(export(node, true, &mut report), ReturnCode::OK);
    report.shown.to_yaml()
}

/// Fails if a node and a file that is in force on it differ by anything that cannot be changed, or if a node forgets what is to stay.
#[test]
fn a_node_becomes_what_a_file_says_and_a_second_time_nothing_is_changed() {
    let node = node_on(free_port(), "tcp(127.0.93.3)", DiscoveryMode::Off);
    let backend: &dyn Backend = &*node;
    for text in [FILE.to_owned(), FILE.replace("credits: 64", "credits: 32"), FILE.replace("[8-9]", "[8,10]")]
    {
        assert_ne!(applied(backend, &text, Mode::Show), "", "{text}");
        applied(backend, &text, Mode::Change);
        assert_eq!(applied(backend, &text, Mode::Show), "", "{text}");
        let own = exported(backend);
        assert_eq!(applied(backend, &own, Mode::Show), "", "{own}");
    }
    assert_eq!(own_nids(&node), live::nids(&["127.0.93.2", "127.0.93.1"]));
    applied(backend, "{net: [], route: [], peer: [], udsp: []}", Mode::Change);
    assert_eq!(own_nids(&node), []);
    node.shutdown();
}

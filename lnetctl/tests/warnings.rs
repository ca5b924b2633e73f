//! Warnings of the node about changes that it carried out are printed on standard error, each once.
#![allow(clippy::unwrap_used, missing_docs)]

#[allow(dead_code, reason = "shared with other tests")]
mod fake;

use fake::{Changes, one_interface};
use lnet_dlc::{Backend, Reply, Request, RequestError};
use lnet_wire::Errno;
use lnetctl::cli::Globals;
use lnetctl::node::Node;
use lnetctl::output::Streams;
use lnetctl::run::{self, LineEnd};

/// A node that warns of each interface that is added, and refuses peers.
struct WarningNode;

impl Backend for WarningNode {
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        self.call_with_warnings(request, &mut Vec::new())
    }

    fn call_with_warnings(
        &self,
        request: Request,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, RequestError> {
        match request {
            Request::AddLocalNi(_) => {
                warnings.push("the subnet is shared".to_owned());
                Ok(Reply::Nid("10.0.0.1@tcp".parse().unwrap()))
            }
            Request::AddPeerNi(_) => Err(Errno::NoDevice.into()),
            other => one_interface(Changes::default())(other),
        }
    }
}

impl Node for WarningNode {}

/// Runs a command; returns its exit status and its standard error.
fn run(command: &str, input: &str) -> (u8, String) {
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut input = input.as_bytes();
    let mut streams = Streams { input: &mut input, out: &mut out, err: &mut err };
    let connect = |_| Box::new(WarningNode) as Box<dyn Node>;
    let LineEnd::Done(rc) = run::line(&words, &Globals::default(), &connect, &mut streams).unwrap() else {
        return (0, String::new());
    };
    (rc.exit_code(), String::from_utf8(err).unwrap())
}

#[test]
fn a_command_that_succeeds_prints_what_the_node_warns_of() {
    for options in ["", "--format json "] {
        let (status, err) = run(&format!("{options}net add --net tcp --if eth0"), "");
        assert_eq!((status, err.as_str()), (0, "# warning: the subnet is shared\n"));
    }
}

#[test]
fn a_warning_about_several_interfaces_of_a_file_is_printed_once() {
    let file =
        "net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n  - interfaces: {0: eth1}\n";
    let (status, err) = run("import", file);
    assert_eq!((status, err.as_str()), (0, "# warning: the subnet is shared\n"));
}

#[test]
fn a_warning_beside_an_error_leaves_the_error_readable_in_either_format() {
    let file = "net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\npeer:\n- primary nid: 10.0.0.9@tcp\n";
    let (status, err) = run("import", file);
    assert!(status != 0 && err.starts_with("# warning: the subnet is shared\n"), "{err}");
    let (status, err) = run("--format json import", file);
    let json: serde_json::Value = serde_json::from_str(&err).unwrap();
    assert!(status != 0 && json["warnings"][0] == "the subnet is shared", "{err}");
}

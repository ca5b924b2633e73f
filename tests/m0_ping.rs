//! Tests `examples/m0_ping.c`: a server and client threads, in one process and in two, with nodes of their own and attached to daemons.
//! Acceptance cases 32 to 34 of Motr's network layer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/m0net_program.rs"]
#[allow(unreachable_pub)]
mod m0net_program;
#[path = "support/placement.rs"]
#[allow(dead_code, unreachable_pub)]
mod placement;
#[path = "support/programs.rs"]
#[allow(unreachable_pub)]
mod programs;

use placement::{NodeOfProgram, Placement, Site};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// The program, built, with its own port on the loopback.
struct Ping {
    program: PathBuf,
    site: Site,
}

impl Ping {
    /// Builds the program. `name` is the test's name, which has its own directory.
    fn build_or_skip(name: &str) -> Option<Self> {
        let sources = ["examples/m0_ping.c", "examples/m0_ping_server.c", "examples/m0_ping_client.c"];
        let program = m0net_program::build_or_skip(name, &["-O2"], &sources)?;
        Some(Self { program, site: Site::new() })
    }

    fn command(&self, node: &NodeOfProgram, arguments: &str) -> Command {
        let mut command = self.site.command(&self.program, node);
        command.args(arguments.split_whitespace());
        command
    }

    /// Starts a server, and waits until it is ready.
    fn serve(&self, node: &NodeOfProgram, arguments: &str) -> Server {
        let mut child = self.command(node, arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.ends_with(":12345:39:12 is waiting\n"), "{line}");
        Server { child, output }
    }
}

impl Ping {
    fn fails(&self, node: &NodeOfProgram, arguments: &str, said: &str) {
        let output = self.command(node, arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code().is_some_and(|code| code > 0) && error.contains(said),
            "{arguments}: {error}"
        );
    }
}

fn own_node(name: &str, networks: &str) -> NodeOfProgram {
    NodeOfProgram::Own(name.to_owned(), networks.to_owned())
}

struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Server {
    /// Ends the server; returns the number of transfers that it has served.
    fn end(mut self) -> String {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
        said
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last line of clients whose operations all succeeded.
fn all_is_done(output: &Output, done: u32, row: &str) {
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = format!("{done} done, 0 done again, 0 failed, 0 wrong");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains(&expected), "{row}: {}\n{said}{log}", output.status);
}

#[test]
fn a_server_and_clients_in_one_process_do_all_their_loops() {
    let Some(ping) = Ping::build_or_skip("one_process") else { return };
    let daemon = ping.site.daemon("both", "tcp(127.0.9.8)");
    for node in [own_node("own", "tcp(127.0.9.1)"), NodeOfProgram::Of(daemon)] {
        for (arguments, done) in [
            ("both", 3),
            ("both -A", 3),
            ("both -l 100", 300),
            ("both -l 100 -A", 300),
            ("both -k 8 -l 50", 1200),
            ("both -k 8 -l 50 -A", 1200),
            // Fewer buffers than clients.
            ("both -k 8 -l 10 -n 4", 240),
        ] {
            let row = format!("{node:?} {arguments}");
            all_is_done(&ping.command(&node, arguments).output().unwrap(), done, &row);
        }
    }
}

#[test]
fn two_processes_exchange_messages_and_bulk_data_of_all_sizes() {
    let Some(ping) = Ping::build_or_skip("two_processes") else { return };
    for placement in Placement::ALL {
        let [server_node, client_node] = ping.site.nodes(placement, ["tcp(127.0.9.2)", "tcp(127.0.9.1)"]);
        for serve in ["server", "server -A"] {
            let server = ping.serve(&server_node, serve);
            for (arguments, done) in [
                ("-l 5 -d 1 -m 16", 15),
                ("-l 5 -d 1024", 15),
                ("-l 5 -d 4096 -m 4095", 15),
                ("-l 5 -d 4097 -m 4096", 15),
                ("-l 5 -d 30720", 15),
                ("-l 5 -d 1048576", 15),
                ("-k 8 -l 50", 1200),
            ] {
                let arguments = format!("client 127.0.9.2@tcp {arguments}");
                let row = format!("{placement:?} {serve} {arguments}");
                all_is_done(&ping.command(&client_node, &arguments).output().unwrap(), done, &row);
            }
            let said = server.end();
            let expected = "server: 430 texts, 430 received, 430 sent, 0 failed, 0 wrong";
            assert!(said.contains(expected), "{placement:?} {serve}: {said}");
        }
    }
}

#[test]
fn a_server_serves_clients_of_several_processes_at_once() {
    let Some(ping) = Ping::build_or_skip("several_processes") else { return };
    for placement in [Placement::OwnNodes, Placement::OneDaemon] {
        let [server_node, _daemon] = ping.site.nodes(placement, ["tcp(127.0.9.3)", "tcp(127.0.9.1)"]);
        let server = ping.serve(&server_node, "server");
        let clients: Vec<Child> = (4..7)
            .map(|host| {
                let own = own_node(&format!("client{host}"), &format!("tcp(127.0.9.{host})"));
                let node = if placement == Placement::OwnNodes { &own } else { &server_node };
                let mut client = ping.command(node, "client 127.0.9.3@tcp -k 2 -l 20");
                client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for client in clients {
            all_is_done(&client.wait_with_output().unwrap(), 120, &format!("{placement:?}"));
        }
        server.end();
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let Some(ping) = Ping::build_or_skip("obstacles") else { return };
    for (networks, arguments, said) in [
        ("tcp(127.0.9.1)", "both -p 64", "FAILED"),
        ("tcp(127.0.9.1)", "client nonsense", "nonsense:12345:39:12: Invalid argument"),
        ("tcp(no-such-if0)", "both", "m0_net_domain_init: No such device"),
        ("", "both", "no network"),
        ("", "", "usage"),
        ("", "both -z", "usage"),
        ("", "both -k many", "cannot be read"),
        ("", "both -k 1000", "usage"),
    ] {
        ping.fails(&own_node("alone", networks), arguments, said);
    }
    let node = NodeOfProgram::Of(ping.site.daemon("shared", "tcp(127.0.9.1)"));
    let _server = ping.serve(&node, "server");
    ping.fails(&node, "server", "transfer machine: Address already in use");
}

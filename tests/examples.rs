//! The README's program and the examples in C, built and run as by a reader who copies them: they do what the text says, with nodes of
//! their own and attached to daemons, and every failure gives a message and a status that is not 0.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "support/placement.rs"]
#[allow(dead_code, unreachable_pub)]
mod placement;
#[path = "support/programs.rs"]
#[allow(unreachable_pub)]
mod programs;

use placement::{NodeOfProgram, Placement, Site};
use rustix::process::{Pid, Signal, kill_process};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

#[test]
fn the_program_in_the_readme_exchanges_a_message_and_reports_errors() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```c\n").expect("the README has a program");
    let (program, _) = rest.split_once("```\n").unwrap();
    let Some(examples) = Examples::build_or_skip("readme", &[("program", program)]) else { return };
    examples.are_honest("program");
}

#[test]
fn ping_pong_exchanges_a_message_and_reports_errors() {
    let program = source("ping_pong");
    let Some(examples) = Examples::build_or_skip("ping_pong", &[("ping_pong", &program)]) else { return };
    examples.are_honest("ping_pong");
}

#[test]
fn demo_passes_all_its_checks_over_both_rails() {
    Pair {
        name: "demo",
        server: &["demo", "serve"],
        ready: "is ready",
        ends_with_client: true,
        placements: &Placement::ALL,
    }
    .check(|server, client| {
        let rails = |at: usize| format!("{},{}", client[at], server[at]);
        vec![("demo", format!("visit {} {}", rails(0), rails(1)), "node A: is down\n")]
    });
}

/// The program checks in its handlers what the next message overwrites.
#[test]
fn failover_loses_no_message() {
    Pair {
        name: "failover",
        server: &["failover", "serve"],
        ready: "is ready",
        ends_with_client: false,
        placements: &Placement::ALL,
    }
    .check(|server, _| vec![("failover", format!("send 0.5 {}", server[0]), "messages sent; failed: 0")]);
}

/// Fails if a client that is attached stops reading what its node reports, too: the load ends with requests that nobody answers.
#[test]
fn a_key_value_service_keeps_what_its_clients_put() {
    Pair {
        name: "kv",
        server: &["kv_server"],
        ready: "is ready",
        ends_with_client: false,
        placements: &Placement::ALL,
    }
    .check(|server, _| {
        let nids = server.join(",");
        vec![
            ("kv_client", format!("{nids} put colour blue"), "colour: 4 bytes, put 1 times"),
            ("kv_client", format!("{nids} get colour"), "blue"),
            ("kv_client", format!("{nids} load -n 8 -s 1"), " done, 0 failed, 0 wrong"),
        ]
    });
}

#[test]
fn sharing_sends_a_text_from_one_program_to_the_other() {
    Pair {
        name: "sharing",
        server: &["sharing", "serve"],
        ready: "serving",
        ends_with_client: false,
        placements: &Placement::ALL,
    }
    .check(|server, _| vec![("sharing", format!("send {} hello", server[0]), "a program took \"hello\"")]);
}

const SERVER: [&str; 2] = ["127.0.1.2", "127.0.2.2"];
const CLIENT: [&str; 2] = ["127.0.1.1", "127.0.2.1"];

/// An example with a server and clients, which are built from the files of their names.
struct Pair {
    name: &'static str,
    /// The server, with its arguments.
    server: &'static [&'static str],
    /// A part of the line with which the server is ready.
    ready: &'static str,
    /// Whether the server ends by itself, not by a signal.
    ends_with_client: bool,
    placements: &'static [Placement],
}

impl Pair {
    /// Runs the server and, one after the other, the clients that `clients` returns for the NIDs of both: each with its arguments and a part
    /// of its output.
    fn check(
        &self,
        clients: impl Fn(&[String; 2], &[String; 2]) -> Vec<(&'static str, String, &'static str)>,
    ) {
        let sources: Vec<(&str, String)> = match self.name {
            "kv" => ["kv_server", "kv_client"].map(|name| (name, source(name))).into(),
            name => vec![(name, source(name))],
        };
        let sources: Vec<(&str, &str)> = sources.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let Some(examples) = Examples::build_or_skip(self.name, &sources) else { return };
        for &placement in self.placements {
            let row = format!("{}, {placement:?}", self.name);
            let networks = [SERVER, CLIENT].map(|its| format!("tcp({})", its.join(",")));
            let nodes = examples.site.nodes(placement, networks.each_ref().map(String::as_str));
            let nids = |addresses: [&str; 2]| addresses.map(|address| format!("{address}@tcp"));
            let client_nids = nids(if placement == Placement::OneDaemon { SERVER } else { CLIENT });
            let (program, arguments) = self.server.split_first().unwrap();
            let mut server = Server::start(examples.command(program, &nodes[0], arguments), self.ready, &row);
            for (program, arguments, said) in clients(&nids(SERVER), &client_nids) {
                let words: Vec<&str> = arguments.split(' ').collect();
                let output = examples.command(program, &nodes[1], &words).output().unwrap();
                let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
                let row = format!("{row}: {program} {arguments}: {}\n{out}{err}", output.status);
                assert!(output.status.success() && out.contains(said), "{row}");
            }
            server.end(self.ends_with_client, &row);
        }
    }
}

/// A server that is ready.
struct Server {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Server {
    fn start(mut command: Command, ready: &str, row: &str) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains(ready)), "{row}: the server is not ready");
        Self { child, lines }
    }

    fn end(&mut self, by_itself: bool, row: &str) {
        if !by_itself {
            kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        }
        let said: Vec<String> = self.lines.by_ref().map(Result::unwrap).collect();
        let status = self.child.wait().unwrap();
        // `sharing` leaves SIGTERM at its default.
        let is_ended = status.success() || row.starts_with("sharing");
        assert!(is_ended, "{row}: the server: {status}\n{}", said.join("\n"));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Example programs, built, with their own port on the loopback.
struct Examples {
    directory: PathBuf,
    site: Site,
}

impl Examples {
    /// Builds the programs, each with its name and source.
    fn build_or_skip(name: &str, programs: &[(&str, &str)]) -> Option<Self> {
        if Command::new("gcc").arg("--version").output().is_err() {
            test_support::skip("no gcc");
            return None;
        }
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples").join(name);
        fs::create_dir_all(&directory).unwrap();
        for library in ["liblnet.so", "libptlrpc.so"] {
            let built = env::current_exe().unwrap().with_file_name(library);
            for link in [library.to_owned(), format!("{library}.1")].map(|link| directory.join(link)) {
                let _ = fs::remove_file(&link);
                std::os::unix::fs::symlink(&built, link).unwrap();
            }
        }
        for (program, source) in programs {
            let file = directory.join(format!("{program}.c"));
            fs::write(&file, source).unwrap();
            let built = Command::new("gcc")
                .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"])
                .args(["include", "examples"].map(|path| format!("-I{}", root().join(path).display())))
                .arg(&file)
                .arg("-o")
                .arg(directory.join(program))
                .arg("-L")
                .arg(&directory)
                .args(program.starts_with("kv").then_some("-lptlrpc"))
                .arg("-llnet")
                .arg(format!("-Wl,-rpath,{}", directory.display()))
                .output()
                .unwrap();
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        }
        Some(Self { directory, site: Site::new() })
    }

    fn command(&self, program: &str, node: &NodeOfProgram, arguments: &[&str]) -> Command {
        let mut command = self.site.command(&self.directory.join(program), node);
        command.args(arguments);
        command
    }

    /// Runs a program that sends a message to itself: with nodes of its own, and attached.
    fn are_honest(&self, program: &str) {
        type StartNode<'a> = &'a dyn Fn(&str, &str) -> NodeOfProgram;
        let own: StartNode<'_> = &|name, networks| NodeOfProgram::Own(name.to_owned(), networks.to_owned());
        let attached: StartNode<'_> = &|name, networks| NodeOfProgram::Of(self.site.daemon(name, networks));
        for (kind, start) in [("own nodes", own), ("attached", attached)] {
            self.exchanges_a_message(
                program,
                &start("receiver", "tcp(127.0.1.2)"),
                &start("sender", "tcp(127.0.1.1)"),
            );
            // The networks, the peer, and a part of the message.
            let table: [(&str, &[&str], &str); 5] = [
                ("tcp(127.0.1.1)", &["127.0.1.2@nonsense"], "127.0.1.2@nonsense: Invalid argument"),
                ("tcp(127.0.1.1)", &["127.0.1.9@tcp"], "the PUT: "),
                ("tcp(127.0.1.1)", &["127.0.1.9@tcp7"], ": No route to host"),
                ("", &["127.0.1.2@tcp"], "no network"),
                ("", &[], "no network"),
            ];
            for (networks, arguments, said) in table {
                let row = format!("{kind}, LNET_NETWORKS={networks:?}");
                self.fails(program, &start("alone", networks), arguments, said, &row);
            }
        }
        for (node, said) in [
            (
                NodeOfProgram::Own("alone".to_owned(), "tcp(no-such-if0)".to_owned()),
                "LNetNIInit: No such device",
            ),
            (NodeOfProgram::Named("no-such-node".to_owned()), "LNetNIInit: Network is down"),
        ] {
            self.fails(program, &node, &[], said, said);
        }
    }

    fn fails(&self, program: &str, node: &NodeOfProgram, arguments: &[&str], said: &str, row: &str) {
        let output = self.command(program, node, arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        let row = format!("{row} {arguments:?}: {}\n{error}", output.status);
        assert!(output.status.code() == Some(1) && error.contains(said), "{row}");
    }

    fn exchanges_a_message(&self, program: &str, receiver: &NodeOfProgram, sender: &NodeOfProgram) {
        let mut receiver = self.command(program, receiver, &[]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(receiver.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "127.0.1.2@tcp is waiting");
        let sender = self.command(program, sender, &["127.0.1.2@tcp"]).output().unwrap();
        assert!(sender.status.success(), "{}", String::from_utf8_lossy(&sender.stderr));
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("127.0.1.1@tcp") && line.contains("hello from user space"), "{line}");
        assert!(receiver.wait().unwrap().success());
    }
}

fn source(example: &str) -> String {
    fs::read_to_string(root().join(format!("examples/{example}.c"))).unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

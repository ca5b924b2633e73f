//! The README's program and the examples in C, C++ and Rust, built and run as by a reader who copies them: they do what the text says, with nodes of
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
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Once;

#[test]
fn the_program_in_the_readme_exchanges_a_message_and_reports_errors() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```c\n").expect("the README has a program");
    let (program, _) = rest.split_once("```\n").unwrap();
    let directory = directory_of("readme");
    fs::write(directory.join("program.c"), program).unwrap();
    let Some(examples) = Examples::build_or_skip("readme", &[directory.join("program.c")]) else { return };
    examples.are_honest("program");
}

#[test]
fn ping_pong_exchanges_a_message_and_reports_errors() {
    let Some(examples) = Examples::build_or_skip("ping_pong", &[example("ping_pong.c")]) else { return };
    examples.are_honest("ping_pong");
}

/// Fails if the API of 2.17 does not do what that of 2.10 does, or if their programs do not understand each other.
#[test]
fn ping_pong_works_with_the_api_of_2_17_too() {
    let files = ["ping_pong.c", "ping_pong_2_17.c"].map(example);
    let Some(examples) = Examples::build_or_skip("ping_pong_2_17", &files) else { return };
    examples.are_honest("ping_pong_2_17");
    for programs in [["ping_pong", "ping_pong_2_17"], ["ping_pong_2_17", "ping_pong"]] {
        let node = |name: &str, networks: &str| NodeOfProgram::Own(name.to_owned(), networks.to_owned());
        let (receiver, sender) = (node("receiver", "tcp(127.0.1.2)"), node("sender", "tcp(127.0.1.1)"));
        examples.exchange_a_message(programs, &receiver, &sender);
    }
}

#[test]
fn demo_passes_all_its_checks_over_both_rails() {
    Pair {
        name: "demo",
        sources: &["demo.c"],
        server: &["demo", "serve"],
        ready: "is ready",
        end: End::ByItself,
        last_line: "",
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
        sources: &["failover.c"],
        server: &["failover", "serve"],
        ready: "is ready",
        end: End::OnTerm,
        last_line: "",
        placements: &Placement::ALL,
    }
    .check(|server, _| vec![("failover", format!("send 0.5 {}", server[0]), "messages sent; failed: 0")]);
}

/// Fails if a client that is attached stops reading what its node reports, too: the load ends with requests that nobody answers.
#[test]
fn a_key_value_service_keeps_what_its_clients_put() {
    Pair {
        name: "kv",
        sources: &["kv_server.c", "kv_client.c"],
        server: &["kv_server"],
        ready: "is ready",
        end: End::OnTerm,
        last_line: "",
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
        sources: &["sharing.c"],
        server: &["sharing", "serve"],
        ready: "serving",
        end: End::Killed,
        last_line: "",
        placements: &Placement::ALL,
    }
    .check(|server, _| vec![("sharing", format!("send {} hello", server[0]), "a program took \"hello\"")]);
}

/// Fails if one language's client does not understand the other's server.
#[test]
fn requests_get_responses_from_servers_and_clients_in_c_and_cpp() {
    for server in ["request_response", "request_response_cpp"] {
        Pair {
            name: server,
            sources: &["request_response.c", "request_response.cpp"],
            server: &[server, "serve"],
            ready: "is ready",
            end: End::Killed,
            last_line: "",
            placements: &Placement::ALL,
        }
        .check(|server, _| {
            let request = format!("ask {} hello", server[0]);
            vec![("request_response", request.clone(), "HELLO"), ("request_response_cpp", request, "HELLO")]
        });
    }
}

#[test]
fn get_file_copies_files_of_any_size() {
    let directory = directory_of("get_file");
    let (original, copy) = (directory.join("original"), directory.join("copy"));
    let [original, copy] = [&original, &copy].map(|path| path.to_str().unwrap());
    const MIB: u64 = 1 << 20;
    // The last one has more than a window.
    for (length, placements) in [
        (0, &Placement::ALL[..]),
        (1, &Placement::ALL[..1]),
        (MIB, &Placement::ALL[..1]),
        (21 * MIB + 17, &Placement::ALL[..]),
        (257 * MIB + 1, &Placement::ALL[..1]),
    ] {
        let pattern: Vec<u8> = (0..length.min(5 * MIB)).map(|at| (at % 251) as u8).collect();
        let mut file = fs::File::create(original).unwrap();
        file.set_len(length).unwrap();
        file.seek(SeekFrom::Start(length - pattern.len() as u64)).unwrap();
        file.write_all(&pattern).unwrap();
        Pair {
            name: "get_file",
            sources: &["get_file.c"],
            server: &["get_file", "serve", original],
            ready: "serves",
            end: End::Killed,
            last_line: "",
            placements,
        }
        .check(|server, _| vec![("get_file", format!("fetch {} {copy}", server[0]), "fetched")]);
        assert!(fs::read(original).unwrap() == fs::read(copy).unwrap(), "{length}");
    }
}

#[test]
fn two_queues_take_every_reading_until_the_command_to_stop() {
    Pair {
        name: "two_queues",
        sources: &["two_queues.c"],
        server: &["two_queues", "collect"],
        ready: "is ready",
        end: End::ByItself,
        last_line: "1000 readings, sum 500500, gaps 0",
        placements: &Placement::ALL,
    }
    .check(|server, _| {
        vec![
            ("two_queues", format!("send {} 1000", server[0]), "1000 acknowledged"),
            ("two_queues", format!("stop {}", server[0]), "1 acknowledged"),
        ]
    });
}

/// Fails if the package of the crate `liblnet` lacks a file or does not build against an installed library, or if programs in Rust and C++
/// and those in C do not understand each other.
#[test]
fn the_programs_in_rust_and_cpp_work_with_those_in_c() {
    let directory = directory_of("languages");
    let (original, copy) = (directory.join("original"), directory.join("copy"));
    let [original, copy] = [&original, &copy].map(|path| path.to_str().unwrap());
    fs::write(original, vec![7; (3 << 20) + 17]).unwrap();
    for [server, client] in
        [["rs", "rs"], ["rs", "c"], ["c", "rs"], ["cpp", "cpp"], ["cpp", "c"], ["c", "cpp"]]
    {
        let names = |example: &str| {
            [server, client].map(|language| {
                (format!("{example}.{language}"), program_of(Path::new(&format!("{example}.{language}"))))
            })
        };
        let placements = if server == client { &Placement::ALL[..] } else { &Placement::ALL[..1] };
        let run = |example: &str, server_words: &[&str], ready, end, last_line, clients: &[(&str, &str)]| {
            let [(server_file, server), (client_file, client)] = names(example);
            let words = [&[server.as_str()], server_words].concat();
            let pair = Pair {
                name: "languages",
                sources: &[&server_file, &client_file],
                server: &words,
                ready,
                end,
                last_line,
                placements,
            };
            pair.check(|server, _| {
                let arguments = |words: &str| words.replace("NID", &server[0]);
                clients.iter().map(|(words, said)| (client.as_str(), arguments(words), *said)).collect()
            });
        };
        run("request_response", &["serve"], "is ready", End::Killed, "", &[("ask NID hello", "HELLO")]);
        let fetch = format!("fetch NID {copy}");
        run("get_file", &["serve", original], "serves", End::Killed, "", &[(&fetch, "fetched")]);
        assert!(fs::read(original).unwrap() == fs::read(copy).unwrap(), "{server} to {client}");
        let senders = [("send NID 1000", "1000 acknowledged"), ("stop NID", "1 acknowledged")];
        let collected = "1000 readings, sum 500500, gaps 0";
        run("two_queues", &["collect"], "is ready", End::ByItself, collected, &senders);
    }
    // Here, as the package is built once.
    let files = ["robust_server.rs", "request_response.c", "ping_pong.c"].map(example);
    let Some(examples) = Examples::build_or_skip("languages", &files) else { return };
    examples.survives_its_clients("robust_server_rs");
}

/// Fails if clients that die, requests that are wrong, or more requests than slots end the server or keep its memory.
#[test]
fn robust_server_survives_its_clients_and_ends_cleanly() {
    let files = ["robust_server.c", "robust_server.cpp", "request_response.c", "ping_pong.c"].map(example);
    let Some(examples) = Examples::build_or_skip("robust_server", &files) else { return };
    examples.survives_its_clients("robust_server");
    examples.survives_its_clients("robust_server_cpp");
}

/// Fails if a beginner waits for ever, or is not told what failed.
#[test]
fn the_first_programs_report_a_peer_that_is_not_there() {
    let files = ["request_response", "get_file", "two_queues"];
    let files = files.map(|name| ["c", "cpp"].map(|language| example(&format!("{name}.{language}"))));
    let Some(examples) = Examples::build_or_skip("first_programs", files.as_flattened()) else { return };
    let copy = examples.directory.join("copy").display().to_string();
    for (program, arguments, said) in [
        ("request_response", ["ask", "127.0.1.9@tcp", "hello"], "no response: "),
        ("request_response_cpp", ["ask", "127.0.1.9@tcp", "hello"], "no response: "),
        ("get_file", ["fetch", "127.0.1.9@tcp", &copy], "the GET: "),
        ("two_queues", ["send", "127.0.1.9@tcp", "5"], "a PUT: "),
        ("get_file_cpp", ["fetch", "127.0.1.9@tcp", &copy], "the GET: "),
        ("two_queues_cpp", ["send", "127.0.1.9@tcp", "5"], "a PUT: "),
        ("two_queues", ["send", "127.0.1.9@nonsense", "5"], "127.0.1.9@nonsense: Invalid argument"),
    ] {
        let node = NodeOfProgram::Own("alone".to_owned(), "tcp(127.0.1.1)".to_owned());
        examples.fails(program, &node, &arguments, said, "own node");
        examples.fails(
            program,
            &NodeOfProgram::Own("alone".to_owned(), String::new()),
            &arguments,
            "",
            "no network",
        );
    }
}

const SERVER: [&str; 2] = ["127.0.1.2", "127.0.2.2"];
const CLIENT: [&str; 2] = ["127.0.1.1", "127.0.2.1"];

/// An example with a server and clients.
struct Pair<'a> {
    name: &'a str,
    /// The files in `examples/` of the programs.
    sources: &'a [&'a str],
    /// The server, with its arguments.
    server: &'a [&'a str],
    /// A part of the line with which the server is ready.
    ready: &'a str,
    end: End,
    /// A part of what the server says at its end.
    last_line: &'a str,
    placements: &'a [Placement],
}

/// How a server ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// With its last client.
    ByItself,
    /// Without an error when it gets SIGTERM.
    OnTerm,
    /// By SIGTERM, which it does not handle.
    Killed,
}

impl<'a> Pair<'a> {
    /// Runs the server and, one after the other, the clients that `clients` returns for the NIDs of both: each with its arguments and a part
    /// of its output.
    fn check(&self, clients: impl Fn(&[String; 2], &[String; 2]) -> Vec<(&'a str, String, &'a str)>) {
        let sources: Vec<PathBuf> = self.sources.iter().map(|file| example(file)).collect();
        let Some(examples) = Examples::build_or_skip(self.name, &sources) else { return };
        for &placement in self.placements {
            let row = format!("{}, {placement:?}", self.name);
            let networks = [SERVER, CLIENT].map(|its| format!("tcp({})", its.join(",")));
            let nodes = examples.site.nodes(placement, networks.each_ref().map(String::as_str));
            let nids = |addresses: [&str; 2]| addresses.map(|address| format!("{address}@tcp"));
            let client_nids = nids(if placement == Placement::OneDaemon { SERVER } else { CLIENT });
            // Of a test that waits for ever, the last of these lines names who it waits for.
            println!("{row}: {}", self.server.join(" "));
            let (program, arguments) = self.server.split_first().unwrap();
            let mut server = Server::start(examples.command(program, &nodes[0], arguments), self.ready, &row);
            for (program, arguments, said) in clients(&nids(SERVER), &client_nids) {
                let words: Vec<&str> = arguments.split(' ').collect();
                println!("{row}: {program} {arguments}");
                let output = examples.command(program, &nodes[1], &words).output().unwrap();
                let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
                let row = format!("{row}: {program} {arguments}: {}\n{out}{err}", output.status);
                assert!(output.status.success() && out.contains(said), "{row}");
            }
            let said = server.end(self.end, &row);
            assert!(said.contains(self.last_line), "{row}: {said}");
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

    /// Ends the server; returns what it has said since it was ready.
    fn end(&mut self, end: End, row: &str) -> String {
        if end != End::ByItself {
            kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        }
        let said: Vec<String> = self.lines.by_ref().map(Result::unwrap).collect();
        let said = said.join("\n");
        let status = self.child.wait().unwrap();
        assert!(status.success() || end == End::Killed, "{row}: the server: {status}\n{said}");
        said
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
    /// Builds the programs of these files, each under the file's name without `.c`, or with `_cpp` in place of `.cpp` and `_rs` of `.rs`.
    fn build_or_skip(name: &str, files: &[PathBuf]) -> Option<Self> {
        for compiler in ["gcc", "g++"] {
            if Command::new(compiler).arg("--version").output().is_err() {
                test_support::skip(&format!("no {compiler}"));
                return None;
            }
        }
        let directory = directory_of(name);
        for library in ["liblnet.so", "libptlrpc.so"] {
            let built = env::current_exe().unwrap().with_file_name(library);
            for link in [library.to_owned(), format!("{library}.1")].map(|link| directory.join(link)) {
                let _ = fs::remove_file(&link);
                std::os::unix::fs::symlink(&built, link).unwrap();
            }
        }
        for file in files {
            match file.extension().and_then(OsStr::to_str) {
                Some("rs") => programs_in_rust(&directory),
                Some("cpp") => compile("g++", "-std=c++17", file, &directory),
                _ => compile("gcc", "-std=gnu11", file, &directory),
            }
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
            self.exchange_a_message(
                [program, program],
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

    /// Runs a server, with a node of its own and attached, with clients that die, that ask for what it cannot do, and that are more than it
    /// has slots.
    fn survives_its_clients(&self, program: &str) {
        let networks = "tcp(127.0.1.2)".to_owned();
        let node = NodeOfProgram::Of(self.site.daemon(program, &networks));
        self.survives_clients_on(program, node);
        self.survives_clients_on(program, NodeOfProgram::Own("server".to_owned(), networks));
    }

    fn survives_clients_on(&self, program: &str, server_node: NodeOfProgram) {
        let address = "127.0.1.2@tcp";
        let node = |at: usize| NodeOfProgram::Own(format!("client{at}"), format!("tcp(127.0.1.{})", 10 + at));
        let ask = |at, text: &str| {
            let mut client = self.command("request_response", &node(at), &["ask", address, text]);
            client.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
        };
        let receives = |client: Child, response: &str, row: &str| {
            let output = client.wait_with_output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{response}\n"), "{row}");
        };
        let row = format!("{program}: {server_node:?}");
        let mut server = Server::start(self.command(program, &server_node, &[]), "is ready", &row);
        let dying: Vec<Child> = (0..6).map(|at| ask(at, "hello")).collect();
        let others: Vec<Child> = (6..16).map(|at| ask(at, "hello")).collect();
        for mut client in dying {
            client.kill().unwrap();
            client.wait().unwrap();
        }
        for client in others {
            receives(client, "HELLO", &row);
        }
        receives(ask(1, ""), "error: empty request", &row);
        receives(ask(2, &"x".repeat(300)), "error: too long", &row);
        let without_response = self.command("ping_pong", &node(3), &[address]).output().unwrap();
        assert!(without_response.status.success(), "{row}: {without_response:?}");
        // A client that died starts again.
        receives(ask(0, "again"), "AGAIN", &row);
        let said = server.end(End::OnTerm, &row);
        assert!(said.contains(", bad 3, ") && said.contains("all memory is back"), "{row}: {said}");
    }

    fn fails(&self, program: &str, node: &NodeOfProgram, arguments: &[&str], said: &str, row: &str) {
        let output = self.command(program, node, arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        let row = format!("{row} {arguments:?}: {}\n{error}", output.status);
        assert!(output.status.code() == Some(1) && error.contains(said), "{row}");
    }

    fn exchange_a_message(&self, programs: [&str; 2], receiver: &NodeOfProgram, sender: &NodeOfProgram) {
        let mut receiver = self.command(programs[0], receiver, &[]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(receiver.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "127.0.1.2@tcp is waiting");
        let sender = self.command(programs[1], sender, &["127.0.1.2@tcp"]).output().unwrap();
        assert!(sender.status.success(), "{}", String::from_utf8_lossy(&sender.stderr));
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("127.0.1.1@tcp") && line.contains("hello from user space"), "{line}");
        assert!(receiver.wait().unwrap().success());
    }
}

/// Compiles a program in C or C++ to a directory that has the libraries.
fn compile(compiler: &str, standard: &str, file: &Path, directory: &Path) {
    let program = program_of(file);
    let built = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-Werror", "-pthread"])
        .args(["include", "examples"].map(|path| format!("-I{}", root().join(path).display())))
        .arg(file)
        .arg("-o")
        .arg(directory.join(&program))
        .arg("-L")
        .arg(directory)
        .args(program.starts_with("kv").then_some("-lptlrpc"))
        .arg("-llnet")
        .arg(format!("-Wl,-rpath,{}", directory.display()))
        .output()
        .unwrap();
    succeeded(&built, &program);
}

/// Builds the programs in Rust, once, as one who takes the crate `liblnet` from a registry: from its package, outside of the workspace,
/// against the library in this directory, which `lnet.pc` names.
fn programs_in_rust(libraries: &Path) {
    static IS_BUILT: Once = Once::new();
    IS_BUILT.call_once(|| {
        let outside = tempfile::tempdir().unwrap();
        let pc = fs::read_to_string(root().join("scripts/lnet.pc.in")).unwrap();
        let pc = pc.replace("@LIBDIR@", libraries.to_str().unwrap()).replace("@LIBRARIES@", "-llnet");
        fs::write(libraries.join("lnet.pc"), pc.replace("@VERSION@", env!("CARGO_PKG_VERSION"))).unwrap();
        let cargo = |directory: &Path, arguments: &[&str]| {
            let mut cargo = Command::new(env!("CARGO"));
            cargo
                .args(arguments)
                .args(["--offline", "--quiet", "--target-dir"])
                .arg(outside.path().join("target"));
            cargo.current_dir(directory).env_remove("LIBLNET_OF_WORKSPACE");
            cargo.env("PKG_CONFIG_PATH", libraries);
            cargo.env("RUSTFLAGS", format!("-Clink-arg=-Wl,-rpath,{}", libraries.display()));
            succeeded(&cargo.output().unwrap(), &arguments.join(" "));
        };
        cargo(root(), &["package", "--package", "liblnet", "--no-verify", "--allow-dirty"]);
        let name = format!("liblnet-{}", env!("CARGO_PKG_VERSION"));
        let package = outside.path().join(format!("target/package/{name}.crate"));
        let unpacked = Command::new("tar").arg("-xf").arg(package).current_dir(outside.path()).output();
        succeeded(&unpacked.unwrap(), "tar");
        cargo(&outside.path().join(name), &["build", "--examples"]);
        for program in ["get_file", "request_response", "robust_server", "two_queues"] {
            let built = outside.path().join("target/debug/examples").join(program);
            fs::copy(built, libraries.join(format!("{program}_rs"))).unwrap();
        }
    });
}

fn succeeded(output: &Output, what: &str) {
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
}

fn directory_of(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples").join(name);
    fs::create_dir_all(&directory).unwrap();
    directory
}

fn example(file: &str) -> PathBuf {
    root().join("examples").join(file)
}

fn program_of(file: &Path) -> String {
    file.file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .replace(".cpp", "_cpp")
        .replace(".rs", "_rs")
        .replace(".c", "")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

//! Tests `examples/m0_ping.c`: a server and client threads, in one process and in two. Acceptance cases 32 to 34 of Motr's
//! network layer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use tempfile::TempDir;

/// The program, built, with its own port on the loopback.
struct Ping {
    program: PathBuf,
    sockets: TempDir,
    port: String,
}

impl Ping {
    /// Builds the program. `name` is the test's name, which has its own directory.
    fn build_or_skip(name: &str) -> Option<Self> {
        if Command::new("gcc").arg("--version").output().is_err() {
            test_support::skip("no gcc");
            return None;
        }
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("m0_ping").join(name);
        fs::create_dir_all(&directory).unwrap();
        for library in ["liblnet.so", "libm0net.so"] {
            let built = env::current_exe().unwrap().with_file_name(library);
            for link in [library.to_owned(), format!("{library}.1")].map(|link| directory.join(link)) {
                let _ = fs::remove_file(&link);
                std::os::unix::fs::symlink(&built, link).unwrap();
            }
        }
        let program = directory.join("m0_ping");
        let sources = ["m0_ping.c", "m0_ping_server.c", "m0_ping_client.c"];
        let built = Command::new("gcc")
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"])
            .args(
                ["include", "consumers/motr-net/include"]
                    .map(|path| format!("-I{}", root().join(path).display())),
            )
            .args(sources.map(|source| root().join("examples").join(source)))
            .arg("-o")
            .arg(&program)
            .arg(format!("-L{}", directory.display()))
            .args(["-lm0net", "-llnet"])
            .arg(format!("-Wl,-rpath,{}", directory.display()))
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let listener = TcpListener::bind(("0.0.0.0", 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        Some(Self { program, sockets: tempfile::tempdir().unwrap(), port })
    }

    fn command(&self, node: &str, networks: &str, arguments: &str) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("LNET_") || name.to_string_lossy().starts_with("SOCKLND_") {
                command.env_remove(name);
            }
        }
        command.args(arguments.split_whitespace()).env("LNET_RUNTIME_DIR", self.sockets.path());
        command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", &self.port);
        command.env("LNET_NODE", node).env("LNET_NETWORKS", networks);
        command
    }

    /// Starts a server, and waits until it is ready.
    fn serve(&self, networks: &str, arguments: &str) -> Server {
        let mut child = self.command("server", networks, arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.ends_with(":12345:39:12 is waiting\n"), "{line}");
        Server { child, output }
    }
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
fn all_is_done(output: &Output, done: u32) {
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = format!("{done} done, 0 done again, 0 failed, 0 wrong");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains(&expected), "{}\n{said}{log}", output.status);
}

#[test]
fn a_server_and_clients_in_one_process_do_all_their_loops() {
    let Some(ping) = Ping::build_or_skip("one_process") else { return };
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
        all_is_done(&ping.command("both", "tcp(127.0.9.1)", arguments).output().unwrap(), done);
    }
}

#[test]
fn two_processes_exchange_messages_and_bulk_data_of_all_sizes() {
    let Some(ping) = Ping::build_or_skip("two_processes") else { return };
    for serve in ["server", "server -A"] {
        let server = ping.serve("tcp(127.0.9.2)", serve);
        for arguments in
            ["-d 1 -m 16", "-d 1024", "-d 4096 -m 4095", "-d 4097 -m 4096", "-d 30720", "-d 1048576"]
        {
            let arguments = format!("client 127.0.9.2@tcp -l 5 {arguments}");
            all_is_done(&ping.command("client", "tcp(127.0.9.1)", &arguments).output().unwrap(), 15);
        }
        let arguments = "client 127.0.9.2@tcp -k 8 -l 50";
        all_is_done(&ping.command("client", "tcp(127.0.9.1)", arguments).output().unwrap(), 1200);
        let said = server.end();
        assert!(said.contains("server: 430 texts, 430 received, 430 sent, 0 failed, 0 wrong"), "{said}");
    }
}

#[test]
fn a_server_serves_clients_of_several_processes_at_once() {
    let Some(ping) = Ping::build_or_skip("several_processes") else { return };
    let server = ping.serve("tcp(127.0.9.3)", "server");
    let clients: Vec<Child> = (4..7)
        .map(|host| {
            let networks = format!("tcp(127.0.9.{host})");
            let mut client =
                ping.command(&format!("client{host}"), &networks, "client 127.0.9.3@tcp -k 2 -l 20");
            client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for client in clients {
        all_is_done(&client.wait_with_output().unwrap(), 120);
    }
    server.end();
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
        let output = ping.command("alone", networks, arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code().is_some_and(|code| code > 0) && error.contains(said),
            "{arguments}: {error}"
        );
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

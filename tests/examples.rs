//! The README's program and `examples/ping_pong.c`, built and run as by a reader who copies them: they do what the text says,
//! and every failure gives a message and a status that is not 0.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

#[test]
fn the_program_in_the_readme_exchanges_a_message_and_reports_errors() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```c\n").expect("the README has a program");
    let (program, _) = rest.split_once("```\n").unwrap();
    let Some(example) = Example::build_or_skip("readme", program) else { return };
    example.is_honest();
}

#[test]
fn ping_pong_exchanges_a_message_and_reports_errors() {
    let program = fs::read_to_string(root().join("examples/ping_pong.c")).unwrap();
    let Some(example) = Example::build_or_skip("ping_pong", &program) else { return };
    example.is_honest();
}

/// An example program of LNet, built, with its own port on the loopback.
struct Example {
    program: PathBuf,
    sockets: TempDir,
    port: String,
}

impl Example {
    fn build_or_skip(name: &str, source: &str) -> Option<Self> {
        if Command::new("gcc").arg("--version").output().is_err() {
            test_support::skip("no gcc");
            return None;
        }
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("examples").join(name);
        fs::create_dir_all(&directory).unwrap();
        let library = env::current_exe().unwrap().with_file_name("liblnet.so");
        for link in ["liblnet.so", "liblnet.so.1"].map(|link| directory.join(link)) {
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&library, link).unwrap();
        }
        let file = directory.join("example.c");
        fs::write(&file, source).unwrap();
        let program = directory.join("example");
        let built = Command::new("gcc")
            .args(["-Wall", "-Wextra", "-Werror", "-I"])
            .arg(root().join("include"))
            .arg(&file)
            .arg("-o")
            .arg(&program)
            .arg("-L")
            .arg(&directory)
            .arg("-llnet")
            .arg(format!("-Wl,-rpath,{}", directory.display()))
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let listener = TcpListener::bind(("0.0.0.0", 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        Some(Self { program, sockets: tempfile::tempdir().unwrap(), port })
    }

    fn command(&self, networks: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("LNET_") || name.to_string_lossy().starts_with("SOCKLND_") {
                command.env_remove(name);
            }
        }
        command.args(arguments).env("LNET_RUNTIME_DIR", self.sockets.path());
        command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", &self.port).env("LNET_NETWORKS", networks);
        command
    }

    fn is_honest(&self) {
        self.exchanges_a_message();
        // The networks, the peer, and a part of the message.
        let table: [(&str, &[&str], &str); 6] = [
            ("tcp(127.0.1.1)", &["127.0.1.2@nonsense"], "127.0.1.2@nonsense: Invalid argument"),
            ("tcp(127.0.1.1)", &["127.0.1.9@tcp"], "the PUT: "),
            ("tcp(127.0.1.1)", &["127.0.1.9@tcp7"], ": No route to host"),
            ("", &["127.0.1.2@tcp"], "no network"),
            ("", &[], "no network"),
            ("tcp(no-such-if0)", &[], "LNetNIInit: No such device"),
        ];
        for (networks, arguments, said) in table {
            let output = self.command(networks, arguments).output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            let row = format!("LNET_NETWORKS={networks:?} {arguments:?}: {}\n{error}", output.status);
            assert!(output.status.code() == Some(1) && error.contains(said), "{row}");
        }
    }

    fn exchanges_a_message(&self) {
        let mut receiver = self.command("tcp(127.0.1.2)", &[]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(receiver.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "127.0.1.2@tcp is waiting");
        let sender = self.command("tcp(127.0.1.1)", &["127.0.1.2@tcp"]).output().unwrap();
        assert!(sender.status.success(), "{}", String::from_utf8_lossy(&sender.stderr));
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains("127.0.1.1@tcp") && line.contains("hello from user space"), "{line}");
        assert!(receiver.wait().unwrap().success());
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

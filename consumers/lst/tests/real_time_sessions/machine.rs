//! Nodes and consoles, each a process with its own address on the loopback interface: that of a node of its own, or of a daemon's that it is
//! attached to.

use super::placement::{self, Daemon};
use lst::resident::{READY, STAY, WORD};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

/// A part of 127.0.0.0/8 that no other test of this process has.
static NEXT: AtomicU8 = AtomicU8::new(1);

/// A directory for sockets, and addresses.
pub struct Site {
    nodes: placement::Site,
    net: u8,
    /// The daemons of the hosts, in their order. Empty: each process has a node of its own.
    daemons: Vec<Daemon>,
}

/// A node that has died is known as such within a test.
const TUNABLES: [(&str, &str); 2] = [("LNET_TRANSACTION_TIMEOUT", "5"), ("LNET_RETRY_COUNT", "1")];
/// The hosts of a site with daemons.
const HOSTS: u8 = 3;

/// A node that runs selftest, until this is dropped.
pub struct Node(Child);

/// The exit status and output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Site {
    pub fn new() -> Self {
        let nodes = placement::Site { variables: TUNABLES.to_vec(), ..placement::Site::new() };
        Self { nodes, net: NEXT.fetch_add(1, Ordering::Relaxed), daemons: Vec::new() }
    }

    /// A site where each process is attached to the daemon of its host.
    fn attached() -> Self {
        let mut site = Self::new();
        let start =
            |host| site.nodes.daemon(&format!("daemon{host}"), &format!("tcp({})", site.address(host)));
        site.daemons = (1..=HOSTS).map(start).collect();
        site
    }

    /// A site without daemons, and one with them.
    pub fn both() -> [Self; 2] {
        [Self::new(), Self::attached()]
    }

    pub fn directory(&self) -> &Path {
        self.nodes.sockets.path()
    }

    pub fn address(&self, host: u8) -> String {
        format!("127.77.{}.{host}", self.net)
    }

    pub fn nid(&self, host: u8) -> String {
        format!("{}@tcp", self.address(host))
    }

    /// Listens where the node of a host does, until this is dropped.
    pub fn bind(&self, host: u8) -> std::io::Result<std::net::TcpListener> {
        std::net::TcpListener::bind((self.address(host), self.nodes.port.parse().unwrap()))
    }

    /// `lst` at the console of a host, without its words.
    pub fn command(&self, host: u8) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lst"));
        command
            .env("LNET_RUNTIME_DIR", self.directory())
            .env("LNET_NODE", format!("node{host}"))
            .env("LST_SESSION", "42")
            .stdin(Stdio::null());
        match self.daemons.get(usize::from(host) - 1) {
            Some(daemon) => command.env("LNET_ATTACH", daemon.name()),
            None => command
                .env("LNET_NETWORKS", format!("tcp({})", self.address(host)))
                .env("LNET_ACCEPT", "all")
                .env("LNET_ACCEPT_PORT", &self.nodes.port)
                .envs(TUNABLES),
        };
        command
    }

    /// A node with its own address.
    pub fn node(&self, host: u8) -> Node {
        let mut child = self
            .command(host)
            .args([WORD, STAY])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said.trim_end(), READY);
        Node(child)
    }

    /// `lst` at the console of a host.
    pub fn lst(&self, host: u8, line: &str) -> CommandOutput {
        CommandOutput::of(self.command(host).args(line.split_whitespace()).output().unwrap())
    }

    /// Runs a command that must succeed, and returns its output.
    pub fn must(&self, host: u8, line: &str) -> String {
        let said = self.lst(host, line);
        assert_eq!(said.code, 0, "{line}: {said:?}");
        if line.starts_with("show_error") {
            assert_eq!(said.err, "", "{line}");
        }
        said.out
    }

    /// Kills the console of a host that `lst` has started.
    pub fn kill_console(&self, host: u8) {
        let name = format!("LNET_NODE=node{host}\0");
        let directory = format!("LNET_RUNTIME_DIR={}\0", self.directory().display());
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
            let environment = String::from_utf8_lossy(&read("environ")).into_owned() + "\0";
            let is_console = String::from_utf8_lossy(&read("cmdline")).ends_with(&format!("\0{WORD}\0"));
            if is_console && environment.contains(&name) && environment.contains(&directory) {
                let number = rustix::process::Pid::from_raw(number).unwrap();
                rustix::process::kill_process(number, rustix::process::Signal::KILL).unwrap();
            }
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        (1..=4).for_each(|host| self.kill_console(host));
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl CommandOutput {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }
}

//! The nodes of the programs that a test runs: nodes of their own, or those of daemons that they attach to. All have addresses on the loopback
//! interface, and one port.

use super::programs::programs;
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::{env, thread};
use tempfile::TempDir;
use test_support::ready::ReadySocket;

/// A directory for sockets, and the port of all nodes.
#[derive(Debug)]
pub struct Site {
    pub sockets: TempDir,
    pub port: String,
    /// Variables of daemons.
    pub variables: Vec<(&'static str, &'static str)>,
}

/// The node that a program has.
#[derive(Debug)]
pub enum NodeOfProgram {
    /// One of its own, of this name and with these nets.
    Own(String, String),
    /// That of a daemon.
    Of(Daemon),
    /// That of a daemon of this name, which something else holds.
    Named(String),
}

/// The nodes of two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Each has its own.
    OwnNodes,
    /// Each is attached to a daemon.
    TwoDaemons,
    /// Both are attached to one daemon.
    OneDaemon,
}

impl Placement {
    pub const ALL: [Self; 3] = [Self::OwnNodes, Self::TwoDaemons, Self::OneDaemon];
}

impl Site {
    pub fn new() -> Self {
        let listener = TcpListener::bind(("0.0.0.0", 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        Self { sockets: tempfile::tempdir().unwrap(), port, variables: Vec::new() }
    }

    /// A program with this node and no other variable of LNet.
    pub fn command(&self, program: &Path, node: &NodeOfProgram) -> Command {
        let mut command = Command::new(program);
        self.prepare(&mut command);
        match node {
            NodeOfProgram::Own(name, networks) => {
                command.env("LNET_NODE", name).env("LNET_NETWORKS", networks);
                command.env("LNET_ACCEPT", "all").env("LNET_ACCEPT_PORT", &self.port)
            }
            NodeOfProgram::Of(daemon) => command.env("LNET_ATTACH", &daemon.name),
            NodeOfProgram::Named(name) => command.env("LNET_ATTACH", name),
        };
        command
    }

    fn prepare(&self, command: &mut Command) {
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("LNET_") || name.to_string_lossy().starts_with("SOCKLND_") {
                command.env_remove(name);
            }
        }
        // Cargo's value comes before the path in a program, and may lead to libraries of an earlier build.
        command.env_remove("LD_LIBRARY_PATH");
        command.env("LNET_RUNTIME_DIR", self.sockets.path());
    }

    /// Starts a daemon of this name with the nets of `LNET_NETWORKS`, or (empty) on the loopback only, and waits until it admits programs.
    pub fn daemon(&self, name: &str, networks: &str) -> Daemon {
        let nets = if networks.is_empty() { "--loopback-only" } else { "--from-environment" };
        let ready = ReadySocket::at(self.sockets.path().join(format!("{name}.notify")));
        let mut command = Command::new(programs().join("lnetd"));
        self.prepare(&mut command);
        let mut child = command
            .args(["--node", name, nets, "--log-level", "off"])
            .env("LNET_NETWORKS", networks)
            .env("LNET_ACCEPT", "all")
            .env("LNET_ACCEPT_PORT", &self.port)
            .env("NOTIFY_SOCKET", ready.path())
            .envs(self.variables.iter().copied())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let text = ready.wait(&mut child);
        assert!(text.contains("READY=1"), "lnetd {name}: {text}");
        Daemon { child, name: name.to_owned() }
    }

    /// The nodes of a server and a client, with these nets; with one daemon those of the server.
    pub fn nodes(&self, placement: Placement, [server, client]: [&str; 2]) -> [NodeOfProgram; 2] {
        let own = |name: &str, networks: &str| NodeOfProgram::Own(name.to_owned(), networks.to_owned());
        let of_daemon = |name, networks| NodeOfProgram::Of(self.daemon(name, networks));
        match placement {
            Placement::OwnNodes => [own("server", server), own("client", client)],
            Placement::TwoDaemons => [of_daemon("server", server), of_daemon("client", client)],
            Placement::OneDaemon => [NodeOfProgram::Named("server".to_owned()), of_daemon("server", server)],
        }
    }
}

/// A running `lnetd`. At its end it must end as one without errors does.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    name: String,
}

impl Daemon {
    /// The value of `LNET_ATTACH` for this node.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let signal = if thread::panicking() { Signal::KILL } else { Signal::TERM };
        _ = kill_process(Pid::from_child(&self.child), signal);
        let status = self.child.wait();
        if !thread::panicking() {
            assert!(status.is_ok_and(|status| status.success()), "lnetd {}", self.name);
        }
    }
}

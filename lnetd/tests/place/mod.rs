//! A daemon in a directory of its own.
#![allow(dead_code, reason = "each test program uses some of it")]

use lnet_dlc::Client;
use lnet_dlc::runtime_dir::RuntimeDir;
use rustix::process::{Pid, Signal, kill_process};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;
use test_support::ready::ReadySocket;

pub(crate) const LNETD: &str = env!("CARGO_BIN_EXE_lnetd");

/// A directory for sockets and files of a test.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn client(&self, node: Option<&str>) -> Client {
        Client::at(RuntimeDir::at(self.path()), node.map(str::to_owned)).with_daemon(LNETD.as_ref())
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(LNETD);
        command.args(arguments).env("LNET_RUNTIME_DIR", self.path());
        for name in [
            "LNET_NETWORKS",
            "LNET_CONFIG",
            "LNET_IP2NETS",
            "LNET_ROUTES",
            "LNET_NODE",
            "LNET_DEBUG",
            "LNET_METRICS",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Starts a daemon and waits until it reports that it is ready. Returns the process and its output so far.
    pub(crate) fn start(&self, arguments: &[&str], change: impl FnOnce(&mut Command)) -> (Child, String) {
        let ready = ReadySocket::at(self.path().join("notify"));
        let mut command = self.command(arguments);
        command.env("NOTIFY_SOCKET", ready.path()).stderr(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let report = ready.wait(&mut child);
        (child, report)
    }

    /// The same with metrics, on a port that the system chooses, and with the options `more`. Returns the process and the address
    /// of its metrics.
    pub(crate) fn start_with_metrics(
        &self,
        more: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> (Child, SocketAddr) {
        let address = free_address();
        let text = address.to_string();
        let (child, _) = self.start(&[&["--metrics", &text], more].concat(), change);
        (child, address)
    }

    pub(crate) fn sockets(&self) -> usize {
        RuntimeDir::at(self.path()).nodes().unwrap().len()
    }
}

/// An address of the loopback interface with a port that nobody uses.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap()
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

pub(crate) fn ends(output: Child) -> Output {
    output.wait_with_output().unwrap()
}

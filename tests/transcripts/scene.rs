//! Two machines like those on which the kernel's tool was recorded, on networks of the test: `guest1`,
//! where the commands run, and `guest2`, a node that responds.
//!
//! Both have eth0 on 10.99.0.0/24 and eth1 on 10.99.1.0/24, and there are no other machines.

use super::console::Outcome;
use crate::support::netns::{self, ip};
use crate::support::programs::programs;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use tempfile::TempDir;
use test_support::ready::ReadySocket;

pub struct Scene {
    /// The directory of the programs.
    bin: PathBuf,
    /// Stands in for `/tmp` in the commands.
    dir: TempDir,
    /// Sockets of the nodes of this session.
    session: TempDir,
    guest2: Child,
}

/// The time limit of a command in seconds, as on the record.
const SECONDS: &str = "100";

impl Scene {
    /// Moves the calling thread onto `guest1`. `None`: it cannot be done here, or has been done elsewhere.
    pub fn or_skip() -> Option<Self> {
        let bin = programs();
        netns::empty_namespace_or_skip()?;
        ip(&["link", "set", "lo", "up"]);
        let guest1 = rustix::thread::gettid().as_raw_nonzero().to_string();
        let dir = tempfile::tempdir().unwrap();
        let for_guest2 = (bin.clone(), dir.path().to_owned());
        let guest2 = thread::spawn(move || start_guest2(&guest1, &for_guest2.0, &for_guest2.1)).join();
        let guest2 = guest2.expect("guest2 to start");
        for (device, address) in [("eth0", "10.99.0.11/24"), ("eth1", "10.99.1.11/24")] {
            bring_up(device, address);
        }
        let helper = dir.path().join("ksocklnd-config");
        fs::write(&helper, "#!/bin/sh\n").unwrap();
        fs::set_permissions(helper, fs::Permissions::from_mode(0o755)).unwrap();
        Some(Self { bin, dir, session: tempfile::tempdir().unwrap(), guest2 })
    }

    /// `guest1` comes up afresh; its files stay.
    pub fn reboot(&mut self) {
        self.run("lnetctl lnet unconfigure");
        self.session = tempfile::tempdir().unwrap();
    }

    /// Runs a line of shell on `guest1`, with nothing on standard input.
    pub fn run(&self, line: &str) -> Outcome {
        let dir = self.dir.path().display().to_string();
        let path = format!("{}:{}", self.bin.display(), env::var("PATH").unwrap_or_default());
        let mut command = Command::new("timeout");
        // Some shells have no `time`.
        let shell = if line.starts_with("time ") { "bash" } else { "sh" };
        command.args([SECONDS, shell, "-c", &line.replace("/tmp/", &format!("{dir}/"))]);
        let output = in_clean_environment(&mut command, self.session.path())
            .env("PATH", path)
            .env("KSOCKLND_CONFIG", self.dir.path().join("ksocklnd-config"))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .output()
            .expect("timeout, sh and bash");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&dir, "/tmp");
        Outcome {
            out: text(&output.stdout),
            err: text(&output.stderr),
            exit: output.status.code().unwrap_or(-1),
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.run("lnetctl lnet unconfigure");
        let _ = self.guest2.kill();
        let _ = self.guest2.wait();
    }
}

/// Starts the node of `guest2` from the calling thread, which is to end: it creates a network namespace, connects it to that of
/// `guest1`, which is given by a thread's number, and starts the node.
fn start_guest2(guest1: &str, bin: &Path, dir: &Path) -> Child {
    assert!(netns::enter_new_network_namespace(), "a second network namespace");
    ip(&["link", "set", "lo", "up"]);
    for (device, address) in [("eth0", "10.99.0.12/24"), ("eth1", "10.99.1.12/24")] {
        ip(&["link", "add", device, "type", "veth", "peer", "name", device, "netns", guest1]);
        bring_up(device, address);
    }
    let sockets = dir.join("guest2");
    fs::create_dir(&sockets).unwrap();
    let ready = ReadySocket::at(dir.join("notify"));
    let mut child = in_clean_environment(&mut Command::new(bin.join("lnetd")), &sockets)
        .args(["--from-environment", "--log-level", "off"])
        .env("LNET_NETWORKS", "tcp(eth0,eth1)")
        .env("NOTIFY_SOCKET", ready.path())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    assert!(ready.wait(&mut child).contains("READY=1"), "guest2 does not come up");
    child
}

fn bring_up(device: &str, address: &str) {
    ip(&["address", "add", address, "dev", device]);
    ip(&["link", "set", device, "up"]);
}

fn in_clean_environment<'a>(command: &'a mut Command, sockets: &Path) -> &'a mut Command {
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if ["LNET", "SOCKLND_"].iter().any(|start| name.starts_with(start)) {
            command.env_remove(&*name);
        }
    }
    // There are no machines at the gateways' addresses: messages to them would lower the health that is shown.
    command.env("LNET_RUNTIME_DIR", sockets).env("LNET_ALIVE_ROUTER_CHECK_INTERVAL", "0")
}

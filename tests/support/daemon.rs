//! A daemon whose node programs attach to.

use super::programs::programs;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::{env, fs, thread};

/// A running `lnetd`. At its end it must end as one without mistakes does.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    name: String,
}

impl Daemon {
    /// Starts a daemon of this name with the nets of `LNET_NETWORKS`, or (empty) on the loopback only, and waits until it admits programs.
    /// `environment` sets the other variables.
    pub fn start(
        directory: &Path,
        name: &str,
        networks: &str,
        environment: impl FnOnce(&mut Command),
    ) -> Self {
        let nets = if networks.is_empty() { "--loopback-only" } else { "--from-environment" };
        let notify_path = directory.join(format!("{name}.notify"));
        let notify = UnixDatagram::bind(&notify_path).unwrap();
        let mut command = Command::new(programs().join("lnetd"));
        without_lnet_variables(&mut command);
        environment(&mut command);
        let child = command
            .args(["--node", name, nets, "--log-level", "off"])
            .env("LNET_RUNTIME_DIR", directory)
            .env("LNET_NETWORKS", networks)
            .env("NOTIFY_SOCKET", &notify_path)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut text = [0; 4096];
        let length = notify.recv(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text[..length]);
        assert!(text.contains("READY=1"), "lnetd {name}: {text}");
        fs::remove_file(notify_path).unwrap();
        Self { child, name: name.to_owned() }
    }

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

/// Takes the variables of LNet from the environment of a program.
pub fn without_lnet_variables(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("LNET_") || name.to_string_lossy().starts_with("SOCKLND_") {
            command.env_remove(name);
        }
    }
}

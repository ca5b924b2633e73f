//! A process of the soak: this program in another role.

use super::roles::{MARK, ROLE};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

/// Far beyond the time of anything that a process does.
const FOR_EVER: Duration = Duration::from_secs(100);

pub struct Process {
    child: Child,
    commands: Option<ChildStdin>,
    /// What it says.
    lines: Receiver<String>,
}

impl Process {
    /// Starts a process, and waits until it is ready.
    pub fn start(role: &str, variables: &[(&str, String)]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "role", "--nocapture"]).env(ROLE, role);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            // The receiver may have gone.
            lines
                .filter_map(|line| Some(line.strip_prefix(MARK)?.to_owned()))
                .for_each(|line| _ = tell.send(line));
        });
        let process = Self { commands: child.stdin.take(), child, lines };
        assert_eq!(process.next().as_deref(), Some("ready"), "{role}");
        process
    }

    /// The next line; `None` at the end of the process, or if it hangs.
    fn next(&self) -> Option<String> {
        self.lines.recv_timeout(FOR_EVER).ok()
    }

    /// The lines that it has said meanwhile.
    pub fn said(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }

    pub fn signal(&self, signal: Signal) {
        _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Lets it answer.
    pub fn ask(&mut self) -> Option<String> {
        self.commands.as_mut()?.write_all(b"\n").ok()?;
        self.next()
    }

    /// Kills it; returns what it has said before.
    pub fn kill(&mut self) -> Vec<String> {
        _ = self.child.kill();
        _ = self.child.wait();
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Tells it to end.
    pub fn tell_to_end(&mut self) {
        self.commands = None;
    }

    /// Lets it end; returns what it says, and why it has not ended well.
    pub fn end(&mut self) -> (Vec<String>, Option<String>) {
        self.tell_to_end();
        let said = std::iter::from_fn(|| self.next()).collect();
        if self.lines.try_recv() != Err(TryRecvError::Disconnected) {
            _ = self.child.kill();
        }
        let status = self.child.wait().unwrap();
        (said, (!status.success()).then(|| status.to_string()))
    }

    /// The descriptors of the process by kind, but for those of connections to other nodes; its mappings of shared memory; and
    /// its threads for programs.
    pub fn resources(&self) -> BTreeMap<String, usize> {
        let proc = format!("/proc/{}", self.child.id());
        let unix = fs::read_to_string("/proc/net/unix").unwrap();
        let unix: Vec<&str> = unix.lines().filter_map(|line| line.split_whitespace().nth(6)).collect();
        let mut found = BTreeMap::new();
        let mut count = |kind: &str| *found.entry(kind.to_owned()).or_default() += 1;
        for descriptor in fs::read_dir(format!("{proc}/fd")).unwrap().flatten() {
            let Ok(target) = fs::read_link(descriptor.path()) else { continue };
            let target = target.to_string_lossy();
            match target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) {
                Some(inode) if unix.contains(&inode) => count("unix socket"),
                Some(_) => {}
                None => count(target.split(":[").next().unwrap_or_default()),
            }
        }
        let maps = fs::read_to_string(format!("{proc}/maps")).unwrap();
        maps.lines().filter(|line| line.contains("memfd:")).for_each(|_| count("mapping"));
        for thread in fs::read_dir(format!("{proc}/task")).unwrap().flatten() {
            let name = fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
            if name.starts_with("lnet_attach_") {
                count("thread");
            }
        }
        found
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

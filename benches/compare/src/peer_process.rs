//! The process at the other end, and free ports to meet it on.

use crate::error::{Error, context};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A child process that is ended when this is dropped.
pub(crate) struct Peer {
    child: Child,
    /// Keeps the child's standard output open.
    output: Option<BufReader<std::process::ChildStdout>>,
}

impl Peer {
    pub(crate) fn start(command: &mut Command) -> Result<Self, Error> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(context(&name))?;
        Ok(Self { child, output: None })
    }

    /// The first line that it prints; servers print one when they are ready.
    pub(crate) fn first_line(&mut self) -> Result<String, Error> {
        let mut output = BufReader::new(self.child.stdout.take().ok_or("its output is gone")?);
        let mut line = String::new();
        let length = output.read_line(&mut line).map_err(context("the other end"))?;
        self.output = Some(output);
        if length == 0 {
            return Err("the other end ended before it was ready".into());
        }
        Ok(line.trim_end().to_owned())
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program to its end. Its output, if it succeeded.
pub(crate) fn output_of(command: &mut Command) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stderr(Stdio::inherit()).output().map_err(context(&name))?;
    if !output.status.success() {
        return Err(format!("{name}: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(context(&name))
}

/// Starts a server that says nothing when it is ready, and asks it with a client until it answers.
pub(crate) fn ask_idle_server(server: &mut Command, client: &mut Command) -> Result<String, Error> {
    let _server = Peer::start(server.stderr(Stdio::null()))?;
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let attempt = client.output().map_err(context("the client"))?;
        if attempt.status.success() {
            return String::from_utf8(attempt.stdout).map_err(context("the client"));
        }
        if Instant::now() > deadline {
            return Err(format!("no answer: {}", String::from_utf8_lossy(&attempt.stderr)));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// A port that nobody uses, for servers that cannot be asked which one they took.
pub(crate) fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(context("a free port"))?;
    Ok(listener.local_addr().map_err(context("a free port"))?.port())
}

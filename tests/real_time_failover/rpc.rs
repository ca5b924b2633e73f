//! The examples' key-value service and a client of it (`kv_server`, `kv_client`), each a node of its own beside the ones
//! under load, by the same rails: whatever happens to these, no RPC fails, no value is wrong, and no PUT is done twice.

use super::site::{FAR, NEAR};
use super::testbed::{RPC_PORT, Testbed};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Says where the two programs lie: the server, a space, the client. Without it there are no RPCs.
pub const PROGRAMS: &str = "SOAK_RPC";

/// An RPC that waits when the load ends is sent again until it is answered, and the client then disconnects.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

pub struct Rpcs {
    server: Program,
    client: Program,
}

/// What they came to.
#[derive(Default)]
pub struct Outcome {
    /// The client's last line, and the server's two.
    pub said: Option<String>,
    /// `None`: all is well.
    pub fault: Option<String>,
}

struct Program {
    child: Child,
    output: Receiver<String>,
}

impl Rpcs {
    /// Starts both, if there are any.
    pub fn start(testbed: &Testbed) -> Option<Self> {
        let programs = std::env::var(PROGRAMS).ok()?;
        let (server, client) = programs.split_once(' ').expect("two programs");
        let server = Program::start(testbed, FAR, server, &[]);
        let nids = testbed.nids(FAR).join(",");
        // Until it is told to end.
        let client = Program::start(testbed, NEAR, client, &[&nids, "load", "-s", "1e9"]);
        Some(Self { server, client })
    }

    /// Ends both, when all rails are whole.
    pub fn end(self) -> Outcome {
        let (client, is_well) = self.client.end();
        let (server, has_ended) = self.server.end();
        let last = client.lines().last().unwrap_or_default();
        let mut said: Vec<&str> = vec![last];
        said.extend(server.lines().skip(1));
        let is_well = is_well && has_ended && last.ends_with(" 0 failed, 0 wrong");
        let fault = (!is_well).then(|| format!("RPCs: {client}\n{server}"));
        Outcome { said: Some(said.join("\n")), fault }
    }
}

impl Program {
    fn start(testbed: &Testbed, machine: usize, program: &str, arguments: &[&str]) -> Self {
        let program = PathBuf::from(program);
        let name = program.file_name().unwrap().to_str().unwrap().to_owned();
        let log = testbed.new_log(&format!("{name}.log"));
        let mut child = testbed.on(machine, || {
            Command::new(&program)
                .args(arguments)
                .env("LNET_NETWORKS", "tcp(eth0,eth1)")
                .env("LNET_ACCEPT", "all")
                .env("LNET_ACCEPT_PORT", RPC_PORT.to_string())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(log)
                .spawn()
                .unwrap()
        });
        let output = read(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Tells it to end; what it has said, and whether it was content and in time.
    fn end(mut self) -> (String, bool) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        match self.output.recv_timeout(ENDS_WITHIN) {
            Ok(said) => (said, self.child.wait().as_ref().is_ok_and(ExitStatus::success)),
            Err(_) => ("does not end".to_owned(), false),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All that it says, when it has ended.
fn read(mut from: ChildStdout) -> Receiver<String> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut said = Vec::new();
        let _ = from.read_to_end(&mut said);
        let _ = tell.send(String::from_utf8_lossy(&said).into_owned());
    });
    told
}

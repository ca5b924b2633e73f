//! The key-value service of the examples and its client (`kv_server`, `kv_client`), and the two sides of `m0_ping`, each its
//! own node beside the nodes under load, on the same rails: whatever happens to those, no RPC and no transfer fails, no value
//! is wrong, and no PUT is executed twice.

use super::site::{FAR, NEAR};
use super::testbed::{MOTR_PORT, RPC_PORT, Testbed};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// The variable with the paths of the key-value programs: the server, a space, the client. Without it there are no RPCs.
pub const PROGRAMS: &str = "SOAK_RPC";
/// The variable with the path of `m0_ping`, which is not run without it.
pub const MOTR_PROGRAM: &str = "SOAK_MOTR";

/// The time in which the programs end after the load: RPCs in flight are resent until they are answered, and the client
/// disconnects.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

pub struct Rpcs {
    pairs: Vec<Pair>,
}

struct Pair {
    server: Program,
    client: Program,
}

/// The result of the RPC load.
#[derive(Default)]
pub struct Outcome {
    /// The clients' last lines, and the output of the servers at their end.
    pub said: Option<String>,
    /// A description of what went wrong; `None`: nothing.
    pub fault: Option<String>,
}

struct Program {
    child: Child,
    output: Receiver<String>,
}

impl Rpcs {
    /// Starts the programs that exist, if any.
    pub fn start(testbed: &Testbed) -> Option<Self> {
        let nids = testbed.nids(FAR);
        let (all, first) = (nids.join(","), &nids[0]);
        let mut pairs = Vec::new();
        if let Ok(programs) = std::env::var(PROGRAMS) {
            let (server, client) = programs.split_once(' ').expect("two programs");
            let server = Program::start(testbed, FAR, RPC_PORT, server, &[]);
            // The client runs until it gets the order to end.
            let client = Program::start(testbed, NEAR, RPC_PORT, client, &[&all, "load", "-s", "1e9"]);
            pairs.push(Pair { server, client });
        }
        if let Ok(program) = std::env::var(MOTR_PROGRAM) {
            let server = Program::start(testbed, FAR, MOTR_PORT, &program, &["server"]);
            let arguments = ["client", first, "-s", "1e9", "-k", "4", "-d", "65536"];
            let client = Program::start(testbed, NEAR, MOTR_PORT, &program, &arguments);
            pairs.push(Pair { server, client });
        }
        (!pairs.is_empty()).then_some(Self { pairs })
    }

    /// Ends the programs, when all rails work.
    pub fn end(self) -> Outcome {
        let (said, faults): (Vec<String>, Vec<Option<String>>) =
            self.pairs.into_iter().map(Pair::end).unzip();
        let faults: Vec<String> = faults.into_iter().flatten().collect();
        Outcome { said: Some(said.join("\n")), fault: (!faults.is_empty()).then(|| faults.join("\n")) }
    }
}

impl Pair {
    fn end(self) -> (String, Option<String>) {
        let (client, is_well) = self.client.end();
        let (server, has_ended) = self.server.end();
        let last = client.lines().last().unwrap_or_default();
        let mut said: Vec<&str> = vec![last];
        said.extend(server.lines().skip(1));
        let is_well = is_well && has_ended && last.ends_with(" 0 failed, 0 wrong");
        let fault = (!is_well).then(|| format!("RPCs: {client}\n{server}"));
        (said.join("\n"), fault)
    }
}

impl Program {
    fn start(testbed: &Testbed, machine: usize, port: u16, program: &str, arguments: &[&str]) -> Self {
        let program = PathBuf::from(program);
        let name = program.file_name().unwrap().to_str().unwrap().to_owned();
        let log = testbed.new_log(&format!("{name}-{machine}.log"));
        let mut child = testbed.on(machine, || {
            Command::new(&program)
                .args(arguments)
                .env("LNET_NETWORKS", "tcp(eth0,eth1)")
                .env("LNET_ACCEPT", "all")
                .env("LNET_ACCEPT_PORT", port.to_string())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(log)
                .spawn()
                .unwrap()
        });
        let output = read(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Ends the program. Returns its output, and whether it succeeded in time.
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

/// Reads the whole output of a program, in a thread; the result comes when the program has ended.
fn read(mut from: ChildStdout) -> Receiver<String> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let mut said = Vec::new();
        let _ = from.read_to_end(&mut said);
        let _ = tell.send(String::from_utf8_lossy(&said).into_owned());
    });
    told
}

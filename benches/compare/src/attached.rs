//! LNet for programs that are attached to the node of a daemon: two processes of `lnet_perf` with one `lnetd`, or each with its own; or
//! one, which the node itself answers.

use crate::contestant::{Contestant, Sample};
use crate::cpu;
use crate::error::{Error, context};
use crate::lnet::{self, CLIENT, Length, NETWORKS, SERVER, WAIT_SPIN};
use crate::peer_process::{Peer, free_port, output_of};
use crate::scenario::Scenario;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The name in the report of two programs on one node, with which all others are compared.
pub(crate) const NAME: &str = "LNet, two programs on one node";

/// The time that a daemon has until it admits programs, and the interval of looking whether it does.
const START_LIMIT: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The nodes that the programs are attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nodes {
    /// The same node.
    One,
    /// The same, and no thread of theirs spins for an event.
    OneAsleep,
    /// Each to its own node; the two meet over TCP.
    Two,
    /// The node of one program, which asks the node itself for what it offers to pings: by a GET, as a node takes no PUTs of programs.
    Asked,
}

pub(crate) const NODES: [Nodes; 4] = [Nodes::One, Nodes::OneAsleep, Nodes::Asked, Nodes::Two];

pub(crate) struct Attached {
    /// The path of `lnet_perf`.
    program: PathBuf,
    /// The path of `lnetd`.
    lnetd: PathBuf,
    nodes: Nodes,
}

impl Attached {
    pub(crate) fn new(program: &Path, lnetd: &Path, nodes: Nodes) -> Self {
        Self { program: program.to_owned(), lnetd: lnetd.to_owned(), nodes }
    }

    /// Starts a daemon, and waits until it admits programs.
    fn daemon(&self, name: &str, directory: &TempDir, port: u16, limit: Duration) -> Result<Peer, Error> {
        let mut command = Command::new(&self.lnetd);
        command.args(["--node", name, "--log-level", "error"]).env("LNET_RUNTIME_DIR", directory.path());
        lnet::configure(&mut command, port);
        let address = if name == SERVING { SERVER } else { CLIENT };
        match self.nodes {
            Nodes::One | Nodes::OneAsleep | Nodes::Asked => command.arg("--loopback-only"),
            Nodes::Two => command.arg("--from-environment").env(NETWORKS, lnet::networks(address)),
        };
        let daemon = Peer::start(&mut command, limit)?;
        let socket = directory.path().join(format!("{name}.attach"));
        let deadline = Instant::now() + START_LIMIT;
        while !socket.exists() {
            if Instant::now() > deadline {
                return Err("lnetd admits no programs".into());
            }
            thread::sleep(LOOK_AGAIN);
        }
        Ok(daemon)
    }

    fn perf(&self, node: &str, directory: &TempDir) -> Command {
        let mut command = Command::new(&self.program);
        command.env("LNET_RUNTIME_DIR", directory.path()).env("LNET_ATTACH", node);
        if self.nodes == Nodes::OneAsleep {
            command.env(WAIT_SPIN, "0");
        }
        command
    }
}

/// The names of the nodes.
const SERVING: &str = "serving";
const ASKING: &str = "asking";
/// The NID of the node itself for its programs.
const LOOPBACK: &str = "0@lo";

impl Contestant for Attached {
    fn name(&self) -> &'static str {
        match self.nodes {
            Nodes::One => NAME,
            Nodes::OneAsleep => "LNet, two programs on one node, sleeping",
            Nodes::Asked => "LNet, program and daemon (GET)",
            Nodes::Two => "LNet, two programs, each on a node of its own, over TCP",
        }
    }

    /// The information that a node gives to pings has some tens of bytes.
    fn supports(&self, scenario: Scenario) -> bool {
        self.nodes != Nodes::Asked || matches!(scenario, Scenario::RoundTrip { size: 8 })
    }

    fn trial(&mut self, scenario: Scenario) -> Result<Sample, Error> {
        self.measure(scenario, Duration::ZERO)
    }

    fn measure(&mut self, scenario: Scenario, duration: Duration) -> Result<Sample, Error> {
        let length = Length::Time(duration);
        let directory = tempfile::tempdir().map_err(context("a directory for sockets"))?;
        let port = free_port()?;
        let daemon = |name| self.daemon(name, &directory, port, length.limit());
        let mut daemons = vec![daemon(SERVING)?];
        let (asking, server) = match self.nodes {
            Nodes::One | Nodes::OneAsleep | Nodes::Asked => (SERVING, LOOPBACK.to_owned()),
            Nodes::Two => {
                daemons.push(daemon(ASKING)?);
                (ASKING, lnet::nid(SERVER))
            }
        };
        let mut client = self.perf(asking, &directory);
        let _serving = match self.nodes {
            Nodes::Asked => {
                client.args(lnet::arguments_to_ask_node(scenario, &server, length));
                None
            }
            Nodes::One | Nodes::OneAsleep | Nodes::Two => {
                client.args(lnet::arguments(scenario, &server, length));
                let mut serving = Peer::start(self.perf(SERVING, &directory).arg("serve"), length.limit())?;
                serving.first_line()?;
                Some(serving)
            }
        };
        let output = output_of(&mut client, length.limit())?;
        let used = daemons.iter().map(|daemon| cpu::of_process(daemon.id())).sum::<Result<f64, Error>>()?;
        Ok(Sample { between: Some(used), ..lnet::sample(scenario, &output)? })
    }
}

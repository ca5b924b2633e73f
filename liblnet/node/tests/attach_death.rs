//! Programs and nodes that are killed at each step of a PUT and of a GET: whoever is left has nothing of them, and goes on.
//!
//! This program starts itself again for each role: [`role`].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use lnet_attach::client::{AttachedNode, ClientConfig};
use lnet_attach::record::MatchEntry;
use lnet_core::{
    EqHandle, Errno, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions, MdSpec, Target,
};
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_node::{AttachConfig, AttachServer, DriverConfigs, Node, StartConfig};
use lnet_os::descriptor::connect_unix;
use lnet_wire::{Nid, Pid};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const ROLE: &str = "LNET_TEST_ROLE";
const DIRECTORY: &str = "LNET_TEST_DIRECTORY";
const OPERATION: &str = "LNET_TEST_OPERATION";
const STOP_AT: &str = "LNET_TEST_STOP_AT";
const STOP_AFTER: &str = "LNET_TEST_STOP_AFTER";
/// Far beyond the time of any step, so that only a hang reaches it.
const FOR_EVER: Duration = Duration::from_secs(30);
const PORTAL: u32 = 5;
const LEN: u32 = 4096;
const SIGKILL: i32 = 9;
/// The line of a node that admits programs.
const UP: &str = "up";

/// The steps of a program. A GET from memory of the program itself has the last one.
const PROGRAM_STEPS: [&str; 5] = [
    "program: operation written",
    "program: operation sent",
    "program: report read",
    "program: event taken",
    "program: data for a GET copied",
];
/// The steps of the node.
const NODE_STEPS: [&str; 5] = [
    "node: operation read",
    "node: operation carried out",
    "node: event",
    "node: report written",
    "node: data for a GET wanted",
];
const OPERATIONS: [&str; 2] = ["put", "get"];

/// What this program is when a test has started it.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let directory = std::env::var(DIRECTORY).unwrap();
    match role.as_str() {
        "node" => run_node(Path::new(&directory)),
        "program" => run_program(Path::new(&directory), &std::env::var(OPERATION).unwrap()),
        other => panic!("{other}"),
    }
}

/// A node that programs may attach to, until the end of its input.
fn run_node(directory: &Path) {
    let config =
        StartConfig { name: "n".parse().unwrap(), drivers: DriverConfigs::none(), ..StartConfig::default() };
    let node = Node::start(Pid::LUSTRE, config).unwrap();
    let server = AttachServer::start(AttachConfig::new(RuntimeDir::at(directory)), &node).unwrap();
    println!("{UP}");
    // The end of the input ends the node.
    _ = std::io::stdin().read(&mut [0]);
    drop(server);
    node.shutdown();
}

/// A program that serves PUTs and GETs, and sends them to itself.
fn run_program(directory: &Path, operation: &str) {
    let program = Program::attach(directory).unwrap();
    program.offer().unwrap();
    program.run(operation).unwrap();
}

struct Program {
    node: Arc<AttachedNode>,
    eq: EqHandle,
    events: Receiver<Event>,
    memory: Box<[u8]>,
}

impl Program {
    fn attach(directory: &Path) -> Result<Self, String> {
        let stream = connect_unix(&directory.join("n.attach")).map_err(|error| error.to_string())?;
        let config = ClientConfig {
            pid: Pid::LUSTRE,
            program: "test".to_owned(),
            operations: 4096,
            reports: 4096,
            spin: Duration::ZERO,
        };
        let node = AttachedNode::attach(stream, &config).map_err(|error| error.to_string())?;
        let (tell, events) = channel();
        // The receiver may have gone.
        let eq = node.eq_alloc(0, Some(Box::new(move |event| _ = tell.send(*event)))).unwrap();
        Ok(Self { node, eq, events, memory: vec![7; LEN as usize].into() })
    }

    fn spec(&self, threshold: i32, options: u32) -> (MdSpec, MdMemory) {
        let (start, options) = (self.memory.as_ptr() as usize, MdOptions(options));
        let spec =
            MdSpec { start, length: LEN, threshold, max_size: 0, options, user_ptr: 0, eq: Some(self.eq) };
        (spec, MdMemory::contiguous(start, LEN))
    }

    /// Takes PUTs, and serves GETs from memory of its own.
    fn offer(&self) -> Result<(), Errno> {
        for (bits, option) in [(1, MdOptions::OP_PUT), (2, MdOptions::OP_GET)] {
            let entry = MatchEntry {
                from: MatchId::ANY,
                match_bits: bits,
                ignore_bits: 0,
                unlink: false,
                position: InsertPosition::After,
            };
            let me = self.node.me_attach(PORTAL, entry)?;
            let (spec, memory) = self.spec(-1, option.0 | MdOptions::MANAGE_REMOTE.0);
            self.node.md_attach(me, spec, memory, false, &mut |_| ())?;
        }
        Ok(())
    }

    fn begin(&self, operation: &str) -> Result<MdHandle, Errno> {
        let (spec, memory) = self.spec(2, 0);
        let md = self.node.md_bind(spec, memory, true)?;
        let bits = if operation == "put" { 1 } else { 2 };
        let target = Target {
            nid: Some(Nid::LOOPBACK),
            pid: Pid::LUSTRE,
            portal: PORTAL,
            match_bits: bits,
            offset: 0,
        };
        match operation {
            "put" => self.node.put(None, md, true, target, 0)?,
            _ => self.node.get(None, md, target)?,
        }
        Ok(md)
    }

    /// Runs an operation, and waits for its end.
    fn run(&self, operation: &str) -> Result<(), Errno> {
        let md = self.begin(operation)?;
        let begun = Instant::now();
        loop {
            let event =
                self.events.recv_timeout(FOR_EVER.saturating_sub(begun.elapsed())).expect("the last event");
            if event.md_handle == md {
                event.status?;
                if event.unlinked {
                    return Ok(());
                }
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.node.shutdown();
    }
}

/// A process of this program with a role.
struct Process(Child);

impl Process {
    fn start(role: &str, directory: &Path, variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "role", "--nocapture"]).env(ROLE, role).env(DIRECTORY, directory);
        command.envs(variables.iter().copied());
        Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// A node that has begun to admit programs.
    fn node(directory: &Path, variables: &[(&str, &str)]) -> Self {
        let mut process = Self::start("node", directory, variables);
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == UP), "the node does not start");
        process
    }

    fn signal(&mut self) -> Option<i32> {
        self.0.wait().unwrap().signal()
    }

    /// The descriptors of the process, and its mappings of shared memory.
    fn resources(&self) -> (usize, usize) {
        let proc = format!("/proc/{}", self.0.id());
        let maps = std::fs::read_to_string(format!("{proc}/maps")).unwrap();
        let shared = maps.lines().filter(|line| line.contains("memfd:lnet")).count();
        (std::fs::read_dir(format!("{proc}/fd")).unwrap().count(), shared)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Waits for something that another process does.
fn wait_until(is_so: impl Fn() -> bool, what: &str) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < FOR_EVER, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_program_that_is_killed_at_any_step_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let node = Process::node(directory.path(), &[]);
    let before = node.resources();
    for operation in OPERATIONS {
        for step in PROGRAM_STEPS {
            let mut killed = 0;
            // Each time that the step is reached, until the program comes to its end.
            loop {
                let after = killed.to_string();
                let variables = [(OPERATION, operation), (STOP_AT, step), (STOP_AFTER, &after)];
                let mut program = Process::start("program", directory.path(), &variables);
                let signal = program.signal();
                let what = format!("{operation}, {step} after {after}");
                wait_until(|| node.resources() == before, &format!("{what}: what is left"));
                match signal {
                    None => break,
                    other => assert_eq!(other, Some(SIGKILL), "{what}"),
                }
                killed += 1;
            }
            let is_of_get = step == "program: data for a GET copied";
            assert_eq!(killed > 0, !is_of_get || operation == "get", "{operation}, {step}");
        }
        // The portal has nothing that would take the operation of another program.
        let other = Program::attach(directory.path()).unwrap();
        let md = other.begin(operation).unwrap();
        assert_eq!(other.events.recv_timeout(FOR_EVER).unwrap().kind, EventKind::Send);
        other.node.md_unlink(md).unwrap();
        assert_eq!(other.events.recv_timeout(FOR_EVER).unwrap().kind, EventKind::Unlink);
        other.offer().unwrap();
        other.run(operation).unwrap();
        drop(other);
        wait_until(|| node.resources() == before, "what the last program has left");
    }
}

#[test]
fn every_operation_ends_when_its_node_is_killed_at_any_step() {
    let directory = tempfile::tempdir().unwrap();
    for operation in OPERATIONS {
        for step in NODE_STEPS {
            let mut killed = 0;
            loop {
                let after = killed.to_string();
                let mut node = Process::node(directory.path(), &[(STOP_AT, step), (STOP_AFTER, &after)]);
                let result = (|| {
                    let program = Program::attach(directory.path()).map_err(|_| Errno::NetworkDown)?;
                    program.offer()?;
                    program.run(operation)
                })();
                if result.is_ok() {
                    break;
                }
                assert_eq!(result, Err(Errno::NetworkDown), "{operation}, {step} after {after}");
                assert_eq!(node.signal(), Some(SIGKILL), "{operation}, {step} after {after}");
                killed += 1;
            }
            let is_of_get = step == "node: data for a GET wanted";
            assert_eq!(killed > 0, !is_of_get || operation == "get", "{operation}, {step}");
        }
    }
    // A program may attach again.
    let _node = Process::node(directory.path(), &[]);
    let program = Program::attach(directory.path()).unwrap();
    program.offer().unwrap();
    OPERATIONS.iter().for_each(|operation| program.run(operation).unwrap());
}

/// Fails if a program that waits for nothing but an event does not get one.
#[test]
fn what_waits_at_the_death_of_a_node_gets_an_event_or_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut node = Process::node(directory.path(), &[]);
    let program = Program::attach(directory.path()).unwrap();
    program.offer().unwrap();
    let (spec, memory) = program.spec(1, 0);
    let bound = program.node.md_bind(spec, memory, true).unwrap();
    let ring = program.node.eq_alloc(8, None).unwrap();
    let waiting = std::thread::scope(|scope| {
        let poller = scope.spawn(|| program.node.eq_poll(&[ring], Some(FOR_EVER)).map(|_| ()));
        node.0.kill().unwrap();
        poller.join().unwrap()
    });
    assert_eq!(waiting, Err(Errno::NetworkDown));
    for _ in 0..3 {
        let event = program.events.recv_timeout(FOR_EVER).expect("the end of an MD");
        assert_eq!(
            (event.kind, event.status, event.unlinked),
            (EventKind::Unlink, Err(Errno::NetworkDown), true)
        );
    }
    assert_eq!(program.run("put"), Err(Errno::NetworkDown));
    let target =
        Target { nid: Some(Nid::LOOPBACK), pid: Pid::LUSTRE, portal: PORTAL, match_bits: 1, offset: 0 };
    assert_eq!(program.node.put(None, bound, false, target, 0), Err(Errno::NetworkDown));
    assert_eq!(program.node.md_unlink(bound), Err(Errno::NetworkDown));
    assert_eq!(program.node.eq_alloc(8, None), Err(Errno::NetworkDown));
    program.node.eq_free(program.eq).unwrap();
}

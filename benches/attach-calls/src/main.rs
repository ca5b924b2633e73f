//! Runs a number of PUTs of 8 bytes with their ACKs between two programs that are attached to a node, for a program that counts system calls.
//! Prints nothing.
//!
//! ```text
//! attach-calls awake OPERATIONS     each thread looks for what comes to it before another one writes it
//! attach-calls asleep OPERATIONS    each thread sleeps before another one writes something for it
//! ```
//!
//! The programs and the node are threads of this process: `asking` and `serving` are the programs' own, `lnet_program_NN` those of the library
//! in the programs, `lnet_attach_NN` those of the node. What follows from their speed is taken away by `steps`, so that all operations take
//! the same calls. With `awake` the programs wait for events, with `asleep` they have handlers: a thread that waits sleeps for some time only.
//!
//! The operations are those between two attempts to find a file, [`BEGIN`] and [`END`].
#![forbid(unsafe_code)]

mod steps;

use lnet_attach::client::{AttachedNode, ClientConfig};
use lnet_attach::record::MatchEntry;
use lnet_core::event::EventHandler;
use lnet_core::{
    EqHandle, Errno, Event, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions, MdSpec, Target,
};
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_node::{AttachConfig, AttachServer, DriverConfigs, Node, StartConfig};
use lnet_os::descriptor::connect_unix;
use lnet_os::shared_memory::SharedMemory;
use lnet_wire::{Nid, Pid};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use steps::Mode;

const USAGE: &str = "usage: awake|asleep OPERATIONS";
const BEGIN: &str = "attach-calls: begin";
const END: &str = "attach-calls: end";
const PORTAL: u32 = 9;
const LEN: u32 = 8;
/// The events that a queue keeps.
const EVENTS: u32 = 16;
/// The events of a PUT at the program that asks: its SEND and its ACK.
const EVENTS_OF_PUT: u32 = 2;
/// The operations in step that come before: a wake-up from the time of attaching may be left for the first.
const WARM_UP: u32 = 8;
/// The words of a ring.
const RING: usize = 1 << 12;
const ASKING: Pid = Pid(1);
const SERVING: Pid = Pid(2);
/// The time for which a thread that waits for an event looks for it: longer than any run.
const ALWAYS: Duration = Duration::from_secs(24 * 3600);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, operations] = arguments.as_slice() else { return Err(USAGE.into()) };
    let mode = match mode.as_str() {
        "awake" => Mode::Awake,
        "asleep" => Mode::Asleep,
        _ => return Err(USAGE.into()),
    };
    let operations: u32 = operations.parse()?;
    let config = StartConfig { name: "n".parse()?, drivers: DriverConfigs::none(), ..StartConfig::default() };
    let node = Node::start(Pid::LUSTRE, config)?;
    let directory = tempfile::tempdir()?;
    let config = AttachConfig::new(RuntimeDir::at(directory.path()));
    let socket = config.directory.attach_socket(node.name());
    let server = AttachServer::start(config, &node)?;
    steps::begin(mode);
    let serving = Program::attach(&socket, SERVING, mode)?;
    serving.offer()?;
    let asking = Program::attach(&socket, ASKING, mode)?;
    let served = Arc::clone(&serving.node);
    let threads = [
        named("serving", move || serving.serve(mode))?,
        named("asking", move || asking.ask(mode, operations, &served))?,
    ];
    for thread in threads {
        thread.join().map_err(|_| "a thread has failed")?.map_err(|errno| errno.text())?;
    }
    drop(server);
    node.shutdown();
    Ok(())
}

type Work = thread::JoinHandle<Result<(), Errno>>;

fn named(name: &str, work: impl FnOnce() -> Result<(), Errno> + Send + 'static) -> std::io::Result<Work> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// A program, with its queue and its memory.
struct Program {
    node: Arc<AttachedNode>,
    eq: EqHandle,
    memory: Arc<SharedMemory>,
}

impl Program {
    fn attach(socket: &Path, pid: Pid, mode: Mode) -> Result<Self, Box<dyn Error>> {
        let (spin, events, handler): (_, _, Option<EventHandler>) = match mode {
            Mode::Awake => (ALWAYS, EVENTS, None),
            Mode::Asleep => (Duration::ZERO, 0, Some(Box::new(|_: &Event| ()))),
        };
        let program = "attach-calls".to_owned();
        let config = ClientConfig { pid, program, operations: RING, reports: RING, spin };
        let node = AttachedNode::attach(connect_unix(socket)?, &config)?;
        let memory = Arc::new(SharedMemory::create(c"attach-calls", LEN as usize)?);
        node.add_memory(&memory)?;
        let eq = node.eq_alloc(events, handler)?;
        Ok(Self { node, eq, memory })
    }

    fn descriptor(&self, options: MdOptions) -> (MdSpec, MdMemory) {
        let start = self.memory.address();
        let eq = Some(self.eq);
        let spec = MdSpec { start, length: LEN, threshold: -1, max_size: 0, options, user_ptr: 0, eq };
        (spec, MdMemory::contiguous(start, LEN))
    }

    /// Attaches memory for all PUTs.
    fn offer(&self) -> Result<(), Errno> {
        let position = InsertPosition::After;
        let entry = MatchEntry { from: MatchId::ANY, match_bits: 0, ignore_bits: 0, unlink: false, position };
        let me = self.node.me_attach(PORTAL, entry)?;
        let options = MdOptions(MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
        let (spec, memory) = self.descriptor(options);
        self.node.md_attach(me, spec, memory, false, &mut |_| ())
    }

    /// Takes events until the attachment ends.
    fn serve(&self, mode: Mode) -> Result<(), Errno> {
        if mode == Mode::Awake {
            steps::this_thread_is(steps::SERVING);
            while self.next().is_ok() {}
        }
        Ok(())
    }

    /// Sends PUTs, and ends both attachments.
    fn ask(&self, mode: Mode, operations: u32, served: &AttachedNode) -> Result<(), Errno> {
        steps::this_thread_is(steps::ASKING);
        let (spec, memory) = self.descriptor(MdOptions(0));
        let md = self.node.md_bind(spec, memory, false)?;
        // The first PUT waits for its result; and the node's thread of this program is known by it.
        steps::learn_node_thread();
        self.put(mode, md)?;
        steps::wait_until_quiet();
        steps::keep_in_step();
        for operation in 0..WARM_UP + operations {
            if operation == WARM_UP {
                look_for(BEGIN);
            }
            self.put(mode, md)?;
            steps::wait_until_quiet();
        }
        look_for(END);
        steps::end();
        self.node.shutdown();
        served.shutdown();
        Ok(())
    }

    fn put(&self, mode: Mode, md: MdHandle) -> Result<(), Errno> {
        let target =
            Target { nid: Some(Nid::LOOPBACK), pid: SERVING, portal: PORTAL, match_bits: 0, offset: 0 };
        self.node.put(None, md, true, target, 0)?;
        if mode == Mode::Awake {
            for _ in 0..EVENTS_OF_PUT {
                self.next()?;
            }
        }
        Ok(())
    }

    fn next(&self) -> Result<(), Errno> {
        let (_, polled) = self.node.eq_poll(&[self.eq], None)?.ok_or(Errno::TimedOut)?;
        polled.event.status
    }
}

/// Marks a place among the system calls.
fn look_for(name: &str) {
    _ = Path::new(name).metadata();
}

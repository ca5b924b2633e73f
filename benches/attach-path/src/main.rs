//! Runs a number of PUTs with their ACKs over the loopback of a node, for programs that count instructions or copies. Prints nothing.
//!
//! ```text
//! attach-path own OPERATIONS [BYTES]            the node is used directly
//! attach-path attached OPERATIONS [BYTES]       by two programs that are attached to it, which are threads of this process
//! attach-path unregistered OPERATIONS [BYTES]   the same with memory that the node cannot access
//! ```
//!
//! A PUT has 8 bytes unless BYTES says otherwise. The difference of the first two is what the attachment costs. A number of PUTs is under way at a time, and no thread spins for an event: how
//! often a thread looks in vain differs from run to run.
#![forbid(unsafe_code)]

use lnet_attach::client::{AttachedNode, ClientConfig};
use lnet_attach::record::MatchEntry;
use lnet_core::{
    EqHandle, Errno, EventKind, InsertPosition, MatchId, MdHandle, MdMemory, MdOptions, MdSpec, MeHandle,
    Polled, Target,
};
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_node::{AttachConfig, AttachServer, DriverConfigs, Node, StartConfig};
use lnet_os::descriptor::connect_unix;
use lnet_os::shared_memory::SharedMemory;
use lnet_wire::{Nid, Pid};
use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const USAGE: &str = "usage: own|attached|unregistered OPERATIONS [BYTES]";
const PORTAL: u32 = 9;
/// The bytes of a PUT unless the arguments say otherwise.
const LEN: u32 = 8;
/// The PUTs that are under way at a time.
const IN_FLIGHT: u64 = 64;
/// The events that a queue keeps: those of all PUTs of a run, since a PUT is acknowledged before the target has taken its event.
const EVENTS: u32 = 1 << 15;
/// The words of a ring.
const RING: usize = 1 << 15;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (way, operations, len) = match arguments.as_slice() {
        [way, operations] => (way, operations, LEN),
        [way, operations, len] => (way, operations, len.parse()?),
        _ => return Err(USAGE.into()),
    };
    let operations = operations.parse()?;
    let config = StartConfig { name: "n".parse()?, drivers: DriverConfigs::none(), ..StartConfig::default() };
    let node = Node::start(Pid::LUSTRE, config)?;
    match way.as_str() {
        "own" => {
            let user = User::new(Arc::clone(&node), len, true)?;
            user.offer()?;
            user.put_all(Pid::LUSTRE, operations)?;
        }
        "attached" | "unregistered" => {
            let is_registered = way == "attached";
            let directory = tempfile::tempdir()?;
            let config = AttachConfig::new(RuntimeDir::at(directory.path()));
            let socket = config.directory.attach_socket(node.name());
            let server = AttachServer::start(config, &node)?;
            let attach = |pid| {
                let config = ClientConfig {
                    pid,
                    program: "attach-path".to_owned(),
                    operations: RING,
                    reports: RING,
                    spin: Duration::ZERO,
                };
                Ok::<_, Box<dyn Error>>(AttachedNode::attach(connect_unix(&socket)?, &config)?)
            };
            let target = User::new(attach(Pid(2))?, len, is_registered)?;
            target.offer()?;
            let served = thread::spawn(move || target.take_puts(operations));
            let initiator = User::new(attach(Pid(1))?, len, is_registered)?;
            initiator.put_all(Pid(2), operations)?;
            initiator.node.end();
            served.join().map_err(|_| "the target has failed")?.map_err(|errno| errno.text())?;
            drop(server);
        }
        _ => return Err(USAGE.into()),
    }
    node.shutdown();
    Ok(())
}

/// A node, used directly or by an attachment.
trait AnyNode {
    fn eq_alloc(&self) -> Result<EqHandle, Errno>;
    fn me_attach(&self) -> Result<MeHandle, Errno>;
    fn md_attach(&self, me: MeHandle, spec: MdSpec, memory: MdMemory) -> Result<(), Errno>;
    fn md_bind(&self, spec: MdSpec, memory: MdMemory) -> Result<MdHandle, Errno>;
    fn put(&self, md: MdHandle, target: Target) -> Result<(), Errno>;
    fn wait(&self, eq: EqHandle) -> Result<Option<Polled>, Errno>;
    /// Lets the node access memory in place.
    fn add_memory(&self, memory: &Arc<SharedMemory>) -> Result<(), Errno>;
    fn end(&self);
}

/// A user of a node, with its queue and its memory.
struct User<N> {
    node: Arc<N>,
    eq: EqHandle,
    memory: Arc<SharedMemory>,
    /// The bytes of a PUT.
    len: u32,
}

impl<N: AnyNode> User<N> {
    fn new(node: Arc<N>, len: u32, is_registered: bool) -> Result<Self, Box<dyn Error>> {
        let memory = Arc::new(SharedMemory::create(c"attach-path", len as usize)?);
        if is_registered {
            node.add_memory(&memory)?;
        }
        let eq = node.eq_alloc()?;
        Ok(Self { node, eq, memory, len })
    }

    fn descriptor(&self, options: MdOptions) -> (MdSpec, MdMemory) {
        let start = self.memory.address();
        let eq = Some(self.eq);
        let spec = MdSpec { start, length: self.len, threshold: -1, max_size: 0, options, user_ptr: 0, eq };
        (spec, MdMemory::contiguous(start, self.len))
    }

    /// Attaches memory for all PUTs.
    fn offer(&self) -> Result<(), Errno> {
        let me = self.node.me_attach()?;
        let options = MdOptions(MdOptions::OP_PUT.0 | MdOptions::MANAGE_REMOTE.0);
        let (spec, memory) = self.descriptor(options);
        self.node.md_attach(me, spec, memory)
    }

    /// Sends PUTs, and takes the events up to the last ACK. Those of the arrival are among them if the PUTs arrive here.
    fn put_all(&self, pid: Pid, operations: u64) -> Result<(), Errno> {
        let (spec, memory) = self.descriptor(MdOptions(0));
        let md = self.node.md_bind(spec, memory)?;
        let target = Target { nid: Some(Nid::LOOPBACK), pid, portal: PORTAL, match_bits: 0, offset: 0 };
        let (mut begun, mut ended) = (0, 0);
        while ended < operations {
            while begun < operations && begun - ended < IN_FLIGHT {
                self.node.put(md, target)?;
                begun += 1;
            }
            // All of one batch: the threads work on many at a time.
            while ended < begun {
                ended += u64::from(self.next()? == EventKind::Ack);
            }
        }
        Ok(())
    }

    /// Takes the events of PUTs that arrive.
    fn take_puts(&self, operations: u64) -> Result<(), Errno> {
        for _ in 0..operations {
            self.next()?;
        }
        self.node.end();
        Ok(())
    }

    fn next(&self) -> Result<EventKind, Errno> {
        let event = self.node.wait(self.eq)?.ok_or(Errno::TimedOut)?.event;
        event.status.map(|()| event.kind)
    }
}

impl AnyNode for Node {
    fn eq_alloc(&self) -> Result<EqHandle, Errno> {
        self.core().data_path().eq_alloc(EVENTS, None)
    }

    fn me_attach(&self) -> Result<MeHandle, Errno> {
        let position = InsertPosition::After;
        self.core().data_path().me_attach(PORTAL, MatchId::ANY, 0, 0, false, position)
    }

    fn md_attach(&self, me: MeHandle, spec: MdSpec, memory: MdMemory) -> Result<(), Errno> {
        self.core().data_path().md_attach(me, spec, memory, false, &mut |_| ())
    }

    fn md_bind(&self, spec: MdSpec, memory: MdMemory) -> Result<MdHandle, Errno> {
        self.core().data_path().md_bind(spec, memory, false)
    }

    fn put(&self, md: MdHandle, target: Target) -> Result<(), Errno> {
        self.core().data_path().put(None, md, true, target, 0)
    }

    fn wait(&self, eq: EqHandle) -> Result<Option<Polled>, Errno> {
        self.core().data_path().eq_get(eq)
    }

    fn add_memory(&self, _: &Arc<SharedMemory>) -> Result<(), Errno> {
        Ok(())
    }

    fn end(&self) {}
}

impl AnyNode for AttachedNode {
    fn eq_alloc(&self) -> Result<EqHandle, Errno> {
        Self::eq_alloc(self, EVENTS, None)
    }

    fn me_attach(&self) -> Result<MeHandle, Errno> {
        let position = InsertPosition::After;
        let entry = MatchEntry { from: MatchId::ANY, match_bits: 0, ignore_bits: 0, unlink: false, position };
        Self::me_attach(self, PORTAL, entry)
    }

    fn md_attach(&self, me: MeHandle, spec: MdSpec, memory: MdMemory) -> Result<(), Errno> {
        Self::md_attach(self, me, spec, memory, false, &mut |_| ())
    }

    fn md_bind(&self, spec: MdSpec, memory: MdMemory) -> Result<MdHandle, Errno> {
        Self::md_bind(self, spec, memory, false)
    }

    fn put(&self, md: MdHandle, target: Target) -> Result<(), Errno> {
        Self::put(self, None, md, true, target, 0)
    }

    fn wait(&self, eq: EqHandle) -> Result<Option<Polled>, Errno> {
        self.eq_wait(eq, None)
    }

    fn add_memory(&self, memory: &Arc<SharedMemory>) -> Result<(), Errno> {
        Self::add_memory(self, memory)
    }

    fn end(&self) {
        self.shutdown();
    }
}

//! A node with a hostile process of its host: whatever that writes into its hello and into the two rings of its connection costs it the
//! connection at most. The node has no message left when it has gone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lnet_core::{DiscoveryMode, EqHandle, InsertPosition, MatchId, MdMemory, MdOptions, MdSpec, Target};
use lnet_dlc::request::{AddLocalNi, LndTunables, NiTunables};
use lnet_dlc::{Backend, Request};
use lnet_node::{DriverConfigs, Node, StartConfig};
use lnet_os::descriptor_passing::send_with;
use lnet_os::local_socket::{connect_local, receive_local};
use lnet_os::shared_memory::SharedMemory;
use lnet_ring::{Consumer, Producer, size_in_words};
use lnet_wire::{Body, Header, Nid, Pid, WireHandle};
use shmlnd::ShmlndConfig;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::{process, thread};

/// The words of a ring.
const CAPACITY: usize = 4096;
/// The portal to which PUTs and GETs of peers find memory, and the one at which PUTs wait for it.
const OPEN: u32 = 3;
const LAZY: u32 = 4;
/// The bytes of memory that the node offers, for ever.
const OFFERED: u32 = 8192;

/// The node.
struct Host {
    node: Arc<Node>,
    nid: Nid,
    memory: MdMemory,
    eq: EqHandle,
}

impl Host {
    fn start() -> Self {
        let driver = ShmlndConfig { ring: 32, ..ShmlndConfig::default() };
        let mut config =
            StartConfig { drivers: DriverConfigs::none().with(driver), ..StartConfig::default() };
        config.settings.discovery = DiscoveryMode::Off;
        config.settings.retry_count = 0;
        // An interface of a peer that fails is not pinged.
        config.settings.health_sensitivity = 0;
        let node = Node::start(Pid::LUSTRE, config).expect("a node");
        let net = format!("shm{}", 1 + process::id() % 65_535).parse().expect("a net");
        let (tunables, lnd) = (NiTunables::default(), LndTunables::default());
        let request = Request::AddLocalNi(AddLocalNi { net, interface: None, tunables, lnd, cpts: None });
        (&*node as &dyn Backend).call(request).expect("an interface");
        let nid = node.core().nets().nis().map(|ni| ni.nid()).find(|nid| !nid.is_loopback());
        let bytes = Box::leak(vec![0_u8; OFFERED as usize].into_boxed_slice());
        let memory = MdMemory::contiguous(bytes.as_ptr().addr(), OFFERED);
        let eq = node.core().data_path().eq_alloc(0, Some(Box::new(|_| ()))).expect("a queue");
        let host = Self { node, nid: nid.expect("a NID"), memory, eq };
        host.offer();
        host
    }

    fn spec(&self, threshold: i32, options: MdOptions) -> MdSpec {
        let start = 0;
        MdSpec { start, length: OFFERED, threshold, max_size: 0, options, user_ptr: 0, eq: Some(self.eq) }
    }

    fn offer(&self) {
        let path = self.node.core().data_path();
        let me =
            path.me_attach(OPEN, MatchId::ANY, 0, u64::MAX, false, InsertPosition::After).expect("an ME");
        let options = [MdOptions::OP_PUT, MdOptions::OP_GET, MdOptions::TRUNCATE, MdOptions::MANAGE_REMOTE];
        let options = MdOptions(options.iter().fold(0, |all, option| all | option.0));
        path.md_attach(me, self.spec(-1, options), self.memory.clone(), false, &mut |_| ()).expect("an MD");
        path.set_lazy_portal(LAZY).expect("a portal");
    }

    /// Sends a PUT without ACK, so that it ends when it has been read, or with the connection.
    fn put(&self, to: Nid) {
        let path = self.node.core().data_path();
        let md = path.md_bind(self.spec(1, MdOptions(0)), self.memory.clone(), true).expect("an MD");
        let target = Target { nid: Some(to), pid: Pid::LUSTRE, portal: OPEN, match_bits: 0, offset: 0 };
        _ = path.put(None, md, false, target, 0);
    }
}

/// The bytes of an input, from which everything is taken; zeros behind its end.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u64 {
        let bytes = [0; 8].map(|_: u8| self.byte());
        u64::from_le_bytes(bytes)
    }

    fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte()).min(self.0.len());
        let (first, rest) = self.0.split_at(len);
        self.0 = rest;
        first
    }

    fn below(&mut self, limit: u8) -> u32 {
        u32::from(self.byte() % limit)
    }
}

/// The hostile process.
struct Peer {
    nid: Nid,
    socket: UnixStream,
    to: Producer<SharedMemory>,
    from: Consumer<SharedMemory>,
    /// The memory of both rings once more.
    memory: [SharedMemory; 2],
}

impl Peer {
    /// Connects, with a hello that may be anything.
    fn connect(host: &Host, input: &mut Input<'_>) -> io::Result<Self> {
        let socket = UnixStream::from(connect_local(format!("lnet-shm/{}", host.nid).as_bytes())?);
        let nid = Nid::new(host.nid.net(), 7);
        let numbers = (1_u32.to_ne_bytes(), u64::from(input.byte() / 2 + 1).to_ne_bytes());
        let parts = [&b"lnet-shm"[..], &numbers.0, &nid.to_wire20(), &host.nid.to_wire20(), &numbers.1];
        let mut hello = parts.concat();
        let files = match input.below(8) {
            0 => {
                let at = usize::from(input.byte()) % hello.len();
                hello[at] ^= input.byte();
                2
            }
            1 => {
                hello = input.bytes().to_vec();
                input.below(4) as usize
            }
            _ => 2,
        };
        let [to, from, to_again, from_again] = rings().map_err(io::Error::other)?;
        let all: [BorrowedFd<'_>; 3] = [to.file(), from.file(), from.file()];
        // An empty packet cannot be told from the end.
        hello.resize(hello.len().max(1), 0);
        send_with(&socket, &hello, &all[..files])?;
        let corrupt = |_| io::Error::from(io::ErrorKind::InvalidData);
        let (to, from) = (Producer::new(to).map_err(corrupt)?, Consumer::new(from).map_err(corrupt)?);
        Ok(Self { nid, socket, to, from, memory: [to_again, from_again] })
    }

    fn wake(&self) {
        // The node may have ended the connection.
        _ = send_with(self.socket.as_fd(), &[0], &[]);
    }

    fn push(&mut self, kind: u32, body: &[u8]) {
        _ = self.to.push(kind, body);
        _ = self.to.publish();
        self.wake();
    }

    /// A header such as a peer sends, but for one byte of some.
    fn header(&self, host: &Host, input: &mut Input<'_>, payload_length: u32) -> Vec<u8> {
        let portal = input.below(6);
        let (match_bits, offset) = (u64::from(input.byte()), u32::from(input.byte()) * 64);
        let handle = WireHandle { interface_cookie: 1, object_cookie: u64::from(input.byte()) };
        let body = match input.below(6) {
            0..3 => {
                Body::Put { ack: (offset == 0).then_some(handle), match_bits, hdr_data: 2, portal, offset }
            }
            3 => {
                let sink_length = u32::from(input.byte()) * 256;
                Body::Get { reply: handle, match_bits, portal, offset, sink_length }
            }
            4 => Body::Ack { handle, match_bits, accepted: offset },
            _ => Body::Reply { handle },
        };
        let (dest_pid, src_pid) = (Pid::LUSTRE, Pid::LUSTRE);
        let header =
            Header { dest_nid: host.nid, src_nid: self.nid, dest_pid, src_pid, payload_length, body };
        let mut bytes = header.encode_long().to_vec();
        if input.below(8) == 0 {
            let at = usize::from(input.byte()) % bytes.len();
            bytes[at] ^= input.byte();
        }
        bytes
    }

    /// Does the next thing of an input.
    fn step(&mut self, host: &Host, input: &mut Input<'_>) {
        match input.below(8) {
            0 | 1 => {
                let (payload, more) = (input.bytes(), input.bytes());
                let bytes =
                    [&self.header(host, input, (payload.len() + more.len()) as u32), payload].concat();
                self.push(1, &bytes);
                if !more.is_empty() {
                    self.push(2, more);
                }
            }
            2 => {
                let kind = input.below(4);
                self.push(kind, input.bytes());
            }
            3 => {
                let words: &[AtomicU64] = &self.memory[input.below(2) as usize];
                let at = usize::from(input.byte()) | usize::from(input.byte()) << 8;
                words[at % words.len()].store(input.number(), Ordering::Relaxed);
                self.wake();
            }
            4 => {
                let packet = input.bytes();
                let file = self.memory[0].file();
                let files = if input.below(2) == 0 { &[file][..] } else { &[] };
                if !packet.is_empty() {
                    _ = send_with(self.socket.as_fd(), packet, files);
                }
            }
            5 => host.put(self.nid),
            6 => {
                let mut body = Vec::new();
                while let Ok(Some(_)) = self.from.pop(&mut body) {}
                _ = self.from.commit();
                self.wake();
            }
            _ => thread::yield_now(),
        }
    }

    /// Ends the connection, and waits until the node has done so.
    fn end(self) {
        _ = self.socket.shutdown(Shutdown::Write);
        loop {
            match receive_local(self.socket.as_fd(), &mut [0; 100]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}

/// Two rings, each mapped twice.
fn rings() -> io::Result<[SharedMemory; 4]> {
    let bytes = size_in_words(CAPACITY).map_or(0, |words| words * size_of::<u64>());
    let new = || SharedMemory::create(c"fuzz", bytes).map_err(io::Error::other);
    let again = |memory: &SharedMemory| {
        SharedMemory::map(memory.file().try_clone_to_owned()?).map_err(io::Error::other)
    };
    let (to, from) = (new()?, new()?);
    let (to_again, from_again) = (again(&to)?, again(&from)?);
    Ok([to, from, to_again, from_again])
}

fuzz_target!(|bytes: &[u8]| {
    static HOST: OnceLock<Host> = OnceLock::new();
    let host = HOST.get_or_init(Host::start);
    let mut input = Input(bytes);
    let Ok(mut peer) = Peer::connect(host, &mut input) else { return };
    while !input.0.is_empty() {
        peer.step(host, &mut input);
    }
    peer.end();
    // A message that does not end is a hang. The connection ends before all that it has brought is passed on, so a message may come to the
    // lazy portal at any time until then.
    let path = host.node.core().data_path();
    while host.node.core().message_counts().msgs_alloc > 0 {
        path.clear_lazy_portal(LAZY).expect("a portal");
        path.set_lazy_portal(LAZY).expect("a portal");
        thread::yield_now();
    }
});

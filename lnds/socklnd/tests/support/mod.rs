//! Nodes and scripted peers on addresses of the loopback network, a fresh pair for each test.
#![allow(dead_code, unreachable_pub)]

pub mod cutter;
pub mod forwarding;
pub mod resend;
pub mod spy;

use lnet_core::lnd::Driver;
use lnet_core::{
    Clock, Core, CoreConfig, EqHandle, Event, EventKind, InsertPosition, MatchId, MdHandle, MdMemory,
    MdOptions, MdSpec, NiTunables, Target, Time,
};
use lnet_wire::byte_order::ByteOrder;
use lnet_wire::{Body, Header, NetId, NetType, Nid, Pid, WireHandle};
use socket2::{Domain, Socket, Type};
use socklnd::proto::frame::{self, Cookies, Head, Incoming};
use socklnd::proto::hello::{Decoded, Hello};
use socklnd::proto::{ConnectionType, Version, acceptor};
use socklnd::{AcceptFrom, DeliveryAcks, Socklnd, SocklndConfig, SocklndCounters};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Far longer than anything takes; a test that waits so long has failed.
pub const TIMEOUT: Duration = Duration::from_secs(20);
pub const PORTAL: u32 = 9;
pub const BITS: u64 = 0x1122_3344;

static ADDRESSES: AtomicU32 = AtomicU32::new(0);
static COOKIES: AtomicU64 = AtomicU64::new(0x1_0000);

/// Two addresses, the lower first, and a port that is free on both.
pub fn addresses() -> (Ipv4Addr, Ipv4Addr, u16) {
    let base = 0x7f00_0000
        | ((std::process::id() & 0xff) << 16)
        | ((ADDRESSES.fetch_add(4, Ordering::Relaxed) & 0xffff) + 0x101);
    let (low, high) = (Ipv4Addr::from(base), Ipv4Addr::from(base + 1));
    (low, high, free_port(low, high))
}

/// A port that is free on both.
pub fn free_port(low: Ipv4Addr, high: Ipv4Addr) -> u16 {
    loop {
        let there = TcpListener::bind((high, 0)).unwrap();
        let port = there.local_addr().unwrap().port();
        if TcpListener::bind((low, port)).is_ok() {
            return port;
        }
    }
}

/// Match bits that no other call has given.
pub fn fresh_bits() -> u64 {
    COOKIES.fetch_add(1, Ordering::Relaxed)
}

pub fn tcp(ip: Ipv4Addr) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 0), ip.into())
}

pub fn config(port: u16) -> SocklndConfig {
    SocklndConfig { accept: AcceptFrom::All, accept_port: port, ..SocklndConfig::default() }
}

/// Of a node that others know for one of this implementation.
pub fn same_implementation(config: SocklndConfig, number: u64) -> SocklndConfig {
    SocklndConfig {
        implementation_id: socklnd::implementation_id(number),
        delivery_acks: DeliveryAcks::All,
        ..config
    }
}

pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !condition() {
        assert!(Instant::now() < end, "waited too long for: {what}");
        std::thread::yield_now();
    }
}

/// A clock that runs from when it was made.
#[derive(Debug)]
struct Running(Instant);

impl Clock for Running {
    fn now(&self) -> Time {
        Time(self.0.elapsed())
    }
}

pub fn running_clock() -> Arc<dyn Clock> {
    Arc::new(Running(Instant::now()))
}

/// After which a monitor's thread sees whether its node is still there.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A node with one interface.
pub struct Node {
    pub core: Arc<Core>,
    pub driver: Arc<Socklnd>,
    pub nid: Nid,
    pub eq: EqHandle,
    events: Mutex<Receiver<Event>>,
    obstacle: Arc<Mutex<Option<Arc<Mutex<()>>>>>,
}

impl Node {
    pub fn start(nid: Nid, config: SocklndConfig) -> Self {
        let driver = Socklnd::new(config, running_clock());
        Self::start_by(nid, Arc::clone(&driver), &*driver)
    }

    /// A node for which time goes by, with a thread that does what is to be done once in a while.
    pub fn start_with_monitor(nid: Nid, config: SocklndConfig, change: impl FnOnce(&mut CoreConfig)) -> Self {
        let driver = Socklnd::new(config, running_clock());
        let mut config = Self::core_config();
        config.clock = running_clock();
        change(&mut config);
        let clock = Arc::clone(&config.clock);
        let node = Self::start_as(nid, Arc::clone(&driver), &*driver, config);
        let core = Arc::downgrade(&node.core);
        std::thread::spawn(move || {
            while let Some(core) = core.upgrade() {
                let wake = core.run_monitor();
                let pause = wake.map_or(LOOK_AGAIN, |wake| wake.since(clock.now()).min(LOOK_AGAIN));
                core.wait_for_monitor(Some(pause));
            }
        });
        node
    }

    fn core_config() -> CoreConfig {
        let mut config =
            CoreConfig::new(Pid::LUSTRE, COOKIES.fetch_add(1, Ordering::Relaxed)).without_discovery();
        // What the driver gives back is an end.
        config.settings.retry_count = 0;
        config
    }

    /// The core knows the driver as `known_as`.
    pub fn start_by(nid: Nid, driver: Arc<Socklnd>, known_as: &dyn Driver) -> Self {
        Self::start_as(nid, driver, known_as, Self::core_config())
    }

    fn start_as(nid: Nid, driver: Arc<Socklnd>, known_as: &dyn Driver, config: CoreConfig) -> Self {
        let core = Core::new(config);
        let (sender, events) = channel();
        let obstacle: Arc<Mutex<Option<Arc<Mutex<()>>>>> = Arc::default();
        let obstacles = Arc::clone(&obstacle);
        let handler = move |event: &Event| {
            let obstacle = obstacles.lock().unwrap().clone();
            drop(obstacle.as_ref().map(|mutex| mutex.lock()));
            let _ = sender.send(*event);
        };
        let eq = core.eq_alloc(0, Some(Box::new(handler))).unwrap();
        core.add_ni(nid, NiTunables::default(), known_as).unwrap();
        Self { core, driver, nid, eq, events: Mutex::new(events), obstacle }
    }

    pub fn event(&self) -> Event {
        self.events.lock().unwrap().recv_timeout(TIMEOUT).expect("an event")
    }

    pub fn event_within(&self, time: Duration) -> Option<Event> {
        self.events.lock().unwrap().recv_timeout(time).ok()
    }

    /// Event handlers wait from now on until they get `mutex`.
    pub fn block_on(&self, mutex: Arc<Mutex<()>>) {
        *self.obstacle.lock().unwrap() = Some(mutex);
    }

    pub fn expect(&self, kind: EventKind) -> Event {
        let event = self.event();
        assert_eq!(event.kind, kind, "{event:?}");
        event
    }

    pub fn no_event(&self) {
        if let Ok(event) = self.events.lock().unwrap().try_recv() {
            panic!("an event that nobody expected: {event:?}");
        }
    }

    fn spec(&self, threshold: i32) -> MdSpec {
        MdSpec {
            start: 0,
            length: 0,
            threshold,
            max_size: 0,
            options: MdOptions(0),
            user_ptr: 0,
            eq: Some(self.eq),
        }
    }

    /// Offers memory for PUTs and GETs.
    pub fn offer(&self, memory: &'static [u8]) {
        self.offer_with(MdMemory::contiguous(memory.as_ptr() as usize, memory.len() as u32), BITS, 0);
    }

    pub fn offer_with(&self, memory: MdMemory, bits: u64, options: u32) {
        let me = self.core.me_attach(PORTAL, MatchId::ANY, bits, 0, false, InsertPosition::After).unwrap();
        let mut spec = self.spec(-1);
        spec.options.0 = options | MdOptions::OP_PUT.0 | MdOptions::OP_GET.0 | MdOptions::MANAGE_REMOTE.0;
        self.core.md_attach(me, spec, memory, false, &mut |_| {}).unwrap();
    }

    pub fn bind(&self, memory: MdMemory) -> MdHandle {
        self.core.md_bind(self.spec(-1), memory, false).unwrap()
    }

    pub fn bind_bytes(&self, memory: &'static [u8]) -> MdHandle {
        self.bind(MdMemory::contiguous(memory.as_ptr() as usize, memory.len() as u32))
    }

    pub fn put(&self, md: MdHandle, to: Nid, ack: bool) {
        self.core.put(None, md, ack, target(to), 77).unwrap();
    }

    pub fn get(&self, md: MdHandle, from: Nid) {
        self.core.get(None, md, target(from)).unwrap();
    }

    pub fn counters(&self) -> SocklndCounters {
        self.driver.counters(self.nid).unwrap()
    }

    pub fn stop(&self) {
        self.core.shutdown();
        Driver::shutdown(&*self.driver);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop();
    }
}

pub fn target(nid: Nid) -> Target {
    Target { nid: Some(nid), pid: Pid::LUSTRE, portal: PORTAL, match_bits: BITS, offset: 0 }
}

/// One end of a connection, driven byte by byte by a test.
pub struct Raw {
    pub stream: TcpStream,
    pub version: Version,
}

impl Raw {
    /// Connects from `from`, from an unprivileged port if that is 0.
    pub fn connect(from: IpAddr, from_port: u16, to: IpAddr, port: u16) -> Self {
        let socket = Socket::new(Domain::for_address(SocketAddr::new(from, 0)), Type::STREAM, None).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&SocketAddr::new(from, from_port).into()).unwrap();
        socket.connect(&SocketAddr::new(to, port).into()).unwrap();
        Self::over(socket.into())
    }

    pub fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, version: Version::V3 }
    }

    /// Connects and says hello; the answer.
    pub fn hello(from: Ipv4Addr, to: Ipv4Addr, port: u16, kind: ConnectionType) -> (Self, Hello) {
        Self::send_hello(from, to, port, &hello(from, to, Some(kind)))
    }

    /// Connects and says `hello`; the answer.
    pub fn send_hello(from: Ipv4Addr, to: Ipv4Addr, port: u16, hello: &Hello) -> (Self, Hello) {
        let mut raw = Self::connect(from.into(), 0, to.into(), port);
        raw.version = hello.version;
        raw.send(&[acceptor::encode_request(tcp(to)), hello.encode().unwrap()].concat());
        let answer = raw.read_hello();
        (raw, answer)
    }

    /// An open connection.
    pub fn open(from: Ipv4Addr, to: Ipv4Addr, port: u16, kind: ConnectionType) -> Self {
        let (raw, answer) = Self::hello(from, to, port, kind);
        assert_eq!(answer.connection_type, Some(kind.mirror()));
        raw
    }

    /// An open connection of a node of this implementation with this number.
    pub fn open_as_same_implementation(
        from: Ipv4Addr,
        to: Ipv4Addr,
        port: u16,
        number: u64,
        kind: ConnectionType,
    ) -> Self {
        let (raw, answer) =
            Self::send_hello(from, to, port, &hello_of_same_implementation(from, to, number, kind));
        assert_eq!(answer.connection_type, Some(kind.mirror()));
        raw
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub fn send_slowly(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.send(std::slice::from_ref(byte));
        }
    }

    pub fn read(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    pub fn read_hello(&mut self) -> Hello {
        let mut bytes = Vec::new();
        loop {
            match Hello::decode(&bytes).unwrap() {
                Decoded::Need(n) => bytes.extend(self.read(n - bytes.len())),
                Decoded::Done { hello, .. } => return hello,
            }
        }
    }

    /// The next message or NOOP, and the payload.
    pub fn read_message(&mut self) -> (Incoming, Vec<u8>) {
        let mut bytes = Vec::new();
        loop {
            match frame::decode(self.version, ByteOrder::Little, &bytes).unwrap() {
                Incoming::Need(n) => bytes.extend(self.read(n - bytes.len())),
                Incoming::Message { header, .. } => {
                    let payload = self.read(header.payload_length as usize);
                    return (frame::decode(self.version, ByteOrder::Little, &bytes).unwrap(), payload);
                }
                noop => return (noop, Vec::new()),
            }
        }
    }

    pub fn read_noop(&mut self) -> Cookies {
        match self.read_message().0 {
            Incoming::Noop { cookies, .. } => cookies,
            other => panic!("{other:?} in place of a NOOP"),
        }
    }

    pub fn read_lnet(&mut self) -> (Header, Cookies, Vec<u8>) {
        match self.read_message() {
            (Incoming::Message { header, cookies, .. }, payload) => (header, cookies, payload),
            other => panic!("{other:?} in place of a message"),
        }
    }

    /// What comes until the other side closes.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return all,
                Ok(got) => all.extend(&buffer[..got]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return all,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub fn put(&mut self, header: &Header, cookies: Cookies, payload: &[u8]) {
        let bytes = message(self.version, header, cookies, payload);
        self.send(&bytes);
    }
}

pub fn message(version: Version, header: &Header, cookies: Cookies, payload: &[u8]) -> Vec<u8> {
    let head = Head::message(version, header, cookies).unwrap();
    [head.bytes(), payload].concat()
}

pub fn hello(from: Ipv4Addr, to: Ipv4Addr, kind: Option<ConnectionType>) -> Hello {
    Hello {
        version: Version::V3,
        src_nid: tcp(from),
        dest_nid: Some(tcp(to)),
        src_pid: Pid::LUSTRE,
        dest_pid: Pid(0),
        src_incarnation: 42,
        dest_incarnation: 0,
        connection_type: kind,
        ips: vec![],
    }
}

pub fn put_header(from: Nid, to: Nid, len: usize, ack: bool) -> Header {
    Header {
        dest_nid: to,
        src_nid: from,
        dest_pid: Pid::LUSTRE,
        src_pid: Pid::LUSTRE,
        payload_length: len as u32,
        body: Body::Put {
            ack: ack.then_some(WireHandle { interface_cookie: 5, object_cookie: 6 }),
            match_bits: BITS,
            hdr_data: 3,
            portal: PORTAL,
            offset: 0,
        },
    }
}

/// A peer that waits to be called.
pub struct Listening(TcpListener);

impl Listening {
    pub fn on(ip: Ipv4Addr, port: u16) -> Self {
        Self(TcpListener::bind((ip, port)).unwrap())
    }

    /// The next caller, if there is one already.
    pub fn try_accept_handshake(&self) -> Option<(Raw, Hello)> {
        self.0.set_nonblocking(true).unwrap();
        let caller = self.0.accept();
        self.0.set_nonblocking(false).unwrap();
        let stream = caller.ok()?.0;
        stream.set_nonblocking(false).unwrap();
        Some(Self::listen_to(stream))
    }

    /// The next caller, after its request; its HELLO.
    pub fn accept_handshake(&self) -> (Raw, Hello) {
        Self::listen_to(self.0.accept().unwrap().0)
    }

    /// The next caller, of whom nothing has been read.
    pub fn accept_without_answer(&self) -> Raw {
        Raw::over(self.0.accept().unwrap().0)
    }

    fn listen_to(stream: TcpStream) -> (Raw, Hello) {
        let mut raw = Raw::over(stream);
        let request = raw.read(16);
        assert_eq!(request[..8], [0, 0x71, 0xce, 0xac, 1, 0, 0, 0]);
        let hello = raw.read_hello();
        (raw, hello)
    }

    /// Lets the next caller in.
    pub fn accept(&self, me: Ipv4Addr) -> (Raw, ConnectionType) {
        let (mut raw, asked) = self.accept_handshake();
        let kind = asked.connection_type.unwrap();
        let answer = Hello {
            version: asked.version,
            src_nid: tcp(me),
            dest_nid: Some(asked.src_nid),
            connection_type: Some(kind.mirror()),
            ..hello(me, me, None)
        };
        raw.version = asked.version;
        raw.send(&answer.encode().unwrap());
        (raw, kind)
    }
}

/// Bytes to send. They are never freed: the node reads and writes by address, to its very end.
pub fn pattern(len: usize, seed: u8) -> &'static [u8] {
    let byte = |i: usize| (i as u32).wrapping_mul(31).wrapping_add(u32::from(seed)) as u8;
    Box::leak((0..len).map(byte).collect())
}

/// Memory to receive into.
pub fn buffer(len: usize) -> &'static [u8] {
    Box::leak(vec![0; len].into())
}

/// A HELLO of a node of this implementation with this number.
pub fn hello_of_same_implementation(
    from: Ipv4Addr,
    to: Ipv4Addr,
    number: u64,
    kind: ConnectionType,
) -> Hello {
    Hello { dest_incarnation: socklnd::implementation_id(number), ..hello(from, to, Some(kind)) }
}

/// A test that hangs is a test that fails, and says where.
pub struct Watchdog(Sender<()>);

impl Watchdog {
    pub fn new(case: &str) -> Self {
        let (alive, gone) = channel::<()>();
        let case = case.to_owned();
        std::thread::spawn(move || {
            if gone.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{case}: hangs");
                for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
                    let of = |file| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
                    eprintln!("  {}: {}", of("comm").trim(), of("wchan"));
                }
                std::process::abort();
            }
        });
        Self(alive)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A node on the higher address; the scripted peer has the lower.
pub fn node(change: impl Fn(&mut SocklndConfig)) -> (Node, Ipv4Addr, Ipv4Addr, u16) {
    let (low, high, port) = addresses();
    let mut config = config(port);
    config.min_reconnect = Duration::from_millis(20);
    change(&mut config);
    (Node::start(tcp(high), config), low, high, port)
}

/// Of a message that asks for no delivery ACK and brings none.
pub const NO_COOKIES: Cookies = Cookies { request: 0, ack: 0 };

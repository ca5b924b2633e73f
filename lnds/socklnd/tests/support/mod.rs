//! Nodes and scripted peers on addresses of the loopback network, a fresh pair for each test.
#![allow(dead_code, unreachable_pub, unused_imports)]

pub mod attack;
pub mod clock;
pub mod cutter;
pub mod forwarding;
pub mod node;
pub mod pair;
pub mod resend;
pub mod scripted_peer;
pub mod spy;

pub use clock::*;
pub use node::*;
pub use scripted_peer::*;

use lnet_core::Target;
use lnet_wire::{NetId, NetType, Nid, Pid};
use socklnd::{AcceptFrom, DeliveryAcks, SocklndConfig};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The time limit of each wait, far beyond the need; a test that reaches it has failed.
pub const TIMEOUT: Duration = Duration::from_secs(20);
pub const PORTAL: u32 = 9;
pub const BITS: u64 = 0x1122_3344;

static ADDRESSES: AtomicU32 = AtomicU32::new(0);
pub(crate) static NUMBERS: AtomicU64 = AtomicU64::new(0x1_0000);

/// Returns two addresses, the lower first, and a port that is free on both.
pub fn addresses() -> (Ipv4Addr, Ipv4Addr, u16) {
    let base = 0x7f00_0000
        | ((std::process::id() & 0xff) << 16)
        | ((ADDRESSES.fetch_add(4, Ordering::Relaxed) & 0xffff) + 0x101);
    let (low, high) = (Ipv4Addr::from(base), Ipv4Addr::from(base + 1));
    (low, high, free_port(low, high))
}

/// Returns a port that is free on both addresses.
pub fn free_port(low: Ipv4Addr, high: Ipv4Addr) -> u16 {
    loop {
        let there = TcpListener::bind((high, 0)).unwrap();
        let port = there.local_addr().unwrap().port();
        if TcpListener::bind((low, port)).is_ok() {
            return port;
        }
    }
}

/// Returns match bits that no other call has returned.
pub fn fresh_bits() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

pub fn tcp(ip: Ipv4Addr) -> Nid {
    Nid::new(NetId::new(NetType::TCP, 0), ip.into())
}

pub fn config(port: u16) -> SocklndConfig {
    SocklndConfig { accept: AcceptFrom::All, accept_port: port, ..SocklndConfig::default() }
}

/// Returns the configuration of a node that others recognise as one of this implementation.
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

pub fn target(nid: Nid) -> Target {
    Target { nid: Some(nid), pid: Pid::LUSTRE, portal: PORTAL, match_bits: BITS, offset: 0 }
}

/// Makes bytes to send. They are never freed: the node reads and writes by address, to its very end.
pub fn pattern(len: usize, seed: u8) -> &'static [u8] {
    let byte = |i: usize| (i as u32).wrapping_mul(31).wrapping_add(u32::from(seed)) as u8;
    Box::leak((0..len).map(byte).collect())
}

/// Makes memory to receive into.
pub fn buffer(len: usize) -> &'static [u8] {
    Box::leak(vec![0; len].into())
}

/// Makes a test that hangs fail, and prints where.
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

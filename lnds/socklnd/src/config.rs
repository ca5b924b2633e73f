//! The driver's tunables, with the kernel module's names, units and defaults (core-behaviour 11).

use crate::decide::delivery_acks::DeliveryAcks;
use crate::proto::Version;
pub use crate::proto::acceptor::AcceptFrom;
use lnet_wire::Pid;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The most connections of one bulk type to one peer that can be requested.
const MAX_CONNS_PER_PEER: u32 = 127;

/// The settings of a driver. They do not change after it is made.
#[derive(Clone, Debug)]
pub struct SocklndConfig {
    /// The process that this node is to its peers. Default 12345; kernel nodes answer no other.
    pub pid: Pid,
    /// From whom connections are accepted. Default: only from privileged source ports.
    pub accept: AcceptFrom,
    /// The TCP port to listen on and to connect to, the same on all nodes. Default 988.
    pub accept_port: u16,
    /// How long a connecting peer may take for each piece of its handshake. Default 5 s.
    pub accept_timeout: Duration,
    /// How many connecting peers the system keeps waiting for the acceptor. Default 127.
    pub accept_backlog: i32,
    /// How many connections connecting peers from one address may have, those that have not sent a HELLO among them; 0: as many as
    /// there may be in all, which is three in four of the descriptors that the process may have. In any other case at
    /// most half of those. Default 1024.
    pub conns_per_address: usize,
    /// How long anything on the network may take: a connect, the next byte of an unfinished message, the
    /// next byte to leave, a message's wait for a connection, a delivery ACK. Zero is the core's `lnet_lnd_timeout`
    /// ([`lnet_core::lnd::Upcalls::lnd_timeout`]), which follows its settings and is 16 s by default. Default zero.
    pub sock_timeout: Duration,
    /// Connections of each bulk type to one peer; 0 means 1, at most 127 count. Default 1.
    pub conns_per_peer: u32,
    /// Whether small messages and bulk have connections of their own. Default yes.
    pub typed_conns: bool,
    /// A message of at least this many bytes, headers included, is bulk. What is
    /// not bulk shares one connection with the answers to it, so that TCP's acknowledgements travel with them. Default
    /// 12 KiB, as for `rx_copy_below`; the kernel's is 1 KiB.
    pub min_bulk: u32,
    /// A peer from which nothing has arrived for so long is sent a keep-alive. Zero: never. Default 30 s.
    pub keepalive: Duration,
    /// Idle time before TCP's own keep-alive probes. Default 30 s.
    pub keepalive_idle: Duration,
    /// Time between TCP's probes. Default 5 s.
    pub keepalive_intvl: Duration,
    /// Unanswered probes after which TCP gives up. Default 5.
    pub keepalive_count: u32,
    /// The wait after a failed connect. While something is to be sent to a peer that has no connection it stays at that,
    /// or somewhat less; for a set of connections that is not complete it doubles with each further failure. Default
    /// 500 ms; the kernel's is 1 s.
    pub min_reconnect: Duration,
    /// The longest wait between connects. Default 60 s.
    pub max_reconnect: Duration,
    /// How long a peer may leave unanswered what is under way to it, retransmissions included, before the core is asked
    /// whether there is another path. Zero: it is never asked, and `sock_timeout` is all there is. Default 600 ms.
    pub unresponsive_timeout: Duration,
    /// Whether messages on version 2 connections carry a checksum. Default no.
    pub enable_csum: bool,
    /// Who this node is to others of this implementation, so that they know messages again that come twice: a number
    /// of [`crate::implementation_id`], drawn anew for each start. 0, the default: it passes for a kernel.
    pub implementation_id: u64,
    /// Which messages ask for a delivery ACK. Default: only large ones, as in the kernel.
    pub delivery_acks: DeliveryAcks,
    /// From how many bytes of payload on a message is large enough for a delivery ACK. Default: none is.
    pub zc_min_payload: Option<u32>,
    /// Whether TCP may hold small segments back. Default no.
    pub nagle: bool,
    /// A payload of fewer bytes may be received together with other messages, and is copied to its memory; a larger one is
    /// received there. Default 12 KiB.
    pub rx_copy_below: usize,
    /// The TCP congestion control of all connections. Default: the system's.
    pub congestion: Option<String>,
    /// Whether connections are bound to the link of their NI (SO_BINDTODEVICE), so that they leave by it whatever the machine's routes
    /// say, and take only what arrives by it. Those to this machine itself are not. Default no.
    pub bind_to_device: bool,
    /// The protocol proposed to a peer whose version is not known; connects to IPv6 peers always propose
    /// version 4. Default version 3.
    pub use_protocol: Version,
    /// Threads that read and write established connections. Default 1, at least 1.
    pub schedulers: usize,
    /// Gives an NI its incarnation when it starts: nanoseconds that never go back over restarts.
    /// Default: the wall clock.
    pub incarnation: fn() -> u64,
}

/// How many connections of each bulk type there are when so many are requested. 0 lets the driver choose: 1.
pub(crate) fn bulk_conns(requested: u32) -> u16 {
    requested.clamp(1, MAX_CONNS_PER_PEER) as u16
}

impl Default for SocklndConfig {
    fn default() -> Self {
        Self {
            pid: Pid::LUSTRE,
            accept: AcceptFrom::Secure,
            accept_port: 988,
            accept_timeout: Duration::from_secs(5),
            accept_backlog: 127,
            conns_per_address: 1024,
            sock_timeout: Duration::ZERO,
            conns_per_peer: 1,
            typed_conns: true,
            min_bulk: 12 << 10,
            keepalive: Duration::from_secs(30),
            keepalive_idle: Duration::from_secs(30),
            keepalive_intvl: Duration::from_secs(5),
            keepalive_count: 5,
            min_reconnect: Duration::from_millis(500),
            max_reconnect: Duration::from_secs(60),
            unresponsive_timeout: Duration::from_millis(600),
            enable_csum: false,
            implementation_id: 0,
            delivery_acks: DeliveryAcks::Large,
            zc_min_payload: None,
            nagle: false,
            rx_copy_below: 12 << 10,
            congestion: None,
            bind_to_device: false,
            use_protocol: Version::V3,
            schedulers: 1,
            incarnation: wall_clock,
        }
    }
}

fn wall_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64)
}

//! The driver's tunables, with the kernel module's names, units and defaults (core-behaviour 11).

use crate::decide::delivery_acks::DeliveryAcks;
pub use crate::proto::acceptor::AcceptFrom;
use crate::proto::{ConnectionType, Version};
use lnet_core::NiTunables;
use lnet_wire::Pid;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The settings of a driver. They do not change after it is made.
#[derive(Clone, Debug)]
pub struct SocklndConfig {
    /// The tunables of every interface.
    pub ni: NiTunables,
    /// The LNet process id of this node. Default 12345; kernel nodes respond to no other.
    pub pid: Pid,
    /// Peers from which connections are accepted. Default: only those with privileged source ports.
    pub accept: AcceptFrom,
    /// The TCP port to listen on and to connect to, the same on all nodes. Default 988.
    pub accept_port: u16,
    /// The TCP port that bulk connections of this node are made to, and that it listens on as well; 0: `accept_port`. Default 0.
    pub accept_port_bulk: u16,
    /// Time limit for each piece of an inbound handshake. Default 5 s.
    pub accept_timeout: Duration,
    /// Length of the listen backlog: connecting peers that the system queues for the acceptor. Default 127.
    pub accept_backlog: i32,
    /// Maximum number of inbound connections from one address, including those without a HELLO yet. 0: no limit except the limit
    /// for all inbound connections, which is three quarters of the process's descriptor limit; any other value is reduced to
    /// half of that. Default 1024.
    pub conns_per_address: usize,
    /// Time limit for anything on the network: a connect, the next byte of an unfinished message, the
    /// next byte to leave, a message's wait for a connection, a delivery ACK. Zero is the core's `lnet_lnd_timeout`
    /// ([`lnet_core::lnd::Upcalls::lnd_timeout`]), which follows its settings and is 16 s by default. Default zero.
    pub sock_timeout: Duration,
    /// Connections of each bulk type to one peer, at most 127; 0: as many as suit the speed of the NI's link. Default 1.
    pub conns_per_peer: u32,
    /// Whether small messages and bulk have connections of their own. Default yes.
    pub typed_conns: bool,
    /// Size in bytes, headers included, from which on a message is bulk. Smaller messages share one connection with the
    /// responses to them, so that TCP's acknowledgements travel with them. Default 12 KiB, as for `rx_copy_below`; the
    /// kernel's is 1 KiB.
    pub min_bulk: u32,
    /// Time without anything from a peer after which a keep-alive is sent to it. Zero: never. Default 30 s.
    pub keepalive: Duration,
    /// Idle time before TCP's own keep-alive probes. Default 30 s.
    pub keepalive_idle: Duration,
    /// Time between TCP's probes. Default 5 s.
    pub keepalive_intvl: Duration,
    /// Number of probes without a response after which TCP gives up. Default 5.
    pub keepalive_count: u32,
    /// Wait after a failed connect. While something is to be sent to a peer without a connection, each wait has this length,
    /// or somewhat less; for an incomplete set of connections the wait doubles with each further failure. Default
    /// 500 ms; the kernel's is 1 s.
    pub min_reconnect: Duration,
    /// The longest wait between connects. Default 60 s.
    pub max_reconnect: Duration,
    /// Time without a response to messages in flight to a peer, retransmissions included, after which the core is asked
    /// for another path. Zero: the core is never asked, and only `sock_timeout` applies. Default 600 ms.
    pub unresponsive_timeout: Duration,
    /// Whether messages on version 2 connections carry a checksum. Default no.
    pub enable_csum: bool,
    /// Whether a node of this implementation identifies itself to its peers. If not, each treats the other as a kernel node.
    /// Default yes.
    pub says_implementation: bool,
    /// Number by which other nodes of this implementation identify this incarnation and recognise resent messages: a result
    /// of [`crate::implementation_id`], drawn anew for each start. 0, the default: the node looks like a kernel node.
    pub implementation_id: u64,
    /// Choice of messages that ask for a delivery ACK. Default: only large ones, as in the kernel.
    pub delivery_acks: DeliveryAcks,
    /// Payload size in bytes from which on a message is large enough for a delivery ACK. Default: none is.
    pub zc_min_payload: Option<u32>,
    /// Whether TCP may hold small segments back. Default no.
    pub nagle: bool,
    /// Payload size in bytes below which a payload may be received together with other messages and copied to its memory;
    /// a larger one is received directly into its memory. Default 12 KiB.
    pub rx_copy_below: usize,
    /// The TCP congestion control of all connections. Default: the system's.
    pub congestion: Option<String>,
    /// Whether connections are bound to the link of their NI (SO_BINDTODEVICE), so that they use it regardless of the
    /// machine's routes, and receive only what arrives on it. Connections to this machine itself are not bound. Default
    /// no.
    pub bind_to_device: bool,
    /// The protocol proposed to a peer whose version is not known; connects to IPv6 peers always propose
    /// version 4. Default version 3.
    pub use_protocol: Version,
    /// IP type of service of all packets of connections, 0 to 255; negative: the system's. Default -1.
    pub tos: i32,
    /// Threads that read and write established connections. Default 1, at least 1.
    pub schedulers: usize,
    /// Returns the incarnation of an NI when it starts: nanoseconds that never go back over restarts.
    /// Default: the wall clock.
    pub incarnation: fn() -> u64,
}

impl SocklndConfig {
    /// The port of a peer that a connection of this type is made to. One that is not typed carries small messages, too, so that it goes where
    /// every node listens.
    pub(crate) const fn port_for(&self, kind: ConnectionType) -> u16 {
        match kind {
            ConnectionType::BulkIn | ConnectionType::BulkOut if self.accept_port_bulk != 0 => {
                self.accept_port_bulk
            }
            _ => self.accept_port,
        }
    }

    /// Whether connections of this type are made to another port than those for small messages.
    pub(crate) const fn has_own_port(&self, kind: ConnectionType) -> bool {
        self.port_for(kind) != self.accept_port
    }

    /// The ports that an NI listens on: one or two.
    pub(crate) fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        let bulk = Some(self.accept_port_bulk).filter(|port| *port != 0 && *port != self.accept_port);
        std::iter::once(self.accept_port).chain(bulk)
    }
}

impl Default for SocklndConfig {
    fn default() -> Self {
        Self {
            ni: NiTunables::default(),
            pid: Pid::LUSTRE,
            accept: AcceptFrom::Secure,
            accept_port: 988,
            accept_port_bulk: 0,
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
            says_implementation: true,
            implementation_id: 0,
            delivery_acks: DeliveryAcks::Large,
            zc_min_payload: None,
            nagle: false,
            rx_copy_below: 12 << 10,
            congestion: None,
            bind_to_device: false,
            use_protocol: Version::V3,
            tos: -1,
            schedulers: 1,
            incarnation: wall_clock,
        }
    }
}

fn wall_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ConnectionType::{Any, BulkIn, BulkOut, Control};

    #[test]
    fn bulk_connections_go_to_the_port_for_bulk_and_a_node_listens_on_both() {
        for (accept_port, accept_port_bulk, to, listens) in [
            (988, 0, [988, 988, 988, 988], &[988][..]),
            (988, 988, [988, 988, 988, 988], &[988]),
            (988, 989, [988, 988, 989, 989], &[988, 989]),
            (1988, 0, [1988, 1988, 1988, 1988], &[1988]),
        ] {
            let config = SocklndConfig { accept_port, accept_port_bulk, ..SocklndConfig::default() };
            assert_eq!([Any, Control, BulkIn, BulkOut].map(|kind| config.port_for(kind)), to);
            assert_eq!(config.ports().collect::<Vec<_>>(), listens);
        }
    }
}

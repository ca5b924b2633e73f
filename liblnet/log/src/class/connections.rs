//! Classes of lines of the drivers, about connections with peers.

/// Adds the rows of these classes to others, and passes all to the next macro.
macro_rules! with_connections {
    ([$next:ident $($later:ident)*] $($rows:tt)*) => {
        $next! {
            [$($later)*] $($rows)*

            ConnectFailed {
                name: "connect_failed",
                level: Info,
                limit: AnyPeer,
                meaning: "A connection to a peer could not be made. What waits for it fails or takes another path; the driver tries again while there is something to send.",
                action: "The cause is in parentheses. See whether the peer runs, listens on the same port, and accepts connections from here.",
            }
            LargeNidsRefused {
                name: "large_nids_refused",
                level: Warn,
                limit: AnyPeer,
                meaning: "A peer over TCP supports no 20-byte NIDs (IPv6), which a message from or to another net has: as a router between an IPv4 and an IPv6 net sends, or a client that sends to one. Such messages fail; others go on.",
                action: "Update the peer: it must support version 4 of the HELLO, as 2.16 and later and this library do.",
            }
            BulkByControl {
                name: "bulk_by_control",
                level: Info,
                limit: AnyPeer,
                meaning: "There is no connection for bulk with a peer: the connects for it go to a port of its own on which the other node does not listen. Bulk goes by the connection for small messages, which wait behind it.",
                action: "Give both nodes the same LNET_ACCEPT_PORT_BULK (accept_port_bulk of a kernel node), and let firewalls pass connections to that port.",
            }
            InboundRejected {
                name: "inbound_rejected",
                level: Warn,
                limit: AnyPeer,
                meaning: "An inbound connection was rejected: by the accept policy (TCP), because it is another user's or there are too many (shared memory), or because what it sent is no handshake for this node.",
                action: "If it is a peer: it must use a NID of this node; over TCP the accept policy (LNET_ACCEPT) must allow its port; over shared memory it must run as this user. Otherwise find out what connects.",
            }
            InboundLimit {
                name: "inbound_limit",
                level: Warn,
                limit: AnyPeer,
                meaning: "A connection from another host was rejected: there are as many as one address, or this node, may have.",
                action: "Somebody may hold connections on purpose. Otherwise raise SOCKLND_CONNS_PER_ADDRESS or the limit of descriptors.",
            }
            AcceptFailed {
                name: "accept_failed",
                level: Warn,
                limit: AnyPeer,
                meaning: "The system refused to hand over a connection that has arrived. The driver drops the oldest handshake and tries again.",
                action: "Raise the limit of descriptors (`ulimit -n`).",
            }
            SocketUnpolled {
                name: "socket_unpolled",
                level: Error,
                limit: AnyPeer,
                meaning: "A socket could not be added to an epoll set; it was closed.",
                action: "Look for a shortage of memory, or of epoll watches (/proc/sys/fs/epoll/max_user_watches).",
            }
            ProtocolViolation {
                name: "protocol_violation",
                level: Warn,
                limit: AnyPeer,
                meaning: "A peer sent what the protocol does not allow; its connections were closed.",
                action: "Find out what runs at the peer: another version, or something hostile. With checksums on, it may be a damaged network.",
            }
            ConnectionStalled {
                name: "connection_stalled",
                level: Info,
                limit: AnyPeer,
                meaning: "The peer did not respond on a connection for the LND timeout, and what waited for it was closed: over TCP, nothing moved or no delivery ACK arrived; over InfiniBand, work failed or did not end in time; over shared memory, the peer read nothing or sent no hello.",
                action: "See whether the peer is overloaded or stopped, and with InfiniBand, whether the path to it works. The timeout is `lnet_lnd_timeout`, or that of the driver: SOCKLND_SOCK_TIMEOUT or O2IBLND_TIMEOUT.",
            }
            PeerUnresponsive {
                name: "peer_unresponsive",
                level: Info,
                limit: AnyPeer,
                meaning: "The peer's system does not answer on TCP while messages are under way, and messages take other paths.",
                action: "Look for a fault between the two addresses. The limit is SOCKLND_UNRESPONSIVE_MS.",
            }
            PeerClosed {
                name: "peer_closed",
                level: Info,
                limit: AnyPeer,
                meaning: "The peer has closed or reset its connections while messages to it were under way, as when its node or its program is stopped. Those that may be sent again take other paths, or wait for a new connection until their deadline.",
                action: "Find out who stopped the peer. If nobody did, look at its own log.",
            }
            PortUnprivileged {
                name: "port_unprivileged",
                level: Info,
                limit: Unlimited,
                meaning: "The process may not bind ports below 1024. Kernel nodes in their default mode (accept=secure) reject its connections.",
                action: "Give the program CAP_NET_BIND_SERVICE, or set `sysctl net.ipv4.ip_unprivileged_port_start=512`, or accept=all on the peers.",
            }
            DeviceUnbound {
                name: "device_unbound",
                level: Warn,
                limit: Unlimited,
                meaning: "SOCKLND_BIND_TO_DEVICE is set, but the connections of an NI cannot be bound to its link. They leave as the machine's routes say.",
                action: "Give the program CAP_NET_RAW (needed before Linux 5.7), or add source routes and unset the variable.",
            }
        }
    };
}

pub(super) use with_connections;

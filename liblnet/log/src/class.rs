//! The classes of lines that the libraries write: one for each kind of event that an operator may want to find, filter or
//! look up. `docs/logs.md` is generated from this table.

use log::Level;

/// The rate limit of the lines of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// All lines are written: each reports a change of state once, or responds to an action of an operator. No peer can
    /// cause them at will.
    Unlimited,
    /// The lines go through a [`crate::RateLimitedLog`]: a limited number in a period for each subject. This node or its
    /// machine causes them.
    PerSubject,
    /// The same, for subjects that an operator has configured, such as gateways. Any sender that claims to be one of them can
    /// cause the lines.
    PerConfigured,
    /// The same, and a limited number per period in the class, and in all such classes together: any peer can cause the
    /// lines.
    AnyPeer,
}

/// Makes [`LogClass`]; a class without one of its descriptions does not compile.
macro_rules! log_classes {
    ($($variant:ident {
        name: $name:literal,
        level: $level:ident,
        limit: $limit:ident,
        meaning: $meaning:literal,
        action: $action:literal,
    })*) => {
        /// The class of a line: the kind of event that it reports.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum LogClass {
            $(#[doc = $meaning] $variant,)*
        }

        impl LogClass {
            /// All classes, in the order of the documentation.
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            /// The name of the class, which does not change.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The target of the class's records: `lnet::` and its name.
            pub const fn target(self) -> &'static str {
                match self { $(Self::$variant => concat!("lnet::", $name),)* }
            }

            /// The level of the class's lines.
            pub const fn level(self) -> Level {
                match self { $(Self::$variant => Level::$level,)* }
            }

            /// The rate limit of the class's lines.
            pub const fn limit(self) -> Limit {
                match self { $(Self::$variant => Limit::$limit,)* }
            }

            /// The event that a line of the class reports.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// The action that the node's operator should take.
            pub const fn action(self) -> &'static str {
                match self { $(Self::$variant => $action,)* }
            }
        }
    };
}

impl LogClass {
    /// Whether the class's lines are changes of state, which the history of the node keeps.
    pub const fn is_kept(self) -> bool {
        matches!(
            self,
            Self::NiState
                | Self::NiRecovered
                | Self::NiHealth
                | Self::NiWaiting
                | Self::NiStarted
                | Self::PeerUnreachable
                | Self::PeerDegraded
                | Self::PeerReachable
                | Self::PeerUnresponsive
                | Self::PeerClosed
                | Self::PeerMismatch
                | Self::PeerRemoved
                | Self::RouteState
                | Self::RouteUp
                | Self::RouteHops
                | Self::RouterNet
                | Self::RoutingStopped
                | Self::NetUnreachable
                | Self::NetReachable
                | Self::PathUnresponsive
                | Self::PathResponsive
                | Self::ConnectFailed
                | Self::ConnectionStalled
                | Self::DiscoveryFailed
                | Self::FaultRule
                | Self::ConfigChanged
        )
    }

    /// Whether the class's lines go through a [`crate::RateLimitedLog`].
    pub const fn is_limited(self) -> bool {
        !matches!(self.limit(), Limit::Unlimited)
    }
}

log_classes! {
    NiState {
        name: "ni_state",
        level: Error,
        limit: Unlimited,
        meaning: "A local network interface (NI) has failed, as its driver or the machine says.",
        action: "Mend what is named in parentheses (link, address, device).",
    }
    NiRecovered {
        name: "ni_recovered",
        level: Warn,
        limit: Unlimited,
        meaning: "A local network interface (NI) that had failed works again, as its driver or the machine says.",
        action: "Nothing.",
    }
    NiHealth {
        name: "ni_health",
        level: Info,
        limit: AnyPeer,
        meaning: "Sending by a local NI has failed, or succeeds again, which changes its health value and with it its state. What lasts for less than two seconds has no line. Also: peers are told that the NI is down because it has no health, or that it is up again.",
        action: "`lnetctl net show -v 3` shows the health value and which kinds of failures were counted. A state that changes again and again points to a bad link.",
    }
    PeerUnreachable {
        name: "peer_unreachable",
        level: Error,
        limit: AnyPeer,
        meaning: "No path to a peer is usable. Messages to it wait until a path responds, and fail at their deadline. A loss that lasts for less than two seconds has no line.",
        action: "See whether the peer runs, and whether the network between responds (`lnetctl ping`). With no net in common: configure one, or a route.",
    }
    RouteState {
        name: "route_state",
        level: Error,
        limit: PerConfigured,
        meaning: "A route cannot be used any more: its gateway does not answer, does not forward, or has no working interface on one of the two nets. Messages go by other routes while any is up. What lasts for less than two seconds has no line; `lnetctl events` has each change. The line about the net tells of its only route.",
        action: "`lnetctl peer show -v` and `lnetctl ping` of the gateway say what it answers; `lnetctl set routing 1` there has it forward.",
    }
    RouteUp {
        name: "route_up",
        level: Warn,
        limit: PerConfigured,
        meaning: "A route that was down can be used again.",
        action: "Nothing.",
    }
    RouteHops {
        name: "route_hops",
        level: Warn,
        limit: PerConfigured,
        meaning: "A gateway has no interface on the net of its route, though the route has one hop or none was given. While `avoid_asym_router_failure` is on, a route of one hop is not used then.",
        action: "Give the route the number of its hops: `lnetctl route add --hop`. If it is one, `lnetctl ping` of the gateway shows which interface is missing.",
    }
    RouterNet {
        name: "router_net",
        level: Warn,
        limit: Unlimited,
        meaning: "This router has received nothing on one of its nets for `alive_router_check_interval` and `router_ping_timeout` seconds, and tells its peers that its interfaces there are down; or something has arrived there again.",
        action: "Nodes that have routes over this router ask it once in `alive_router_check_interval`. If there are any on the net, look for what keeps them from it: `lnetctl ping` from there.",
    }
    RoutingStopped {
        name: "routing_stopped",
        level: Info,
        limit: Unlimited,
        meaning: "Routing was switched off, and peers have had the time to learn it: the node forwards nothing any more.",
        action: "Nothing.",
    }
    NetUnreachable {
        name: "net_unreachable",
        level: Error,
        limit: PerConfigured,
        meaning: "No route to a net is up. Messages to it are sent to gateways that may not answer, or wait for a route, and fail at their deadline.",
        action: "The lines of the class `route_state` before name the routes that went down. `lnetctl route show -v` shows their states.",
    }
    NetReachable {
        name: "net_reachable",
        level: Warn,
        limit: PerConfigured,
        meaning: "A route to a net is up again, after none was.",
        action: "Nothing.",
    }
    PeerDegraded {
        name: "peer_degraded",
        level: Warn,
        limit: AnyPeer,
        meaning: "Only some of the paths to a peer are usable, or it is reachable again after an outage. What lasts for less than two seconds has no line.",
        action: "`lnetctl peer show -v` shows which paths do not respond. Nothing to do where all are usable again.",
    }
    PeerReachable {
        name: "peer_reachable",
        level: Debug,
        limit: AnyPeer,
        meaning: "Something has arrived from a peer for the first time, nothing is known of its paths any more, or its state follows from that of routes or of local interfaces: the lines about those say it.",
        action: "Nothing.",
    }
    PathUnresponsive {
        name: "path_unresponsive",
        level: Info,
        limit: AnyPeer,
        meaning: "What is sent on a path is not acknowledged, or an interface at one end of it has failed. It is used only when there is no other, until something arrives over it.",
        action: "Look for a fault between the two addresses: a switch, a firewall, a wrong VLAN or MTU.",
    }
    PathResponsive {
        name: "path_responsive",
        level: Info,
        limit: AnyPeer,
        meaning: "An unresponsive path has recovered: something has arrived over it.",
        action: "Nothing.",
    }
    MessageResent {
        name: "message_resent",
        level: Debug,
        limit: AnyPeer,
        meaning: "A message could not be sent on one path and is sent on another. The line about the peer has their number.",
        action: "Nothing for single lines. Where the same pair fails again and again, treat it as an unresponsive path.",
    }
    MessageFailed {
        name: "message_failed",
        level: Info,
        limit: AnyPeer,
        meaning: "A message was given up: no further attempt may be made, or none could be. The program that sent it was told. The line about the peer has their number.",
        action: "The cause in parentheses is LNet's health status and the errno. See whether the peer is reachable, and the lines before.",
    }
    RequestRefused {
        name: "request_refused",
        level: Error,
        limit: PerSubject,
        meaning: "This node refuses a request of its own program, which it was told: a PUT or GET that cannot be sent, or a portal that no node has.",
        action: "The line says what is wrong and what to do. What needs another argument is to be mended in the program, what needs a net or a route in the configuration.",
    }
    RequestsLost {
        name: "requests_lost",
        level: Error,
        limit: Unlimited,
        meaning: "The node was shut down while PUTs or GETs of its program had not left, and did not within two seconds. They may not have arrived.",
        action: "The program should wait for LNET_EVENT_SEND, or for LNET_EVENT_ACK, before LNetNIFini. If it did nothing wrong, the peer did not take them: see the lines before.",
    }
    EventsLost {
        name: "events_lost",
        level: Error,
        limit: Unlimited,
        meaning: "An event queue of the program, without a handler, is full, and an event was overwritten before the program had read it. One line for each queue.",
        action: "Mend the program: it reads the queue until an event of each memory descriptor has `unlinked` set (LNetEQGet, LNetEQWait, LNetEQPoll), and makes it for as many events as can come at a time (LNetEQAlloc).",
    }
    MessageDropped {
        name: "message_dropped",
        level: Warn,
        limit: AnyPeer,
        meaning: "A message that arrived was dropped; the cause says why. Its sender finds out by its own timeout.",
        action: "`no match` is usual while a service starts or stops. Otherwise see whether the receiving program has attached a match entry with memory for the portal, the match bits and the length that the line names; for other causes compare the configuration of the two nodes.",
    }
    TransitDropped {
        name: "transit_dropped",
        level: Info,
        limit: AnyPeer,
        meaning: "A router dropped a message for another node, to which no way is up. Its sender finds out by its own timeout.",
        action: "The lines about the peer or the routes say since when it is so.",
    }
    ResponseUnclaimed {
        name: "response_unclaimed",
        level: Info,
        limit: AnyPeer,
        meaning: "An ACK or REPLY arrived that no MD waits for: its request has ended, or was answered before.",
        action: "Nothing. The request that ended too early has a line of its own.",
    }
    PeerLimit {
        name: "peer_limit",
        level: Warn,
        limit: AnyPeer,
        meaning: "A message of an unknown peer was dropped, because this node knows as many peers as it may.",
        action: "Somebody may be sending under invented NIDs. Restrict who may connect (the accept policy, a firewall).",
    }
    RepliesUnread {
        name: "replies_unread",
        level: Warn,
        limit: AnyPeer,
        meaning: "A peer requests replies faster than it receives them; further requests of it are dropped.",
        action: "See whether that peer is overloaded, or hostile.",
    }
    ResponseTimeout {
        name: "response_timeout",
        level: Warn,
        limit: AnyPeer,
        meaning: "An ACK or REPLY of a peer that is reachable did not arrive before its deadline; the MD that waited for it was unlinked.",
        action: "A request that was sent and matched nothing at its receiver gets no response: see the receiver's log for `message_dropped`. Otherwise see whether the peer is overloaded or gone. The deadline is `lnetctl set transaction_timeout`.",
    }
    ResponseLost {
        name: "response_lost",
        level: Info,
        limit: AnyPeer,
        meaning: "An ACK or REPLY did not arrive before its deadline from a peer that is not, or not by all paths, reachable; the MD that waited for it was unlinked.",
        action: "The line about the peer says since when it is so.",
    }
    RecoveryPingFailed {
        name: "recovery_ping_failed",
        level: Info,
        limit: AnyPeer,
        meaning: "A ping of an unhealthy interface, to find out whether it has recovered, failed. Pings go on, at growing intervals.",
        action: "Nothing while the cause is known. `lnetctl peer show -v 3` shows the health values.",
    }
    DiscoveryFailed {
        name: "discovery_failed",
        level: Info,
        limit: AnyPeer,
        meaning: "A ping or push of discovery failed. The line says whether it is retried, or messages fail that waited for it; otherwise the peer is used as it is known.",
        action: "See whether the peer is reachable by the NID in the line.",
    }
    DiscoveryLoop {
        name: "discovery_loop",
        level: Error,
        limit: AnyPeer,
        meaning: "The discovery of a peer made too many steps without an end; it was stopped. This is a defect of the library.",
        action: "Please report it, with the lines before.",
    }
    PingInfoInvalid {
        name: "ping_info_invalid",
        level: Warn,
        limit: AnyPeer,
        meaning: "The interface list that a peer sent (ping reply or push) cannot be decoded; it was ignored.",
        action: "Find out what runs at that NID: another version, or something that is not LNet.",
    }
    PushRejected {
        name: "push_rejected",
        level: Info,
        limit: AnyPeer,
        meaning: "A node that is no router pushed an interface list in the name of another node; it was ignored.",
        action: "Find out what runs at the sender's NID: it may be hostile.",
    }
    PeerNidRejected {
        name: "peer_nid_rejected",
        level: Error,
        limit: AnyPeer,
        meaning: "A peer claims a NID that it cannot have, for the reason in the line; the NID is not added to it.",
        action: "Two nodes may be configured with one address, or a peer here with a wrong NID: compare `lnetctl peer show` with the nodes themselves.",
    }
    PeerNidTruncated {
        name: "peer_nid_truncated",
        level: Warn,
        limit: AnyPeer,
        meaning: "Messages came from a NID that no node has: a node with NIDs of both address families in one net sent to an IPv4 NID from an IPv6 NID, in a protocol that holds four bytes of its address, as kernel nodes of 2.17 do. They are answered, the NID is not kept as a peer, and is not merged with any. Said once for each NID, whose connections have no lines from then on; `peer_closed` may come first, while nothing tells this node yet what the NID is.",
        action: "Nothing on this node. On the other node requests may hang for a while: there, give the NIs of the two families different nets, or configure those of one family only.",
    }
    OriginRefused {
        name: "origin_refused",
        level: Info,
        limit: AnyPeer,
        meaning: "A node that is not on the way from another brought a message that names that one as its origin. It is received as a message of the node that brought it. Said once for each peer; `stats show` counts them (`origin_refused_count`).",
        action: "If it is a gateway: add a route over it to the net of the source, so that the way back is the way there. Otherwise find out what runs at that NID: it may be hostile.",
    }
    PeerNidsIgnored {
        name: "peer_nids_ignored",
        level: Warn,
        limit: AnyPeer,
        meaning: "A peer has more interfaces than this node keeps of one peer; the first ones of its list are used.",
        action: "Where all are needed: `lnetctl set max_interfaces`. Otherwise nothing.",
    }
    PeerMismatch {
        name: "peer_mismatch",
        level: Warn,
        limit: AnyPeer,
        meaning: "What a peer says of itself differs from how it is known here, and this node does not adopt it (discovery is off, or an operator configured the peer).",
        action: "Correct the peer's configuration here (`lnetctl peer add`, `peer del`), or the peer itself.",
    }
    PeerRemoved {
        name: "peer_removed",
        level: Info,
        limit: AnyPeer,
        meaning: "A peer was removed because it does not take part in discovery any more. It is created anew when it is needed.",
        action: "Nothing.",
    }
    PingTargetFailed {
        name: "ping_target_failed",
        level: Error,
        limit: AnyPeer,
        meaning: "The memory that answers pings, or that receives pushes, could not be posted: peers learn of changes late, or this node of theirs.",
        action: "Look for a shortage of memory. The node tries again with the next change.",
    }
    FaultRule {
        name: "fault_rule",
        level: Warn,
        limit: Unlimited,
        meaning: "A fault injection rule was added: messages are dropped or delayed on purpose.",
        action: "Nothing in a test. `lnetctl fault drop del` and `lnetctl fault delay del` end it.",
    }
    ConfigInvalid {
        name: "config_invalid",
        level: Error,
        limit: Unlimited,
        meaning: "A variable of the environment or the configuration file cannot be used; the node does not start.",
        action: "Correct what is named; docs/environment.md and docs/configuration.md list what may stand there.",
    }
    ConfigChanged {
        name: "config_changed",
        level: Info,
        limit: Unlimited,
        meaning: "Somebody has changed the configuration of the node while it runs.",
        action: "Nothing. The line has the request, and the user and the process that made it.",
    }
    ConfigIgnored {
        name: "config_ignored",
        level: Warn,
        limit: Unlimited,
        meaning: "Something in the configuration has no effect on this node; all else of it has.",
        action: "Correct or remove what is named, unless one configuration serves nodes that differ.",
    }
    NiNotStarted {
        name: "ni_not_started",
        level: Error,
        limit: Unlimited,
        meaning: "An interface could not be added to the node.",
        action: "Do what the line says, or compare the configuration with `ip address`. `Address already in use`: another node of this machine has the address.",
    }
    NiWaiting {
        name: "ni_waiting",
        level: Warn,
        limit: PerSubject,
        meaning: "An interface of the configuration is not there when the node starts, is down or has no address. The node starts without it.",
        action: "Nothing, if the interface comes later in the boot. `lnetctl net show` has what the node waits for; a name that is wrong goes with `lnetctl net del`.",
    }
    NiStarted {
        name: "ni_started",
        level: Info,
        limit: PerSubject,
        meaning: "An interface that was not there when the node started has come, and its NI is in use.",
        action: "Nothing.",
    }
    NoNetwork {
        name: "no_network",
        level: Warn,
        limit: Unlimited,
        meaning: "The node has no interface but the loopback and reaches no other node.",
        action: "Set LNET_NETWORKS, or add a net with `lnetctl net add`.",
    }
    NetworkDown {
        name: "network_down",
        level: Error,
        limit: Unlimited,
        meaning: "The program has called a function of the C API, and the process has never had a network: LNetNIInit has not been called, or has failed. One line for each process.",
        action: "Mend the program: it calls LNetNIInit first, and goes on only if the result is not negative.",
    }
    SubnetShared {
        name: "subnet_shared",
        level: Warn,
        limit: Unlimited,
        meaning: "Interfaces of this node are in one subnet on different links, and what one of them sends leaves by the link of another: the machine has no source routes. Several NIs use one link, and stop with it.",
        action: "Add a source route for each address (`ip rule add from ADDRESS table N`, `ip route add SUBNET dev LINK table N`), or set SOCKLND_BIND_TO_DEVICE=1. In both cases set arp_ignore=1 and arp_announce=2 for the links, so that each answers for its own address.",
    }
    RequestWarning {
        name: "request_warning",
        level: Warn,
        limit: Unlimited,
        meaning: "A node in another process carried out what this process asked for through liblnetconfig, and warns about it. The line is that node's, which has it in its own log as well.",
        action: "Do what the line says.",
    }
    LinksUnwatched {
        name: "links_unwatched",
        level: Warn,
        limit: Unlimited,
        meaning: "The links and addresses of this machine are not watched. That an interface has failed is found by timeouts only.",
        action: "See whether the process may open netlink sockets (sandbox, seccomp), and how many descriptors it may have.",
    }
    LinkListFailed {
        name: "link_list_failed",
        level: Warn,
        limit: PerSubject,
        meaning: "The links of this machine could not be listed; the node tries again.",
        action: "Look for a shortage of descriptors or memory.",
    }
    NumaUnknown {
        name: "numa_unknown",
        level: Info,
        limit: Unlimited,
        meaning: "The kernel does not say on which NUMA node memory is (a container may forbid it). Interfaces are chosen by the NUMA node of the thread.",
        action: "Nothing, or allow the process move_pages().",
    }
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
    ThreadFailed {
        name: "thread_failed",
        level: Error,
        limit: Unlimited,
        meaning: "A thread of the node could not be started, or ended by a panic.",
        action: "Not started: raise the limit of threads or memory. Panic: please report it, with the message of the panic above.",
    }
    InternalError {
        name: "internal_error",
        level: Error,
        limit: AnyPeer,
        meaning: "A part of the library panicked while it worked; the others go on. This is a defect of the library.",
        action: "Please report it, with the message of the panic above.",
    }
    HandlerInUse {
        name: "handler_in_use",
        level: Error,
        limit: Unlimited,
        meaning: "The program holds that no memory descriptor uses a handler any more (lnet_assert_handler_unused), but one does, or a call of the handler runs that cannot be waited for.",
        action: "Unlink the descriptors, and wait for their last events, before the call.",
    }
    ApiDisabled {
        name: "api_disabled",
        level: Error,
        limit: Unlimited,
        meaning: "A call of the C API panicked. All further calls of this process fail with ENETDOWN. This is a defect of the library.",
        action: "Please report it, with the message of the panic above. Start the program anew.",
    }
    ControlUnavailable {
        name: "control_unavailable",
        level: Warn,
        limit: Unlimited,
        meaning: "The control socket cannot be served: lnetctl does not reach this node. The node itself works.",
        action: "See whether LNET_RUNTIME_DIR can be written to, and whether another process has this node's name (LNET_NODE).",
    }
    MetricsUnavailable {
        name: "metrics_unavailable",
        level: Warn,
        limit: Unlimited,
        meaning: "Metrics and health cannot be served over HTTP, or a connection could not be accepted. The node itself works.",
        action: "See whether another process listens on the address (LNET_METRICS), and whether the process has descriptors left.",
    }
    ControlAcceptFailed {
        name: "control_accept_failed",
        level: Warn,
        limit: PerSubject,
        meaning: "A client of the control socket could not be accepted; the node tries again.",
        action: "Look for a shortage of descriptors or memory.",
    }
    ControlClientRejected {
        name: "control_client_rejected",
        level: Warn,
        limit: PerSubject,
        meaning: "A client of the control socket or the status socket was rejected: not the owner nor root, or too many clients.",
        action: "Use lnetctl as the user whose process the node is, or as root. Too many: find out who holds connections.",
    }
    ControlClientRemoved {
        name: "control_client_removed",
        level: Info,
        limit: PerSubject,
        meaning: "There were too many clients of the control socket; the connection that was idle for longest was closed.",
        action: "Nothing. lnetctl connects anew by itself.",
    }
    ControlRequestFailed {
        name: "control_request_failed",
        level: Warn,
        limit: PerSubject,
        meaning: "A client of the control socket sent what is no request, or did not receive its reply; its connection is closed where it cannot be continued.",
        action: "Use the lnetctl of the same version as the library.",
    }
    ControlRequestStuck {
        name: "control_request_stuck",
        level: Warn,
        limit: Unlimited,
        meaning: "The node ends while a request of a client is still carried out; its thread is left to end by itself.",
        action: "Nothing, if it happens once. Otherwise please report it.",
    }
    NodeChoice {
        name: "node_choice",
        level: Info,
        limit: Unlimited,
        meaning: "Which node this process uses, and why: one of its own, or that of another process, to which it is attached.",
        action: "Nothing. LNET_ATTACH changes it.",
    }
    NotAttached {
        name: "not_attached",
        level: Error,
        limit: Unlimited,
        meaning: "The node that this process is to attach to is not there, or does not admit it.",
        action: "See whether `lnetd` of this name runs with the same LNET_RUNTIME_DIR, and whether this user may open its socket NAME.attach.",
    }
    Attached {
        name: "attached",
        level: Info,
        limit: PerSubject,
        meaning: "A program has attached to this node, or is not attached any more: it has left, or it has ended. What it had on the node is gone.",
        action: "Nothing.",
    }
    AttachRefused {
        name: "attach_refused",
        level: Warn,
        limit: PerSubject,
        meaning: "A program that wants to attach to this node is not admitted, for the reason that the line has. Its LNetNIInit fails with ENETDOWN.",
        action: "Too many programs: see which are attached. Another version: use the library of the same version as the daemon.",
    }
    AttachViolation {
        name: "attach_violation",
        level: Warn,
        limit: PerSubject,
        meaning: "A program that was attached has broken the rules of the rings, or has not read its events; its attachment is ended, and its calls fail with ENETDOWN.",
        action: "Not read: see whether the program hangs. Otherwise look at what the program does with memory that is not its own; if it does nothing wrong, please report it.",
    }
    PeerDump {
        name: "peer_dump",
        level: Warn,
        limit: Unlimited,
        meaning: "The answer to LNetDebugPeer(): what is known of a peer.",
        action: "Nothing.",
    }
    ForkUnwatched {
        name: "fork_unwatched",
        level: Warn,
        limit: Unlimited,
        meaning: "The library could not register for fork(): calls in a child process do not notice that it has no node.",
        action: "Do not call LNet in children of fork() before exec().",
    }
    ImportDisconnected {
        name: "import_disconnected",
        level: Warn,
        limit: Unlimited,
        meaning: "A PtlRPC client has lost the connection of an import: a request got no reply. It connects anew, to the next server if there is one.",
        action: "See whether the server runs and is reachable (`lnetctl ping`). Nothing if it was restarted.",
    }
    ReplyInvalid {
        name: "reply_invalid",
        level: Warn,
        limit: AnyPeer,
        meaning: "A PtlRPC reply cannot be decoded, or its bulk transfer failed; the request fails.",
        action: "Look at the server: it speaks another version of the protocol, or is defective.",
    }
    ReplyRejected {
        name: "reply_rejected",
        level: Warn,
        limit: AnyPeer,
        meaning: "The program that serves a PtlRPC request gave a reply that cannot be sent; the client gets the error instead.",
        action: "Mend the service: its reply is longer than it said, or invalid.",
    }
    HandlerPanicked {
        name: "handler_panicked",
        level: Error,
        limit: AnyPeer,
        meaning: "A handler or callback of the program panicked while it served PtlRPC; the request fails, the service goes on.",
        action: "Mend the program; the message of the panic stands above.",
    }
    LinesLost {
        name: "lines_lost",
        level: Warn,
        limit: Unlimited,
        meaning: "Standard error, or the journal, took no lines for a while: nobody read it, its disk was full, or it was closed. Lines that were to stand here are lost; the node went on.",
        action: "See who reads the standard error of the process, and whether the disk of its log is full.",
    }
    RequestBuffersFailed {
        name: "request_buffers_failed",
        level: Warn,
        limit: AnyPeer,
        meaning: "A PtlRPC service could not attach buffers for requests; requests wait at the clients.",
        action: "Give the process more memory, or stop another service on the same portal.",
    }
    ServiceStuck {
        name: "service_stuck",
        level: Warn,
        limit: Unlimited,
        meaning: "A PtlRPC service did not end in time, or its portal could not be given back; what it uses stays allocated.",
        action: "See which handler of the program has not returned.",
    }
    SelftestSession {
        name: "selftest_session",
        level: Warn,
        limit: AnyPeer,
        meaning: "A session of LNet selftest has ended because its console sent nothing for the session's timeout; its tests are stopped.",
        action: "Start the test anew; if the console still ran, see whether it reaches this node (`lnetctl ping`).",
    }
    SelftestService {
        name: "selftest_service",
        level: Error,
        limit: Unlimited,
        meaning: "The service of LNet selftest cannot start, or cannot serve a command of `lst`.",
        action: "Mend what the line names: a variable of the environment, or a limit of threads or memory.",
    }
    MotrTransport {
        name: "motr_transport",
        level: Info,
        limit: Unlimited,
        meaning: "A transfer machine for which the program asked for it (`m0_net_lnet_tm_set_debug`) has another state, or an operation of it has ended.",
        action: "Nothing.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Fails if two classes cannot be told apart in a log, or if one lacks the text for an operator.
    #[test]
    fn each_class_has_a_name_of_its_own_in_snake_case_and_is_described() {
        let names: HashSet<_> = LogClass::ALL.iter().map(|class| class.name()).collect();
        assert_eq!(names.len(), LogClass::ALL.len());
        for (index, class) in LogClass::ALL.into_iter().enumerate() {
            let name = class.name();
            assert_eq!(class as usize, index, "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert_eq!(class.target(), format!("lnet::{name}"));
            for text in [class.meaning(), class.action()] {
                assert!(text.len() > 7 && text.ends_with('.') && !text.contains('|'), "{name}: {text}");
            }
        }
    }
}

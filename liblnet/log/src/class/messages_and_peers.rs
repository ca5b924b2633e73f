//! Classes of lines of the core: about interfaces, routes, paths and messages, and about what is known of peers.

/// Adds the rows of these classes to others, and passes all to the next macro.
macro_rules! with_messages_and_peers {
    ([$next:ident $($later:ident)*] $($rows:tt)*) => {
        $next! {
            [$($later)*] $($rows)*

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
        }
    };
}

pub(super) use with_messages_and_peers;

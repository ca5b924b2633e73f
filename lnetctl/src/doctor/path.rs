//! The path to another node, step by step: each step needs the one before.

use super::host::LNET_PORT;
use super::{Finding, State};
use lnet_dlc::host_names::Names;
use lnet_dlc::request::{DistanceResponse, PingResponse};
use lnet_dlc::{Backend, ops};
use lnet_wire::nid::Address;
use lnet_wire::{Errno, NetType, Nid};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The longest time that a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The time in which a node that refuses a connection closes it, without waiting for a byte.
const ACCEPT_TIMEOUT: Duration = Duration::from_millis(500);
/// The longest time for the HELLO and the ping.
const PING_TIMEOUT_MS: u32 = 5000;

/// The names of the steps, in their order.
pub const STEPS: [&str; 5] = ["resolve", "lnet route", "connect", "accept", "hello and ping"];

/// Tries the path to the node that `text` names, until a step fails.
pub fn try_path(backend: &dyn Backend, text: &str, port: u16) -> Vec<Finding> {
    let nid = Names::new().nid(text).map_err(|error| error.to_string());
    let mut findings = vec![resolved(text, &nid)];
    let Ok(nid) = nid else { return findings };
    let distance = ops::diagnosis::distance(backend, nid);
    findings.push(lnet_route(nid, distance));
    if is_wrong(&findings) {
        return findings;
    }
    let address = direct_address(nid, distance.map(|it| it.hops).unwrap_or_default());
    findings.extend(connections(address.map(|address| SocketAddr::from((address, port)))));
    if !is_wrong(&findings) {
        findings.push(pinged(&ops::diagnosis::ping(backend, nid, PING_TIMEOUT_MS)));
    }
    findings
}

fn is_wrong(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.state == State::Wrong)
}

/// The address to which this node connects with TCP for messages to the NID; `None`: to a gateway, or without TCP.
fn direct_address(nid: Nid, hops: u32) -> Option<Ipv4Addr> {
    match (nid.net().kind(), nid.address(), hops) {
        (NetType::TCP, Address::Short(address), 1) => Some(Ipv4Addr::from(address)),
        _ => None,
    }
}

/// Connects, and waits whether the connection is closed.
fn connections(address: Option<SocketAddr>) -> Vec<Finding> {
    let Some(address) = address else {
        let skipped = || Finding::unknown("only tried for NIDs on TCP nets of this node");
        return vec![skipped(), skipped()];
    };
    match ops::diagnosis::probe(address, CONNECT_TIMEOUT, ACCEPT_TIMEOUT) {
        Err(error) => vec![connected(address, Err(error.kind()))],
        Ok(read) => vec![connected(address, Ok(())), accepted(address, read.map_err(|it| it.kind()))],
    }
}

fn resolved(text: &str, nid: &Result<Nid, String>) -> Finding {
    match nid {
        Ok(nid) => Finding::fine(nid.to_string()),
        Err(error) => Finding::wrong(
            format!("'{text}' is not a NID: {error}"),
            "write ADDRESS@NET, such as 192.0.2.1@tcp; a host's name needs the resolver of this host (getent hosts)",
        ),
    }
}

fn lnet_route(nid: Nid, distance: Result<DistanceResponse, Errno>) -> Finding {
    match distance {
        Ok(DistanceResponse { hops: 0, .. }) => Finding::fine("it is this node"),
        Ok(DistanceResponse { hops: 1, source, .. }) => Finding::fine(format!("from {source}, directly")),
        Ok(DistanceResponse { hops, source, .. }) => {
            Finding::fine(format!("from {source}, by gateways: {} hops", hops - 1))
        }
        Err(Errno::NetworkDown) => Finding::wrong(
            "no node runs here",
            "lnetctl lnet configure and lnetctl net add, or --networks 'tcp(eth0)' for a node of this command",
        ),
        Err(errno) => Finding::wrong(
            format!("this node is not on {}, and has no route there ({})", nid.net(), errno.text()),
            "lnetctl net add for a net of this host, lnetctl route add for one behind a gateway; is the net's number right?",
        ),
    }
}

fn connected(address: SocketAddr, result: Result<(), io::ErrorKind>) -> Finding {
    let failed = |what: &str, remedy: &str| Finding::wrong(format!("{address}: {what}"), remedy.to_owned());
    match result {
        Ok(()) => Finding::fine(format!("{address} accepts TCP connections")),
        Err(io::ErrorKind::ConnectionRefused) => failed(
            "connection refused: the host is there, and nothing listens on the port",
            "start LNet there, with the interface of this address; compare LNET_ACCEPT_PORT (accept_port) of both",
        ),
        Err(io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => failed(
            "no answer: the host is down, the address is another one's, or a firewall drops this",
            "ping the address; open the port in the firewalls of both hosts and between them",
        ),
        Err(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => failed(
            "no route to the host",
            "look at ip route get ADDRESS: is the host up, and is the interface of its subnet?",
        ),
        Err(io::ErrorKind::PermissionDenied) => {
            failed("a firewall of this host forbids it", "open the port for outgoing connections")
        }
        Err(kind) => failed(&kind.to_string(), "look at ip route get ADDRESS"),
    }
}

/// `read`: what came first. A node waits for the HELLO and says nothing before.
fn accepted(address: SocketAddr, read: Result<usize, io::ErrorKind>) -> Finding {
    match read {
        Err(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            Finding::fine("the connection stays open, from a high port")
        }
        Ok(0) | Err(_) => {
            // A node may connect from a low port, from which it is accepted: the next step shows that.
            Finding::warning(
                format!("{address} closes connections from ports above 1023 at once, as accept=secure does"),
                "this program, or lnetd, needs CAP_NET_BIND_SERVICE or net.ipv4.ip_unprivileged_port_start=512; or accept=all there",
            )
        }
        Ok(_) => Finding::warning(
            format!("{address} sends first, as no LNet node does"),
            format!("which program listens there? LNet's port is {LNET_PORT}"),
        ),
    }
}

fn pinged(result: &Result<PingResponse, Errno>) -> Finding {
    let failed = |errno: &Errno, remedy: &str| Finding::wrong(errno.text(), remedy.to_owned());
    match result {
        Ok(response) => {
            let nids: Vec<String> =
                response.nids.iter().filter(|nid| !nid.is_loopback()).map(Nid::to_string).collect();
            Finding::fine(format!("{} answers, with {}", response.primary, nids.join(", ")))
        }
        Err(errno @ (Errno::ConnectionRefused | Errno::ConnectionReset | Errno::Pipe)) => failed(
            errno,
            "the node closes the connection at the HELLO: is this NID its own, with this net, and does it accept this port? see the log there",
        ),
        Err(errno @ Errno::Protocol) => failed(
            errno,
            "what listens there is no LNet node, or one of another version; see the logs of both",
        ),
        Err(errno @ Errno::TimedOut) => failed(
            errno,
            "the connection is there, and no answer comes: do answers find a path back to this host (routes, rp_filter)?",
        ),
        Err(errno) => failed(errno, "see the logs of both nodes, and lnetctl peer explain --to NID"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State::{Fine, Warning, Wrong};
    use super::*;

    fn assert_is(finding: &Finding, state: State, seen: &str) {
        assert!(finding.state == state && finding.seen.contains(seen), "{seen}: {finding:?}");
        assert_eq!(finding.remedy.is_some(), state != Fine, "{finding:?}");
    }

    fn nid(text: &str) -> Nid {
        text.parse().unwrap()
    }

    #[test]
    fn each_step_says_what_was_seen_and_what_to_do() {
        let address = SocketAddr::from(([192, 0, 2, 1], 988));
        let far = |hops| Ok(DistanceResponse { hops, source: nid("192.0.2.9@tcp"), order: 0 });
        let response = PingResponse {
            primary: nid("192.0.2.1@tcp"),
            pid: 12345,
            multi_rail: true,
            nids: ["0@lo", "192.0.2.1@tcp", "192.0.2.2@tcp"].map(nid).to_vec(),
        };
        let table = [
            (resolved("mds1@tcp", &Ok(nid("192.0.2.1@tcp"))), Fine, "192.0.2.1@tcp"),
            (resolved("mds1", &Err("unknown host".to_owned())), Wrong, "'mds1' is not a NID: unknown host"),
            (lnet_route(nid("192.0.2.1@tcp"), far(0)), Fine, "this node"),
            (lnet_route(nid("192.0.2.1@tcp"), far(1)), Fine, "from 192.0.2.9@tcp, directly"),
            (lnet_route(nid("192.0.2.1@tcp7"), far(2)), Fine, "by gateways: 1 hops"),
            (lnet_route(nid("192.0.2.1@tcp7"), Err(Errno::HostUnreachable)), Wrong, "not on tcp7"),
            (lnet_route(nid("192.0.2.1@tcp"), Err(Errno::NetworkDown)), Wrong, "no node runs here"),
            (connected(address, Ok(())), Fine, "192.0.2.1:988 accepts"),
            (connected(address, Err(io::ErrorKind::ConnectionRefused)), Wrong, "nothing listens on the port"),
            (connected(address, Err(io::ErrorKind::TimedOut)), Wrong, "no answer"),
            (connected(address, Err(io::ErrorKind::HostUnreachable)), Wrong, "no route to the host"),
            (accepted(address, Err(io::ErrorKind::WouldBlock)), Fine, "stays open"),
            (accepted(address, Ok(0)), Warning, "accept=secure"),
            (accepted(address, Err(io::ErrorKind::ConnectionReset)), Warning, "accept=secure"),
            (accepted(address, Ok(1)), Warning, "sends first"),
            (pinged(&Ok(response)), Fine, "192.0.2.1@tcp answers, with 192.0.2.1@tcp, 192.0.2.2@tcp"),
            (pinged(&Err(Errno::ConnectionRefused)), Wrong, "Connection refused"),
            (pinged(&Err(Errno::Protocol)), Wrong, "rotocol"),
            (pinged(&Err(Errno::TimedOut)), Wrong, "timed out"),
        ];
        for (finding, state, seen) in table {
            assert_is(&finding, state, seen);
        }
    }

    #[test]
    fn tcp_is_tried_for_neighbours_on_tcp_only() {
        let table = [
            ("192.0.2.1@tcp", 1, Some(Ipv4Addr::new(192, 0, 2, 1))),
            ("192.0.2.1@tcp", 2, None),
            ("192.0.2.1@o2ib", 1, None),
            ("192.0.2.1@tcp", 0, None),
        ];
        for (text, hops, expected) in table {
            assert_eq!(direct_address(nid(text), hops), expected, "{text} {hops}");
        }
    }
}

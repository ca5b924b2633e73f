//! The path to another node, step by step: each step needs the one before.

use super::host::LNET_PORT;
use super::{Finding, State};
use lnet_dlc::host_names::Names;
use lnet_dlc::request::{DistanceResponse, PingResponse};
use lnet_dlc::{Backend, ops};
use lnet_wire::{Errno, NetType, Nid};
use socklnd::hello_probe::{self, Answer, Asked};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The longest time that a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The time in which a node that refuses a connection closes it, without waiting for a byte.
const ACCEPT_TIMEOUT: Duration = Duration::from_millis(500);
/// The longest time that an answer to a HELLO may take, that of an acceptor for another client that sends nothing.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time for the ping.
const PING_TIMEOUT_MS: u32 = 5000;
/// The most bytes of an unknown protocol that are shown.
const SHOWN_BYTES: usize = 24;

/// The names of the steps, in their order.
pub const STEPS: [&str; 6] = ["resolve", "lnet route", "connect", "accept", "hello", "ping"];

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
    match distance.ok().and_then(|it| Some((it.source, direct_address(nid, it.hops)?))) {
        Some((source, address)) => {
            findings.extend(connections(source, SocketAddr::from((address, port)), nid));
        }
        None => findings
            .extend([(); 3].map(|()| Finding::unknown("only tried for NIDs on TCP nets of this node"))),
    }
    if !is_wrong(&findings) {
        findings.push(pinged(&ops::diagnosis::ping(backend, nid, PING_TIMEOUT_MS)));
    }
    findings
}

fn is_wrong(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.state == State::Wrong)
}

/// The address to which this node connects with TCP for messages to the NID; `None`: to a gateway, or without TCP.
fn direct_address(nid: Nid, hops: u32) -> Option<IpAddr> {
    (nid.net().kind() == NetType::TCP && hops == 1).then(|| nid.address().ip())
}

/// Connects, waits whether the connection is closed, and asks for a HELLO by another one.
fn connections(source: Nid, address: SocketAddr, nid: Nid) -> Vec<Finding> {
    let read = match ops::diagnosis::probe(address, CONNECT_TIMEOUT, ACCEPT_TIMEOUT) {
        Err(error) => return vec![connected(address, Err(error.kind()))],
        Ok(read) => accepted(address, read.map_err(|it| it.kind())),
    };
    let stays_open = read.state == State::Fine;
    let asked = hello_probe::ask(source, address, nid, HELLO_TIMEOUT).map_err(|it| it.kind());
    vec![connected(address, Ok(())), read, said_hello(address, nid, stays_open, asked)]
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

/// `stays_open`: whether a connection from a high port was not closed at once.
fn said_hello(
    address: SocketAddr,
    nid: Nid,
    stays_open: bool,
    asked: Result<Asked, io::ErrorKind>,
) -> Finding {
    const VERSIONS: &str = "compare the releases of LNet on both nodes";
    let Asked { from_low_port, answer } = match asked {
        Ok(asked) => asked,
        Err(io::ErrorKind::AddrNotAvailable) => {
            return Finding::unknown(
                "the address of this node is not one of this host's: it is not asked from here",
            );
        }
        Err(kind) => return connected(address, Err(kind)),
    };
    match answer {
        Answer::Hello { version, nid: its } if its == nid => {
            Finding::fine(format!("{nid} answers, and speaks version {}", version as u32))
        }
        Answer::Hello { nid: its, .. } => Finding::wrong(
            format!("{address} says that it is {its}, and not {nid}"),
            "have two hosts the address, or is there a translation of addresses (NAT) on the way?",
        ),
        Answer::UnknownVersion(version) => Finding::wrong(
            format!("{address} speaks version {version}, which this library does not"),
            VERSIONS,
        ),
        Answer::UnknownRequest(version) => Finding::wrong(
            format!("{address} refuses the connection request: it takes version {version} of it only"),
            VERSIONS,
        ),
        Answer::Foreign(bytes) => Finding::wrong(
            format!("{address} answers with what is no HELLO: '{}'", printable(&bytes)),
            format!(
                "which program listens there? LNet's port is {LNET_PORT}; compare LNET_ACCEPT_PORT (accept_port) of both"
            ),
        ),
        Answer::Closed if from_low_port || stays_open => Finding::wrong(
            format!("{address} closes the connection when it is asked for {nid}"),
            "is it a NID of that node, with this net (lnetctl net show there)? its log says why it closes",
        ),
        Answer::Closed => Finding::unknown(format!(
            "{address} closes connections of this program before the HELLO: the ping shows whether it takes those of the node"
        )),
        Answer::Nothing => Finding::wrong(
            format!("{address} has not answered within {} s", HELLO_TIMEOUT.as_secs()),
            "what listens there hangs, or is no LNet node; an acceptor that waits for another client, which sends nothing, answers if it is asked again",
        ),
    }
}

/// The beginning of bytes, with a dot for what cannot be printed.
fn printable(bytes: &[u8]) -> String {
    let is_shown = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    bytes.iter().take(SHOWN_BYTES).map(|&byte| if is_shown(byte) { char::from(byte) } else { '.' }).collect()
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
            "the node closes the connection: is this NID its own, with this net, and does it accept the port of this node? see the log there",
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
    use super::super::State::{Fine, Unknown, Warning, Wrong};
    use super::*;
    use socklnd::proto::Version;

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
        let (asked_for, version) = (nid("192.0.2.1@tcp"), Version::V3);
        let hello =
            |from_low_port, answer| said_hello(address, asked_for, true, Ok(Asked { from_low_port, answer }));
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
            (hello(true, Answer::Hello { version, nid: nid("192.0.2.1@tcp") }), Fine, "speaks version 3"),
            (
                hello(true, Answer::Hello { version, nid: nid("192.0.2.3@tcp") }),
                Wrong,
                "it is 192.0.2.3@tcp, and not",
            ),
            (hello(true, Answer::UnknownVersion(9)), Wrong, "speaks version 9"),
            (hello(true, Answer::UnknownRequest(7)), Wrong, "refuses the connection request"),
            (hello(true, Answer::Foreign(b"SSH-2.0\r\n".to_vec())), Wrong, "no HELLO: 'SSH-2.0..'"),
            (hello(true, Answer::Closed), Wrong, "closes the connection when it is asked for 192.0.2.1@tcp"),
            (hello(true, Answer::Nothing), Wrong, "has not answered within 5 s"),
            (said_hello(address, asked_for, true, Err(io::ErrorKind::TimedOut)), Wrong, "no answer"),
            (pinged(&Ok(response)), Fine, "192.0.2.1@tcp answers, with 192.0.2.1@tcp, 192.0.2.2@tcp"),
            (pinged(&Err(Errno::ConnectionRefused)), Wrong, "Connection refused"),
            (pinged(&Err(Errno::Protocol)), Wrong, "rotocol"),
            (pinged(&Err(Errno::TimedOut)), Wrong, "timed out"),
        ];
        for (finding, state, seen) in table {
            assert_is(&finding, state, seen);
        }
    }

    /// Fails if a node is called wrong for closing what only a program without rights gets closed.
    #[test]
    fn a_close_from_a_high_port_says_nothing_about_the_hello() {
        let (address, asked_for) = (SocketAddr::from(([192, 0, 2, 1], 988)), nid("192.0.2.1@tcp"));
        for (from_low_port, stays_open, state) in
            [(false, false, Unknown), (true, false, Wrong), (false, true, Wrong)]
        {
            let asked = Asked { from_low_port, answer: Answer::Closed };
            let finding = said_hello(address, asked_for, stays_open, Ok(asked));
            assert_eq!(finding.state, state, "{from_low_port} {stays_open}");
        }
    }

    #[test]
    fn tcp_is_tried_for_neighbours_on_tcp_only() {
        let table = [
            ("192.0.2.1@tcp", 1, Some(IpAddr::from([192, 0, 2, 1]))),
            ("fd99::12@tcp", 1, "fd99::12".parse().ok()),
            ("fd99::12@tcp", 2, None),
            ("192.0.2.1@tcp", 2, None),
            ("192.0.2.1@o2ib", 1, None),
            ("192.0.2.1@tcp", 0, None),
        ];
        for (text, hops, expected) in table {
            assert_eq!(direct_address(nid(text), hops), expected, "{text} {hops}");
        }
    }
}

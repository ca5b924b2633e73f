//! The commands of the older tool, `lctl`.
#![allow(clippy::unwrap_used, missing_docs)]

use lnet_dlc::request::{DistanceResponse, PingResponse};
use lnet_dlc::{Reply, Request, RequestError};
use lnet_wire::{Errno, Nid};
use lnetctl::lctl::{is_called_by, run};

/// A node that has two NIDs, reaches the nets tcp and tcp1, and gets one answer.
fn node(request: Request) -> Result<Reply, RequestError> {
    let nid = |text: &str| text.parse::<Nid>().unwrap();
    let distance = |hops| Reply::Distance(DistanceResponse { hops, source: nid("192.0.2.9@tcp"), order: 0 });
    Ok(match request {
        Request::LnetDist(far) if far.net() == nid("192.0.2.1@tcp").net() => distance(1),
        Request::LnetDist(far) if far.net() == nid("192.0.2.1@tcp1").net() => distance(2),
        Request::PingPeer(ping) if ping.target.nid == nid("192.0.2.1@tcp") => Reply::Ping(PingResponse {
            primary: nid("192.0.2.1@tcp"),
            pid: 12345,
            multi_rail: true,
            nids: vec![nid("0@lo"), nid("192.0.2.1@tcp")],
        }),
        Request::PingPeer(_) => return Err(Errno::ConnectionRefused.into()),
        _ => return Err(Errno::HostUnreachable.into()),
    })
}

#[test]
fn each_command_prints_what_lctl_prints() {
    let table = [
        ("ping 192.0.2.1@tcp", 0, "12345-0@lo\n12345-192.0.2.1@tcp\n"),
        ("ping 192.0.2.1@tcp 5", 0, "12345-0@lo\n12345-192.0.2.1@tcp\n"),
        ("ping 192.0.2.2@tcp", 1, "failed to ping 192.0.2.2@tcp: Connection refused\n"),
        ("ping 192.0.2.1@tcp x", 1, "usage: "),
        ("ping 192.0.2@tcp", 1, "'192.0.2@tcp' is not a NID"),
        ("which_nid 192.0.2.1@tcp1 192.0.2.1@tcp", 0, "192.0.2.1@tcp\n"),
        ("which_nid 192.0.2.1@tcp1 192.0.2.1@tcp7", 0, "192.0.2.1@tcp1\n"),
        ("which_nid 192.0.2.1@tcp7", 1, "No reachable NID\n"),
        ("list_nids", 1, "cannot list the NIDs: No route to host\n"),
        ("list_nid", 1, "lctl: there is no 'list_nid' here; did you mean 'list_nids'?\n"),
    ];
    for (line, status, expected) in table {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        assert_eq!(run(&words, &node, &mut out, &mut err).unwrap(), status, "{line}");
        let text = String::from_utf8([out, err].concat()).unwrap();
        assert!(text.starts_with(expected), "{line}: {text}");
    }
}

#[test]
fn the_name_decides() {
    for (name, expected) in
        [("lctl", true), ("/usr/sbin/lctl", true), ("lnetctl", false), ("/lctl/lnetctl", false)]
    {
        assert_eq!(is_called_by(name), expected, "{name}");
    }
}

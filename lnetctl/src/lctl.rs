//! `lctl`, the older tool: `list_nids`, `ping` and `which_nid` alone, in its form. `lnetctl` is this under the name `lctl`.

use lnet_dlc::ops::diagnosis;
use lnet_dlc::request::{LocalNi, Request};
use lnet_dlc::{Backend, nearest};
use lnet_wire::{Errno, Nid};
use std::io::{self, Write};
use std::path::Path;

/// The name under which `lnetctl` is this tool.
const NAME: &str = "lctl";
/// The time that a ping waits without a number of seconds.
const PING_TIMEOUT_MS: u32 = 1000;
const USAGE: &str = "usage: lctl list_nids [all] | ping NID [SECONDS] | which_nid NID...";

/// A command of the tool, and what carries it out with the words behind its name; the error is a text.
struct Command {
    name: &'static str,
    run: fn(&[&str], &dyn Backend) -> Result<String, String>,
}

const COMMANDS: [Command; 3] = [
    Command { name: "list_nids", run: list_nids },
    Command { name: "ping", run: ping },
    Command { name: "which_nid", run: which_nid },
];

/// Whether a program that was called by this name is to be `lctl`.
pub fn is_called_by(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|name| name == NAME)
}

/// Carries out the words of a line. Returns the exit status.
pub fn run(words: &[String], node: &dyn Backend, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((name, rest)) = words.split_first() else {
        writeln!(err, "{USAGE}")?;
        return Ok(1);
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == *name) else {
        let meant = nearest(name, COMMANDS.map(|command| command.name));
        writeln!(err, "lctl: there is no '{name}' here{meant}\n{USAGE}\nlnetctl has the rest of LNet")?;
        return Ok(1);
    };
    match (command.run)(rest, node) {
        Ok(text) => out.write_all(text.as_bytes()).map(|()| 0),
        Err(text) => writeln!(err, "{text}").map(|()| 1),
    }
}

/// The NIDs of the node, one a line; with `all`, the loopback too.
fn list_nids(words: &[&str], node: &dyn Backend) -> Result<String, String> {
    let is_all = match words {
        [] => false,
        ["all"] => true,
        _ => return Err(USAGE.to_owned()),
    };
    let nis: Vec<Box<LocalNi>> =
        node.list(Request::GetLocalNi).map_err(|errno| format!("cannot list the NIDs: {}", errno.text()))?;
    let shown = nis.iter().map(|ni| ni.nid).filter(|nid| is_all || !nid.is_loopback());
    Ok(shown.map(|nid| format!("{nid}\n")).collect())
}

/// The process IDs and NIDs that a node has, one a line.
fn ping(words: &[&str], node: &dyn Backend) -> Result<String, String> {
    let (nid, timeout_ms) = match words {
        [nid] => (*nid, Some(PING_TIMEOUT_MS)),
        [nid, seconds] => (*nid, seconds.parse().ok().and_then(|seconds: u32| seconds.checked_mul(1000))),
        _ => return Err(USAGE.to_owned()),
    };
    let timeout_ms = timeout_ms.filter(|ms| *ms > 0).ok_or_else(|| USAGE.to_owned())?;
    let failed = |errno: Errno| format!("failed to ping {nid}: {}", errno.text());
    let response = diagnosis::ping(node, read(nid)?, timeout_ms).map_err(failed)?;
    Ok(response.nids.iter().map(|its| format!("{}-{its}\n", response.pid)).collect())
}

/// The nearest of several NIDs of one node.
fn which_nid(words: &[&str], node: &dyn Backend) -> Result<String, String> {
    if words.is_empty() {
        return Err(USAGE.to_owned());
    }
    let nids = words.iter().map(|word| read(word)).collect::<Result<Vec<Nid>, String>>()?;
    let reachable = nids.iter().filter_map(|nid| Some((diagnosis::distance(node, *nid).ok()?, nid)));
    let nearest = reachable.min_by_key(|(distance, _)| (distance.hops, distance.order));
    nearest.map(|(_, nid)| format!("{nid}\n")).ok_or_else(|| "No reachable NID".to_owned())
}

fn read(text: &str) -> Result<Nid, String> {
    lnet_dlc::host_names::Names::new().nid(text).map_err(|error| format!("'{text}' is not a NID: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lnet_dlc::request::{DistanceResponse, PingResponse};
    use lnet_dlc::{Reply, RequestError};

    /// A node that has two NIDs, reaches the nets tcp and tcp1, and gets one answer.
    fn node(request: Request) -> Result<Reply, RequestError> {
        let nid = |text: &str| text.parse::<Nid>().unwrap();
        let distance =
            |hops| Reply::Distance(DistanceResponse { hops, source: nid("192.0.2.9@tcp"), order: 0 });
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
}

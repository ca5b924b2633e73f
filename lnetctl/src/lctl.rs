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

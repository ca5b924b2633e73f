//! Memory of a node and of a connection, and allocations of a message.

use crate::error::{Error, context};
use crate::lnet::{self, Allocations, Length, Lnet, SERVER};
use crate::options::Options;
use crate::peer_process::{Peer, free_port, limit};
use crate::scenario::{Operation, Scenario};
use std::fs;
use std::net::Ipv4Addr;
use std::time::Duration;

pub(crate) struct Memory {
    /// Memory of a node with one interface and no messages.
    pub(crate) idle: Resident,
    pub(crate) idle_threads: u64,
    pub(crate) peers: u64,
    /// Number of TCP connections that the peers made.
    pub(crate) connections: u64,
    /// Memory that the peers added to a serving node.
    pub(crate) added: Resident,
    /// Allocations by scenario; empty unless there is a library that counts them.
    pub(crate) allocations: Vec<(Scenario, Allocations)>,
}

/// Resident memory of a process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resident {
    pub(crate) all: u64,
    /// Memory without mapped files, that is without programs and libraries.
    pub(crate) anonymous: u64,
}

pub(crate) const ALLOCATION_SCENARIOS: [Scenario; 4] = [
    Scenario::RoundTrip { size: 8 },
    Scenario::Rate { operation: Operation::Put, size: 4096, in_flight: 8 },
    Scenario::Rate { operation: Operation::Put, size: 1 << 20, in_flight: 8 },
    Scenario::Rate { operation: Operation::Get, size: 4096, in_flight: 8 },
];

pub(crate) fn measure(lnet: &Lnet, options: &Options) -> Result<Memory, Error> {
    let (idle, idle_threads) = idle(lnet)?;
    let (connections, added) = connected(lnet, options.connections)?;
    let allocations = match &options.count_allocations {
        Some(library) => ALLOCATION_SCENARIOS
            .into_iter()
            .map(|scenario| {
                Ok((scenario, lnet.allocations(scenario, Length::Time(options.duration), library)?))
            })
            .collect::<Result<_, Error>>()?,
        None => Vec::new(),
    };
    let peers = u64::from(options.connections);
    Ok(Memory { idle, idle_threads, peers, connections, added, allocations })
}

fn idle(lnet: &Lnet) -> Result<(Resident, u64), Error> {
    let mut node = Peer::start(lnet.node(SERVER, free_port()?).arg("idle"), limit(Duration::ZERO))?;
    node.first_line()?;
    let status = status(&node)?;
    Ok((resident(&status)?, field(&status, "Threads:")?))
}

/// Connects many nodes to one. Returns the connections and the added memory of that one.
fn connected(lnet: &Lnet, peers: u8) -> Result<(u64, Resident), Error> {
    let port = free_port()?;
    let mut server = Peer::start(lnet.node(SERVER, port).arg("serve"), limit(Duration::ZERO))?;
    server.first_line()?;
    let before = resident(&status(&server)?)?;
    let sockets_before = sockets(&server)?;
    let peers = (1..=peers).map(|number| {
        let address = Ipv4Addr::new(127, 0, 4, number);
        let mut node = lnet.node(address, port);
        let mut peer = Peer::start(node.args(["hold", &lnet::nid(SERVER)]), limit(Duration::ZERO))?;
        peer.first_line()?;
        Ok(peer)
    });
    let peers: Vec<Peer> = peers.collect::<Result<_, Error>>()?;
    let after = resident(&status(&server)?)?;
    let connections = sockets(&server)?.saturating_sub(sockets_before);
    drop(peers);
    let added = Resident {
        all: after.all.saturating_sub(before.all),
        anonymous: after.anonymous.saturating_sub(before.anonymous),
    };
    Ok((connections, added))
}

fn sockets(process: &Peer) -> Result<u64, Error> {
    let directory = format!("/proc/{}/fd", process.id());
    let entries = fs::read_dir(&directory).map_err(context(&directory))?;
    let targets = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let sockets = targets.filter(|target| target.to_string_lossy().starts_with("socket:"));
    Ok(sockets.count() as u64)
}

fn status(process: &Peer) -> Result<String, Error> {
    let path = format!("/proc/{}/status", process.id());
    fs::read_to_string(&path).map_err(context(&path))
}

fn resident(status: &str) -> Result<Resident, Error> {
    let bytes = |name| Ok::<_, Error>(field(status, name)? * 1024);
    Ok(Resident { all: bytes("VmRSS:")?, anonymous: bytes("RssAnon:")? })
}

fn field(status: &str, name: &str) -> Result<u64, Error> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.ok_or_else(|| format!("no {name} in the process's status"))?.parse().map_err(context(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_from_the_status_of_a_process() {
        let status = "Name:\tx\nVmRSS:\t    4096 kB\nRssAnon:\t     512 kB\nThreads:\t7\n";
        let expected = Resident { all: 4096 * 1024, anonymous: 512 * 1024 };
        assert_eq!(resident(status), Ok(expected));
        assert_eq!(field(status, "Threads:"), Ok(7));
        assert!(field(status, "VmSwap:").is_err());
    }
}

//! A node for the length of one command: for commands that only ask other nodes, where no node runs.

use crate::cli::{Command, Peer};
use crate::node::Node;
use lnet_dlc::{Backend, Reply, Request, RequestError};
use lnet_node::StartConfig;
use lnet_wire::{Errno, Pid};
use log::LevelFilter;
use std::env;
use std::sync::Arc;

const NETWORKS: &str = "LNET_NETWORKS";
const ACCEPT: &str = "LNET_ACCEPT";

/// The remedy of a command that could have had a node of its own, added to the reason why there is none.
pub const REMEDY: &str =
    "; or give this command a node of its own: --networks 'tcp(eth0)', or LNET_NETWORKS in the environment";

/// What a command works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    /// The node that runs here, or the error that there is none.
    Running,
    /// A node of its own, on these networks.
    Own(&'a str),
    /// Nothing: no node runs, and no networks are named.
    NoNetworks,
}

/// Chooses what a command works on that may have a node of its own. `networks` are those that the command or its environment names;
/// `found` is the result of asking for the node that runs here.
pub fn choose(networks: Option<&str>, is_node_named: bool, found: Result<(), Errno>) -> Choice<'_> {
    match found {
        Err(Errno::NetworkDown) if !is_node_named => networks.map_or(Choice::NoNetworks, Choice::Own),
        _ => Choice::Running,
    }
}

/// The option `--networks` of a command that may have a node of its own; `None` for others.
pub fn option(command: &Command) -> Option<Option<&str>> {
    match command {
        Command::Ping(ping) => Some(ping.own.networks.as_deref()),
        Command::Discover(discover) => Some(discover.own.networks.as_deref()),
        Command::Peer(Peer::Explain(explain)) => Some(explain.own.networks.as_deref()),
        // Without a NID it asks no node.
        Command::Doctor(doctor) if doctor.nid.is_some() => Some(doctor.own.networks.as_deref()),
        _ => None,
    }
}

/// The networks of the environment.
pub fn of_environment() -> Option<String> {
    env::var(NETWORKS).ok().filter(|networks| !networks.trim().is_empty())
}

/// The node of this process. It is shut down when it is dropped.
struct OwnNode(Arc<lnet_node::Node>);

/// Starts a node on these networks, and for the rest with the configuration of the environment; it listens only if `LNET_ACCEPT` says
/// so. Failures are logged on standard error.
pub fn start(networks: &str) -> Result<Box<dyn Node>, Errno> {
    lnet_log::install("LNet", LevelFilter::Error);
    let config = StartConfig::from_lookup(|name| variable(name, networks, |name| env::var(name).ok()))?;
    Ok(Box::new(OwnNode(lnet_node::Node::start(Pid::LUSTRE, config)?)))
}

/// The value of a variable for the node of a command.
fn variable(name: &str, networks: &str, look_up: impl Fn(&str) -> Option<String>) -> Option<String> {
    match name {
        NETWORKS => Some(networks.to_owned()),
        // Others need not reach it, and its port may be another node's.
        ACCEPT => look_up(name).or_else(|| Some("none".to_owned())),
        // These are of the node that the environment describes, and that is another one.
        "LNET_NODE" | "LNET_CONFIG" | "LNET_IP2NETS" => None,
        name => look_up(name),
    }
}

impl Backend for OwnNode {
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        self.0.call(request)
    }
}

impl Node for OwnNode {}

impl Drop for OwnNode {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_a_node_of_its_own_where_none_runs_and_none_is_named() {
        let (down, access) = (Err(Errno::NetworkDown), Err(Errno::Access));
        let table = [
            (Some("tcp"), false, down, Choice::Own("tcp")),
            (Some("tcp"), true, down, Choice::Running),
            (Some("tcp"), false, access, Choice::Running),
            (Some("tcp"), false, Ok(()), Choice::Running),
            (None, false, down, Choice::NoNetworks),
            (None, true, down, Choice::Running),
        ];
        for (networks, is_node_named, found, expected) in table {
            let chosen = choose(networks, is_node_named, found);
            assert_eq!(chosen, expected, "{networks:?} {is_node_named} {found:?}");
        }
    }

    #[test]
    fn the_node_of_a_command_does_not_listen_unless_that_is_said() {
        let table = [
            ("LNET_NETWORKS", Some("old"), Some("tcp(eth0)")),
            ("LNET_ACCEPT", None, Some("none")),
            ("LNET_ACCEPT", Some("all"), Some("all")),
            ("LNET_ACCEPT_PORT", Some("9988"), Some("9988")),
            ("LNET_NODE", Some("a"), None),
            ("LNET_CONFIG", Some("/etc/lnet.conf"), None),
        ];
        for (name, set, expected) in table {
            let value = variable(name, "tcp(eth0)", |_| set.map(str::to_owned));
            assert_eq!(value.as_deref(), expected, "{name} {set:?}");
        }
    }
}

//! The choice between a node in this process and one that this process attaches to.
//!
//! The rule: `LNET_ATTACH=no` makes a node in this process, `LNET_ATTACH=NAME` attaches to the node `NAME`; without it a process whose
//! environment configures nets makes a node, and any other attaches to the user's `lnetd` if that admits it.

use super::program_node::Attached;
use lnet_attach::client::{AttachError, AttachedNode, ClientConfig};
use lnet_core::Errno;
use lnet_core::event::in_handler;
use lnet_dlc::client::Client;
use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_dlc::{Backend, Reply, Request, RequestError, Warned};
use lnet_log::{LogClass, write_line};
use lnet_node::{CONFIGURATION, StartConfig};
use lnet_os::peer_cred::connect;
use lnet_ring::size_in_words;
use lnet_wire::Pid;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

const ATTACH: &str = "LNET_ATTACH";
const RING: &str = "LNET_ATTACH_RING";
/// The value of `LNET_ATTACH` for a node in this process.
const NO: &str = "no";
/// The default of `LNET_ATTACH_RING`, in KiB.
const RING_KIB: usize = 256;
const MAX_RING_KIB: usize = 8 << 10;

/// The node that a process gets.
pub(super) enum Choice {
    /// One of its own.
    OwnNode,
    /// That of another process.
    Attach(Socket),
}

/// A connection to a node that may admit this process.
pub(super) struct Socket {
    stream: UnixStream,
    name: NodeName,
    /// Whether the environment names the node.
    is_named: bool,
}

/// What the environment says.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    OwnNode(&'static str),
    Named(String),
    LnetdIfThere,
}

fn wish(look_up: impl Fn(&str) -> Option<String>) -> Wish {
    let look_up =
        |name: &str| look_up(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    match look_up(ATTACH) {
        Some(value) if value == NO => Wish::OwnNode("LNET_ATTACH=no"),
        Some(name) => Wish::Named(name),
        None => match CONFIGURATION.iter().find(|(name, _)| look_up(name).is_some()) {
            Some((name, _)) => Wish::OwnNode(name),
            None => Wish::LnetdIfThere,
        },
    }
}

/// Applies the rule. [`Errno::NetworkDown`] if the node that the environment names is not there, [`Errno::Invalid`] for what is no name.
pub(super) fn choose() -> Result<Choice, Errno> {
    let directory = RuntimeDir::from_env();
    match wish(|name| std::env::var(name).ok()) {
        Wish::OwnNode(why) => {
            write_line!(LogClass::NodeChoice, "this process has a node of its own ({why} is set)");
            Ok(Choice::OwnNode)
        }
        Wish::Named(text) => {
            let name: NodeName = text.parse().map_err(|error| {
                write_line!(LogClass::ConfigInvalid, "{ATTACH}=\"{text}\": {error}");
                Errno::Invalid
            })?;
            match open(&directory, &name) {
                Ok(stream) => Ok(Choice::Attach(Socket { stream, name, is_named: true })),
                Err(error) => {
                    let path = directory.attach_socket(&name);
                    write_line!(
                        LogClass::NotAttached,
                        "{ATTACH}={name}: no node of this name admits programs ({}: {error})",
                        path.display()
                    );
                    Err(Errno::NetworkDown)
                }
            }
        }
        Wish::LnetdIfThere => {
            let name = NodeName::lnetd();
            match open(&directory, &name) {
                Ok(stream) => Ok(Choice::Attach(Socket { stream, name, is_named: false })),
                Err(error) => {
                    write_line!(
                        LogClass::NodeChoice,
                        "this process has a node of its own (no nets are configured, and no {name} admits programs: {error})"
                    );
                    Ok(Choice::OwnNode)
                }
            }
        }
    }
}

fn open(directory: &RuntimeDir, name: &NodeName) -> io::Result<UnixStream> {
    directory.check()?;
    connect(&directory.attach_socket(name))
}

/// Attaches to a node. `Ok(None)`: it does not admit this process, and the environment does not insist on it.
pub(super) fn attach(socket: Socket, pid: Pid) -> Result<Option<Attached>, Errno> {
    let Socket { stream, name, is_named } = socket;
    let words = ring_size(std::env::var(RING).ok().as_deref()).ok_or_else(|| {
        write_line!(
            LogClass::ConfigInvalid,
            "{RING}: wanted is a power of two from 32 to {MAX_RING_KIB}, in KiB"
        );
        Errno::Invalid
    })?;
    // The node has its own nets, whatever this process's environment says of them.
    let tunables =
        StartConfig::from_lookup(|name| match CONFIGURATION.iter().any(|(its, _)| *its == name) {
            true => None,
            false => std::env::var(name).ok(),
        })?;
    let config =
        ClientConfig { pid, program: program(), operations: words, reports: words, spin: tunables.wait_spin };
    match AttachedNode::attach(stream, &config) {
        Ok(node) => {
            write_line!(LogClass::NodeChoice, "this process is attached to the node {name}");
            Ok(Some(Attached { node, control: control_of(&name) }))
        }
        Err(error) if is_named => {
            write_line!(
                LogClass::NotAttached,
                "{ATTACH}={name}: the node does not admit this process ({error})"
            );
            Err(match error {
                AttachError::System(error) => Errno::from(&error),
                _ => Errno::NetworkDown,
            })
        }
        Err(error) => {
            write_line!(
                LogClass::NotAttached,
                "the node {name} does not admit this process ({error}), which gets a node of its own"
            );
            Ok(None)
        }
    }
}

/// The client that configures the node.
fn control_of(name: &NodeName) -> super::SharedBackend {
    let warn = |text| write_line!(LogClass::RequestWarning, "{text}");
    let backend = Box::new(NoChangesInHandlers(Client::new(Some(name.to_string()))));
    Arc::new(Warned { backend, warn })
}

/// Refuses changes in event handlers, as a node of this process does.
struct NoChangesInHandlers<B>(B);

impl<B: Backend> Backend for NoChangesInHandlers<B> {
    fn call(&self, request: Request) -> Result<Reply, RequestError> {
        self.call_with_warnings(request, &mut Vec::new())
    }

    fn call_with_warnings(
        &self,
        request: Request,
        warnings: &mut Vec<String>,
    ) -> Result<Reply, RequestError> {
        if in_handler() && !request.only_reads() {
            return Err(Errno::Busy.into());
        }
        self.0.call_with_warnings(request, warnings)
    }
}

/// The number of words of a ring. `None` for what is no size of one.
fn ring_size(text: Option<&str>) -> Option<usize> {
    let kib = match text.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => text.parse().ok().filter(|kib| *kib <= MAX_RING_KIB)?,
        None => RING_KIB,
    };
    let words = kib * 1024 / size_of::<u64>();
    size_in_words(words).map(|_| words)
}

/// The name of this program.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_decides_whether_a_process_has_a_node_of_its_own() {
        let table: [(&[(&str, &str)], Wish); 8] = [
            (&[], Wish::LnetdIfThere),
            (&[("LNET_ATTACH", " ")], Wish::LnetdIfThere),
            (&[("LNET_ATTACH", "no")], Wish::OwnNode("LNET_ATTACH=no")),
            (&[("LNET_ATTACH", "no"), ("LNET_NETWORKS", "tcp")], Wish::OwnNode("LNET_ATTACH=no")),
            (&[("LNET_ATTACH", "a\n"), ("LNET_NETWORKS", "tcp")], Wish::Named("a".to_owned())),
            (&[("LNET_NETWORKS", "tcp")], Wish::OwnNode("LNET_NETWORKS")),
            (&[("LNET_CONFIG", "file")], Wish::OwnNode("LNET_CONFIG")),
            (&[("LNET_IP2NETS", "tcp *.*.*.*"), ("LNET_NETWORKS", "")], Wish::OwnNode("LNET_IP2NETS")),
        ];
        for (variables, expected) in table {
            let look_up =
                |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
            assert_eq!(wish(look_up), expected, "{variables:?}");
        }
    }

    #[test]
    fn sizes_of_rings_are_powers_of_two_in_kib() {
        for (text, words) in [
            (None, Some(32_768)),
            (Some(""), Some(32_768)),
            (Some("32"), Some(4096)),
            (Some("8192"), Some(1 << 20)),
            (Some("16384"), None),
            (Some("33"), None),
            (Some("-1"), None),
        ] {
            assert_eq!(ring_size(text), words, "{text:?}");
        }
    }
}

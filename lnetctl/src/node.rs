//! The node that commands work on.

use lnet_dlc::Backend;
use lnet_wire::Errno;

/// A backend that can explain why there is no node.
pub trait Node: Backend {
    /// Returns the reason why the last request reached no node, and a remedy.
    fn explain(&self) -> Option<String> {
        None
    }

    /// Starts another node, on these networks, for a command that finds none.
    fn own_node(&self, networks: &str) -> Result<Box<dyn Node>, Errno> {
        let _ = networks;
        Err(Errno::NotSupported)
    }
}

/// Makes the connection to a node, by its name or to the only one; connects at the first request.
pub type Connect<'a> = &'a dyn Fn(Option<String>) -> Box<dyn Node>;

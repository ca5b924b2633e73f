//! LNet selftest on the daemon's node, and a console beside it, which `lst` finds by its socket.

use lnet::Adopted;
use lnet_dlc::runtime_dir::{NodeName, RuntimeDir};
use lnet_node::Node;
use lnet_selftest::console::host::ConsoleHost;
use lnet_selftest::console::socket::{ConsoleSocket, SUFFIX};
use lnet_selftest::framework::{NodeConfig, TestNode};
use lnet_wire::Errno;
use std::sync::Arc;

/// A test node on the daemon's node. Fields are dropped in this order: the C API must be there as long as the test node is.
pub(crate) struct Selftest {
    _socket: ConsoleSocket,
    console: Arc<ConsoleHost>,
    test_node: TestNode,
    _c_api: Adopted,
}

impl Selftest {
    /// Starts a test node and its console, configured by the environment. Failures are logged.
    pub(crate) fn start(node: &Arc<Node>, name: &NodeName) -> Result<Self, Errno> {
        let config = NodeConfig::from_lookup(|name| std::env::var(name).ok()).map_err(|error| {
            log::error!("{error}");
            Errno::Invalid
        })?;
        let c_api = lnet::adopt(node)?;
        let test_node = TestNode::start(&config).map_err(|errno| {
            log::error!("LNet selftest: {errno}");
            Errno::from_c(errno.to_c())
        })?;
        let path = RuntimeDir::from_env().path().join(format!("{name}{SUFFIX}"));
        let failed = |error: std::io::Error| {
            log::error!("LNet selftest: {}: {error}", path.display());
            Errno::from(&error)
        };
        let console = ConsoleHost::start(Arc::clone(test_node.engine())).map_err(failed)?;
        let socket = ConsoleSocket::listen(&path, &console).map_err(failed)?;
        test_node.set_console(Some(Arc::clone(&console) as Arc<_>));
        log::info!("LNet selftest: this node takes part in tests");
        Ok(Self { _socket: socket, console, test_node, _c_api: c_api })
    }

    /// Returns a text that names the session of the test node and the number of its running batches.
    pub(crate) fn status(&self) -> String {
        let status = self.test_node.status();
        match (status.session, status.active_batches) {
            (None, _) => "no session".to_owned(),
            (Some((id, name)), 0) => format!("session {name} {id}"),
            (Some((id, name)), batches) => format!("session {name} {id}, batches that run: {batches}"),
        }
    }
}

impl Drop for Selftest {
    fn drop(&mut self) {
        self.test_node.set_console(None);
        self.console.close();
    }
}

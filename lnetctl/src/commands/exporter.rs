//! The exporter of metrics.

use super::{CommandOutcome, Context};
use crate::cli::Exporter;
use lnet_dlc::client::Client;
use lnet_dlc::runtime_dir::RuntimeDir;
use lnet_dlc::{Backend, Operation, Request, ReturnCode, SeqNo};
use lnet_metrics::{MetricsConfig, MetricsListener, MetricsServer, NamedNode, SharedBackend};
use lnet_wire::Errno;
use std::io;
use std::sync::Arc;

/// Serves until a signal ends the program; returns only after a failure.
pub(super) fn run(command: &Exporter, cx: &mut Context<'_>) -> CommandOutcome {
    match start(command) {
        Ok(server) => {
            eprintln!("lnetctl: metrics: http://{}/metrics", server.address());
            loop {
                std::thread::park();
            }
        }
        Err(error) => {
            let rc = ReturnCode::from(Errno::from(&error));
            let text = format!("cannot serve metrics: {error}");
            CommandOutcome::change(cx.report.end(Operation::Show, "exporter", SeqNo::NONE, rc, text))
        }
    }
}

fn start(command: &Exporter) -> io::Result<MetricsServer> {
    let Exporter { address, expect, lustre_names } = command;
    let (address, expected) = (address.clone(), expect.clone());
    let config = MetricsConfig { address, expected, lustre_names: *lustre_names };
    let directory = RuntimeDir::from_env();
    MetricsListener::bind(config)?.serve(Arc::new(move || nodes(&directory)))
}

/// All nodes of the directory but those that the user may not ask. A node that was killed is among them: it does not answer.
fn nodes(directory: &RuntimeDir) -> Vec<NamedNode> {
    let names = directory.nodes().unwrap_or_default();
    let clients = names
        .into_iter()
        .map(|name| (name.to_string(), Client::at(directory.clone(), Some(name.to_string()))));
    let may_ask =
        |client: &Client| client.call(Request::GetNode).map_err(|error| error.errno) != Err(Errno::Access);
    let allowed = clients.filter(|(_, client)| may_ask(client));
    allowed.map(|(name, client)| NamedNode { name, backend: Arc::new(client) as SharedBackend }).collect()
}

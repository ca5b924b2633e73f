//! Pieces of text that several commands print.

use lnet_selftest::console::call::{NodeInfo, NodeState, Operation, RpcResult, TransactionResult};

/// The title above counts of states.
pub const STATES: &str = "\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL";

/// The number of nodes in each state and in all, as one line under [`STATES`].
pub fn state_counts(nodes: &[NodeInfo]) -> String {
    let count = |state: NodeState| nodes.iter().filter(|node| node.state == state).count().to_string();
    let counts = NodeState::ALL.into_iter().map(count).chain([nodes.len().to_string()]);
    counts.collect::<Vec<_>>().join("\t")
}

/// The nodes and their states, one per line.
pub fn node_lines(nodes: &[NodeInfo]) -> impl Iterator<Item = String> {
    nodes.iter().map(|node| format!("\t{}: {}", node.id, node.state.word()))
}

/// Describes each failed RPC and each refusal, one line for each node.
pub fn failures(outcome: &TransactionResult) -> Vec<String> {
    let operation = word(outcome.operation);
    let line = |node: &lnet_selftest::console::call::NodeResult| match node.reply {
        RpcResult::Failed(errno) => {
            Some(format!("{operation} RPC failed on {}: {}", node.id, error_text(errno.into())))
        }
        RpcResult::Responded { status, .. } if !node.accepted => {
            Some(format!("{operation} failed on {}: {}", node.id, error_text(status.into())))
        }
        RpcResult::Responded { .. } => None,
    };
    outcome.nodes.iter().filter_map(line).collect()
}

fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::MakeSession => "add session",
        Operation::RemoveSession => "remove session",
        Operation::Debug => "ping",
        Operation::AddServer => "add test server",
        Operation::AddClient => "add test client",
        Operation::Run => "run batch",
        Operation::Stop => "stop batch",
        Operation::Query => "query batch",
        Operation::Stat => "stat",
    }
}

/// Returns the system's text for an errno, without its number.
pub fn error_text(errno: i64) -> String {
    let Ok(number) = i32::try_from(errno) else { return format!("unknown error {errno}") };
    let text = std::io::Error::from_raw_os_error(number).to_string();
    // `Connection timed out (os error 110)`
    text.split_once(" (os error").map_or_else(|| text.clone(), |(text, _)| text.to_owned())
}

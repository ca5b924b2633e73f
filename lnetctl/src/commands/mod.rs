//! The commands: from parsed options to the operations of `lnet_dlc`. One file for each group.

mod convert;
mod cpt_of_nid;
mod doctor;
mod events;
mod exporter;
mod fault;
mod mrrouting;
mod net;
mod others;
mod peer;
mod ping;
mod report;
mod route;
mod selection;
mod set;
mod stats;
mod top;
mod udsp;
mod yaml;

use crate::cli::Command;
use lnet_dlc::ops::tunables;
use lnet_dlc::{Backend, Operation, Report, ReturnCode, SeqNo};
use std::io::Read;

/// The environment of a command: the node, its inputs, and the report of its results.
pub struct Context<'a> {
    /// The node; used only by commands that need one.
    pub node: &'a dyn Backend,
    /// Whether a node was named, on the line or by LNET_NODE.
    pub is_node_named: bool,
    /// The results of the operations so far, and the values to show.
    pub report: Report,
    /// Standard input.
    pub input: &'a mut dyn Read,
    /// Text for standard output that is no value of the report, such as Prometheus metrics; written unchanged.
    pub text: String,
    /// Warnings of the command itself, beside those of the node; one line each.
    pub warnings: Vec<String>,
    /// The form in which files are written.
    pub format: crate::cli::Format,
}

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The return code of the command.
    pub rc: ReturnCode,
    /// The purpose of the command.
    pub kind: CommandKind,
}

/// The purpose of a command, which decides what is printed when there is nothing to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// The command changes the configuration.
    Change,
    /// The command shows values: an empty result is written in JSON.
    Show,
    /// The command shows as much as it can, and reports the rest without failing.
    Export,
}

impl CommandOutcome {
    pub(crate) const fn change(rc: ReturnCode) -> Self {
        Self { rc, kind: CommandKind::Change }
    }

    pub(crate) const fn show(rc: ReturnCode) -> Self {
        Self { rc, kind: CommandKind::Show }
    }
}

/// Carries out a command; not `help`, `exit` and `quit`, which are the shell's, and not `cluster`, which has no node
/// ([`crate::cluster::run`]).
pub fn run(command: &Command, cx: &mut Context<'_>) -> CommandOutcome {
    match command {
        Command::Lnet(command) => others::lnet(command, cx),
        Command::Route(command) => route::run(command, cx),
        Command::Net(command) => net::run(command, cx),
        Command::Routing(command) => set::routing(command, cx),
        Command::Set(command) => set::run(command, cx),
        Command::Import(command) => yaml::import(command, cx),
        Command::Apply(command) => yaml::apply(command, cx),
        Command::Export(command) => yaml::export(command, cx),
        Command::Stats(command) => stats::run(command, cx),
        Command::Top(command) => top::run(command, cx),
        Command::Exporter(command) => exporter::run(command, cx),
        Command::Debug(command) => others::debug(command, cx),
        Command::Global(command) => others::global(command, cx),
        Command::Tunables => CommandOutcome::show(tunables::show(cx.node, &mut cx.report)),
        Command::Peer(command) => peer::run(command, cx),
        Command::Ping(command) => ping::ping(command, cx),
        Command::Discover(command) => ping::discover(command, cx),
        Command::ServiceId => others::service_id(cx),
        Command::Udsp(command) => udsp::run(command, cx),
        Command::Selection(command) => selection::run(command, cx),
        Command::SetupMrrouting => mrrouting::run(cx),
        Command::CptOfNid(command) => cpt_of_nid::run(command, cx),
        Command::Numa(command) => others::numa(command, cx),
        Command::PeerCredits(command) => peer::credits(command, cx),
        Command::Doctor(command) => doctor::doctor(command, cx),
        Command::Report(command) => report::report(command, cx),
        Command::Convert(command) => convert::run(command, cx),
        Command::Fault(command) => fault::run(command, cx),
        Command::Program(command) => others::program(command, cx),
        Command::Events(command) => events::run(command, cx),
        Command::Cluster(_) | Command::Help { .. } | Command::Exit | Command::Quit => {
            CommandOutcome::change(ReturnCode::OK)
        }
    }
}

/// Reports that this release does not support an operation of other releases (`EOPNOTSUPP`).
fn unsupported(cx: &mut Context<'_>, operation: Operation, entity: &str, what: &str) -> CommandOutcome {
    let rc = ReturnCode::from(lnet_wire::Errno::NotSupported);
    let text = format!("{what}: not supported yet; nothing was changed");
    CommandOutcome::change(cx.report.end(operation, entity, SeqNo::NONE, rc, text))
}

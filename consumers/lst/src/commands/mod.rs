//! Execution of commands: each turns its options into calls to the console, and the console's answers into text.

mod add_test;
mod batch;
pub mod bench;
mod group;
mod measuring;
mod nids;
mod ping;
mod query;
mod session;
mod show_error;
pub mod stat;
mod survey;

use crate::cli;
use crate::console::CallError;
use crate::context::{CommandFailure, Context, Exit, Result};
use lnet_selftest::console::call::Target;
use lnet_selftest::console::{Command, Name, Refusal};

/// Carries a command out.
pub fn run(command: &cli::Command, cx: &mut Context<'_>) -> Result {
    match command {
        cli::Command::NewSession(it) => session::new(it, cx),
        cli::Command::EndSession => session::end(cx),
        cli::Command::ShowSession => session::show(cx),
        cli::Command::Ping(it) => ping::ping(it, cx),
        cli::Command::AddGroup(it) => group::add(it, cx),
        cli::Command::DelGroup(it) => group::delete(it, cx),
        cli::Command::UpdateGroup(it) => group::update(it, cx),
        cli::Command::ListGroup(it) => group::list(it, cx),
        cli::Command::Stat(it) => stat::stat(it, cx),
        cli::Command::ShowError(it) => show_error::show_error(it, cx),
        cli::Command::AddBatch(it) => batch::add(it, cx),
        cli::Command::Run(it) => batch::run(it, cx),
        cli::Command::Stop(it) => batch::stop(it, cx),
        cli::Command::ListBatch(it) => batch::list(it, cx),
        cli::Command::Query(it) => query::query(it, cx),
        cli::Command::AddTest(it) => add_test::add_test(it, cx),
        cli::Command::Bench(it) => bench::bench(it, cx),
        cli::Command::Survey(it) => survey::survey(it, cx),
        cli::Command::Help { .. } | cli::Command::Exit | cli::Command::Quit => Ok(Exit::Success),
    }
}

impl Context<'_> {
    /// A group of that name, or NIDs.
    fn target(&mut self, text: &str) -> Result<Target> {
        if let Ok(group) = text.parse::<Name>() {
            match self.call(Command::ShowGroup { group: group.clone() }) {
                Ok(_) => return Ok(Target::Group(group)),
                Err(CommandFailure::Call(CallError::Refused(Refusal::NotFound(..)))) => {}
                Err(failure) => return Err(failure),
            }
        }
        let nids = nids::expand(text).map_err(|_| {
            CommandFailure::Usage(format!("'{text}' is neither a group of the session nor NIDs"))
        })?;
        Ok(Target::Nodes(nids))
    }
}

fn name(text: &str) -> Result<Name> {
    text.parse().map_err(|error: lnet_selftest::console::name::NotAName| CommandFailure::usage(error))
}

//! `lst add_test`

use super::name;
use crate::cli;
use crate::context::{CommandFailure, Context, Exit, Result};
use lnet_selftest::console::call;
use lnet_selftest::console::{Command, Distribution};

pub(super) fn add_test(it: &cli::AddTest, cx: &mut Context<'_>) -> Result {
    let test = call::AddTest {
        batch: name(&it.batch)?,
        from: name(&it.from)?,
        to: name(&it.to)?,
        concurrency: it.concurrency,
        repeat: it.repeat,
        distribution: it.distribute.parse::<Distribution>().map_err(CommandFailure::usage)?,
        test: cli::test_spec(&it.test).map_err(CommandFailure::usage)?,
    };
    let outcome = cx.transact(Command::AddTest(test))?;
    cx.json(&outcome)?;
    let exit = cx.report(&outcome)?;
    if exit == Exit::Success {
        cx.say("Test was added successfully")?;
    }
    Ok(exit)
}

//! The interface between commands and the consoles of this machine.

use lnet_selftest::console::call::Call;
use lnet_selftest::console::{Refusal, Response};
use std::time::Duration;

/// The consoles of this machine, and its time.
pub trait Consoles {
    /// Sends a command, and waits for the response. A command for a new session starts a console if there is none.
    fn call(&mut self, call: &Call) -> Result<Response, CallError>;

    /// Lets time pass.
    fn wait(&mut self, time: Duration);

    /// The time since some moment.
    fn now(&self) -> Duration;
}

/// The reason why a call got no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The console refuses the command.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no console, or it does not respond.
    #[error("{0}")]
    NoConsole(String),
}

//! The live view.

use super::{CommandOutcome, Context};
use crate::cli::Top;
use crate::top::{self, TopError};
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use lnet_wire::Errno;
use std::io::{self, IsTerminal};

/// Columns of the output of `top --once`.
const WIDTH: u16 = 80;

pub(super) fn run(command: &Top, cx: &mut Context<'_>) -> CommandOutcome {
    if command.once {
        return match top::once(cx.node, command, WIDTH) {
            Ok(text) => {
                cx.text = text;
                CommandOutcome::change(ReturnCode::OK)
            }
            Err(errno) => failed(cx, TopError::Node(errno)),
        };
    }
    if !io::stdout().is_terminal() {
        let text = "standard output is no terminal; 'top --once' writes text";
        return CommandOutcome::change(cx.report.end(
            Operation::Show,
            "top",
            SeqNo::NONE,
            ReturnCode::BAD_PARAM,
            text,
        ));
    }
    match top::live(cx.node, command) {
        Ok(()) => CommandOutcome::change(ReturnCode::OK),
        Err(error) => failed(cx, error),
    }
}

fn failed(cx: &mut Context<'_>, error: TopError) -> CommandOutcome {
    let (rc, text) = match error {
        TopError::Node(errno) => (ReturnCode::from(errno), format!("cannot read the node: {}", errno.text())),
        TopError::Terminal(error) => {
            (ReturnCode::from(Errno::from(&error)), format!("cannot use the terminal: {error}"))
        }
    };
    CommandOutcome::change(cx.report.end(Operation::Show, "top", SeqNo::NONE, rc, text))
}

//! The live view.

use super::{Context, Outcome};
use crate::cli::Top;
use crate::top::{self, TopError};
use lnet_dlc::{Operation, ReturnCode, SeqNo};
use lnet_wire::Errno;
use std::io::{self, IsTerminal};

/// Columns of the output of `top --once`.
const WIDTH: u16 = 80;

pub(super) fn run(command: &Top, cx: &mut Context<'_>) -> Outcome {
    if command.once {
        return match top::once(cx.node, command, WIDTH) {
            Ok(text) => {
                cx.text = text;
                Outcome::change(ReturnCode::OK)
            }
            Err(errno) => failed(cx, TopError::Node(errno)),
        };
    }
    if !io::stdout().is_terminal() {
        let text = "standard output is no terminal; 'top --once' writes text";
        return Outcome::change(cx.report.end(
            Operation::Show,
            "top",
            SeqNo::NONE,
            ReturnCode::BAD_PARAM,
            text,
        ));
    }
    match top::live(cx.node, command) {
        Ok(()) => Outcome::change(ReturnCode::OK),
        Err(error) => failed(cx, error),
    }
}

fn failed(cx: &mut Context<'_>, error: TopError) -> Outcome {
    let (rc, text) = match error {
        TopError::Node(errno) => (ReturnCode::from(errno), format!("cannot read the node: {}", errno.text())),
        TopError::Terminal(error) => {
            (ReturnCode::from(Errno::from(&error)), format!("cannot use the terminal: {error}"))
        }
    };
    Outcome::change(cx.report.end(Operation::Show, "top", SeqNo::NONE, rc, text))
}

//! Numbers as they are written on the command line.

pub(super) use lnet_command_line::number::{any_base, seconds};

/// Above 0.
pub(super) fn positive(text: &str) -> Result<u32, String> {
    let wrong = || "it takes a number above 0".to_owned();
    text.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)
}
